//! Patches in text: is there one, what does it touch, how much does it change.
//!
//! The scanner follows hunks by their own line counts, so that a removed line `-- ` is no signature
//! and a changed line that looks like a header is no file. Quoted patches do not count: a review is
//! no submission.

use std::collections::BTreeSet;

use serde::Serialize;

/// Beyond so many the list of paths is cut; the counts go on.
const MAX_PATHS: usize = 5000;

/// What the patches of one message change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Patch {
    pub stat: DiffStat,
    /// Paths touched, both sides of a rename, without `a/` and `b/`; sorted.
    pub paths: BTreeSet<String>,
    /// Found in a diff, not only announced by a summary as in a cover letter.
    pub has_diff: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    pub files: u32,
    pub insertions: u32,
    pub deletions: u32,
}

impl Patch {
    /// Joins the findings of another text of the same message.
    pub fn merge(&mut self, other: Self) {
        self.stat.files += other.stat.files;
        self.stat.insertions += other.stat.insertions;
        self.stat.deletions += other.stat.deletions;
        self.has_diff |= other.has_diff;
        self.paths.extend(other.paths);
    }
}

/// Reads all diffs of a text, or the summary of a cover letter where there are none.
pub fn read(text: &str) -> Option<Patch> {
    if !may_hold_patch(text) {
        return None;
    }
    let mut scan = Scan::default();
    let mut lines = lines(text).peekable();
    while let Some(line) = lines.next() {
        scan.line(line, lines.peek().copied());
    }
    scan.finish()
}

/// Whether the text holds a diff that is not quoted.
pub fn has_diff(text: &str) -> bool {
    read(text).is_some_and(|patch| patch.has_diff)
}

/// Lines without their ends, a few times faster than the standard library's.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let feed = memchr::memchr(b'\n', rest.as_bytes());
        let line = &rest[..feed.unwrap_or(rest.len())];
        rest = &rest[feed.map_or(rest.len(), |feed| feed + 1)..];
        Some(line)
    })
}

/// Follows a text line by line and says which lines belong to hunks.
#[derive(Debug, Default)]
pub(super) struct HunkTracker {
    old_left: u32,
    new_left: u32,
}

impl HunkTracker {
    /// Whether the line belongs to a hunk, its header included.
    pub(super) fn step(&mut self, line: &str) -> bool {
        if self.old_left == 0 && self.new_left == 0 {
            return self.begin(line);
        }
        match line.as_bytes().first() {
            Some(b'+') => self.new_left = self.new_left.saturating_sub(1),
            Some(b'-') => self.old_left = self.old_left.saturating_sub(1),
            // Mailers strip the blank of an empty context line.
            Some(b' ') | None => {
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
            }
            Some(b'\\') => {}
            _ => {
                // Cut or damaged: the counts no longer hold.
                *self = Self::default();
                return self.begin(line);
            }
        }
        true
    }

    fn begin(&mut self, line: &str) -> bool {
        let Some((old, new)) = hunk_counts(line) else {
            return false;
        };
        (self.old_left, self.new_left) = (old, new);
        true
    }
}

#[derive(Default)]
struct Scan {
    patch: Patch,
    hunks: HunkTracker,
    /// `diff`, `Index:` or `---` announced a file that no hunk has confirmed yet.
    pending: Vec<String>,
    counted_pending: bool,
    /// The file was announced by a `diff` or `Index:` line and its `---` is still to come.
    announced: bool,
    in_context_diff: bool,
    summary: Option<DiffStat>,
    summary_paths: BTreeSet<String>,
}

impl Scan {
    fn line(&mut self, line: &str, next: Option<&str>) {
        if self.hunks.step(line) {
            if line.starts_with("@@") {
                self.confirm();
            } else if line.starts_with('+') {
                self.patch.stat.insertions += 1;
            } else if line.starts_with('-') {
                self.patch.stat.deletions += 1;
            }
            return;
        }
        match line.as_bytes().first() {
            Some(b'd' | b'I') => self.announcement(line),
            Some(b'-' | b'*' | b'+' | b'!') => self.file_line(line, next),
            Some(b' ') => self.summary_line(line),
            _ => {}
        }
    }

    /// `diff …` and `Index: …`: a file comes.
    fn announcement(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("diff ") {
            self.begin_file();
            self.announced = true;
            if let Some(rest) = rest.strip_prefix("--git ") {
                self.pending.extend(git_pair(rest));
                // Renames, modes and binaries have no hunks.
                self.confirm();
            }
        } else if let Some(path) = line.strip_prefix("Index: ") {
            self.begin_file();
            self.announced = true;
            self.pending.extend(clean_path(path));
        }
    }

    /// The two name lines of a file, and the changed lines of context diffs.
    fn file_line(&mut self, line: &str, next: Option<&str>) {
        let names =
            |old: &str, new: &str| Some((line.strip_prefix(old)?, next?.strip_prefix(new)?));
        if let Some((old, new)) = names("--- ", "+++ ") {
            // They belong to the file announced above them, or announce one themselves.
            if !std::mem::take(&mut self.announced) {
                self.begin_file();
            }
            self.pending.extend(clean_path(old));
            self.pending.extend(clean_path(new));
            if self.counted_pending {
                self.add_paths();
            }
        } else if let Some((old, new)) = names("*** ", "--- ") {
            if !self.in_context_diff || !old.ends_with("****") {
                self.begin_file();
                self.pending.extend(clean_path(old));
                self.pending.extend(clean_path(new));
            }
        } else if line == "***************" && !self.pending.is_empty() {
            self.in_context_diff = true;
            self.confirm();
        } else if self.in_context_diff && line.as_bytes().get(1) == Some(&b' ') {
            match line.as_bytes()[0] {
                b'-' => self.patch.stat.deletions += 1,
                // Changed lines come twice, once per side; they count as inserted.
                b'+' | b'!' => self.patch.stat.insertions += 1,
                _ => {}
            }
        }
    }

    fn begin_file(&mut self) {
        self.pending.clear();
        self.counted_pending = false;
        self.announced = false;
        self.in_context_diff = false;
    }

    /// The announced file is real.
    fn confirm(&mut self) {
        if !self.counted_pending {
            self.counted_pending = true;
            self.patch.stat.files += 1;
            self.patch.has_diff = true;
        }
        self.add_paths();
    }

    fn add_paths(&mut self) {
        for path in self.pending.drain(..) {
            if self.patch.paths.len() < MAX_PATHS {
                self.patch.paths.insert(path);
            }
        }
    }

    /// ` path | 12 +++---` and ` 3 files changed, 10 insertions(+), 2 deletions(-)`.
    fn summary_line(&mut self, line: &str) {
        let Some(text) = line.strip_prefix(' ') else {
            return;
        };
        if let Some((path, change)) = text.rsplit_once(" | ") {
            let change = change.trim_start();
            let counted =
                change.starts_with(|c: char| c.is_ascii_digit()) || change.starts_with("Bin");
            let path = path.trim();
            // `...` stands for a cut directory: not a path any more.
            if counted
                && !path.is_empty()
                && !path.starts_with("...")
                && self.summary_paths.len() < MAX_PATHS
            {
                self.summary_paths.insert(path.to_owned());
            }
        } else if text.contains(" changed") {
            self.summary = read_summary(text).or(self.summary);
        }
    }

    fn finish(mut self) -> Option<Patch> {
        if self.patch.has_diff {
            return Some(self.patch);
        }
        self.patch.stat = self.summary?;
        self.patch.paths = self.summary_paths;
        Some(self.patch)
    }
}

/// Cheap test that spares most mail the scan.
fn may_hold_patch(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memmem::find(bytes, b"diff --git ").is_some()
        || memchr::memmem::find(bytes, b"\n+++ ").is_some()
        || memchr::memmem::find(bytes, b"\n***************").is_some()
        || memchr::memmem::find(bytes, b" changed, ").is_some()
        || text.starts_with("+++ ")
}

/// `@@ -1,6 +1,7 @@ context` to the numbers of lines on both sides.
fn hunk_counts(line: &str) -> Option<(u32, u32)> {
    let ranges = line.strip_prefix("@@ -")?;
    let (old, rest) = ranges.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    Some((range_count(old)?, range_count(new)?))
}

fn range_count(range: &str) -> Option<u32> {
    match range.split_once(',') {
        Some((start, count)) => {
            start.parse::<u32>().ok()?;
            count.parse().ok()
        }
        None => range.parse::<u32>().ok().map(|_| 1),
    }
}

fn read_summary(text: &str) -> Option<DiffStat> {
    let mut stat = DiffStat::default();
    for part in text.split(',') {
        let mut words = part.split_whitespace();
        let count: u32 = words.next()?.parse().ok()?;
        match words.next()? {
            word if word.starts_with("file") => stat.files = count,
            word if word.starts_with("insertion") => stat.insertions = count,
            word if word.starts_with("deletion") => stat.deletions = count,
            _ => return None,
        }
    }
    (stat.files > 0).then_some(stat)
}

/// `a/x b/y`, where both may be quoted or hold blanks.
fn git_pair(rest: &str) -> Vec<String> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let Some((first, second)) = quoted.split_once("\" ") else {
            return Vec::new();
        };
        return [clean_path(&format!("\"{first}\"")), clean_path(second)]
            .into_iter()
            .flatten()
            .collect();
    }
    // With blanks in a name only equal names can be told apart: `a/N b/N`.
    let half = rest.len() / 2;
    let pair = if rest.is_char_boundary(half)
        && rest.as_bytes().get(half) == Some(&b' ')
        && rest.get(2..half) == rest.get(half + 3..)
    {
        (&rest[..half], &rest[half + 1..])
    } else {
        match rest.split_once(" b/").or_else(|| rest.split_once(' ')) {
            Some((old, _)) => (old, &rest[old.len() + 1..]),
            None => return Vec::new(),
        }
    };
    [clean_path(pair.0), clean_path(pair.1)]
        .into_iter()
        .flatten()
        .collect()
}

/// Without side prefix, time stamp and quotes; `None` for no file.
fn clean_path(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    let unquoted = match text.strip_prefix('"') {
        Some(inner) => unquote(inner.strip_suffix('"').unwrap_or(inner)),
        None => text.split(" (").next().unwrap_or(text).to_owned(),
    };
    if unquoted == "/dev/null" || unquoted.is_empty() {
        return None;
    }
    let path = unquoted
        .strip_prefix("a/")
        .or_else(|| unquoted.strip_prefix("b/"))
        .unwrap_or(&unquoted);
    (!path.is_empty()).then(|| path.to_owned())
}

/// The C escapes git writes for unusual names.
fn unquote(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let octal = rest
            .get(..3)
            .filter(|digits| digits.iter().all(|d| (b'0'..b'8').contains(d)));
        if let Some(digits) = octal {
            let value = digits
                .iter()
                .fold(0_u32, |sum, d| sum * 8 + u32::from(d - b'0'));
            bytes.push(value as u8);
            rest = &rest[3..];
        } else if let Some((&escaped, tail)) = rest.split_first() {
            bytes.push(match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                other => other,
            });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(patch: &Patch) -> Vec<&str> {
        patch.paths.iter().map(String::as_str).collect()
    }

    #[test]
    fn git_patch_with_a_line_that_looks_like_a_signature() {
        let text = "Fix\n---\n x.sql | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n\n\
            diff --git a/x.sql b/x.sql\nindex 1..2 100644\n--- a/x.sql\n+++ b/x.sql\n\
            @@ -1,2 +1,3 @@\n a\n-- \n+b\n+--- c\n-- \n2.34.1\n";
        let patch = read(text).unwrap();
        assert_eq!(
            patch.stat,
            DiffStat {
                files: 1,
                insertions: 2,
                deletions: 1
            }
        );
        assert_eq!(paths(&patch), ["x.sql"]);
        assert!(patch.has_diff);
    }

    #[test]
    fn renames_modes_and_binaries() {
        let text = "diff --git a/old name b/new name\nsimilarity index 100%\n\
            diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
            diff --git \"a/f\\303\\251\" \"b/f\\303\\251\"\nBinary files differ\n";
        let patch = read(text).unwrap();
        assert_eq!(patch.stat.files, 3);
        assert_eq!(paths(&patch), ["fé", "new name", "old name", "run.sh"]);
    }

    #[test]
    fn svn_plain_and_context_diffs() {
        let svn = "Index: trunk/a.c\n=====\n--- trunk/a.c\t(revision 1)\n+++ trunk/a.c\t(working copy)\n@@ -1 +1 @@\n-x\n+y\n";
        let patch = read(svn).unwrap();
        assert_eq!(
            patch.stat,
            DiffStat {
                files: 1,
                insertions: 1,
                deletions: 1
            }
        );
        assert_eq!(paths(&patch), ["trunk/a.c"]);

        let plain = "--- old/a.c\tMon\n+++ new/a.c\tTue\n@@ -1 +1 @@\n-x\n+y\n--- old/b.c\n+++ new/b.c\n@@ -0,0 +1 @@\n+y\n";
        assert_eq!(read(plain).unwrap().stat.files, 2);

        let context =
            "*** a.c\tMon\n--- a.c\tTue\n***************\n*** 1,2 ****\n! x\n--- 1,2 ----\n! y\n";
        assert!(has_diff(context));
    }

    #[test]
    fn covers_and_quotes() {
        let cover = "Jane (2):\n  one\n\n a.c         | 2 +-\n dir/b.c | 9 ++++\n 2 files changed, 10 insertions(+), 1 deletion(-)\n";
        let patch = read(cover).unwrap();
        assert!(!patch.has_diff);
        assert_eq!(
            patch.stat,
            DiffStat {
                files: 2,
                insertions: 10,
                deletions: 1
            }
        );
        assert_eq!(paths(&patch), ["a.c", "dir/b.c"]);
        assert_eq!(
            read("> diff --git a/x b/x\n> --- a/x\n> +++ b/x\n> @@ -1 +1 @@\nNo.\n"),
            None
        );
        assert_eq!(read("Nothing has changed, he said\n"), None);
    }
}
