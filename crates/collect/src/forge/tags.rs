//! Tags as forges list them: by name, with the commit that each leads to in the end.

use db::Timestamp;
use serde::de::DeserializeOwned;

use super::{Asked, Looked, NoAnswer, listed};
use crate::http::{Ask, Session, Unknown};

/// A page of tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagPage {
    /// What stands on it.
    pub tags: Vec<ListedTag>,
    /// Leads to the next page; none on the last.
    pub next: Option<String>,
}

/// A tag in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTag {
    /// Without `refs/tags/`.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// The commit's own time, where the list tells.
    pub committed_at: Option<Timestamp>,
}

/// What a forge says of a tag: its name, its commit and the commit's time.
pub(super) type Said = (String, Option<String>, Option<Timestamp>);

/// Asks for a page of them; see [`listed::page`].
pub(super) async fn page<T: DeserializeOwned>(
    session: &Session,
    ask: &Ask,
    blocked: fn(&Unknown) -> bool,
    read: fn(T) -> Said,
) -> Asked<Looked<TagPage>> {
    let found = listed::page(session, ask, blocked, |one| tag(read(one))).await?;
    Ok(found.map(|(tags, next)| TagPage { tags, next }))
}

/// A tag, if what is said of it can be true.
fn tag((name, commit, committed_at): Said) -> Asked<ListedTag> {
    let is_id = |id: &String| {
        matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match commit.filter(is_id) {
        Some(commit) => Ok(ListedTag {
            name,
            commit,
            committed_at,
        }),
        None => Err(NoAnswer::Nonsense(format!(
            "the tag `{name:.100}` leads to no commit"
        ))),
    }
}
