//! One distribution, of which no more is fetched than tells what it holds.
//!
//! A wheel is a zip: its directory stands at the end, and the few members that matter lie beside
//! each other. So the reader is run on what is known of the file, says which range it misses, and is
//! run again when that has come. A source distribution is a compressed stream and is fetched whole,
//! as is everything from a server that does not give parts.

use std::ops::Range;

use scan::python::{
    Distribution, FileKind, Filename, Limits, PartialFile, ReadError, Refusal, SourceError,
    read_distribution,
};
use sha2::{Digest as _, Sha256};

use crate::{
    answer::Answer,
    http::{Ask, Expect, Response, Session},
};

/// The most of a file that is fetched whole, and so held in memory.
pub const MOST_WHOLE: u64 = 256 << 20;
/// The first piece of a file that is to be read in parts. It tells the length; a small wheel is
/// whole with it, and a large one costs little more.
const FIRST_PIECE: u64 = 8 << 10;
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
}

/// Reads a distribution from afar.
pub async fn read_remote(
    session: &Session,
    file: RemoteFile<'_>,
    limits: &Limits,
) -> Answer<RemoteRead> {
    let mut fetch = Fetch {
        session,
        file,
        bytes: 0,
    };
    let first = match fetch.piece(0..first_piece(file)).await {
        Ok(Some(piece)) => piece,
        Ok(None) => return Answer::Absent,
        Err(why) => return Answer::Unknown(why),
    };
    if first.is_whole() {
        let sha256 = Sha256::digest(&first.bytes).into();
        return match read(file, &mut first.bytes.as_slice(), limits) {
            Ok(distribution) => Answer::Found(RemoteRead {
                distribution,
                size: first.total,
                bytes_fetched: fetch.bytes,
                sha256: Some(sha256),
            }),
            Err(why) => Answer::Unknown(why.to_string()),
        };
    }
    match in_pieces(&mut fetch, first, limits).await {
        Ok(Some(read)) => Answer::Found(read),
        // It was there a moment ago: whatever this is, it is no knowledge.
        Ok(None) => Answer::Unknown("the file vanished while it was read".into()),
        Err(why) => Answer::Unknown(why),
    }
}

async fn in_pieces(
    fetch: &mut Fetch<'_>,
    first: Piece,
    limits: &Limits,
) -> Result<Option<RemoteRead>, String> {
    let size = first.total;
    let mut known = PartialFile::new(size);
    known.supply(first.at, first.bytes);
    for _ in 0..MOST_PIECES {
        let missing = match read(fetch.file, &mut known, limits) {
            Err(SourceError::Missing(range)) => range,
            Err(why) => return Err(why.to_string()),
            Ok(distribution) => {
                return Ok(Some(RemoteRead {
                    distribution,
                    size,
                    bytes_fetched: fetch.bytes,
                    sha256: None,
                }));
            }
        };
        let Some(piece) = fetch.piece(missing).await? else {
            return Ok(None);
        };
        if piece.total != size {
            return Err("the file changed while it was read".into());
        }
        known.supply(piece.at, piece.bytes);
    }
    Err(format!("not read after {MOST_PIECES} parts of it"))
}

/// What is wrong with the file itself is an answer; what is wrong with its source is none.
fn read(
    file: RemoteFile<'_>,
    source: &mut dyn scan::python::RangeSource,
    limits: &Limits,
) -> Result<Result<Distribution, Refusal>, SourceError> {
    match read_distribution(file.filename, file.project, source, limits) {
        Ok(distribution) => Ok(Ok(distribution)),
        Err(ReadError::Refused(refusal)) => Ok(Err(refusal)),
        Err(ReadError::Source(why)) => Err(why),
    }
}

/// How much to ask for at first.
fn first_piece(file: RemoteFile<'_>) -> u64 {
    match Filename::parse(file.filename, file.project).map(|name| name.kind) {
        Some(FileKind::Sdist(_)) => MOST_WHOLE,
        _ => FIRST_PIECE,
    }
}

/// The questions about one file.
struct Fetch<'f> {
    session: &'f Session,
    file: RemoteFile<'f>,
    bytes: u64,
}

impl Fetch<'_> {
    /// A part of the file, or all of it from a server that gives no parts.
    async fn piece(&mut self, range: Range<u64>) -> Result<Option<Piece>, String> {
        let last = range.end.saturating_sub(1);
        let ask = Ask::get(self.file.upstream, self.file.path)
            .expect(Expect::Data)
            .range(range.start, last)
            .max_bytes(MOST_WHOLE);
        let reply = self.session.ask(&ask).await;
        let Some(response) = reply.known().map_err(|why| why.to_string())? else {
            return Ok(None);
        };
        self.bytes += response.body.len() as u64;
        Piece::of(response, range).map(Some)
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
        if range.end == MOST_WHOLE && total > MOST_WHOLE {
            let size = total >> 20;
            return Err(format!(
                "the file has {size} MiB, which is too much to fetch"
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
