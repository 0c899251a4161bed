//! Writes a file from keys in order, with memory for one block.

use std::{
    fs::File,
    io::{self, BufWriter, Read as _, Seek as _, Write},
    path::{Path, PathBuf},
};

use fst::MapBuilder;
use sha2::{Digest as _, Sha256};

use super::{
    DatasetError,
    format::{BLOCK, Footer, Line, MAGIC, MOST_VALUE},
};

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many keys it has.
    pub keys: u64,
}

/// A file that is being written.
pub struct Writer {
    path: PathBuf,
    out: Hashing<BufWriter<File>>,
    index: MapBuilder<BufWriter<File>>,
    block: Vec<u8>,
    table: Vec<Line>,
    keys: u64,
}

impl Writer {
    /// Begins a file. The index grows in a file without a name beside it.
    pub fn create(path: &Path) -> Result<Self, DatasetError> {
        let beside = path.parent().unwrap_or_else(|| Path::new("."));
        let index = tempfile::tempfile_in(beside)?;
        let mut out = Hashing::new(BufWriter::new(File::create(path)?));
        out.write_all(&MAGIC)?;
        Ok(Self {
            path: path.to_owned(),
            out,
            index: MapBuilder::new(BufWriter::new(index)).map_err(bad_order)?,
            block: Vec::with_capacity(2 * BLOCK),
            table: Vec::new(),
            keys: 0,
        })
    }

    /// Adds a key behind all others.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), DatasetError> {
        if value.len() > MOST_VALUE {
            return Err(DatasetError::TooLarge {
                key: String::from_utf8_lossy(key).into_owned(),
                bytes: value.len(),
            });
        }
        let place = (self.table.len() as u64) << 32 | self.block.len() as u64;
        self.index.insert(key, place).map_err(bad_order)?;
        self.block.extend((value.len() as u32).to_le_bytes());
        self.block.extend_from_slice(value);
        self.keys += 1;
        if self.block.len() >= BLOCK {
            self.close_block()?;
        }
        Ok(())
    }

    /// Ends the file and lets it reach the disk.
    pub fn finish(mut self) -> Result<Written, DatasetError> {
        if !self.block.is_empty() {
            self.close_block()?;
        }
        let mut table = Vec::with_capacity(self.table.len() * super::format::LINE);
        for line in &self.table {
            line.write(&mut table);
        }
        let table_at = self.out.written;
        self.out.write_all(&table)?;

        let index = self.index.into_inner().map_err(bad_order)?;
        let mut index = index.into_inner().map_err(io::IntoInnerError::into_error)?;
        index.rewind()?;
        let index_at = self.out.written;
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = index.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            crc.update(&buffer[..read]);
            self.out.write_all(&buffer[..read])?;
        }
        let footer = Footer {
            keys: self.keys,
            blocks: self.table.len() as u64,
            table: (table_at, table.len() as u64),
            index: (index_at, self.out.written - index_at),
            table_crc: crc32fast::hash(&table),
            index_crc: crc.finalize(),
        };
        self.out.write_all(&footer.write())?;
        let Hashing {
            inner,
            digest,
            written,
        } = self.out;
        let file = inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(Written {
            path: self.path,
            sha256: facts::hex::lower(digest.finalize()),
            bytes: written,
            keys: self.keys,
        })
    }

    fn close_block(&mut self) -> Result<(), DatasetError> {
        let packed = lz4_flex::block::compress(&self.block);
        self.table.push(Line {
            offset: self.out.written,
            packed: packed.len() as u32,
            unpacked: self.block.len() as u32,
            crc: crc32fast::hash(&packed),
        });
        self.out.write_all(&packed)?;
        self.block.clear();
        Ok(())
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

fn bad_order(error: fst::Error) -> DatasetError {
    match error {
        fst::Error::Io(error) => error.into(),
        other @ fst::Error::Fst(_) => DatasetError::Index(other),
    }
}

/// Counts and digests what passes.
struct Hashing<W> {
    inner: W,
    digest: Sha256,
    written: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            digest: Sha256::new(),
            written: 0,
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
