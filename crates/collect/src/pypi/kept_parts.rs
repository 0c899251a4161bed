//! The parts of a file that were fetched, so that it can be read again without asking anybody.
//!
//! A newer extractor is run on them as the first one was; only if it wants a part that is not here,
//! the file is asked for again.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use scan::python::{Distribution, Limits, PartialFile, RangeSource, Refusal, SourceError};

use super::remote_file::{RemoteFile, read, read_beside};

/// More than this of one file is not kept.
const MOST_KEPT: usize = 256 << 10;
/// What a kept file may become when it is unpacked.
const MOST_UNPACKED: u64 = 16 << 20;

/// Parts of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptParts {
    size: u64,
    /// What lay beside the file.
    metadata: Option<Vec<u8>>,
    parts: Vec<(u64, Vec<u8>)>,
}

impl KeptParts {
    /// Nothing yet, of a file of this length.
    pub fn new(size: u64, metadata: Option<Vec<u8>>) -> Self {
        Self {
            size,
            metadata,
            parts: Vec::new(),
        }
    }

    /// One more part.
    pub fn add(&mut self, at: u64, bytes: &[u8]) {
        self.parts.push((at, bytes.to_vec()));
    }

    /// The length of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads the file as far as it is here.
    pub fn read_again(
        &self,
        file: RemoteFile<'_>,
        limits: &Limits,
    ) -> Result<Result<Distribution, Refusal>, SourceError> {
        let mut known = PartialFile::new(self.size);
        for (at, bytes) in &self.parts {
            known.supply(*at, bytes.clone());
        }
        self.read(file, &mut known, limits)
    }

    pub(super) fn read(
        &self,
        file: RemoteFile<'_>,
        source: &mut dyn RangeSource,
        limits: &Limits,
    ) -> Result<Result<Distribution, Refusal>, SourceError> {
        match &self.metadata {
            Some(metadata) => read_beside(file, metadata, source, limits),
            None => read(file, source, limits),
        }
    }

    /// As bytes; none if they are too many.
    pub fn packed(&self) -> Option<Vec<u8>> {
        let held: usize = self.parts.iter().map(|(_, bytes)| bytes.len()).sum();
        if held > 8 * MOST_KEPT {
            return None;
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut block = |at: u64, bytes: &[u8]| {
            encoder.write_all(&at.to_le_bytes()).ok()?;
            encoder
                .write_all(&(bytes.len() as u64).to_le_bytes())
                .ok()?;
            encoder.write_all(bytes).ok()
        };
        // The first block is the metadata; a file without has its own length there, which no
        // place within it can be.
        match &self.metadata {
            Some(metadata) => block(0, metadata)?,
            None => block(u64::MAX, &[])?,
        }
        block(self.size, &[])?;
        for (at, bytes) in &self.parts {
            block(*at, bytes)?;
        }
        let packed = encoder.finish().ok()?;
        (packed.len() <= MOST_KEPT).then_some(packed)
    }

    /// What [`KeptParts::packed`] made; none if it is damaged.
    pub fn unpacked(packed: &[u8]) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut decoder = ZlibDecoder::new(packed).take(MOST_UNPACKED);
        decoder.read_to_end(&mut bytes).ok()?;
        let mut rest = bytes.as_slice();
        let mut block = || -> Option<(u64, Vec<u8>)> {
            let (at, after) = rest.split_first_chunk::<8>()?;
            let (length, after) = after.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let part = after.get(..length)?;
            rest = &after[length..];
            Some((u64::from_le_bytes(*at), part.to_vec()))
        };
        let metadata = match block()? {
            (u64::MAX, _) => None,
            (_, metadata) => Some(metadata),
        };
        let (size, _) = block()?;
        let mut kept = Self::new(size, metadata);
        while let Some(part) = block() {
            kept.parts.push(part);
        }
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::KeptParts;

    #[test]
    fn parts_come_back_as_they_were() {
        for metadata in [None, Some(b"Name: a\n".to_vec())] {
            let mut parts = KeptParts::new(1000, metadata);
            parts.add(0, b"begin");
            parts.add(900, &[7; 100]);
            let packed = parts.packed().unwrap_or_default();
            assert_eq!(KeptParts::unpacked(&packed), Some(parts));
        }
        assert_eq!(KeptParts::unpacked(b"nonsense"), None);
    }
}
