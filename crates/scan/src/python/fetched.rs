//! A source as the archive readers see it: remembered, counted, never asked twice.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use super::source::{RangeSource, Segments, SourceError};

/// Wraps a source for one reading.
pub(super) struct Fetched<'a> {
    length: u64,
    inner: RefCell<Inner<'a>>,
}

struct Inner<'a> {
    source: &'a mut dyn RangeSource,
    known: Segments,
    bytes_read: u64,
    /// What the source said when it failed: the archive reader in between only
    /// passes on that something did.
    failure: Option<SourceError>,
}

impl<'a> Fetched<'a> {
    pub(super) fn new(source: &'a mut dyn RangeSource) -> Self {
        let length = source.len();
        let inner = Inner {
            source,
            known: Segments::default(),
            bytes_read: 0,
            failure: None,
        };
        Fetched {
            length,
            inner: RefCell::new(inner),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.inner.borrow().bytes_read
    }

    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.inner.borrow_mut().failure.take()
    }

    /// Reads the parts of the range that are not known yet.
    pub(super) fn ensure(&self, range: Range<u64>) -> Result<(), SourceError> {
        let range = range.start.min(self.length)..range.end.min(self.length);
        let inner = &mut *self.inner.borrow_mut();
        for gap in inner.known.gaps(range) {
            let length = gap.end - gap.start;
            let bytes = inner.source.read_at(gap.start, length as usize)?;
            if bytes.len() as u64 != length {
                return Err(SourceError::Short);
            }
            inner.bytes_read += length;
            inner.known.insert(gap.start, bytes);
        }
        Ok(())
    }

    /// A range that is read once and not remembered.
    pub(super) fn pass(&self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError> {
        let inner = &mut *self.inner.borrow_mut();
        let bytes = inner.source.read_at(offset, length)?;
        inner.bytes_read += bytes.len() as u64;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(SourceError::Short)
        }
    }

    pub(super) fn announce(&self, range: Range<u64>) -> Result<(), SourceError> {
        self.inner.borrow_mut().source.announce(range)
    }

    /// The first bytes, as far as there are any.
    pub(super) fn head(&self, length: u64) -> Result<Vec<u8>, SourceError> {
        let range = 0..length.min(self.length);
        self.ensure(range.clone())?;
        self.inner
            .borrow()
            .known
            .copy(range)
            .ok_or(SourceError::Short)
    }

    /// The last bytes, which must have been ensured.
    pub(super) fn tail(&self, length: u64) -> Result<Vec<u8>, SourceError> {
        let range = self.length - length..self.length;
        self.inner
            .borrow()
            .known
            .copy(range)
            .ok_or(SourceError::Short)
    }

    fn fail(&self, error: SourceError) -> io::Error {
        self.inner.borrow_mut().failure = Some(error);
        io::Error::other("the source failed")
    }
}

impl rawzip::ReaderAt for &Fetched<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.length);
        if end <= offset {
            return Ok(0);
        }
        self.ensure(offset..end).map_err(|error| self.fail(error))?;
        let bytes = self.inner.borrow().known.copy(offset..end);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

/// Reads a source from its beginning to its end, without keeping it. The
/// beginning has been read before, to see what it is.
pub(super) struct Stream<'f, 'a> {
    fetched: &'f Fetched<'a>,
    offset: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl<'f, 'a> Stream<'f, 'a> {
    pub(super) fn new(fetched: &'f Fetched<'a>, head: Vec<u8>) -> Self {
        Stream {
            fetched,
            offset: head.len() as u64,
            buffer: head,
            used: 0,
        }
    }
}

impl io::Read for Stream<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            let left = self.fetched.len() - self.offset;
            let length = left.min(CHUNK) as usize;
            if length == 0 {
                return Ok(0);
            }
            let read = self.fetched.pass(self.offset, length);
            self.buffer = read.map_err(|error| self.fetched.fail(error))?;
            self.offset += length as u64;
            self.used = 0;
        }
        let count = buffer.len().min(self.buffer.len() - self.used);
        buffer[..count].copy_from_slice(&self.buffer[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

const CHUNK: u64 = 256 * 1024;
