//! One distribution, of which no more is fetched than tells what it holds.
//!
//! A wheel is a zip: its directory stands at the end, and the few members that matter lie beside
//! each other. So the reader is run on what is known of the file, says which range it misses, and is
//! run again when that has come. Where the index has a wheel's metadata beside it, those are taken,
//! and of the wheel itself only the directory. A source distribution is a compressed stream and is
//! fetched whole, as is everything from a server that does not give parts; a large one goes through
//! a file, so that it is never held.

use std::ops::Range;

use scan::python::{
    Distribution, FileKind, Filename, Limits, PartialFile, RangeSource, ReadError, Refusal,
    SeekSource, SourceError, read_distribution, read_listing, wheel_of_parts,
};
use sha2::{Digest as _, Sha256};

use super::kept_parts::KeptParts;
use crate::{
    answer::Answer,
    http::{Ask, Class, Expect, Response, Session, Unknown},
};

/// The most of a file that is fetched whole.
pub const MOST_WHOLE: u64 = 256 << 20;
/// A file that is fetched whole and is larger than this goes to the disk.
const MOST_HELD: u64 = 4 << 20;
/// The first piece of a file that is to be read in parts. It tells the length; a small wheel is
/// whole with it, and a large one costs little more.
const FIRST_PIECE: u64 = 8 << 10;
/// Metadata are texts; longer ones are left where they are.
const MOST_METADATA: u64 = 4 << 20;
/// Readers need a handful of ranges. Whoever needs more is led in circles.
const MOST_PIECES: usize = 64;

/// Where a distribution lies.
#[derive(Clone, Copy, Debug)]
pub struct RemoteFile<'f> {
    /// Whom to ask.
    pub upstream: &'f str,
    /// For what.
    pub path: &'f str,
    /// The name of the file, which tells its kind.
    pub filename: &'f str,
    /// The project that it is listed under, if that is known.
    pub project: Option<&'f str>,
}

/// What the index says of a file before it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'f> {
    /// Its length.
    pub size: Option<u64>,
    /// The digest of the metadata beside it, in hexadecimal; empty where it is not told.
    pub metadata: Option<&'f str>,
}

/// What was read of it.
#[derive(Debug)]
pub struct RemoteRead {
    /// What it holds, or what is wrong with it.
    pub distribution: Result<Distribution, Refusal>,
    /// The length of the whole file.
    pub size: u64,
    /// How much of it came over the wire.
    pub bytes_fetched: u64,
    /// Only if all of it came.
    pub sha256: Option<[u8; 32]>,
    /// What it was read from, if that is not too much to be kept.
    pub parts: Option<KeptParts>,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RemoteFault {
    /// The other side did not give what was asked for.
    #[error(transparent)]
    Unknown(Box<Unknown>),
    /// It gave something that makes no sense.
    #[error("{0}")]
    Odd(String),
    /// It is longer than is taken.
    #[error("the file has {0} MiB, which is too much to fetch")]
    TooLarge(u64),
}

impl From<Box<Unknown>> for RemoteFault {
    fn from(unknown: Box<Unknown>) -> Self {
        match unknown.class {
            Class::TooLarge => Self::TooLarge(MOST_WHOLE >> 20),
            _ => Self::Unknown(unknown),
        }
    }
}

/// Reads a distribution from afar.
pub async fn read_remote(
    session: &Session,
    file: RemoteFile<'_>,
    limits: &Limits,
) -> Answer<RemoteRead> {
    match read_told(session, file, Told::default(), limits).await {
        Ok(Some(read)) => Answer::Found(read),
        Ok(None) => Answer::Absent,
        Err(fault) => Answer::Unknown(fault.to_string()),
    }
}

/// Likewise, of which the index has told something.
pub async fn read_told(
    session: &Session,
    file: RemoteFile<'_>,
    told: Told<'_>,
    limits: &Limits,
) -> Result<Option<RemoteRead>, RemoteFault> {
    let mut fetch = Fetch {
        session,
        file,
        bytes: 0,
    };
    let kind = Filename::parse(file.filename, file.project).map(|name| name.kind);
    if matches!(kind, Some(FileKind::Sdist(_))) {
        return whole(fetch, told.size, limits).await;
    }
    if let (Some(FileKind::Wheel(_)), Some(digest), Some(size)) = (kind, told.metadata, told.size)
        && size > FIRST_PIECE
        && let Some(metadata) = fetch.metadata(digest).await?
    {
        let known = PartialFile::new(size);
        return in_pieces(&mut fetch, known, Some(metadata), limits).await;
    }
    // Without its length nothing can be asked of the end of a file.
    let Some(first) = fetch.piece(0..FIRST_PIECE).await? else {
        return Ok(None);
    };
    if first.is_whole() {
        return judge_whole(&fetch, &first, limits).map(Some);
    }
    let mut known = PartialFile::new(first.total);
    known.supply(first.at, first.bytes);
    match in_pieces(&mut fetch, known, None, limits).await {
        // It was there a moment ago: whatever this is, it is no knowledge.
        Ok(None) => Err(RemoteFault::Odd(
            "the file vanished while it was read".into(),
        )),
        other => other,
    }
}

fn judge_whole(
    fetch: &Fetch<'_>,
    piece: &Piece,
    limits: &Limits,
) -> Result<RemoteRead, RemoteFault> {
    let sha256 = Sha256::digest(&piece.bytes).into();
    let distribution = read(fetch.file, &mut piece.bytes.as_slice(), limits)
        .map_err(|why| RemoteFault::Odd(why.to_string()))?;
    let mut parts = KeptParts::new(piece.total, None);
    parts.add(0, &piece.bytes);
    Ok(RemoteRead {
        distribution,
        size: piece.total,
        bytes_fetched: fetch.bytes,
        sha256: Some(sha256),
        parts: Some(parts),
    })
}

async fn in_pieces(
    fetch: &mut Fetch<'_>,
    mut known: PartialFile,
    metadata: Option<Vec<u8>>,
    limits: &Limits,
) -> Result<Option<RemoteRead>, RemoteFault> {
    let size = known.len();
    let mut parts = KeptParts::new(size, metadata);
    for _ in 0..MOST_PIECES {
        let missing = match parts.read(fetch.file, &mut known, limits) {
            Err(SourceError::Missing(range)) => range,
            Err(why) => return Err(RemoteFault::Odd(why.to_string())),
            Ok(distribution) => {
                return Ok(Some(RemoteRead {
                    distribution,
                    size,
                    bytes_fetched: fetch.bytes,
                    sha256: None,
                    parts: Some(parts),
                }));
            }
        };
        let Some(piece) = fetch.piece(missing).await? else {
            return Ok(None);
        };
        if piece.is_whole() {
            // A server that gives no parts: then the hash can be held against it.
            return judge_whole(fetch, &piece, limits).map(Some);
        }
        if piece.total != size {
            let why = format!("the file has {} bytes, and should have {size}", piece.total);
            return Err(RemoteFault::Odd(why));
        }
        parts.add(piece.at, &piece.bytes);
        known.supply(piece.at, piece.bytes);
    }
    let why = format!("not read after {MOST_PIECES} parts of it");
    Err(RemoteFault::Odd(why))
}

/// A file that is of no use in parts.
async fn whole(
    mut fetch: Fetch<'_>,
    size: Option<u64>,
    limits: &Limits,
) -> Result<Option<RemoteRead>, RemoteFault> {
    if let Some(size) = size.filter(|size| *size > MOST_WHOLE) {
        return Err(RemoteFault::TooLarge(size >> 20));
    }
    let file = fetch.file;
    if size.is_some_and(|size| size <= MOST_HELD) {
        let Some(piece) = fetch.piece(0..MOST_HELD).await? else {
            return Ok(None);
        };
        if !piece.is_whole() {
            let why = format!("the file has {} bytes, which nobody said", piece.total);
            return Err(RemoteFault::Odd(why));
        }
        return judge_whole(&fetch, &piece, limits).map(Some);
    }
    let spool =
        tempfile::NamedTempFile::new().map_err(|error| RemoteFault::Odd(error.to_string()))?;
    let ask = Ask::get(file.upstream, file.path)
        .expect(Expect::Data)
        .max_bytes(MOST_WHOLE)
        .patience(std::time::Duration::from_mins(10))
        .spool(spool.path());
    if fetch.session.ask(&ask).await.known()?.is_none() {
        return Ok(None);
    }
    let (filename, project) = (file.filename.to_owned(), file.project.map(str::to_owned));
    let limits = *limits;
    let reading = move || -> Result<RemoteRead, String> {
        let told = |error: std::io::Error| error.to_string();
        let mut opened = std::fs::File::open(spool.path()).map_err(told)?;
        let mut digest = Sha256::new();
        let size = std::io::copy(&mut opened, &mut Digesting(&mut digest)).map_err(told)?;
        let mut source = SeekSource::new(opened).map_err(told)?;
        let file = RemoteFile {
            upstream: "",
            path: "",
            filename: &filename,
            project: project.as_deref(),
        };
        let distribution = read(file, &mut source, &limits).map_err(|why| why.to_string())?;
        Ok(RemoteRead {
            distribution,
            size,
            bytes_fetched: size,
            sha256: Some(digest.finalize().into()),
            parts: None,
        })
    };
    let read = tokio::task::spawn_blocking(reading).await;
    let read = read.map_err(|error| RemoteFault::Odd(error.to_string()))?;
    read.map(Some).map_err(RemoteFault::Odd)
}

/// Bytes that only count for a digest.
struct Digesting<'d>(&'d mut Sha256);

impl std::io::Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is wrong with the file itself is an answer; what is wrong with its source is none.
pub(super) fn read(
    file: RemoteFile<'_>,
    source: &mut dyn RangeSource,
    limits: &Limits,
) -> Result<Result<Distribution, Refusal>, SourceError> {
    settle(read_distribution(
        file.filename,
        file.project,
        source,
        limits,
    ))
}

/// A wheel by its directory and the metadata that lay beside it.
pub(super) fn read_beside(
    file: RemoteFile<'_>,
    metadata: &[u8],
    source: &mut dyn RangeSource,
    limits: &Limits,
) -> Result<Result<Distribution, Refusal>, SourceError> {
    let listing = match settle(read_listing(source, limits))? {
        Ok(listing) => listing,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Ok(wheel_of_parts(
        file.filename,
        file.project,
        metadata,
        listing,
    ))
}

fn settle<T>(read: Result<T, ReadError>) -> Result<Result<T, Refusal>, SourceError> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(ReadError::Refused(refusal)) => Ok(Err(refusal)),
        Err(ReadError::Source(why)) => Err(why),
    }
}

/// The questions about one file.
struct Fetch<'f> {
    session: &'f Session,
    file: RemoteFile<'f>,
    bytes: u64,
}

impl Fetch<'_> {
    /// The metadata that lie beside a wheel, if they are there and what the index says they are.
    async fn metadata(&mut self, digest: &str) -> Result<Option<Vec<u8>>, RemoteFault> {
        let (path, query) = match self.file.path.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (self.file.path, String::new()),
        };
        let ask = Ask::get(self.file.upstream, format!("{path}.metadata{query}"))
            .expect(Expect::Data)
            .uncached()
            .max_bytes(MOST_METADATA);
        let response = match self.session.ask(&ask).await.known() {
            Ok(Some(response)) => response,
            // The file itself may be had all the same, unless nobody is served at all.
            Err(why) if matches!(why.class, Class::Limited | Class::Interrupted) => {
                return Err(why.into());
            }
            Ok(None) | Err(_) => return Ok(None),
        };
        self.bytes += response.body.len() as u64;
        let found = facts::hex::lower(Sha256::digest(&response.body));
        Ok((digest.is_empty() || digest == found).then_some(response.body))
    }

    /// A part of the file, or all of it from a server that gives no parts.
    async fn piece(&mut self, range: Range<u64>) -> Result<Option<Piece>, RemoteFault> {
        let last = range.end.saturating_sub(1);
        let ask = Ask::get(self.file.upstream, self.file.path)
            .expect(Expect::Data)
            .range(range.start, last)
            .max_bytes(MOST_WHOLE);
        let Some(response) = self.session.ask(&ask).await.known()? else {
            return Ok(None);
        };
        self.bytes += response.body.len() as u64;
        Piece::of(response, range)
            .map(Some)
            .map_err(RemoteFault::Odd)
    }
}

/// Some bytes of a file, and how many there are in all.
struct Piece {
    at: u64,
    total: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn of(response: Response, range: Range<u64>) -> Result<Self, String> {
        let length = response.body.len() as u64;
        if response.status != 206 {
            return Ok(Self {
                at: 0,
                total: length,
                bytes: response.body,
            });
        }
        let told = response.header("content-range").unwrap_or_default();
        let (first, last, total) =
            content_range(told).ok_or("a part came, and nobody said which")?;
        let wanted = (range.start, range.end.min(total).saturating_sub(1));
        if (first, last) != wanted || length != last - first + 1 {
            return Err(format!(
                "bytes {} to {} were asked for, {first} to {last} came",
                wanted.0, wanted.1
            ));
        }
        Ok(Self {
            at: first,
            total,
            bytes: response.body,
        })
    }

    fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.total
    }
}

/// `bytes 0-99/1234`.
fn content_range(told: &str) -> Option<(u64, u64, u64)> {
    let (range, total) = told.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total) = (
        first.trim().parse().ok()?,
        last.trim().parse().ok()?,
        total.trim().parse().ok()?,
    );
    (first <= last && last < total).then_some((first, last, total))
}

#[cfg(test)]
mod tests {
    use super::content_range;

    #[test]
    fn a_part_says_which() {
        assert_eq!(content_range("bytes 0-99/1234"), Some((0, 99, 1234)));
        for odd in [
            "",
            "bytes 0-99/*",
            "bytes 9-3/10",
            "bytes 0-10/10",
            "lines 0-1/2",
            "bytes -/",
        ] {
            assert_eq!(content_range(odd), None, "{odd}");
        }
    }
}
