//! From what people type to a repository.

use std::path::{Path, PathBuf};

use ::db::Db;
use facts::repository::RepositoryUrl;
use store::repositories::{self, Found, Repository};

use crate::error::{Failure, Result, codes};

/// The address that a text means. A path to a directory is a local repository; everything else is
/// read as an address.
pub(in crate::commands) fn address(text: &str) -> Result<RepositoryUrl> {
    match local(text)? {
        Some(url) => Ok(url),
        None => RepositoryUrl::parse(text).map_err(|error| {
            let message = format!("`{text}` is no repository address");
            let failure = Failure::new(&codes::REPOSITORY, message).caused_by(&error);
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }),
    }
}

/// The repository that is meant, by number, address, path, `owner/name` or name.
pub(crate) async fn find(db: &Db, text: &str) -> Result<Repository> {
    let found = match local(text).ok().flatten() {
        Some(url) => match repositories::by_url(db, &url).await? {
            Some(repository) => Found::One(Box::new(repository)),
            None => Found::Nothing,
        },
        None => repositories::find(db, text).await?,
    };
    match found {
        Found::One(repository) => Ok(*repository),
        Found::Nothing => Err(Failure::new(
            &codes::NOT_FOUND,
            format!("there is no repository `{text}`"),
        )
        .hint("`gleaner repo list` shows them, `gleaner repo add` adds one")),
        Found::Several(several) => {
            let message = format!("`{text}` may be one of several repositories");
            let failure = Failure::new(&codes::REPOSITORY, message);
            Err(several.iter().take(5).fold(failure, |failure, one| {
                failure.hint(format!("{} is {}", one.id, one.url))
            }))
        }
    }
}

/// All that are meant; nothing is done when one of them is unknown.
pub(super) async fn all(db: &Db, texts: &[String]) -> Result<Vec<Repository>> {
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        found.push(find(db, text).await?);
    }
    Ok(found)
}

/// The address of a directory on this machine that is no repository, if the text is one.
pub(in crate::commands) fn plain_directory(text: &str) -> Result<Option<RepositoryUrl>> {
    match full_path(text)? {
        Some(full) if full.is_dir() && !is_git(&full) => address_of(text, &full).map(Some),
        _ => Ok(None),
    }
}

/// A repository on this machine, if the text is a path.
fn local(text: &str) -> Result<Option<RepositoryUrl>> {
    let Some(full) = full_path(text)? else {
        return Ok(None);
    };
    if !is_git(&full) {
        let message = format!("`{text}` is no git repository");
        return Err(Failure::new(&codes::REPOSITORY, message)
            .hint("give the directory that has `.git` in it, or a bare repository"));
    }
    address_of(text, &full).map(Some)
}

/// What a path leads to, if the text is one; links are resolved, so that one repository has one
/// path.
fn full_path(text: &str) -> Result<Option<PathBuf>> {
    let path = Path::new(text);
    let looks_like_a_path = text.starts_with(['.', '/', '~']) || path.is_absolute();
    if !looks_like_a_path && !path.is_dir() {
        return Ok(None);
    }
    let full = std::fs::canonicalize(path).map_err(|error| {
        let message = format!("there is no repository at `{text}`");
        Failure::new(&codes::REPOSITORY, message).caused_by(&error)
    })?;
    Ok(Some(full))
}

fn address_of(text: &str, full: &Path) -> Result<RepositoryUrl> {
    let refuse = |why: String| {
        let message = format!("`{text}` cannot be kept as a repository's address");
        Failure::new(&codes::REPOSITORY, message).hint(why)
    };
    let shown = full
        .to_str()
        .ok_or_else(|| refuse("the path is not UTF-8".to_owned()))?;
    RepositoryUrl::local(shown).map_err(|error| refuse(error.to_string()))
}

fn is_git(path: &Path) -> bool {
    path.join(".git").exists() || (path.join("HEAD").is_file() && path.join("objects").is_dir())
}
