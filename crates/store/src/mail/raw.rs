//! The bytes of mail as they are kept: deflated, which makes less than half of them.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

/// No mail is larger than this; whatever unpacks to more is damage.
const MAX_BYTES: u64 = 256 << 20;

/// Bytes as they are kept.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(
        Vec::with_capacity(bytes.len() / 2 + 64),
        Compression::fast(),
    );
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
        for bytes in [&b""[..], b"x", &[7; 10_000], b"From: a\r\n\r\n\xff\x00"] {
            assert_eq!(unpack(&pack(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(unpack(&[0xff, 0xff, 1, 2]), None);
    }
}
