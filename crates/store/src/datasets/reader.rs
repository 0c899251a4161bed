//! Reads a file: the index in memory, values by ranges of the file.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fst::{Automaton, IntoStreamer as _, Map, Streamer as _, automaton::Levenshtein};

use super::{
    DatasetError,
    format::{FOOTER, Footer, Line, MAGIC, read_table, u32_at},
};

/// Blocks that are kept unpacked, so that neighbours of a value cost nothing.
const KEPT: usize = 64;
/// Behind the part of a key that names are looked for in.
const END: u8 = 0;

/// A file that can be asked. Any number of threads may ask at once.
pub struct Dataset {
    path: PathBuf,
    file: File,
    table: Vec<Line>,
    index: Map<Vec<u8>>,
    kept: Vec<Mutex<Option<Unpacked>>>,
}

/// A block and its number.
type Unpacked = (usize, Arc<Vec<u8>>);

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

impl Dataset {
    /// Opens a file, and refuses one whose table or index is damaged. Values are held against their
    /// checksums when they are read.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        if size < (FOOTER + MAGIC.len()) as u64 {
            let what = "it is too short to be a dataset".to_owned();
            return Err(DatasetError::Corrupt(what));
        }
        if read_at(&file, 0, MAGIC.len())? != MAGIC {
            let what = "it does not begin as a dataset".to_owned();
            return Err(DatasetError::Corrupt(what));
        }
        let footer = read_at(&file, size - FOOTER as u64, FOOTER)?;
        let footer = Footer::read(&footer, size)?;
        let table = checked(&file, footer.table, footer.table_crc, "table")?;
        let table = read_table(&table, footer.table.0)?;
        let index = checked(&file, footer.index, footer.index_crc, "index")?;
        let index = Map::new(index).map_err(DatasetError::Index)?;
        if index.len() as u64 != footer.keys {
            let what = "the index has another number of keys".to_owned();
            return Err(DatasetError::Corrupt(what));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            table,
            index,
            kept: (0..KEPT).map(|_| Mutex::new(None)).collect(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatasetError> {
        let place = self.index.get(key);
        place.map(|place| self.value(place)).transpose()
    }

    /// At most `limit` entries whose keys begin with `prefix`, in order, behind the key `after`.
    pub fn prefix(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>, DatasetError> {
        let mut range = self.index.range().ge(prefix);
        if let Some(after) = after {
            range = self.index.range().gt(after.max(prefix));
        }
        let mut stream = range.into_stream();
        let mut found = Vec::new();
        while let Some((key, place)) = stream.next() {
            if found.len() == limit || !key.starts_with(prefix) {
                break;
            }
            found.push((key.to_owned(), self.value(place)?));
        }
        Ok(found)
    }

    /// At most `limit` names, the parts of keys before their first NUL, that begin with `prefix`.
    pub fn names(&self, prefix: &str, limit: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut from = prefix.as_bytes().to_vec();
        while found.len() < limit {
            let mut stream = self.index.range().ge(&from).into_stream();
            let Some((key, _)) = stream.next() else { break };
            if !key.starts_with(prefix.as_bytes()) {
                break;
            }
            let name = key.split(|byte| *byte == END).next().unwrap_or_default();
            // Behind all keys of this name.
            from = [name, &[END + 1]].concat();
            found.push(String::from_utf8_lossy(name).into_owned());
        }
        found
    }

    /// At most `limit` names that are at most `distance` typing errors away from `name`.
    pub fn similar(
        &self,
        name: &str,
        distance: u32,
        limit: usize,
    ) -> Result<Vec<String>, DatasetError> {
        let Ok(within) = Levenshtein::new_with_limit(name, distance.min(3), 100_000) else {
            return Err(DatasetError::Query(format!(
                "`{}…` is too long to be looked for with errors",
                name.chars().take(40).collect::<String>()
            )));
        };
        let mut stream = self.index.search(NameOnly(within)).into_stream();
        let mut found: Vec<String> = Vec::new();
        while let Some((key, _)) = stream.next() {
            let name = key.split(|byte| *byte == END).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            if found.last().is_none_or(|last| *last != name) {
                if found.len() == limit {
                    break;
                }
                found.push(name.into_owned());
            }
        }
        Ok(found)
    }

    /// All entries, in order.
    pub fn entries(&self) -> Entries<'_> {
        Entries {
            dataset: self,
            stream: self.index.stream(),
            block: None,
        }
    }

    /// Reads everything, and tells what is damaged.
    pub fn verify(&self) -> Result<u64, DatasetError> {
        let mut entries = self.entries();
        let mut count = 0;
        while entries.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    fn value(&self, place: u64) -> Result<Vec<u8>, DatasetError> {
        let number = (place >> 32) as usize;
        let kept = &self.kept[number % KEPT];
        let found = match &*kept.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((here, block)) if *here == number => Some(block.clone()),
            _ => None,
        };
        let block = if let Some(block) = found {
            block
        } else {
            let block = Arc::new(self.block(number)?);
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, block.clone()));
            block
        };
        Ok(value_in(&block, place as u32)?.to_owned())
    }

    fn block(&self, number: usize) -> Result<Vec<u8>, DatasetError> {
        let Some(line) = self.table.get(number) else {
            let what = format!("there is no block {number}");
            return Err(DatasetError::Corrupt(what));
        };
        let packed = read_at(&self.file, line.offset, line.packed as usize)?;
        if crc32fast::hash(&packed) != line.crc {
            let what = format!("the checksum of block {number} is wrong");
            return Err(DatasetError::Corrupt(what));
        }
        let block = lz4_flex::block::decompress(&packed, line.unpacked as usize);
        match block {
            Ok(block) if block.len() == line.unpacked as usize => Ok(block),
            _ => {
                let what = format!("block {number} cannot be unpacked");
                Err(DatasetError::Corrupt(what))
            }
        }
    }
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dataset")
            .field("path", &self.path)
            .field("keys", &self.len())
            .finish_non_exhaustive()
    }
}

/// All entries of a file, block by block.
pub struct Entries<'d> {
    dataset: &'d Dataset,
    stream: fst::map::Stream<'d>,
    block: Option<(usize, Vec<u8>)>,
}

impl Entries<'_> {
    /// The next one.
    #[expect(
        clippy::should_implement_trait,
        reason = "it can fail, and is read with `?`"
    )]
    pub fn next(&mut self) -> Result<Option<Entry>, DatasetError> {
        let Some((key, place)) = self.stream.next() else {
            return Ok(None);
        };
        let key = key.to_owned();
        let number = (place >> 32) as usize;
        let block = match self.block.take() {
            Some((here, block)) if here == number => block,
            _ => self.dataset.block(number)?,
        };
        let value = value_in(&block, place as u32)?.to_owned();
        self.block = Some((number, block));
        Ok(Some((key, value)))
    }
}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}

/// Follows another automaton up to the end of a name, and takes whatever comes behind.
struct NameOnly(Levenshtein);

impl Automaton for NameOnly {
    /// Within the name; or behind it, whether it fitted.
    type State = Result<<Levenshtein as Automaton>::State, bool>;

    fn start(&self) -> Self::State {
        Ok(self.0.start())
    }

    fn is_match(&self, state: &Self::State) -> bool {
        match state {
            Ok(state) => self.0.is_match(state),
            Err(fitted) => *fitted,
        }
    }

    fn can_match(&self, state: &Self::State) -> bool {
        match state {
            Ok(state) => self.0.can_match(state),
            Err(fitted) => *fitted,
        }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        match state {
            Ok(state) if byte == END => Err(self.0.is_match(state)),
            Ok(state) => Ok(self.0.accept(state, byte)),
            Err(fitted) => Err(*fitted),
        }
    }
}

fn value_in(block: &[u8], at: u32) -> Result<&[u8], DatasetError> {
    let at = at as usize;
    let found = u32_at(block, at).and_then(|length| {
        let start = at.checked_add(4)?;
        block.get(start..start.checked_add(length as usize)?)
    });
    found.ok_or_else(|| DatasetError::Corrupt("a value is not where it should be".to_owned()))
}

fn checked(
    file: &File,
    (offset, length): (u64, u64),
    crc: u32,
    part: &str,
) -> Result<Vec<u8>, DatasetError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let bytes = read_at(file, offset, length)?;
    if crc32fast::hash(&bytes) != crc {
        let what = format!("the checksum of its {part} is wrong");
        return Err(DatasetError::Corrupt(what));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn read_at(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;

    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(windows)]
fn read_at(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    use std::os::windows::fs::FileExt as _;

    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match file.seek_read(&mut bytes[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => done += read,
        }
    }
    Ok(bytes)
}
