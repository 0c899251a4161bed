//! Sorts more than fits into memory: pieces are sorted and set aside in files, then merged.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    fs::File,
    io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use super::DatasetError;

/// One thing to be sorted: by its key, and among equals by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) key: Vec<u8>,
    pub(super) number: i64,
    pub(super) value: Vec<u8>,
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.key, self.number, &self.value).cmp(&(&other.key, other.number, &other.value))
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Takes items in any order.
#[derive(Debug)]
pub(super) struct Sorter {
    place: PathBuf,
    most: usize,
    held: usize,
    items: Vec<Item>,
    runs: Vec<File>,
}

impl Sorter {
    /// Holds about `most` bytes in memory, and the rest in files without a name in `place`.
    pub(super) fn new(place: &Path, most: usize) -> Self {
        Self {
            place: place.to_owned(),
            most,
            held: 0,
            items: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, item: Item) -> Result<(), DatasetError> {
        // The two allocations and their lengths count as well.
        self.held += item.key.len() + item.value.len() + size_of::<Item>() + 32;
        self.items.push(item);
        if self.held >= self.most {
            self.set_aside()?;
        }
        Ok(())
    }

    fn set_aside(&mut self) -> Result<(), DatasetError> {
        self.items.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile_in(&self.place)?);
        for item in self.items.drain(..) {
            out.write_all(&(item.key.len() as u32).to_le_bytes())?;
            out.write_all(&(item.value.len() as u32).to_le_bytes())?;
            out.write_all(&item.number.to_le_bytes())?;
            out.write_all(&item.key)?;
            out.write_all(&item.value)?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        self.held = 0;
        Ok(())
    }

    /// All items in order; of those with the same key only the last.
    pub(super) fn finish(mut self) -> Result<Sorted, DatasetError> {
        self.items.sort_unstable();
        let mut runs: Vec<Run> = self
            .runs
            .into_iter()
            .map(|file| Run::File(BufReader::new(file)))
            .collect();
        runs.push(Run::Memory(self.items.into_iter()));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next()?.map(|item| Reverse((item, number))));
        }
        Ok(Sorted { runs, heads })
    }
}

/// Items in order.
#[derive(Debug)]
pub(super) struct Sorted {
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(Item, usize)>>,
}

impl Sorted {
    pub(super) fn next(&mut self) -> Result<Option<Item>, DatasetError> {
        let Some(mut last) = self.pop()? else {
            return Ok(None);
        };
        while let Some(Reverse((next, _))) = self.heads.peek()
            && next.key == last.key
        {
            last = match self.pop()? {
                Some(item) => item,
                None => break,
            };
        }
        Ok(Some(last))
    }

    fn pop(&mut self) -> Result<Option<Item>, DatasetError> {
        let Some(Reverse((item, number))) = self.heads.pop() else {
            return Ok(None);
        };
        let next = self.runs[number].next()?;
        self.heads.extend(next.map(|item| Reverse((item, number))));
        Ok(Some(item))
    }
}

#[derive(Debug)]
enum Run {
    Memory(std::vec::IntoIter<Item>),
    File(BufReader<File>),
}

impl Run {
    fn next(&mut self) -> Result<Option<Item>, DatasetError> {
        let file = match self {
            Self::Memory(items) => return Ok(items.next()),
            Self::File(file) => file,
        };
        let mut head = [0; 16];
        match file.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let length = |at: usize| super::format::u32_at(&head, at).unwrap_or_default() as usize;
        let mut key = vec![0; length(0)];
        let mut value = vec![0; length(4)];
        let mut number = [0; 8];
        number.copy_from_slice(&head[8..]);
        file.read_exact(&mut key)?;
        file.read_exact(&mut value)?;
        Ok(Some(Item {
            key,
            number: i64::from_le_bytes(number),
            value,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equals_comes_out_in_order_whatever_the_memory() {
        let place = tempfile::tempdir().unwrap();
        for most in [1, 300, 1 << 20] {
            let mut sorter = Sorter::new(place.path(), most);
            for number in 0..100_i64 {
                let key = format!("{:02}", (number * 7) % 30).into_bytes();
                let value = number.to_string().into_bytes();
                sorter.push(Item { key, number, value }).unwrap();
            }
            let mut sorted = sorter.finish().unwrap();
            let mut found = Vec::new();
            while let Some(item) = sorted.next().unwrap() {
                found.push(item);
            }
            assert_eq!(found.len(), 30);
            assert!(found.windows(2).all(|pair| pair[0].key < pair[1].key));
            // 70..100 are the last numbers that each key got.
            assert!(found.iter().all(|item| item.number >= 70));
        }
    }
}
