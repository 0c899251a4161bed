//! Which epochs an inbox has, and which inboxes a server has.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::{Place, PublicInbox, Stopped, Visit};
use crate::http::{Ask, Expect, Reply, Session, Unknown};

/// More than any inbox has.
const MOST_EPOCHS: u32 = 1_000;
/// A manifest of all lists of a large server has a few megabytes.
const MAX_MANIFEST: u64 = 64 << 20;
/// The only part of an inbox in the first version of the format.
const WHOLE: &str = "all";

/// How an inbox is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One repository, a file for each mail.
    First,
    /// Epochs, a commit for each mail.
    Second,
}

impl Layout {
    /// By the name of a part.
    pub(super) fn of(part: &str) -> Self {
        if part == WHOLE {
            Self::First
        } else {
            Self::Second
        }
    }

    /// The path of a part's repository.
    pub(super) fn path(self, inbox: &str, part: &str) -> String {
        match self {
            Self::First => inbox.to_owned(),
            Self::Second => format!("{inbox}/git/{part}.git"),
        }
    }
}

/// The names of all epochs, oldest first: by the manifest, else by asking for one after the other.
pub(super) async fn find(
    source: &PublicInbox,
    visit: &Visit<'_>,
    place: &Place,
) -> Result<Vec<String>, Stopped> {
    match manifest(
        &visit.session,
        &place.upstream,
        &format!("{}/manifest.js.gz", place.path),
    )
    .await
    {
        Ok(Some(paths)) => {
            let inbox = place.path.trim_start_matches('/');
            let found = of_inbox(paths.iter(), inbox);
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Err(why) if why.retry_at.is_some() => return Err(why.into()),
        // Some servers have none, and some keep robots from pages and not from git.
        Ok(None) | Err(_) => {}
    }
    probe(source, visit, place).await
}

/// The epochs of one inbox among the paths of a manifest.
fn of_inbox<'a>(paths: impl Iterator<Item = &'a String>, inbox: &str) -> Vec<String> {
    let mut epochs: Vec<u32> = Vec::new();
    let mut whole = false;
    for path in paths {
        let path = path.trim_matches('/');
        let Some(rest) = path.strip_prefix(inbox) else {
            continue;
        };
        whole |= rest.is_empty() || rest == ".git";
        let number = rest
            .strip_prefix("/git/")
            .and_then(|rest| rest.strip_suffix(".git"))
            .and_then(|number| number.parse::<u32>().ok());
        epochs.extend(number);
    }
    epochs.sort_unstable();
    epochs.dedup();
    if epochs.is_empty() && whole {
        return vec![WHOLE.to_owned()];
    }
    epochs.iter().map(u32::to_string).collect()
}

async fn probe(
    source: &PublicInbox,
    visit: &Visit<'_>,
    place: &Place,
) -> Result<Vec<String>, Stopped> {
    let mut epochs = Vec::new();
    // Epochs that are known need not be looked for.
    let known = visit
        .known
        .iter()
        .filter_map(|part| part.part.parse::<u32>().ok());
    let next = known.max().map_or(0, |last| last + 1);
    epochs.extend((0..next).map(|number| number.to_string()));
    for number in next..MOST_EPOCHS {
        let name = number.to_string();
        let remote = source.remote(visit, place, Layout::Second, &name).await?;
        match remote.refs(&["HEAD", "refs/heads/"]).await {
            Ok(_) => epochs.push(name),
            Err(error) if error.is_absent() => break,
            Err(error) => return Err(error.into()),
        }
    }
    if !epochs.is_empty() {
        return Ok(epochs);
    }
    let remote = source.remote(visit, place, Layout::First, WHOLE).await?;
    match remote.refs(&["HEAD", "refs/heads/"]).await {
        Ok(_) => Ok(vec![WHOLE.to_owned()]),
        Err(error) if error.is_absent() => {
            Err(Stopped::Gone("the archive has no such inbox".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

/// A manifest's paths; none where there is no manifest.
async fn manifest(
    session: &Session,
    upstream: &str,
    path: &str,
) -> Result<Option<Vec<String>>, Box<Unknown>> {
    let ask = Ask::get(upstream, path)
        .expect(Expect::Data)
        .max_bytes(MAX_MANIFEST)
        .uncached();
    let Some(response) = session.ask(&ask).await.known()? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    let read = if response.body.starts_with(b"\x1f\x8b") {
        let unzipped = MultiGzDecoder::new(response.body.as_slice());
        unzipped.take(MAX_MANIFEST).read_to_end(&mut text).is_ok()
    } else {
        text = response.body;
        true
    };
    let paths: Option<serde_json::Map<String, Value>> = serde_json::from_slice(&text).ok();
    let paths = paths.filter(|_| read);
    let paths = paths.map(|paths| paths.into_iter().map(|(path, _)| path).collect());
    paths.map(Some).ok_or_else(|| {
        let message = format!("the manifest of {upstream}{path} cannot be read");
        Box::new(Unknown::contradiction(message))
    })
}

/// The names of all inboxes of a server, by its manifest.
pub async fn inboxes(session: &Session, upstream: &str) -> Reply<Vec<String>> {
    let paths = manifest(session, upstream, "/manifest.js.gz").await;
    let names = paths.map(|paths| {
        let mut names: Vec<String> = paths?
            .into_iter()
            .map(|path| {
                let path = path.trim_matches('/');
                let inbox = path.split_once("/git/").map_or(path, |(inbox, _)| inbox);
                inbox.strip_suffix(".git").unwrap_or(inbox).to_owned()
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        Some(names)
    });
    names.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_found_among_other_lists() {
        let paths = [
            "/git/git/1.git",
            "/git/git/0.git",
            "/git/git/10.git",
            "/gitolite/git/3.git",
        ];
        let paths: Vec<String> = paths.map(str::to_owned).into();
        assert_eq!(of_inbox(paths.iter(), "git"), ["0", "1", "10"]);
        let whole = ["/meta".to_owned(), "/meta2/git/0.git".to_owned()];
        assert_eq!(of_inbox(whole.iter(), "meta"), ["all"]);
        assert!(of_inbox(whole.iter(), "met").is_empty());
    }
}
