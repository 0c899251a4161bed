//! Where a repository is cloned from, and the import paths that lead to it.

use facts::repository::{Forge, RepositoryUrl};
use scan::go::ImportRoot;
use store::repositories::Repository;

use super::Settings;

/// The address that git is given.
pub(super) fn clone_url(repository: &Repository, settings: &Settings) -> String {
    if repository.local {
        return repository.url.clone();
    }
    let slug = repository.slug();
    if let Some(base) = settings.bases.get(&repository.host) {
        return format!("{}/{slug}.git", base.trim_end_matches('/'));
    }
    match Forge::from_word(&repository.forge) {
        // A plain server may serve exactly this address and no other.
        None | Some(Forge::Git | Forge::Local) => repository.url.clone(),
        Some(_) => format!("{}.git", repository.url.trim_end_matches(".git")),
    }
}

/// The paths that the go command knows the repository by without asking anybody. A host with a
/// port cannot stand in one.
pub(super) fn roots(repository: &Repository) -> Vec<ImportRoot> {
    let Ok(url) = RepositoryUrl::parse(&repository.url) else {
        return Vec::new();
    };
    if url.is_local() || url.host().contains(':') {
        return Vec::new();
    }
    vec![ImportRoot {
        path: format!("{}/{}", url.host(), url.slug()),
        subdir: String::new(),
    }]
}
