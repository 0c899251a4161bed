//! A valid gzip stream that is a thousand times larger inside.

use std::io::Write as _;

use axum::body::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};

/// Gzip of `mebibytes` of blanks: white space, so that even a JSON reader would
/// go on and on. One mebibyte is packed once and ended with a full flush, which
/// forgets the history, so that the piece can simply be repeated.
pub(super) fn gzip_bomb(mebibytes: u32) -> Bytes {
    let blanks = vec![b' '; 1 << 20];
    let mut piece = Vec::with_capacity(1 << 14);
    let mut compress = Compress::new(Compression::best(), false);
    // A vector with room to spare cannot fail to be written.
    let _ = compress.compress_vec(&blanks, &mut piece, FlushCompress::Full);

    let mut one = Crc::new();
    one.update(&blanks);
    let mut all = Crc::new();
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    for _ in 0..mebibytes {
        packed.extend_from_slice(&piece);
        all.combine(&one);
    }
    // An empty last block, then the checksum and the length.
    packed.extend_from_slice(&[0x03, 0x00]);
    let _ = packed.write_all(&all.sum().to_le_bytes());
    let _ = packed.write_all(&all.amount().to_le_bytes());
    packed.into()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_bomb_is_a_valid_gzip_stream() {
        let packed = gzip_bomb(3);
        assert!(packed.len() < 16 << 10, "{}", packed.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked.len(), 3 << 20);
        assert!(unpacked.iter().all(|byte| *byte == b' '));
    }
}
