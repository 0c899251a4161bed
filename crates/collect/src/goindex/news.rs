//! What is different from the last reading of a repository's tags.

use std::collections::{HashMap, HashSet};

use scan::go::{ImportRoot, TagFault, VersionTag};
use sha2::{Digest as _, Sha256};
use store::goindex::KnownTag;

use super::{read::Tag, tags::GoTags};
use crate::{collector::Collector as _, git::remote::Refs};

/// What is different.
#[derive(Default)]
pub(super) struct News {
    pub(super) unread: Vec<Tag>,
    /// Names, and what they lead to now.
    pub(super) moved: Vec<(String, String)>,
    pub(super) vanished: Vec<String>,
    pub(super) returned: Vec<String>,
}

impl News {
    /// `again`: tags that named nothing are looked at once more, whatever they lead to.
    pub(super) fn tell(tags: &[Tag], known: &[KnownTag], again: bool) -> Self {
        let by_name: HashMap<&str, &KnownTag> =
            known.iter().map(|tag| (tag.name.as_str(), tag)).collect();
        let mut news = Self::default();
        for tag in tags {
            let Some(known) = by_name.get(tag.name.as_str()) else {
                news.unread.push(tag.clone());
                continue;
            };
            let moved = known.object != tag.target;
            if known.rejection.is_some() {
                // Nothing was published, so it is what it is now.
                if again || moved || known.gone {
                    news.unread.push(tag.clone());
                }
                continue;
            }
            if moved {
                news.moved.push((tag.name.clone(), tag.target.clone()));
            }
            if known.gone {
                news.returned.push(tag.name.clone());
            }
        }
        let here: HashSet<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
        let vanished = known
            .iter()
            .filter(|tag| !tag.gone && !here.contains(tag.name.as_str()));
        news.vanished = vanished.map(|tag| tag.name.clone()).collect();
        news
    }
}

/// Tags whose name can be a version, and those whose name tells that they are none.
pub(super) fn split(tags: &[Tag]) -> (Vec<Tag>, Vec<(Tag, TagFault)>) {
    let (mut versions, mut nameless) = (Vec::new(), Vec::new());
    for tag in tags {
        match VersionTag::parse(&tag.name) {
            Ok(_) => versions.push(tag.clone()),
            Err(fault) => nameless.push((tag.clone(), fault)),
        }
    }
    (versions, nameless)
}

/// Tags that lead to the same commit are read together.
pub(super) fn by_commit(tags: &[Tag]) -> Vec<Vec<Tag>> {
    let mut order: Vec<Vec<Tag>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for tag in tags {
        let next = order.len();
        let place = *places.entry(tag.target.as_str()).or_insert(next);
        if place == next {
            order.push(Vec::new());
        }
        order[place].push(tag.clone());
    }
    order
}

/// Over all tags, the rules they are read by and the paths that lead here.
pub(super) fn digest(refs: &Refs, roots: &[ImportRoot]) -> String {
    let mut lines: Vec<String> = refs
        .refs
        .iter()
        .map(|one| {
            let peeled = one.peeled.as_deref().unwrap_or_default();
            format!("{} {} {peeled}", one.name, one.id)
        })
        .collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(format!("{}\n", GoTags::VERSION));
    for root in roots {
        hash.update(format!("{} {}\n", root.path, root.subdir));
    }
    for line in lines {
        hash.update(line);
        hash.update("\n");
    }
    facts::hex::lower(hash.finalize())
}
