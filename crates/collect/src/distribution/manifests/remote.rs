//! The manifests of a repository on a forge: one listing of its tree, and contents by id, of which
//! only those are asked for that nobody has fetched before.

use std::collections::{HashMap, HashSet};

use db::{Db, Timestamp};
use facts::{kept::Kept, manifest::ManifestFact};
use scan::manifest;

use super::{
    MAX_MANIFESTS, Snapshot,
    kept_blobs::KeptBlobs,
    read::{Reading, is_manifest},
};
use crate::{
    forge::{Asked, Forge, Looked, Wanted, Which},
    git::{Blob, Entry, EntryKind},
};

/// Contents in memory at one time.
const BATCH: usize = 100;

/// Where contents are kept, and the time of the visit.
pub(super) struct Cellar<'a> {
    pub(super) kept: &'a KeptBlobs,
    pub(super) db: &'a Db,
    pub(super) now: Timestamp,
}

/// Reads the manifests on the default branch.
pub(super) async fn read(
    forge: &dyn Forge,
    which: &Which,
    cellar: &Cellar<'_>,
) -> Asked<Looked<Snapshot>> {
    let mut tree = match forge.tree(which, &is_manifest).await? {
        Looked::Here(tree) => tree,
        other => return Ok(other.map(|_| Snapshot::default())),
    };
    tree.files.sort_by(|a, b| a.path.cmp(&b.path));
    tree.files.dedup_by(|a, b| a.path == b.path);
    let too_many = tree.files.len().saturating_sub(MAX_MANIFESTS);
    tree.files.truncate(MAX_MANIFESTS);

    let mut reading = Reading::default();
    for batch in tree.files.chunks(BATCH) {
        let (large, small): (Vec<&Entry>, Vec<&Entry>) = batch.iter().partition(|entry| {
            entry
                .size
                .is_some_and(|size| size > manifest::MAX_BYTES as u64)
        });
        for entry in large {
            let bytes = entry.size.unwrap_or_default();
            reading.take(entry, Blob::TooLarge { bytes });
        }
        let contents = contents(forge, which, &small, cellar).await?;
        for entry in small {
            // Equal files have one id, so what is taken must stay for the next.
            let blob = contents.get(&entry.id).cloned();
            reading.take(entry, blob.unwrap_or(Blob::Missing));
        }
    }
    let id = tree.commit.clone().or(tree.id).unwrap_or_default();
    let mut snapshot = reading.finish(id, None);
    snapshot.pinned = tree.commit;
    snapshot.left_out += too_many;
    snapshot.cut = tree.cut;
    Ok(Looked::Here(snapshot))
}

async fn contents(
    forge: &dyn Forge,
    which: &Which,
    entries: &[&Entry],
    cellar: &Cellar<'_>,
) -> Asked<HashMap<String, Blob>> {
    let unique: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let ids: Vec<&str> = unique.iter().copied().collect();
    let kept = cellar.kept.take_up(cellar.db, &ids, cellar.now).await;

    let mut named = HashSet::new();
    let wanted: Vec<Wanted<'_>> = entries
        .iter()
        .filter(|entry| !kept.contains_key(&entry.id) && named.insert(entry.id.as_str()))
        .map(|entry| Wanted {
            id: &entry.id,
            size: entry.size,
        })
        .collect();
    let mut found: HashMap<String, Blob> = kept
        .into_iter()
        .map(|(id, bytes)| (id, Blob::Bytes(bytes)))
        .collect();
    if wanted.is_empty() {
        return Ok(found);
    }
    let fetched = forge.blobs(which, &wanted).await?;
    let fresh: Vec<(String, Vec<u8>)> = fetched
        .iter()
        .filter_map(|(id, blob)| match blob {
            Blob::Bytes(bytes) => Some((id.clone(), bytes.clone())),
            Blob::TooLarge { .. } | Blob::Missing => None,
        })
        .collect();
    cellar.kept.keep(cellar.db, &fresh, cellar.now).await;
    found.extend(fetched);
    Ok(found)
}

/// Reads the manifests of the last visit again, without the forge: the parsers are better than they
/// were. None if some contents are no longer kept.
///
/// `known` are the facts of the last visit, `silent` the files that it found to be no manifests.
pub(super) async fn read_again(
    known: &[Kept<ManifestFact>],
    silent: &[(String, String)],
    cellar: &Cellar<'_>,
) -> Option<Snapshot> {
    let entry = |path: &str, id: &str| Entry {
        path: path.to_owned(),
        id: id.to_owned(),
        kind: EntryKind::File,
        size: None,
    };
    let mut entries = Vec::new();
    let mut unread = Vec::new();
    for fact in known.iter().map(|kept| &kept.fact) {
        entries.push((entry(&fact.path, fact.blob.as_deref()?), Some(fact)));
    }
    entries.extend(silent.iter().map(|(path, id)| (entry(path, id), None)));
    let mut reading = Reading::default();
    for batch in entries.chunks(BATCH) {
        let ids: Vec<&str> = batch.iter().map(|(entry, _)| entry.id.as_str()).collect();
        let kept = cellar.kept.take_up(cellar.db, &ids, cellar.now).await;
        for (entry, fact) in batch {
            match (kept.get(&entry.id), fact) {
                (Some(bytes), _) => reading.take(entry, Blob::Bytes(bytes.clone())),
                // It was too large to be fetched, and still is.
                (None, Some(fact)) if fact.error.is_some() => unread.push((*fact).clone()),
                (None, _) => return None,
            }
        }
    }
    let mut snapshot = reading.finish(String::new(), None);
    snapshot.facts.append(&mut unread);
    snapshot.facts.sort_by(|a, b| a.path.cmp(&b.path));
    Some(snapshot)
}
