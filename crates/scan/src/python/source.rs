//! Where a distribution's bytes come from.
//!
//! Readers ask for ranges, so that a wheel can be read from the end of a remote
//! file without fetching it. The trait is synchronous because this room knows no
//! network: [`PartialFile`] lets an asynchronous caller read all the same, by
//! running a reader again each time it has fetched the range that was missing.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// Bytes that can be read at any place.
pub trait RangeSource {
    /// The length of the whole file.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads exactly `length` bytes. Readers never ask beyond the end.
    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError>;

    /// Told before many small reads of a range, so that it can be fetched at once.
    fn announce(&mut self, _range: Range<u64>) -> Result<(), SourceError> {
        Ok(())
    }
}

/// Why bytes could not be had. It says nothing about the distribution.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The bytes are there, but not here yet.
    #[error("bytes {} to {} are not here yet", .0.start, .0.end)]
    Missing(Range<u64>),
    #[error("the file ends before its announced length")]
    Short,
    #[error("could not read the file")]
    Io(#[from] std::io::Error),
}

impl RangeSource for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError> {
        let start = usize::try_from(offset).map_err(|_| SourceError::Short)?;
        let end = start.checked_add(length).ok_or(SourceError::Short)?;
        self.get(start..end)
            .map(<[u8]>::to_vec)
            .ok_or(SourceError::Short)
    }
}

/// Anything that can be sought in, such as an open file.
#[derive(Debug)]
pub struct SeekSource<R> {
    inner: R,
    length: u64,
}

impl<R: Read + Seek> SeekSource<R> {
    pub fn new(mut inner: R) -> std::io::Result<Self> {
        let length = inner.seek(SeekFrom::End(0))?;
        Ok(SeekSource { inner, length })
    }
}

impl<R: Read + Seek> RangeSource for SeekSource<R> {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError> {
        self.inner.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length);
        self.inner
            .by_ref()
            .take(length as u64)
            .read_to_end(&mut bytes)?;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(SourceError::Short)
        }
    }
}

/// A file of which only some ranges are known.
///
/// Reading anything else fails with [`SourceError::Missing`]; the caller fetches
/// that range, [`supply`](PartialFile::supply)s it and runs the reader again.
#[derive(Debug)]
pub struct PartialFile {
    length: u64,
    known: Segments,
}

impl PartialFile {
    pub fn new(length: u64) -> Self {
        PartialFile {
            length,
            known: Segments::default(),
        }
    }

    /// Adds bytes that begin at `offset`. What lies beyond the end is dropped.
    pub fn supply(&mut self, offset: u64, mut bytes: Vec<u8>) {
        let room = self.length.saturating_sub(offset);
        bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        self.known.insert(offset, bytes);
    }
}

impl RangeSource for PartialFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError> {
        let range = offset..offset.saturating_add(length as u64);
        self.announce(range.clone())?;
        self.known.copy(range).ok_or(SourceError::Short)
    }

    fn announce(&mut self, range: Range<u64>) -> Result<(), SourceError> {
        if range.end > self.length {
            return Err(SourceError::Short);
        }
        match self.known.gaps(range).into_iter().next() {
            Some(gap) => Err(SourceError::Missing(gap)),
            None => Ok(()),
        }
    }
}

/// Pieces of a file that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Segments {
    by_start: BTreeMap<u64, Vec<u8>>,
}

impl Segments {
    /// Takes over what is not known yet; a byte once known does not change.
    pub(super) fn insert(&mut self, offset: u64, bytes: Vec<u8>) {
        let range = offset..offset + bytes.len() as u64;
        let gaps = self.gaps(range.clone());
        if gaps.len() == 1 && gaps[0] == range {
            self.by_start.insert(offset, bytes);
            return;
        }
        for gap in gaps {
            let piece = (gap.start - offset) as usize..(gap.end - offset) as usize;
            self.by_start.insert(gap.start, bytes[piece].to_vec());
        }
    }

    /// The parts of the range that are not known, in order.
    pub(super) fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (&start, bytes) in self.touching(&range) {
            if start > at {
                gaps.push(at..start.min(range.end));
            }
            at = at.max(start + bytes.len() as u64);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// The bytes of a range that is known as a whole.
    pub(super) fn copy(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let mut copy = Vec::with_capacity((range.end - range.start) as usize);
        for (&start, bytes) in self.touching(&range) {
            let at = range.start + copy.len() as u64;
            let from = at.checked_sub(start)? as usize;
            let until = ((range.end - start) as usize).min(bytes.len());
            copy.extend_from_slice(bytes.get(from..until)?);
        }
        (copy.len() as u64 == range.end - range.start).then_some(copy)
    }

    fn touching(&self, range: &Range<u64>) -> impl Iterator<Item = (&u64, &Vec<u8>)> {
        let before = self
            .by_start
            .range(..=range.start)
            .next_back()
            .map_or(range.start, |(&s, _)| s);
        let (start, end) = (range.start, range.end.max(before));
        self.by_start
            .range(before..end)
            .filter(move |(at, bytes)| **at + bytes.len() as u64 > start)
    }
}
