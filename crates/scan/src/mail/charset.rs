//! Bytes to text, whatever the label says.
//!
//! Labels lie in three ways that archives are full of, and each has its own repair:
//!
//! * no label, an unknown one, or `us-ascii` over 8-bit bytes: UTF-8 if it is valid, else
//!   windows-1252 (what the bytes almost always are);
//! * a single-byte label over valid UTF-8: some archive re-encoded the source and kept the header.
//!   Text in a single-byte charset that is valid UTF-8 by chance does not occur at this length;
//! * `utf-8` over bytes that are mostly not: windows-1252, unless the damage is slight.
//!
//! Double-byte labels are believed unless decoding fails, since short texts in GBK can be valid
//! UTF-8 by chance.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use mail_parser::decoders::charsets::map::charset_decoder;

use super::utf7;

/// How the text came about; stored with the message so that repairs can be counted and redone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Repair {
    /// The label was right, or there was nothing to decide.
    #[default]
    None,
    /// The label was missing, unknown or wrong and another charset fitted.
    Relabelled,
    /// Bytes were lost: the text holds replacement characters.
    Lossy,
}

/// Decodes by the label where it fits, else as the module says.
pub fn decode<'a>(bytes: &'a [u8], label: Option<&str>) -> (Cow<'a, str>, Repair) {
    let label = label.map(clean_label).filter(|label| !label.is_empty());
    let encoding = label.as_deref().and_then(lookup);
    if let Some(text) = ascii(bytes) {
        // ISO-2022 and the UTF-16 family look like ASCII and are not.
        if encoding.is_none_or(Encoding::is_ascii_compatible)
            && !label.as_deref().is_some_and(is_utf_7)
        {
            return (Cow::Borrowed(text), Repair::None);
        }
    }
    match (encoding, label.as_deref()) {
        (Some(encoding), Some(label)) if encoding == UTF_8 || is_ascii_label(label) => {
            decode_unlabelled(bytes, encoding == UTF_8)
        }
        (Some(encoding), _) if encoding.is_single_byte() => decode_single_byte(bytes, encoding),
        (Some(encoding), _) => decode_multi_byte(bytes, encoding),
        (None, Some(label)) if is_utf_7(label) => (Cow::Owned(utf7::decode(bytes)), Repair::None),
        (None, Some(label)) => match charset_decoder(label.as_bytes()) {
            // Charsets the web forgot: the code pages of DOS.
            Some(decoder) => (Cow::Owned(decoder(bytes)), Repair::None),
            None => decode_unlabelled(bytes, false),
        },
        (None, None) => decode_unlabelled(bytes, false),
    }
}

fn decode_unlabelled(bytes: &[u8], labelled_utf8: bool) -> (Cow<'_, str>, Repair) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let repair = if labelled_utf8 || text.is_ascii() {
                Repair::None
            } else {
                Repair::Relabelled
            };
            (Cow::Borrowed(text), repair)
        }
        Err(_) if mostly_utf8(bytes) => (String::from_utf8_lossy(bytes), Repair::Lossy),
        Err(_) => (
            WINDOWS_1252.decode_without_bom_handling(bytes).0,
            Repair::Relabelled,
        ),
    }
}

fn decode_single_byte<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> (Cow<'a, str>, Repair) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let repair = if text.contains('\u{fffd}') {
            Repair::Lossy
        } else {
            Repair::Relabelled
        };
        return (Cow::Borrowed(text), repair);
    }
    let (text, malformed) = encoding.decode_without_bom_handling(bytes);
    let repair = if malformed {
        Repair::Lossy
    } else {
        Repair::None
    };
    (text, repair)
}

fn decode_multi_byte<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> (Cow<'a, str>, Repair) {
    let (text, malformed) = if encoding == UTF_16BE || encoding == UTF_16LE {
        let (text, _, malformed) = encoding.decode(bytes);
        (text, malformed)
    } else {
        encoding.decode_without_bom_handling(bytes)
    };
    if !malformed {
        return (text, Repair::None);
    }
    match std::str::from_utf8(bytes) {
        Ok(utf8) if !utf8.is_ascii() => (Cow::Borrowed(utf8), Repair::Relabelled),
        _ => (text, Repair::Lossy),
    }
}

/// More well-formed multi-byte sequences than broken ones.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

fn ascii(bytes: &[u8]) -> Option<&str> {
    if bytes.is_ascii() {
        std::str::from_utf8(bytes).ok()
    } else {
        None
    }
}

fn lookup(label: &str) -> Option<&'static Encoding> {
    let known = Encoding::for_label(label.as_bytes()).or_else(|| {
        let alias: &[u8] = match label {
            "cp932" | "ms_kanji" | "sjis" | "x-ms-cp932" => b"shift_jis",
            "cp936" | "ms936" | "euc-cn" | "gb2312-80" => b"gbk",
            "cp949" | "ms949" | "uhc" | "ks_c_5601" => b"euc-kr",
            "cp950" | "ms950" => b"big5",
            "eucjp" | "ujis" => b"euc-jp",
            "koi8r" => b"koi8-r",
            "latin-1" | "8859-1" | "iso8859_1" | "iso-8859-1-windows-3.1-latin-1" => b"iso-8859-1",
            "iso-2022-jp-2" | "iso-2022-jp-ms" | "cp50220" => b"iso-2022-jp",
            "646" | "ansi" | "us_ascii" | "usascii" | "x-us-ascii" => b"us-ascii",
            _ => return numbered_code_page(label),
        };
        Encoding::for_label(alias)
    });
    // `replacement` is how the web blocks a few charsets; here it would lose the whole text.
    known.filter(|encoding| encoding.name() != "replacement")
}

/// `windows1252`, `win-1251`, `cp-1250`, `iso8859_15`: spellings of numbered pages.
fn numbered_code_page(label: &str) -> Option<&'static Encoding> {
    let digits = label.trim_start_matches(|c: char| !c.is_ascii_digit());
    if let Some(part) = digits.strip_prefix("8859") {
        let part = part.trim_start_matches(|c: char| !c.is_ascii_digit());
        return Encoding::for_label(format!("iso-8859-{part}").as_bytes());
    }
    if digits.len() == 4 && digits.starts_with("125") {
        return Encoding::for_label(format!("windows-{digits}").as_bytes());
    }
    None
}

fn clean_label(label: &str) -> String {
    label
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .chars()
        .take(60)
        .collect::<String>()
        .to_ascii_lowercase()
}

fn is_ascii_label(label: &str) -> bool {
    label.contains("ascii") || label == "646" || label == "ansi" || label.starts_with("ansi_x3")
}

fn is_utf_7(label: &str) -> bool {
    label.contains("utf-7") || label == "utf7" || label == "csutf7"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_fit_are_believed() {
        assert_eq!(
            decode(b"caf\xe9", Some("iso-8859-1")),
            ("café".into(), Repair::None)
        );
        assert_eq!(
            decode(b"\xc4\xe3\xba\xc3", Some("gb2312")),
            ("你好".into(), Repair::None)
        );
        assert_eq!(decode(b"\x1b$B4A;z\x1b(B", Some("ISO-2022-JP")).0, "漢字");
        assert_eq!(decode(b"Hi +ZeVnLIqe-", Some("utf-7")).0, "Hi 日本語");
        assert_eq!(decode(b"na\x8bve", Some("cp850")).0, "naïve");
    }

    #[test]
    fn wrong_labels_are_repaired() {
        let utf8 = "café".as_bytes();
        assert_eq!(
            decode(utf8, Some("iso-8859-1")),
            ("café".into(), Repair::Relabelled)
        );
        assert_eq!(decode(utf8, None), ("café".into(), Repair::Relabelled));
        assert_eq!(
            decode(utf8, Some("x-unknown")),
            ("café".into(), Repair::Relabelled)
        );
        assert_eq!(
            decode(b"caf\xe9", Some("utf-8")),
            ("café".into(), Repair::Relabelled)
        );
        assert_eq!(
            decode(b"caf\xe9", Some("us-ascii")),
            ("café".into(), Repair::Relabelled)
        );
        let replaced = "Herv\u{fffd}".as_bytes();
        assert_eq!(
            decode(replaced, Some("iso-8859-1")),
            ("Herv\u{fffd}".into(), Repair::Lossy)
        );
        let cut = "日本語".as_bytes();
        assert_eq!(decode(&cut[..8], Some("utf-8")).1, Repair::Lossy);
    }

    #[test]
    fn spellings_of_labels() {
        for label in [
            "\"iso-8859-1\"",
            "ISO8859_1",
            "latin-1",
            "cp1252",
            "win-1252",
            "windows1252",
        ] {
            assert_eq!(
                decode(b"\xe9", Some(label)),
                ("é".into(), Repair::None),
                "{label}"
            );
        }
    }
}
