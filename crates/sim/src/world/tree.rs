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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// By path, each with the id of its contents.
    files: Vec<(File, String)>,
    /// The ids of directories; the top is the empty path.
    directories: BTreeMap<String, String>,
}

impl Tree {
    pub(crate) fn of(files: Vec<File>) -> Self {
        let files: Vec<(File, String)> = files
            .into_iter()
            .map(|file| {
                let id = file.id();
                (file, id)
            })
            .collect();
        let mut texts: BTreeMap<String, String> = BTreeMap::from([(String::new(), String::new())]);
        for (file, id) in &files {
            let line = format!("{id} {}\n", file.path);
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

    /// The files, by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().map(|(file, _)| file)
    }

    pub(crate) fn id(&self) -> &str {
        self.directories.get("").map_or("", String::as_str)
    }

    /// The contents with this id.
    pub(crate) fn blob(&self, id: &str) -> Option<&[u8]> {
        let (found, _) = self.files.iter().find(|(_, of_file)| of_file == id)?;
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
        let files = self.files.iter().filter_map(|(file, id)| {
            Some(Entry {
                path: below(&file.path)?,
                id: id.clone(),
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
