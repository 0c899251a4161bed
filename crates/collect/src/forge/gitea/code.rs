//! Gitea's trees and blobs.
//!
//! A tree comes in pages; each but the last says that it is truncated. There is no way to ask by
//! the repository's number, so it is asked by the name that the catalogue keeps up to date.

use scan::manifest::MAX_BYTES;
use serde::Deserialize;

use super::Gitea;
use crate::{
    forge::{
        Asked, Looked, NoAnswer, Tree, Wanted, Which,
        content::{MOST_PAGES, Wholeness, decoded, why_nothing},
        text,
    },
    git::{Blob, Entry, EntryKind},
    http::{Class, Reply, segment},
};

#[derive(Deserialize)]
struct Listing {
    sha: Option<String>,
    tree: Option<Vec<Item>>,
    truncated: bool,
}

#[derive(Deserialize)]
struct Item {
    path: String,
    mode: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    sha: String,
    size: Option<u64>,
}

#[derive(Deserialize)]
struct BlobAnswer {
    content: Option<String>,
}

impl Gitea {
    pub(super) async fn files(
        &self,
        which: &Which,
        reference: &str,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Asked<Looked<Tree>> {
        let mut tree = Tree::default();
        let mut whole = Wholeness::default();
        for page in 1..=MOST_PAGES {
            let ask = self
                .ask(&format!(
                    "{}/git/trees/{}",
                    place(which),
                    segment(reference)
                ))
                .query("recursive", true)
                .query("per_page", 1_000)
                .query("page", page);
            let listing = match self.session.ask_json::<Listing>(&ask).await {
                Reply::Found(found) => found.value,
                Reply::Absent => return why_nothing(self, which, "its tree").await,
                // What has no commit has no HEAD, and that is called a bad question.
                Reply::Unknown(why) if why.class == Class::Rejected && page == 1 => {
                    return why_nothing(self, which, "its tree").await;
                }
                Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Looked::Blocked),
                Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
            };
            let id = text::name(listing.sha);
            if page > 1 && id != tree.id {
                return Err(NoAnswer::Nonsense(
                    "the tree changed while it was listed".into(),
                ));
            }
            tree.id = id;
            let items = listing.tree.unwrap_or_default();
            let none = items.is_empty();
            for item in &items {
                whole.see(&item.path, &item.sha, item.kind == "tree");
            }
            let entries = items.into_iter().filter_map(entry);
            tree.files.extend(entries.filter(|entry| wanted(entry)));
            if !listing.truncated {
                whole.check()?;
                return Ok(Looked::Here(tree));
            }
            if none {
                // More is promised than comes.
                tree.cut = Some("the tree is truncated".into());
                return Ok(Looked::Here(tree));
            }
        }
        tree.cut = Some(format!("the tree has more than {MOST_PAGES} pages"));
        Ok(Looked::Here(tree))
    }

    pub(super) async fn contents(
        &self,
        which: &Which,
        wanted: &[Wanted<'_>],
    ) -> Asked<Vec<(String, Blob)>> {
        let mut found = Vec::with_capacity(wanted.len());
        for one in wanted {
            let path = format!("{}/git/blobs/{}", place(which), segment(one.id));
            let ask = self
                .ask(&path)
                .max_bytes(MAX_BYTES as u64 * 3 / 2)
                .uncached();
            let blob = match self.session.ask_json::<BlobAnswer>(&ask).await {
                Reply::Found(answer) => match answer.value.content {
                    Some(content) => Blob::Bytes(decoded(&content, one.id)?),
                    // Contents beyond a limit of the server's are left out.
                    None => Blob::Missing,
                },
                Reply::Absent => Blob::Missing,
                Reply::Unknown(why) if why.class == Class::TooLarge => Blob::TooLarge {
                    bytes: MAX_BYTES as u64 + 1,
                },
                Reply::Unknown(why) if why.class == Class::Rejected => Blob::Missing,
                Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
            };
            found.push((one.id.to_owned(), blob));
        }
        Ok(found)
    }
}

pub(super) fn place(which: &Which) -> String {
    format!("/repos/{}/{}", segment(&which.owner), segment(&which.name))
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
        id: item.sha,
        kind,
        size: item.size,
    })
}
