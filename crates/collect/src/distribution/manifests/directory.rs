//! The manifests of a directory that is under no version control.
//!
//! For a look at something that lies around: an unpacked archive, a checkout without its history.
//! Links are not followed, and what cannot be read makes the answer a part.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use facts::git_object::blob_id;
use scan::manifest;

use super::{
    MAX_MANIFESTS, Snapshot,
    read::{Reading, is_manifest},
};
use crate::{
    answer::Answer,
    git::{Blob, Entry, EntryKind},
};

/// So many files and directories are looked at.
const MOST_ENTRIES: usize = 1_000_000;
/// Nobody nests deeper.
const DEEPEST: usize = 100;

/// Reads the manifests below a directory.
pub async fn read_directory(path: &Path) -> Answer<Snapshot> {
    let path = path.to_owned();
    match tokio::task::spawn_blocking(move || read(&path)).await {
        Ok(answer) => answer,
        Err(error) => Answer::Unknown(error.to_string()),
    }
}

fn read(top: &Path) -> Answer<Snapshot> {
    let mut walk = Walk::default();
    if let Err(error) = walk.directory(top, "", 0) {
        return Answer::Unknown(format!("cannot read {}: {error}", top.display()));
    }
    // Where nothing is at all, something may well be missing: a disk that is not mounted.
    if walk.seen == 0 {
        return Answer::Unknown(format!("{} is empty", top.display()));
    }
    walk.found.sort_by(|(a, _), (b, _)| a.cmp(b));
    let too_many = walk.found.len().saturating_sub(MAX_MANIFESTS);
    walk.found.truncate(MAX_MANIFESTS);
    let mut reading = Reading::default();
    for (path, file) in std::mem::take(&mut walk.found) {
        match contents(&path, &file) {
            Ok((entry, blob)) => reading.take(&entry, blob),
            Err(error) => walk.failed(&path, &error),
        }
    }
    let mut snapshot = reading.finish(String::new(), None);
    snapshot.left_out += too_many;
    snapshot.cut = walk.cut;
    Answer::Found(snapshot)
}

#[derive(Debug, Default)]
struct Walk {
    seen: usize,
    /// Paths from the top, and the files.
    found: Vec<(String, PathBuf)>,
    /// The first that went wrong.
    cut: Option<String>,
}

impl Walk {
    fn directory(&mut self, directory: &Path, path: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            self.seen += 1;
            if self.seen > MOST_ENTRIES {
                self.cut = Some(format!("there are more than {MOST_ENTRIES} files"));
                return Ok(());
            }
            let name = entry.file_name();
            // What is no text is no manifest's name.
            let Some(name) = name.to_str() else { continue };
            let below = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() && name == ".git" {
                continue;
            }
            if kind.is_dir() && depth < DEEPEST {
                if let Err(error) = self.directory(&entry.path(), &below, depth + 1) {
                    self.failed(&below, &error);
                }
            } else if kind.is_file() && is_manifest(&unread(&below)) {
                self.found.push((below, entry.path()));
            }
        }
        Ok(())
    }

    fn failed(&mut self, path: &str, error: &io::Error) {
        self.cut
            .get_or_insert_with(|| format!("cannot read {path}: {error}"));
    }
}

fn unread(path: &str) -> Entry {
    Entry {
        path: path.to_owned(),
        id: String::new(),
        kind: EntryKind::File,
        size: None,
    }
}

fn contents(path: &str, file: &Path) -> io::Result<(Entry, Blob)> {
    let size = fs::metadata(file)?.len();
    let mut entry = unread(path);
    entry.size = Some(size);
    if size > manifest::MAX_BYTES as u64 {
        return Ok((entry, Blob::TooLarge { bytes: size }));
    }
    let bytes = fs::read(file)?;
    entry.id = blob_id(&bytes);
    Ok((entry, Blob::Bytes(bytes)))
}
