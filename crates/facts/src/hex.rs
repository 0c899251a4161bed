//! Bytes as people and protocols write digests: two lower-case digits each.

use std::fmt::Write as _;

/// Writes bytes down.
pub fn lower(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(lower([0x00, 0x0f, 0xa0, 0xff]), "000fa0ff");
        assert_eq!(lower([]), "");
    }
}
