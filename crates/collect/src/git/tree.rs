//! Listing a commit's tree.

use std::fmt::Write as _;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::{
    GitError, Local,
    command::{complaints, failed, finish, pipe, within},
};

/// One file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the top, with `/`. Bytes that are not UTF-8 stand as `\xNN`.
    pub path: String,
    /// The id of its contents.
    pub id: String,
    /// What it is.
    pub kind: EntryKind,
    /// The size in bytes; none for a submodule, and where blobs were not fetched.
    pub size: Option<u64>,
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link; its blob holds the target.
    Link,
    /// A commit of another repository.
    Submodule,
}

const LS_TREE: &str = "ls-tree";

impl Local {
    /// Goes through all files of a commit in the order of their paths, and keeps those that are
    /// wanted: a tree may be far larger than what one wants of it.
    pub async fn tree(
        &self,
        commit: &str,
        mut wanted: impl FnMut(&Entry) -> bool,
    ) -> Result<Vec<Entry>, GitError> {
        let limits = *self.limits();
        // A size would have to be fetched with its blob, one by one.
        let sizes: &[&str] = if self.is_partial() { &[] } else { &["-l"] };
        let mut git = self
            .git(LS_TREE)
            .args(["-r", "-z", "--full-tree"])
            .args(sizes)
            .args(["--end-of-options", commit]);
        let read = async {
            let (mut child, complaint) = complaints(git.start()?);
            let mut kept = Vec::new();
            if let Some(stdout) = child.stdout.take() {
                let limit = limits.listing_bytes;
                let mut from = BufReader::new(stdout.take(limit as u64 + 1));
                let mut line = Vec::new();
                let mut seen = 0;
                loop {
                    line.clear();
                    let read = from.read_until(0, &mut line).await;
                    seen += read.map_err(|source| pipe(LS_TREE, source))?;
                    if seen > limit {
                        return Err(GitError::TooMuch {
                            command: LS_TREE,
                            limit,
                        });
                    }
                    if line.is_empty() {
                        break;
                    }
                    // A killed git leaves half a line; its exit status tells.
                    if line.pop() != Some(0) {
                        break;
                    }
                    let entry = parse(&line).ok_or(GitError::Garbled { command: LS_TREE })?;
                    if wanted(&entry) {
                        kept.push(entry);
                    }
                }
            }
            let (status, complaint) = finish(LS_TREE, child, complaint).await?;
            if status.success() {
                Ok(kept)
            } else {
                Err(failed(LS_TREE, &complaint))
            }
        };
        within(LS_TREE, limits.time, read).await
    }
}

/// `100644 blob <id>    1234\t<path>`, with or without the size.
fn parse(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = head.split_ascii_whitespace();
    let (mode, kind, id) = (words.next()?, words.next()?, words.next()?);
    let kind = match (mode, kind) {
        ("120000", _) => EntryKind::Link,
        (_, "blob") => EntryKind::File,
        (_, "commit") => EntryKind::Submodule,
        _ => return None,
    };
    Some(Entry {
        path: text(&line[tab + 1..]),
        id: id.to_owned(),
        kind,
        size: words.next().and_then(|size| size.parse().ok()),
    })
}

/// Paths are bytes. Escaping what is no text keeps two of them apart.
fn text(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_read_and_nonsense_is_not() {
        let entry = parse(b"100644 blob abc     12\ta/\xff b\tc").unwrap();
        assert_eq!(entry.path, "a/\\xff b\tc");
        assert_eq!((entry.kind, entry.size), (EntryKind::File, Some(12)));
        let module = parse(b"160000 commit abc       -\tsub").unwrap();
        assert_eq!((module.kind, module.size), (EntryKind::Submodule, None));
        for wrong in [
            &b""[..],
            b"\t",
            b"100644 blob\tx",
            b"\xff\xff a b c\tx",
            b"1 tree x -\ty",
        ] {
            assert_eq!(parse(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&line);
        }

        #[test]
        fn two_paths_stay_two(a in prop::collection::vec(128_u8..=255, 0..6), b in prop::collection::vec(128_u8..=255, 0..6)) {
            prop_assert_eq!(a == b, text(&a) == text(&b));
        }
    }
}
