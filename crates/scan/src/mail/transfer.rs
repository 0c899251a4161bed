//! Content-Transfer-Encoding, undone without ever giving up.
//!
//! Strict decoders return nothing at the first wrong byte, which would lose the message: half of a
//! damaged part is better than none, so these skip what is not in the alphabet and keep the rest.

use std::borrow::Cow;

/// The encodings that change bytes; all others (7bit, 8bit, binary, unknown) do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Identity,
    Base64,
    QuotedPrintable,
    Uuencode,
}

impl Transfer {
    /// Reads the field's value; comments and trailing junk are common.
    pub fn from_field(value: &str) -> Self {
        let word = value.trim_start_matches('"').trim_start();
        let is = |name: &str| {
            word.get(..name.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(name))
        };
        if is("base64") {
            Self::Base64
        } else if is("quoted-printable") || is("quoted printable") {
            Self::QuotedPrintable
        } else if is("x-uuencode") || is("uuencode") || is("x-uue") {
            Self::Uuencode
        } else {
            Self::Identity
        }
    }

    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Identity => Cow::Borrowed(bytes),
            Self::Base64 => Cow::Owned(base64(bytes)),
            Self::QuotedPrintable => Cow::Owned(quoted_printable(bytes)),
            Self::Uuencode => Cow::Owned(uudecode(bytes)),
        }
    }
}

/// Bytes outside the alphabet are skipped. Padding ends a group but not the text: some mailers
/// encode line by line and join the results.
pub fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let (mut group, mut count) = (0_u32, 0_u8);
    for &byte in bytes {
        let value = BASE64[usize::from(byte)];
        if value < 64 {
            group = (group << 6) | u32::from(value);
            count += 1;
            if count == 4 {
                out.extend_from_slice(&group.to_be_bytes()[1..]);
                (group, count) = (0, 0);
            }
        } else if byte == b'=' {
            finish_group(&mut out, group, count);
            (group, count) = (0, 0);
        }
    }
    finish_group(&mut out, group, count);
    out
}

fn finish_group(out: &mut Vec<u8>, group: u32, count: u8) {
    match count {
        2 => out.push((group >> 4) as u8),
        3 => out.extend_from_slice(&((group >> 2) as u16).to_be_bytes()),
        _ => {}
    }
}

const BASE64: [u8; 256] = {
    let mut table = [255_u8; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < 64 {
        table[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    table
};

/// Soft line breaks joined, trailing blanks of lines dropped, a `=` that begins no code kept.
pub fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let text = line.trim_ascii_end();
        let ending = if line.ends_with(b"\n") {
            &b"\n"[..]
        } else {
            b""
        };
        let (text, soft) = match text.strip_suffix(b"=") {
            Some(head) => (head, true),
            None => (text, false),
        };
        decode_codes(text, &mut out, false);
        if !soft {
            out.extend_from_slice(ending);
        }
    }
    out
}

/// The Q encoding of header words: `_` is a blank.
pub fn quoted_printable_word(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    decode_codes(bytes, &mut out, true);
    out
}

fn decode_codes(mut text: &[u8], out: &mut Vec<u8>, underscore: bool) {
    let next = |text: &[u8]| {
        if underscore {
            memchr::memchr2(b'=', b'_', text)
        } else {
            memchr::memchr(b'=', text)
        }
    };
    while let Some(at) = next(text) {
        out.extend_from_slice(&text[..at]);
        if text[at] == b'_' {
            out.push(b' ');
            text = &text[at + 1..];
            continue;
        }
        let code = text
            .get(at + 1..at + 3)
            .and_then(|pair| Some((hex(pair[0])? << 4) | hex(pair[1])?));
        if let Some(byte) = code {
            out.push(byte);
            text = &text[at + 3..];
        } else {
            out.push(b'=');
            text = &text[at + 1..];
        }
    }
    out.extend_from_slice(text);
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn uudecode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for line in bytes.split(|&b| b == b'\n').map(<[u8]>::trim_ascii_end) {
        let Some((&first, data)) = line.split_first() else {
            continue;
        };
        if line.starts_with(b"begin ") || line == b"end" {
            continue;
        }
        let length = usize::from(first.wrapping_sub(32) & 63);
        let start = out.len();
        for group in data.chunks(4) {
            let sextet =
                |at: usize| u32::from(group.get(at).map_or(0, |byte| byte.wrapping_sub(32) & 63));
            let joined = sextet(0) << 18 | sextet(1) << 12 | sextet(2) << 6 | sextet(3);
            out.extend_from_slice(&joined.to_be_bytes()[1..]);
        }
        out.truncate(start + length.min(out.len() - start));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_survives_damage() {
        assert_eq!(base64(b"aGVsbG8="), b"hello");
        assert_eq!(base64(b"aGVs\r\nbG8"), b"hello", "no padding");
        assert_eq!(base64(b"aGVs!!bG8="), b"hello", "foreign bytes");
        assert_eq!(base64(b"aGVsbG8=aGVsbG8="), b"hellohello", "joined texts");
        assert_eq!(base64(b"a"), b"");
    }

    #[test]
    fn quoted_printable_survives_damage() {
        assert_eq!(quoted_printable(b"a=3Db=\nc \n=ZZ=\n"), b"a=bc\n=ZZ");
        assert_eq!(
            quoted_printable(b"caf=C3=A9=\r\n!\r\n"),
            "café!\n".as_bytes()
        );
        assert_eq!(quoted_printable_word(b"a_b=2E"), b"a b.");
    }

    #[test]
    fn uuencoded_text() {
        assert_eq!(uudecode(b"begin 644 x\n#0V%T\n`\nend\n"), b"Cat");
    }
}
