//! GitLab's trees and blobs.
//!
//! A tree comes in pages of at most 100 entries, without sizes; blobs come one by one. A tree of
//! several pages is listed as of one commit, so that a push does not tear them apart; and while the
//! branch is still at that commit, it need not be listed again.

use scan::manifest::MAX_BYTES;
use serde::Deserialize;

use super::GitLab;
use crate::{
    forge::{
        Asked, Looked, NoAnswer, Tree, Wanted, Which,
        content::{MOST_PAGES, Wholeness, checked, why_nothing},
    },
    git::{Blob, Entry, EntryKind},
    http::{Ask, Class, Expect, Reply, segment},
};

#[derive(Deserialize)]
struct Item {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    path: String,
    mode: Option<String>,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

impl GitLab {
    pub(super) async fn files(
        &self,
        which: &Which,
        commit: Option<&str>,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Asked<Looked<Tree>> {
        let mut ask = self.tree_page(which, commit);
        let mut tree = Tree::default();
        let mut whole = Wholeness::default();
        let mut is_first = commit.is_none();
        for _ in 0..MOST_PAGES {
            let found = match self.session.ask_json::<Vec<Item>>(&ask).await {
                Reply::Found(found) => found,
                // An empty project answers so, and one that is not there.
                Reply::Absent => return why_nothing(self, which, "its tree").await,
                Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Looked::Blocked),
                Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
            };
            if is_first
                && found.response.next.is_some()
                && let Some(commit) = self.last_commit(which).await?
            {
                is_first = false;
                ask = self.tree_page(which, Some(&commit));
                tree.commit = Some(commit);
                continue;
            }
            is_first = false;
            for item in &found.value {
                whole.see(&item.path, &item.id, item.kind == "tree");
            }
            let entries = found.value.into_iter().filter_map(entry);
            tree.files.extend(entries.filter(|entry| wanted(entry)));
            let Some(next) = found.response.next else {
                whole.check()?;
                return Ok(Looked::Here(tree));
            };
            ask = Ask::get(&self.host, next).absent(&[404, 410]);
        }
        tree.cut = Some(format!("the tree has more than {MOST_PAGES} pages"));
        Ok(Looked::Here(tree))
    }

    fn tree_page(&self, which: &Which, commit: Option<&str>) -> Ask {
        let ask = self
            .ask(&format!("{}/repository/tree", place(which)))
            .query("recursive", true)
            .query("per_page", 100)
            .query("pagination", "keyset");
        match commit {
            Some(commit) => ask.query("ref", commit),
            None => ask,
        }
    }

    /// The last commit of the default branch; none if it is not told.
    pub(super) async fn last_commit(&self, which: &Which) -> Asked<Option<String>> {
        let ask = self
            .ask(&format!("{}/repository/commits", place(which)))
            .query("per_page", 1);
        match self.session.ask_json::<Vec<Commit>>(&ask).await {
            Reply::Found(found) => {
                let id = found.value.into_iter().next().map(|commit| commit.id);
                let is_id =
                    |id: &String| id.len() >= 40 && id.bytes().all(|c| c.is_ascii_hexdigit());
                Ok(id.filter(is_id))
            }
            Reply::Absent => Ok(None),
            Reply::Unknown(why) if matches!(why.class, Class::Refused | Class::Rejected) => {
                Ok(None)
            }
            Reply::Unknown(why) => Err(NoAnswer::Unknown(why)),
        }
    }

    pub(super) async fn contents(
        &self,
        which: &Which,
        wanted: &[Wanted<'_>],
    ) -> Asked<Vec<(String, Blob)>> {
        let mut found = Vec::with_capacity(wanted.len());
        for one in wanted {
            let path = format!("{}/repository/blobs/{}/raw", place(which), segment(one.id));
            // Whatever comes is checked against its id, so a page for people is no danger.
            let ask = self
                .ask(&path)
                .expect(Expect::Any)
                .max_bytes(MAX_BYTES as u64)
                .uncached();
            let blob = match self.session.ask(&ask).await {
                Reply::Found(response) => Blob::Bytes(checked(response.body, one.id)?),
                Reply::Absent => Blob::Missing,
                Reply::Unknown(why) if why.class == Class::TooLarge => Blob::TooLarge {
                    bytes: MAX_BYTES as u64 + 1,
                },
                Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
            };
            found.push((one.id.to_owned(), blob));
        }
        Ok(found)
    }
}

/// A project's place in the API: by number as soon as it is known.
pub(super) fn place(which: &Which) -> String {
    match &which.number {
        Some(number) => format!("/projects/{}", segment(number)),
        None => format!(
            "/projects/{}",
            segment(&format!("{}/{}", which.owner, which.name))
        ),
    }
}

fn entry(item: Item) -> Option<Entry> {
    let kind = match (item.mode.as_deref(), item.kind.as_str()) {
        (Some("120000"), _) => EntryKind::Link,
        (_, "blob") => EntryKind::File,
        (_, "commit") => EntryKind::Submodule,
        _ => return None,
    };
    Some(Entry {
        path: item.path,
        id: item.id,
        kind,
        size: None,
    })
}
