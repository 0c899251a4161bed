//! Compressed tar files, read once from front to back.
//!
//! `tar` would gather long names in memory before anyone can object, so its raw
//! mode is used and the two kinds of long names are read here, under the limits.

use std::io::Read;

use tar::EntryType;

use super::fetched::{Fetched, Stream};
use super::member_name::member_path;
use super::refusal::{Limits, ReadError, Refusal};
use super::zip_archive::looks_like;

/// Calls `visit` for every regular file with its path and its content.
///
/// `visit` reads the content only if it wants it.
pub(super) fn each_member(
    fetched: &Fetched<'_>,
    limits: &Limits,
    mut visit: impl FnMut(String, &mut dyn Read) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    fetched.announce(0..fetched.len())?;
    let head = fetched.head(512)?;
    let budget = limits.unpacked.min(
        fetched
            .len()
            .saturating_mul(limits.ratio)
            .max(limits.ratio_from),
    );
    let stream = Stream::new(fetched, head.clone());
    let unpacked: Box<dyn Read + '_> = match head.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(stream)),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::read::MultiBzDecoder::new(stream)),
        head if head.get(257..262) == Some(b"ustar") => Box::new(stream),
        head => {
            let found = looks_like(head);
            return Err(Refusal::WrongContent {
                expected: "a tar archive",
                found,
            }
            .into());
        }
    };
    let fault = |error: std::io::Error| fault(fetched, &error);
    let mut archive = tar::Archive::new(Budgeted {
        inner: unpacked,
        left: budget,
        budget,
    });
    let mut long_name: Option<Vec<u8>> = None;
    let (mut count, mut names) = (0, 0);
    for entry in archive.entries().map_err(fault)?.raw(true) {
        let mut entry = entry.map_err(fault)?;
        count += 1;
        if count > limits.members {
            return Err(Refusal::TooManyMembers(limits.members).into());
        }
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = bounded(&mut entry, limits.name).map_err(fault)?;
                name.truncate(name.iter().position(|&b| b == 0).unwrap_or(name.len()));
                long_name = Some(name);
            }
            EntryType::XHeader => {
                // Other fields may be long, a few names' worth is plenty.
                let fields = bounded(&mut entry, limits.name * 8).map_err(fault)?;
                long_name = pax_path(&fields).or(long_name);
            }
            EntryType::XGlobalHeader | EntryType::GNULongLink => {}
            kind => {
                let name = long_name
                    .take()
                    .unwrap_or_else(|| entry.path_bytes().into_owned());
                // Names take memory as those of a zip's directory do.
                names += name.len() as u64;
                if names > limits.directory {
                    return Err(Refusal::DirectoryTooLarge(limits.directory).into());
                }
                let path = member_path(&name, limits)?;
                if let (true, Some(path)) = (kind.is_file() || kind.is_contiguous(), path) {
                    visit(path, &mut entry).map_err(|error| prefer_failure(fetched, error))?;
                }
            }
        }
    }
    Ok(())
}

/// Reads a member to its end.
pub(super) fn read_member(
    path: &str,
    content: &mut dyn Read,
    limits: &Limits,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let read = content.take(limits.member + 1).read_to_end(&mut bytes);
    read.map_err(|error| refusal(&error))?;
    if bytes.len() as u64 > limits.member {
        return Err(Refusal::MemberTooLarge {
            name: path.to_owned(),
            limit: limits.member,
        }
        .into());
    }
    Ok(bytes)
}

fn bounded(entry: &mut dyn Read, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn pax_path(fields: &[u8]) -> Option<Vec<u8>> {
    let fields = tar::PaxExtensions::new(fields).filter_map(Result::ok);
    fields
        .filter(|field| field.key() == Ok("path"))
        .last()
        .map(|field| field.value_bytes().to_vec())
}

fn fault(fetched: &Fetched<'_>, error: &std::io::Error) -> ReadError {
    fetched
        .take_failure()
        .map_or_else(|| refusal(error).into(), ReadError::from)
}

fn prefer_failure(fetched: &Fetched<'_>, error: ReadError) -> ReadError {
    fetched.take_failure().map_or(error, ReadError::from)
}

fn refusal(error: &std::io::Error) -> Refusal {
    if let Some(bomb) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Refusal>())
    {
        return bomb.clone();
    }
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Refusal::Truncated,
        _ => Refusal::Damaged(error.to_string()),
    }
}

/// Stops a stream that unpacks to more than its budget.
struct Budgeted<R> {
    inner: R,
    left: u64,
    budget: u64,
}

impl<R: Read> Read for Budgeted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(std::io::Error::other(Refusal::Bomb(self.budget))),
        }
        Ok(count)
    }
}
