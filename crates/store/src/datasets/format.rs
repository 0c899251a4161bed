//! The file: what lies where.
//!
//! ```text
//! header   magic, 8 bytes
//! blocks   each: LZ4 of (length u32, value)*; about 16 KiB before compression
//! table    for each block: offset u64, length u32, length before compression u32, CRC-32 u32
//! index    an fst: key -> number of the block << 32 | offset of the value in it
//! footer   keys, blocks, offset and length of the table and of the index (u64 each), CRC-32 of the
//!          table, of the index and of the footer up to here (u32 each), magic
//! ```
//!
//! All numbers are little-endian. The same keys and values in the same order give the same bytes,
//! whoever writes them; there is no time, name or chance in a file.

use super::DatasetError;

/// At both ends of a file. The last byte is the version of the format.
pub(super) const MAGIC: [u8; 8] = *b"gleands\x01";
/// A block is closed when it has at least so many bytes: small enough to be unpacked for one value
/// (about 10 µs), large enough that neighbours, which resemble each other, compress well.
pub(super) const BLOCK: usize = 16 << 10;
/// The largest value. Far beyond what a file of an index holds.
pub(super) const MOST_VALUE: usize = 64 << 20;
/// The largest block: a full one and one more value.
pub(super) const MOST_BLOCK: usize = BLOCK + MOST_VALUE + 8;
/// Bytes of one line of the table.
pub(super) const LINE: usize = 20;
/// Bytes of the footer.
pub(super) const FOOTER: usize = 68;

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) offset: u64,
    pub(super) packed: u32,
    pub(super) unpacked: u32,
    pub(super) crc: u32,
}

impl Line {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.offset.to_le_bytes());
        out.extend(self.packed.to_le_bytes());
        out.extend(self.unpacked.to_le_bytes());
        out.extend(self.crc.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            offset: u64_at(bytes, 0)?,
            packed: u32_at(bytes, 8)?,
            unpacked: u32_at(bytes, 12)?,
            crc: u32_at(bytes, 16)?,
        })
    }
}

/// What the end of a file says of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) keys: u64,
    pub(super) blocks: u64,
    pub(super) table: (u64, u64),
    pub(super) index: (u64, u64),
    pub(super) table_crc: u32,
    pub(super) index_crc: u32,
}

impl Footer {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER);
        for number in [
            self.keys,
            self.blocks,
            self.table.0,
            self.table.1,
            self.index.0,
            self.index.1,
        ] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.table_crc.to_le_bytes());
        out.extend(self.index_crc.to_le_bytes());
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out.extend(MAGIC);
        out
    }

    /// Reads the footer of a file of `size` bytes, and refuses one that does not fit the file.
    pub(super) fn read(bytes: &[u8], size: u64) -> Result<Self, DatasetError> {
        let refuse = |what: &str| DatasetError::Corrupt(what.to_owned());
        let read = || {
            let number = |at: usize| u64_at(bytes, at * 8);
            let footer = Self {
                keys: number(0)?,
                blocks: number(1)?,
                table: (number(2)?, number(3)?),
                index: (number(4)?, number(5)?),
                table_crc: u32_at(bytes, 48)?,
                index_crc: u32_at(bytes, 52)?,
            };
            Some((footer, u32_at(bytes, 56)?, bytes.get(60..68)?))
        };
        let (footer, crc, magic) = read().ok_or_else(|| refuse("the footer is cut short"))?;
        if magic != MAGIC {
            return Err(refuse("it does not end as a dataset"));
        }
        if crc32fast::hash(&bytes[..56]) != crc {
            return Err(refuse("the footer's checksum is wrong"));
        }
        let end = |(offset, length): (u64, u64)| offset.checked_add(length);
        let table_fits = footer.table.1 == footer.blocks.saturating_mul(LINE as u64)
            && footer.table.0 >= MAGIC.len() as u64
            && end(footer.table) == Some(footer.index.0);
        if !table_fits || end(footer.index) != Some(size - FOOTER as u64) {
            return Err(refuse("its parts do not fit into each other"));
        }
        Ok(footer)
    }
}

/// Reads the table, and refuses blocks that are not where blocks are.
pub(super) fn read_table(bytes: &[u8], ends_at: u64) -> Result<Vec<Line>, DatasetError> {
    let mut next = MAGIC.len() as u64;
    let mut table = Vec::with_capacity(bytes.len() / LINE);
    for bytes in bytes.chunks_exact(LINE) {
        let fits = |line: &Line| line.offset == next && line.unpacked as usize <= MOST_BLOCK;
        let line = Line::read(bytes).filter(fits);
        let line = line.ok_or_else(|| DatasetError::Corrupt("a block is misplaced".to_owned()))?;
        next += u64::from(line.packed);
        table.push(line);
    }
    if next != ends_at {
        let what = "the blocks do not fill their part".to_owned();
        return Err(DatasetError::Corrupt(what));
    }
    Ok(table)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
