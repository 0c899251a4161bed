//! A repository's files as git lists them: directories with ids of their own.

use std::collections::BTreeMap;

use facts::git_object::blob_id;

use super::File;

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// From the directory that is listed.
    pub(crate) path: String,
    pub(crate) id: String,
    /// None for a directory.
    pub(crate) size: Option<usize>,
}

/// The files of a repository, with the directories they make.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// The ids of directories; the top is the empty path.
    directories: BTreeMap<String, String>,
}

impl Tree {
    pub(crate) fn of(files: Vec<File>) -> Self {
        let mut texts: BTreeMap<String, String> = BTreeMap::from([(String::new(), String::new())]);
        for file in &files {
            let line = format!("{} {}\n", file.id(), file.path);
            for directory in ancestors(&file.path) {
                texts
                    .entry(directory.to_owned())
                    .or_default()
                    .push_str(&line);
            }
        }
        // Not the id that git would give, but one that changes whenever git's would.
        let directories = texts
            .into_iter()
            .map(|(path, text)| (path, blob_id(text.as_bytes())))
            .collect();
        Self { files, directories }
    }

    pub(crate) fn id(&self) -> &str {
        self.directories.get("").map_or("", String::as_str)
    }

    /// The contents with this id.
    pub(crate) fn blob(&self, id: &str) -> Option<&[u8]> {
        let found = self.files.iter().find(|file| file.id() == id)?;
        Some(&found.contents)
    }

    /// The directory with this id.
    pub(crate) fn directory(&self, id: &str) -> Option<&str> {
        let mut all = self.directories.iter();
        all.find(|(_, found)| *found == id)
            .map(|(path, _)| path.as_str())
    }

    /// What lies in a directory, in the order of paths; below it too if asked for.
    pub(crate) fn list(&self, directory: &str, recursive: bool) -> Vec<Entry> {
        let below = |path: &str| match directory {
            "" => Some(path.to_owned()),
            _ => Some(path.strip_prefix(directory)?.strip_prefix('/')?.to_owned()),
        };
        let files = self.files.iter().filter_map(|file| {
            Some(Entry {
                path: below(&file.path)?,
                id: file.id(),
                size: Some(file.contents.len()),
            })
        });
        let directories = self.directories.iter().filter_map(|(path, id)| {
            Some(Entry {
                path: below(path).filter(|path| !path.is_empty())?,
                id: id.clone(),
                size: None,
            })
        });
        let mut entries: Vec<Entry> = files
            .chain(directories)
            .filter(|entry| recursive || !entry.path.contains('/'))
            .collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries
    }
}

/// Every directory above a file, from its own up to the top.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let above = |path| match str::rsplit_once(path, '/') {
        Some((above, _)) => Some(above),
        None if path.is_empty() => None,
        None => Some(""),
    };
    std::iter::successors(Some(path), move |path| above(path)).skip(1)
}
