//! From bytes to text, and from text to values that may be believed.

use std::borrow::Cow;

/// Longest name, version or link that is kept; anything longer is an accident or an attack.
const MAX_VALUE: usize = 512;

/// UTF-8 with or without a byte order mark, or UTF-16 with one. Broken sequences become U+FFFD,
/// which no value that is kept may contain: one Latin-1 author must not cost the name.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest),
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    char::decode_utf16(units.iter().map(|pair| unit(*pair)))
        .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// A name or version, trimmed, or nothing where it is empty, templated or garbled.
pub(super) fn sound_name(value: String) -> Option<String> {
    let value = sound(value)?;
    (!is_template(&value)).then_some(value)
}

/// A link, trimmed, or nothing. Links are shown, never fetched from here.
pub(super) fn sound_link(value: String) -> Option<String> {
    let value = sound(value)?;
    (!is_template(&value) && !value.contains(char::is_whitespace)).then_some(value)
}

fn sound(value: String) -> Option<String> {
    let trimmed = value.trim();
    if trimmed.is_empty()
        || trimmed.len() > MAX_VALUE
        || trimmed.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
    {
        return None;
    }
    Some(if trimmed.len() == value.len() {
        value
    } else {
        trimmed.to_owned()
    })
}

/// Placeholders of the usual template languages: a file that still has one is not what its own
/// tools will see.
fn is_template(value: &str) -> bool {
    ["{{", "}}", "${", "$(", "<%", "%>", "{%", "#{", "%{"]
        .iter()
        .any(|mark| value.contains(mark))
        || ['@', '$', '%']
            .iter()
            .any(|mark| value.len() > 2 && value.starts_with(*mark) && value.ends_with(*mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_marks_are_not_text() {
        assert_eq!(decode(b"\xEF\xBB\xBFab"), "ab");
        assert_eq!(decode(b"\xFF\xFEa\0b\0"), "ab");
        assert_eq!(decode(b"\xFE\xFF\0a\0b\0"), "ab");
        assert_eq!(decode(b"ab"), "ab");
    }

    #[test]
    fn a_placeholder_is_no_name() {
        for name in [
            "{{ name }}",
            "${name}",
            "@NAME@",
            "$name$",
            "<%= name %>",
            "a\u{FFFD}",
            " ",
            "a\nb",
        ] {
            assert_eq!(sound_name(name.to_owned()), None, "{name}");
        }
        assert_eq!(
            sound_name(" @scope/name ".to_owned()).as_deref(),
            Some("@scope/name")
        );
    }
}
