//! The bytes of mail as they are kept: deflated, which makes less than half of them.

use std::{
    cell::RefCell,
    io::{Read as _, Write as _},
};

use flate2::{
    Compress, Compression, FlushCompress, Status, read::DeflateDecoder, write::DeflateEncoder,
};

/// No mail is larger than this; whatever unpacks to more is damage.
const MAX_BYTES: u64 = 256 << 20;

thread_local! {
    /// The tables of a compressor are a hundred times as large as a mail: they are made once.
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), false));
}

/// Bytes as they are kept.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        let mut packed = Vec::with_capacity(bytes.len() / 2 + 64);
        loop {
            let read = usize::try_from(compressor.total_in()).unwrap_or(bytes.len());
            let rest = bytes.get(read..).unwrap_or_default();
            let done = compressor.compress_vec(rest, &mut packed, FlushCompress::Finish);
            match done {
                Ok(Status::StreamEnd) => return packed,
                Ok(Status::Ok | Status::BufError) => packed.reserve(packed.capacity()),
                // It has no way to fail; should it find one, a new one begins anew.
                Err(_) => return pack_anew(bytes),
            }
        }
    })
}

fn pack_anew(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // A vector takes everything.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Bytes as they came; none if what is kept is damaged.
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(packed.len() * 3);
    let read = DeflateDecoder::new(packed)
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes);
    (read.is_ok() && bytes.len() as u64 <= MAX_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_again() {
        // What does not shrink needs more room than was thought.
        let noise: Vec<u8> = (0..100_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        for bytes in [
            &b""[..],
            b"x",
            &[7; 10_000],
            b"From: a\r\n\r\n\xff\x00",
            &noise,
        ] {
            assert_eq!(unpack(&pack(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(unpack(&[0xff, 0xff, 1, 2]), None);
    }
}
