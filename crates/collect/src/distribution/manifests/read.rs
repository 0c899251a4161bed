//! From a repository's tree to manifest facts.

use facts::{
    json::Attributes,
    manifest::{Intent, ManifestFact, Place},
};
use scan::manifest::{self, Format, Manifest, ManifestError};
use serde_json::{Map, Value};

use crate::{
    answer::Answer,
    git::{Blob, Entry, EntryKind, GitError, Head, Local},
};

/// More manifests than this are not read from one tree. The largest public collections of packages
/// in one repository have about 10,000.
pub const MAX_MANIFESTS: usize = 50_000;

/// The longest complaint that is kept of a manifest.
const MAX_ERROR_CHARS: usize = 300;

/// The manifests of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit that was read, or its tree where a forge tells no more.
    pub commit: String,
    /// The commit, where asking for it next time is cheaper than listing the tree.
    pub pinned: Option<String>,
    /// The branch it was found by.
    pub branch: Option<String>,
    /// One fact for each manifest, in the order of their paths. One that could not be read is
    /// there with its error.
    pub facts: Vec<ManifestFact>,
    /// Path and id of files that only share a manifest's name.
    pub silent: Vec<(String, String)>,
    /// How many manifests were left out because there are too many, or because the repository does
    /// not hold their contents. With any, the snapshot is only a part.
    pub left_out: usize,
    /// Part of the tree could not be listed, and why. Then, too, the snapshot is only a part.
    pub cut: Option<String>,
}

/// Reads the manifests on the default branch. A repository without commits is an
/// [`Answer::Absent`]: it declares nothing, and that is known.
pub async fn read_manifests(repository: &Local) -> Answer<Snapshot> {
    match try_read(repository).await {
        Ok(Some(snapshot)) => Answer::Found(snapshot),
        Ok(None) => Answer::Absent,
        Err(error) => Answer::Unknown(error.to_string()),
    }
}

/// Whether an entry of a tree is a manifest, by its name.
pub(super) fn is_manifest(entry: &Entry) -> bool {
    entry.kind == EntryKind::File && manifest::recognise(&entry.path).is_some()
}

async fn try_read(repository: &Local) -> Result<Option<Snapshot>, GitError> {
    let Head::Commit { id: commit, branch } = repository.head().await? else {
        return Ok(None);
    };
    let mut too_many = 0;
    let mut count = 0;
    let found = repository
        .tree(&commit, |entry| {
            let manifest = is_manifest(entry);
            count += usize::from(manifest);
            too_many += usize::from(manifest && count > MAX_MANIFESTS);
            manifest && count <= MAX_MANIFESTS
        })
        .await?;

    // Those too large are known to be so from the listing; their bytes are not asked for.
    let (small, large): (Vec<&Entry>, Vec<&Entry>) = found.iter().partition(|entry| {
        entry
            .size
            .is_none_or(|size| size <= manifest::MAX_BYTES as u64)
    });
    let mut reading = Reading::default();
    for entry in large {
        let bytes = entry.size.unwrap_or_default();
        reading.take(entry, Blob::TooLarge { bytes });
    }
    let ids: Vec<&str> = small.iter().map(|entry| entry.id.as_str()).collect();
    repository
        .blobs(&ids, |place, blob| reading.take(small[place], blob))
        .await?;
    let mut snapshot = reading.finish(commit, branch);
    snapshot.left_out += too_many;
    Ok(Some(snapshot))
}

/// Manifests on their way from contents to facts.
#[derive(Debug, Default)]
pub(super) struct Reading {
    facts: Vec<ManifestFact>,
    parsed: Vec<(String, Manifest)>,
    /// The ids of what was parsed, in the same order.
    blob_of: Vec<String>,
    silent: Vec<(String, String)>,
    left_out: usize,
}

impl Reading {
    /// Reads one file.
    pub(super) fn take(&mut self, entry: &Entry, blob: Blob) {
        match blob {
            Blob::Bytes(bytes) => match read(entry, &bytes) {
                Some(Ok(manifest)) => {
                    self.parsed.push((entry.path.clone(), manifest));
                    self.blob_of.push(entry.id.clone());
                }
                Some(Err(fact)) => self.facts.push(fact),
                None => self.silent.push((entry.path.clone(), entry.id.clone())),
            },
            Blob::TooLarge { bytes } => self.facts.extend(refused(entry, bytes)),
            Blob::Missing => self.left_out += 1,
        }
    }

    /// All files of the tree have been taken: what one tells about another is filled in.
    pub(super) fn finish(mut self, commit: String, branch: Option<String>) -> Snapshot {
        manifest::resolve(&mut self.parsed);
        let parsed = self.parsed.into_iter().zip(self.blob_of);
        let mut facts = self.facts;
        facts.extend(parsed.map(|((path, manifest), blob)| fact(path, manifest, blob)));
        facts.sort_by(|a, b| a.path.cmp(&b.path));
        Snapshot {
            commit,
            pinned: None,
            branch,
            facts,
            silent: self.silent,
            left_out: self.left_out,
            cut: None,
        }
    }
}

/// What a file says; an error becomes a fact of its own, and a file that only shares a manifest's
/// name is nothing.
fn read(entry: &Entry, bytes: &[u8]) -> Option<Result<Manifest, ManifestFact>> {
    let format = manifest::recognise(&entry.path)?;
    match format.parse(&entry.path, bytes) {
        Ok(manifest) => Some(Ok(manifest)),
        Err(ManifestError::NotAManifest(_)) => None,
        Err(error) => Some(Err(unread(entry, format, &error))),
    }
}

fn refused(entry: &Entry, bytes: u64) -> Option<ManifestFact> {
    let format = manifest::recognise(&entry.path)?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Some(unread(entry, format, &ManifestError::TooLarge { bytes }))
}

fn unread(entry: &Entry, format: &Format, error: &ManifestError) -> ManifestFact {
    ManifestFact {
        place: place(&entry.path),
        error: Some(error.to_string().chars().take(MAX_ERROR_CHARS).collect()),
        blob: Some(entry.id.clone()),
        ..ManifestFact::new(&entry.path, format.manifest_type())
    }
}

fn fact(path: String, manifest: Manifest, blob: String) -> ManifestFact {
    let mut attributes = Map::new();
    if let Some(uuid) = manifest.uuid {
        attributes.insert("uuid".into(), uuid.into());
    }
    if !manifest.outputs.is_empty() {
        let outputs = manifest.outputs.into_iter().map(Value::from).collect();
        attributes.insert("outputs".into(), Value::Array(outputs));
    }
    if let Some(registry) = manifest.registry {
        attributes.insert("registry".into(), registry.into());
    }
    ManifestFact {
        place: place(&path),
        path,
        manifest_type: manifest.manifest_type.to_owned(),
        name: manifest.name,
        effective_name: manifest.effective_name,
        version: manifest.version,
        intent: Intent::from_word(manifest.intent.as_str()).unwrap_or(Intent::Unknown),
        reason: manifest.reason,
        repository: manifest.repository,
        directory: manifest.directory,
        attributes: Attributes::from(attributes),
        error: None,
        blob: Some(blob),
    }
}

fn place(path: &str) -> Place {
    Place::from_word(manifest::place(path).as_str()).unwrap_or(Place::Ordinary)
}
