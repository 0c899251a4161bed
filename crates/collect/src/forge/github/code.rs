//! GitHub's trees and blobs.
//!
//! One recursive call lists a tree of up to 100,000 entries. A longer one says that it is
//! truncated, and is then listed directory by directory, each of them recursively as long as that
//! works; what belongs to others comes last, in case it is too much.

use std::collections::VecDeque;

use scan::manifest::{self, MAX_BYTES, Place};
use serde::Deserialize;

use super::{GitHub, blocked, place};
use crate::{
    forge::{
        Asked, Looked, NoAnswer, Tree, Wanted, Which,
        content::{MOST_LISTINGS, Wholeness, decoded, why_nothing},
        text,
    },
    git::{Blob, Entry, EntryKind},
    http::{Class, Reply, segment},
};

#[derive(Deserialize)]
struct Listing {
    sha: Option<String>,
    tree: Vec<Item>,
    truncated: bool,
}

#[derive(Deserialize)]
struct Item {
    path: String,
    mode: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    sha: Option<String>,
    size: Option<u64>,
}

#[derive(Deserialize)]
struct BlobAnswer {
    content: String,
}

/// A directory that is yet to be listed.
struct Directory {
    path: String,
    id: String,
}

impl GitHub {
    pub(super) async fn files(
        &self,
        which: &Which,
        reference: &str,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Asked<Looked<Tree>> {
        let whole = match self.listing(which, reference, true).await? {
            Looked::Here(whole) => whole,
            Looked::Empty => return Ok(Looked::Empty),
            Looked::Missing => return why_nothing(self, which, "its tree").await,
            Looked::Blocked => return Ok(Looked::Blocked),
        };
        let mut tree = Tree {
            id: text::name(whole.sha.clone()),
            ..Tree::default()
        };
        if whole.truncated {
            self.walk(which, reference, &mut tree, wanted).await?;
        } else {
            keep(&mut tree, "", whole.tree, wanted);
        }
        Ok(Looked::Here(tree))
    }

    /// Lists what a recursive listing has left out, within bounds.
    async fn walk(
        &self,
        which: &Which,
        reference: &str,
        tree: &mut Tree,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Asked<()> {
        let mut left = VecDeque::new();
        let mut listings = 1;
        let top = Directory {
            path: String::new(),
            id: reference.to_owned(),
        };
        self.step(which, &top, tree, &mut left, wanted).await?;
        while let Some(directory) = left.pop_front() {
            if listings >= MOST_LISTINGS {
                let count = left.len() + 1;
                tree.cut = Some(format!(
                    "the tree is truncated, and {count} directories were not listed"
                ));
                break;
            }
            listings += 1;
            let Looked::Here(below) = self.listing(which, &directory.id, true).await? else {
                return Err(moved_on());
            };
            if below.truncated {
                listings += 1;
                self.step(which, &directory, tree, &mut left, wanted)
                    .await?;
            } else {
                keep(tree, &directory.path, below.tree, wanted);
            }
        }
        Ok(())
    }

    /// Lists one directory, and leaves those in it for later.
    async fn step(
        &self,
        which: &Which,
        directory: &Directory,
        tree: &mut Tree,
        left: &mut VecDeque<Directory>,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Asked<()> {
        let Directory { path, id } = directory;
        let Looked::Here(listing) = self.listing(which, id, false).await? else {
            return Err(moved_on());
        };
        if listing.truncated {
            tree.cut = Some(format!("the directory `{path:.100}` is truncated"));
        }
        for item in &listing.tree {
            if item.kind == "tree"
                && let Some(id) = &item.sha
            {
                let below = Directory {
                    path: joined(path, &item.path),
                    id: id.clone(),
                };
                if manifest::place(&format!("{}/x", below.path)) == Place::Vendored {
                    left.push_back(below);
                } else {
                    left.push_front(below);
                }
            }
        }
        keep(tree, path, listing.tree, wanted);
        Ok(())
    }

    async fn listing(
        &self,
        which: &Which,
        reference: &str,
        recursive: bool,
    ) -> Asked<Looked<Listing>> {
        let path = format!("{}/git/trees/{}", place(which), segment(reference));
        let mut ask = self.ask(&path);
        if recursive {
            // Any value means yes, so it is left out otherwise.
            ask = ask.query("recursive", 1);
        }
        match self.session.ask_json::<Listing>(&ask).await {
            Reply::Found(found) => {
                let listing = found.value;
                if recursive && !listing.truncated {
                    let mut whole = Wholeness::default();
                    for item in &listing.tree {
                        let id = item.sha.as_deref().unwrap_or_default();
                        whole.see(&item.path, id, item.kind == "tree");
                    }
                    whole.check()?;
                }
                Ok(Looked::Here(listing))
            }
            Reply::Absent => Ok(Looked::Missing),
            Reply::Unknown(why) if why.status == Some(409) => Ok(Looked::Empty),
            Reply::Unknown(why) if blocked(&why) => Ok(Looked::Blocked),
            Reply::Unknown(why) => Err(NoAnswer::Unknown(why)),
        }
    }

    /// In one question for many where a token allows that, else one by one.
    pub(super) async fn contents(
        &self,
        which: &Which,
        wanted: &[Wanted<'_>],
    ) -> Asked<Vec<(String, Blob)>> {
        let mut found = self.many_contents(which, wanted).await?;
        for one in wanted {
            if !found.iter().any(|(id, _)| id == one.id) {
                found.push((one.id.to_owned(), self.content(which, one.id).await?));
            }
        }
        Ok(found)
    }

    async fn content(&self, which: &Which, id: &str) -> Asked<Blob> {
        let path = format!("{}/git/blobs/{}", place(which), segment(id));
        // Base64 is a third longer, and lines and names come on top.
        let ask = self
            .ask(&path)
            .max_bytes(MAX_BYTES as u64 * 3 / 2)
            .uncached();
        match self.session.ask_json::<BlobAnswer>(&ask).await {
            Reply::Found(found) => Ok(Blob::Bytes(decoded(&found.value.content, id)?)),
            Reply::Absent => Ok(Blob::Missing),
            Reply::Unknown(why) if why.class == Class::TooLarge => Ok(Blob::TooLarge {
                bytes: MAX_BYTES as u64 + 1,
            }),
            Reply::Unknown(why) => Err(NoAnswer::Unknown(why)),
        }
    }
}

fn keep(
    tree: &mut Tree,
    directory: &str,
    items: Vec<Item>,
    wanted: &(dyn Fn(&Entry) -> bool + Sync),
) {
    let entries = items.into_iter().filter_map(|item| {
        let kind = match (item.mode.as_deref(), item.kind.as_str()) {
            (Some("120000"), _) => EntryKind::Link,
            (_, "blob") => EntryKind::File,
            (_, "commit") => EntryKind::Submodule,
            _ => return None,
        };
        Some(Entry {
            path: joined(directory, &item.path),
            id: item.sha?,
            kind,
            size: item.size,
        })
    });
    tree.files.extend(entries.filter(|entry| wanted(entry)));
}

fn joined(directory: &str, path: &str) -> String {
    match directory {
        "" => path.to_owned(),
        _ => format!("{directory}/{path}"),
    }
}

/// Directories were listed a moment ago by ids that are no longer there.
fn moved_on() -> NoAnswer {
    NoAnswer::Nonsense("the tree changed while it was listed".into())
}
