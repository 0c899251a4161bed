//! From bytes to staged copies.

use std::fmt::Write as _;

use db::Timestamp;
use scan::mail::mbox::Envelope;
use sha2::{Digest as _, Sha256};
use store::mail::{NewCopy, pack};

/// Larger mail is cut there.
pub const MAX_MESSAGE: usize = 64 << 20;
/// Copies in one transaction, each with its bytes.
pub(super) const COPIES_AT_ONCE: usize = 500;
/// Bytes that are held before they are written.
pub(super) const BYTES_AT_ONCE: usize = 8 << 20;

/// The id of bytes that nobody else gave one.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A copy as it was found in a file.
pub fn stage_file_copy(part: &str, bytes: &[u8], envelope: Option<&Envelope>) -> NewCopy {
    NewCopy {
        part: part.to_owned(),
        digest: digest(bytes),
        size: bytes.len(),
        envelope_at: envelope
            .and_then(|envelope| envelope.date)
            .map(|date| Timestamp::from_micros(date.as_microsecond())),
        raw: pack(bytes),
    }
}
