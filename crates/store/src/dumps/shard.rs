//! The two files of a shard: JSON for all, Parquet for analysts.
//!
//! The JSON is an array with one object in each line, so that it can be read whole by any parser
//! and line by line by ours; packed with gzip, without names or times in it.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::{DumpError, DumpRow, columns::Columns};

/// Rows that are held until they are written to Parquet as one group.
const GROUP: usize = 5_000;
/// The longest line that is read. No file of an index comes near it.
const MOST_LINE: u64 = 256 << 20;

/// What is in a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Lines.
    pub rows: u64,
    /// The least and the greatest serial.
    pub serials: Option<(i64, i64)>,
    /// The oldest and the newest extractor.
    pub extractors: Option<(i64, i64)>,
}

impl Contents {
    pub(super) fn add(&mut self, row: &DumpRow) {
        self.rows += 1;
        self.serials = span(self.serials, row.serial.map(|one| (one, one)));
        self.extractors = span(self.extractors, row.extractor.map(|one| (one, one)));
    }
}

/// The span of two spans.
pub(crate) fn span(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// A shard that is being written, with memory for one group of rows.
pub struct ShardWriter {
    json: GzEncoder<BufWriter<File>>,
    parquet: Columns,
    held: Vec<DumpRow>,
    contents: Contents,
    /// Where the JSON goes.
    pub json_path: PathBuf,
    /// Where the Parquet goes.
    pub parquet_path: PathBuf,
}

impl ShardWriter {
    /// Begins the two files in a directory.
    pub fn create(place: &Path) -> Result<Self, DumpError> {
        let json_path = place.join("shard.json.gz");
        let parquet_path = place.join("shard.parquet");
        let json = BufWriter::new(File::create(&json_path)?);
        Ok(Self {
            json: GzEncoder::new(json, Compression::default()),
            parquet: Columns::create(&parquet_path)?,
            held: Vec::with_capacity(GROUP),
            contents: Contents::default(),
            json_path,
            parquet_path,
        })
    }

    /// Adds a row.
    pub fn push(&mut self, row: DumpRow) -> Result<(), DumpError> {
        let before = if self.contents.rows == 0 {
            "[\n"
        } else {
            ",\n"
        };
        self.json.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut self.json, &row).map_err(io::Error::from)?;
        self.contents.add(&row);
        self.held.push(row);
        if self.held.len() == GROUP {
            self.parquet.write(&self.held)?;
            self.held.clear();
        }
        Ok(())
    }

    /// Ends both files.
    pub fn finish(mut self) -> Result<Contents, DumpError> {
        let end = if self.contents.rows == 0 {
            "[]\n"
        } else {
            "\n]\n"
        };
        self.json.write_all(end.as_bytes())?;
        self.json.finish()?.flush()?;
        if !self.held.is_empty() {
            self.parquet.write(&self.held)?;
        }
        self.parquet.finish()?;
        Ok(self.contents)
    }
}

impl std::fmt::Debug for ShardWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardWriter")
            .field("contents", &self.contents)
            .finish_non_exhaustive()
    }
}

/// The rows of a shard, one by one.
pub struct ShardReader {
    lines: BufReader<GzDecoder<BufReader<File>>>,
    line: Vec<u8>,
    name: String,
    ended: bool,
}

impl ShardReader {
    /// Opens the JSON of a shard; `name` is what errors call it.
    pub fn open(path: &Path, name: &str) -> Result<Self, DumpError> {
        let file = BufReader::with_capacity(256 << 10, File::open(path)?);
        Ok(Self {
            lines: BufReader::with_capacity(256 << 10, GzDecoder::new(file)),
            line: Vec::new(),
            name: name.to_owned(),
            ended: false,
        })
    }

    /// The next row.
    #[expect(
        clippy::should_implement_trait,
        reason = "it can fail, and is read with `?`"
    )]
    pub fn next(&mut self) -> Result<Option<DumpRow>, DumpError> {
        loop {
            self.line.clear();
            let mut limited = (&mut self.lines).take(MOST_LINE);
            let read = limited.read_until(b'\n', &mut self.line);
            if read.map_err(|error| self.damaged(&error))? == 0 {
                if self.ended {
                    return Ok(None);
                }
                return Err(self.damaged(&"it is cut short"));
            }
            let line = self.line.trim_ascii();
            let line = line.strip_suffix(b",").unwrap_or(line);
            match line {
                b"[" => {}
                b"]" | b"[]" => self.ended = true,
                row => {
                    return serde_json::from_slice(row)
                        .map_or_else(|error| Err(self.damaged(&error)), |row| Ok(Some(row)));
                }
            }
        }
    }

    fn damaged(&self, why: &dyn std::fmt::Display) -> DumpError {
        DumpError::Damaged {
            name: self.name.clone(),
            why: why.to_string(),
        }
    }
}

impl std::fmt::Debug for ShardReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardReader")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
