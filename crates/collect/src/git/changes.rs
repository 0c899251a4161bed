//! What commits changed, file by file, oldest commit first.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::{
    GitError, Local,
    command::{complaints, failed, finish, pipe, within},
};

const LOG: &str = "log";
/// The longest line: two ids, a path.
const MAX_LINE: u64 = 16 << 10;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is new.
    Added,
    /// Its content is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// What happened.
    pub what: Changed,
    /// Its path.
    pub path: &'a str,
    /// The content before; zeros where there was none.
    pub before: &'a str,
    /// The content after; zeros where there is none.
    pub after: &'a str,
}

impl Local {
    /// Whether one commit is in the history of another; false too for one that is not here.
    pub async fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, GitError> {
        if !is_hex(old) || !is_hex(new) {
            return Err(GitError::Garbled { command: LOG });
        }
        let said = self
            .git("merge-base")
            .args(["--is-ancestor", old, new])
            .say()
            .await?;
        Ok(said.status.success())
    }

    /// Tells every change from a commit (or the beginning) to another, in the order of history.
    /// Nothing is held, however long the history.
    pub async fn changes(
        &self,
        from: Option<&str>,
        to: &str,
        mut tell: impl FnMut(Change<'_>),
    ) -> Result<(), GitError> {
        let garbled = || GitError::Garbled { command: LOG };
        if !is_hex(to) || !from.is_none_or(is_hex) {
            return Err(garbled());
        }
        let range = match from {
            Some(from) => format!("{from}..{to}"),
            None => to.to_owned(),
        };
        let limit = self.limits().time;
        let mut git = self.git(LOG).args([
            "--reverse",
            "--topo-order",
            "--first-parent",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--root",
            "--no-ext-diff",
            "--format=",
            &range,
            "--",
        ]);
        let read = async {
            let (mut child, complaint) = complaints(git.start()?);
            let stdout = child.stdout.take().ok_or_else(garbled)?;
            let mut from = BufReader::with_capacity(64 << 10, stdout);
            let mut line = Vec::new();
            loop {
                line.clear();
                let mut limited = (&mut from).take(MAX_LINE);
                let read = limited.read_until(b'\n', &mut line).await;
                if read.map_err(|error| pipe(LOG, error))? == 0 {
                    break;
                }
                let text = std::str::from_utf8(&line).map_err(|_| garbled())?;
                if let Some(change) = parse(text.trim_end_matches('\n')) {
                    tell(change);
                }
            }
            let (status, complaint) = finish(LOG, child, complaint).await?;
            if status.success() {
                Ok(())
            } else {
                Err(failed(LOG, &complaint))
            }
        };
        within(LOG, limit, read).await
    }
}

/// `:100644 100644 BEFORE AFTER M<TAB>path`
fn parse(line: &str) -> Option<Change<'_>> {
    let (about, path) = line.strip_prefix(':')?.split_once('\t')?;
    let mut words = about.split(' ').skip(2);
    let (before, after, what) = (words.next()?, words.next()?, words.next()?);
    let what = match what.as_bytes().first()? {
        b'A' => Changed::Added,
        b'M' | b'T' => Changed::Modified,
        b'D' => Changed::Deleted,
        _ => return None,
    };
    Some(Change {
        what,
        path,
        before,
        after,
    })
}

fn is_hex(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let read = parse(":000000 100644 00 ab A\tm").unwrap();
        assert_eq!(
            (read.what, read.path, read.after),
            (Changed::Added, "m", "ab")
        );
        let read = parse(":100644 000000 ab 00 D\t1f/aa bb").unwrap();
        assert_eq!(
            (read.what, read.path, read.before),
            (Changed::Deleted, "1f/aa bb", "ab")
        );
        for wrong in ["", ":", "x", ":1 2 3\tm", ":1 2 3 4 U\tm"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
