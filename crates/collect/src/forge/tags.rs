//! Tags as forges list them: by name, with the commit that each leads to in the end.

use db::Timestamp;

use super::{Asked, NoAnswer};

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

/// A tag, if what is said of it can be true.
pub(super) fn tag(
    name: String,
    commit: Option<String>,
    committed_at: Option<Timestamp>,
) -> Asked<ListedTag> {
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
