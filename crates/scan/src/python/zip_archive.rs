//! Zip files read from their end.
//!
//! The central directory names all members, so one or two ranges at the end of
//! a wheel are enough to list it. `rawzip` reads through a trait of the same
//! shape as ours and leaves both the ranges and the unpacking to the caller.

use std::io::Read;
use std::ops::Range;

use rawzip::{CompressionMethod, ErrorKind, ZipArchive, ZipLocator};

use super::fetched::Fetched;
use super::member_name::member_path;
use super::refusal::{Limits, ReadError, Refusal};

/// An opened zip: its members by name, in the order of the directory.
pub(super) struct Zip<'f, 'a> {
    fetched: &'f Fetched<'a>,
    archive: ZipArchive<&'f Fetched<'a>>,
    pub(super) members: Vec<Member>,
    limits: Limits,
}

pub(super) struct Member {
    pub(super) path: String,
    entry: rawzip::ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    encrypted: bool,
    /// Where its bytes are, header included; the end is that of the next member.
    extent: Range<u64>,
    size: u64,
}

impl<'f, 'a> Zip<'f, 'a> {
    pub(super) fn open(fetched: &'f Fetched<'a>, limits: &Limits) -> Result<Self, ReadError> {
        let tail = tail_length(fetched.len());
        fetched.ensure(fetched.len() - tail..fetched.len())?;
        if let Some(directory) = announced_directory(&fetched.tail(tail)?, limits) {
            fetched.ensure(directory)?;
        }
        // The buffer is how much of the end is searched at a time.
        let mut buffer = vec![0; (tail as usize).max(4_096)];
        let located = ZipLocator::new().locate_in_reader(fetched, &mut buffer, fetched.len());
        if let Some(failure) = fetched.take_failure() {
            return Err(failure.into());
        }
        let archive = located.map_err(|(_, error)| not_a_zip(fetched, error))?;
        let directory = archive.directory_offset()..archive.eocd_offset();
        if directory.end.saturating_sub(directory.start) > limits.directory {
            return Err(Refusal::DirectoryTooLarge(limits.directory).into());
        }
        fetched.ensure(directory.clone())?;
        let members = members(fetched, &archive, &directory, limits)?;
        Ok(Zip {
            fetched,
            archive,
            members,
            limits: *limits,
        })
    }

    /// Fetches the members that will be read, near ones together.
    pub(super) fn announce(&self, wanted: &[&Member]) -> Result<(), ReadError> {
        wanted
            .iter()
            .try_for_each(|member| self.check_size(member))?;
        let mut extents: Vec<Range<u64>> =
            wanted.iter().map(|member| member.extent.clone()).collect();
        extents.sort_by_key(|extent| extent.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for extent in extents {
            match joined.last_mut() {
                Some(last) if extent.start <= last.end + NEAR => {
                    last.end = last.end.max(extent.end);
                }
                _ => joined.push(extent),
            }
        }
        joined
            .into_iter()
            .try_for_each(|range| self.fetched.ensure(range))
            .map_err(Into::into)
    }

    pub(super) fn read(&self, member: &Member) -> Result<Vec<u8>, ReadError> {
        self.check_size(member)?;
        if member.encrypted {
            return Err(Refusal::Encrypted(member.path.clone()).into());
        }
        let entry = self
            .archive
            .get_entry(member.entry)
            .map_err(|error| self.fault(error))?;
        let mut bytes = Vec::new();
        let limit = self.limits.member + 1;
        let packed = entry.reader();
        let read = match member.method {
            CompressionMethod::STORE => entry
                .verifying_reader(packed)
                .take(limit)
                .read_to_end(&mut bytes),
            CompressionMethod::DEFLATE => {
                let unpacked = flate2::read::DeflateDecoder::new(packed);
                entry
                    .verifying_reader(unpacked)
                    .take(limit)
                    .read_to_end(&mut bytes)
            }
            method => {
                let method = method.as_u16();
                return Err(Refusal::Compression {
                    name: member.path.clone(),
                    method,
                }
                .into());
            }
        };
        if let Err(error) = read {
            let failure = self.fetched.take_failure().map(ReadError::from);
            return Err(failure.unwrap_or_else(|| Refusal::Damaged(error.to_string()).into()));
        }
        if bytes.len() as u64 > self.limits.member {
            Err(self.too_large(member).into())
        } else {
            Ok(bytes)
        }
    }

    /// What the directory says of a member's size, packed and unpacked.
    fn check_size(&self, member: &Member) -> Result<(), Refusal> {
        let packed = member.extent.end - member.extent.start;
        if member.size.max(packed)
            > self.limits.member + LOCAL_HEADER + EXTRA_FIELDS + self.limits.name as u64
        {
            return Err(self.too_large(member));
        }
        Ok(())
    }

    fn too_large(&self, member: &Member) -> Refusal {
        Refusal::MemberTooLarge {
            name: member.path.clone(),
            limit: self.limits.member,
        }
    }

    fn fault(&self, error: rawzip::Error) -> ReadError {
        fault(self.fetched, error)
    }
}

/// Members at most this far apart are fetched together: a request costs more
/// than the bytes between.
const NEAR: u64 = 4_096;

/// How much of the end is read at first. A wheel's metadata stand right before
/// the directory, so this often is all there is to read; one fiftieth keeps
/// large files cheap.
fn tail_length(length: u64) -> u64 {
    const WHOLE: u64 = 32 * 1024;
    if length <= WHOLE {
        length
    } else {
        (length / 50).clamp(16 * 1024, 64 * 1024)
    }
}

/// Where the record at the end says that the directory is. Only a hint, to have
/// it here before anybody asks: whether it is true is found out by reading.
fn announced_directory(tail: &[u8], limits: &Limits) -> Option<Range<u64>> {
    let at = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let number = |from: usize| {
        let bytes = tail.get(at + from..at + from + 4)?;
        Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let (size, offset) = (number(12)?, number(16)?);
    (size <= limits.directory).then(|| offset..offset + size)
}

fn members(
    fetched: &Fetched<'_>,
    archive: &ZipArchive<&Fetched<'_>>,
    directory: &Range<u64>,
    limits: &Limits,
) -> Result<Vec<Member>, ReadError> {
    let mut members = Vec::new();
    let mut starts = Vec::new();
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries
        .next_entry()
        .map_err(|error| fault(fetched, error))?
    {
        if starts.len() >= limits.members {
            return Err(Refusal::TooManyMembers(limits.members).into());
        }
        let start = entry.local_header_offset();
        starts.push(start);
        if entry.is_dir() {
            continue;
        }
        if let Some(path) = member_path(entry.file_path().as_ref(), limits)? {
            let header = LOCAL_HEADER + entry.file_path().len() as u64;
            members.push(Member {
                path,
                entry: entry.wayfinder(),
                method: entry.compression_method(),
                encrypted: entry.flags().is_encrypted(),
                extent: start
                    ..start
                        .saturating_add(header)
                        .saturating_add(entry.compressed_size_hint()),
                size: entry.uncompressed_size_hint(),
            });
        }
    }
    starts.push(directory.start);
    starts.sort_unstable();
    for member in &mut members {
        // A local header may have extra fields the directory does not tell of.
        let next = starts[starts.partition_point(|&start| start <= member.extent.start)..].first();
        let padded = member.extent.end.saturating_add(EXTRA_FIELDS);
        member.extent.end = next.map_or(padded, |&next| next.min(padded));
    }
    Ok(members)
}

/// The fixed part of the header before each member.
const LOCAL_HEADER: u64 = 30;
const EXTRA_FIELDS: u64 = 512;

fn not_a_zip(fetched: &Fetched<'_>, error: rawzip::Error) -> ReadError {
    match fetched.head(64) {
        Err(error) => error.into(),
        Ok(head) if head.starts_with(b"PK") => match error.into_kind() {
            ErrorKind::MissingEndOfCentralDirectory | ErrorKind::Eof => Refusal::Truncated.into(),
            kind => Refusal::Damaged(rawzip::Error::from(kind).to_string()).into(),
        },
        Ok(head) => Refusal::WrongContent {
            expected: "a zip archive",
            found: looks_like(&head),
        }
        .into(),
    }
}

fn fault(fetched: &Fetched<'_>, error: rawzip::Error) -> ReadError {
    if let Some(failure) = fetched.take_failure() {
        return failure.into();
    }
    match error.into_kind() {
        ErrorKind::Eof => Refusal::Truncated.into(),
        kind => Refusal::Damaged(rawzip::Error::from(kind).to_string()).into(),
    }
}

/// A few words on what a file begins with.
pub(super) fn looks_like(head: &[u8]) -> &'static str {
    let text = head.trim_ascii_start();
    match head {
        [] => "nothing",
        [b'P', b'K', ..] => "a zip archive",
        [0x1f, 0x8b, ..] => "gzip data",
        [b'B', b'Z', b'h', ..] => "bzip2 data",
        _ if text.starts_with(b"<") => "a web page",
        _ if text.starts_with(b"{") || text.starts_with(b"[") => "JSON",
        _ => "something else",
    }
}
