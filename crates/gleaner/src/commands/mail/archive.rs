//! Which files hold mail, and of what kind each is.
//!
//! A file is told by what it holds, not by its name: a gzip of anything, an mbox of any variant, a
//! single message. Only two places make a file a single message whatever is in it, because a line
//! "From …" in its text is then just a line: a maildir, and a name that ends in `.eml`.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

/// Enough of a file's beginning to see what it is.
const HEAD: usize = 4096;
const BUFFER: usize = 256 * 1024;

/// A file to be read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Found in a directory and not named by the user, who would be told of one that holds no mail.
    pub(super) found: bool,
}

/// An opened file.
pub(super) struct Archive {
    pub(super) reader: Box<dyn BufRead>,
    /// The whole of it is one message.
    pub(super) single: bool,
    /// Its first line is neither a separator nor a header field.
    pub(super) strange: bool,
}

impl Source {
    /// Opens the file, or standard input for `-`.
    pub(super) fn open(&self) -> io::Result<Archive> {
        let stdin = self.path == Path::new("-");
        let raw: Box<dyn BufRead> = if stdin {
            Box::new(BufReader::with_capacity(BUFFER, io::stdin()))
        } else {
            Box::new(BufReader::with_capacity(BUFFER, File::open(&self.path)?))
        };
        let (head, raw) = peek(raw)?;
        let zipped = head.starts_with(b"\x1f\x8b");
        let (head, reader) = if zipped {
            let unzipped = MultiGzDecoder::new(raw);
            peek(Box::new(BufReader::with_capacity(BUFFER, unzipped)))?
        } else {
            (head, raw)
        };
        let first = first_line(&head);
        let separated = first.starts_with(b"From ");
        Ok(Archive {
            reader,
            single: !separated && (self.is_eml() || self.in_maildir()),
            strange: !separated && !first.starts_with(b">From ") && !is_field(first),
        })
    }

    fn is_eml(&self) -> bool {
        let name = self.path.file_name().map(OsStr::to_string_lossy);
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        Path::new(name).extension() == Some(OsStr::new("eml"))
    }

    fn in_maildir(&self) -> bool {
        let folder = self.path.parent();
        let name = folder.and_then(Path::file_name);
        let is_folder = name.is_some_and(|name| name == "cur" || name == "new");
        is_folder && folder.and_then(Path::parent).is_some_and(is_maildir)
    }
}

/// The files below a directory, by name within each one. What a maildir is still delivering, links
/// and hidden files are left out; hidden directories are taken where they are maildirs, which is
/// how sub-folders are kept.
pub(super) fn walk(
    directory: &Path,
    sources: &mut Vec<Source>,
    unreadable: &mut dyn FnMut(&Path, &io::Error),
) {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                unreadable(&directory, &error);
                continue;
            }
        };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let delivering = is_maildir(&directory).then(|| directory.join("tmp"));
        let mut inner = Vec::new();
        for entry in entries {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir()
                        && Some(&path) != delivering.as_ref()
                        && (!hidden || is_maildir(&path)) =>
                {
                    inner.push(path);
                }
                Ok(kind) if kind.is_file() && !hidden => {
                    sources.push(Source { path, found: true });
                }
                _ => {}
            }
        }
        open.extend(inner.into_iter().rev());
    }
}

fn is_maildir(directory: &Path) -> bool {
    directory.join("cur").is_dir() && directory.join("new").is_dir()
}

/// Reads the beginning, and gives a reader that still begins there.
fn peek(mut reader: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(whole)))
}

/// The first line that is not blank, behind a byte-order mark.
fn first_line(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut lines = head.split(|byte| *byte == b'\n');
    lines
        .find(|line| !line.trim_ascii().is_empty())
        .unwrap_or_default()
}

fn is_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    let name = name.trim_ascii_end();
    name.len() < line.len() && !name.is_empty() && name.iter().all(u8::is_ascii_graphic)
}
