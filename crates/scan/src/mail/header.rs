//! The header of a message or part: fields found, unfolded and decoded.
//!
//! Fields are located once and decoded on demand, since most (Received, DKIM, ARC) are never read.
//! Decoding tolerates what is met: 8-bit bytes without a label, encoded words that split a
//! character between two words, that touch other text, or that name a wrong charset.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::charset;
use super::mbox::field_name;
use super::transfer;

/// More fields than any mailer writes; the rest of a longer header is not looked at.
const MAX_FIELDS: usize = 1000;
/// A field's value beyond this is cut before decoding: References of huge threads fit.
const MAX_VALUE: usize = 256 * 1024;

/// The located fields of one header.
#[derive(Debug, Default)]
pub struct Header<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
    /// What 8-bit bytes are in, if they are not UTF-8: mailers that write them raw use the charset
    /// of the text.
    pub(super) raw_charset: Option<String>,
}

impl<'a> Header<'a> {
    /// Reads fields up to the first blank line and returns them with the bytes behind it. Lines
    /// that are no fields are skipped inside the header; where none follows any more, the text has
    /// begun without a blank line.
    pub fn split(bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
        let mut at = 0;
        let mut strays = 0;
        while at < bytes.len() {
            let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |lf| at + lf + 1);
            let line = &bytes[at..end];
            let text = line.trim_ascii_end();
            if text.is_empty() && !(line.starts_with(b" ") || line.starts_with(b"\t")) {
                return (Self::new(fields), &bytes[end..]);
            }
            if text.is_empty() && !next_line_is_field(&bytes[end..]) {
                return (Self::new(fields), &bytes[end..]);
            }
            if let Some(name) = field_name(text).filter(|_| !is_indented(line)) {
                let value_end = folded_end(bytes, end);
                let colon = memchr(b':', line).unwrap_or(0);
                let value = &bytes[at + colon + 1..value_end];
                if fields.len() < MAX_FIELDS {
                    fields.push((name, &value[..value.len().min(MAX_VALUE)]));
                }
                at = value_end;
                strays = 0;
                continue;
            }
            // An old separator line, the rest of a broken field, or the text itself.
            let separator = line.starts_with(b"From ") || line.starts_with(b">From ");
            strays += usize::from(!separator);
            if strays > 2 || (!separator && !next_line_is_field(&bytes[end..])) {
                return (Self::new(fields), &bytes[at..]);
            }
            at = end;
        }
        (Self::new(fields), &[])
    }

    fn new(fields: Vec<(&'a [u8], &'a [u8])>) -> Self {
        Self {
            fields,
            raw_charset: None,
        }
    }

    /// The first field of that name, unfolded, 8-bit repaired, encoded words decoded.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.raw(name)?;
        Some(decode_line(unfold_from(value, self.raw_charset.as_deref())))
    }

    /// The first field of that name as it stands, folding included.
    pub fn raw(&self, name: &str) -> Option<&'a [u8]> {
        self.all_raw(name).next()
    }

    /// All fields of that name, top to bottom.
    pub fn all_raw<'s>(&'s self, name: &'s str) -> impl DoubleEndedIterator<Item = &'a [u8]> + 's {
        self.fields
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
    }

    /// Every field, for those who look for families of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + '_ {
        self.fields.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Unfolds a value and decodes its bytes without touching encoded words: what ids, addresses and
/// parameters are read from.
pub fn unfold(value: &[u8]) -> String {
    unfold_from(value, None)
}

/// Unfolds a value whose 8-bit bytes, where they are not UTF-8, are in the given charset.
pub(super) fn unfold_from(value: &[u8], raw_charset: Option<&str>) -> String {
    let value = value.trim_ascii();
    let text = match (std::str::from_utf8(value), raw_charset) {
        (Ok(text), _) => Cow::Borrowed(text),
        (Err(_), label) => charset::decode(value, label).0,
    };
    let bytes = text.as_bytes();
    let folded = memchr::memchr3(b'\n', b'\r', b'\t', bytes).is_some();
    if !folded && memchr(b'\0', bytes).is_none() {
        return text.into_owned();
    }
    let mut line = String::with_capacity(text.len());
    for part in text.split(['\n', '\r']) {
        let part = part.trim_matches([' ', '\t']);
        if part.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        if part.contains(['\t', '\0']) {
            line.extend(
                part.chars()
                    .filter(|c| *c != '\0')
                    .map(|c| if c == '\t' { ' ' } else { c }),
            );
        } else {
            line.push_str(part);
        }
    }
    line
}

/// Unfolds a value and decodes its encoded words.
pub fn decode_value(value: &[u8]) -> String {
    decode_line(unfold(value))
}

fn decode_line(line: String) -> String {
    if memmem::find(line.as_bytes(), b"=?").is_none() {
        return line;
    }
    decode_words(&line)
}

/// Decodes RFC 2047 words. Neighbours with the same charset are joined before decoding, because
/// many mailers split characters between them.
fn decode_words(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut pending: Option<(Cow<'_, str>, Vec<u8>)> = None;
    let mut rest = line;
    while let Some(at) = rest.find("=?") {
        let Some((word, after)) = Word::read(&rest[at..]) else {
            flush(&mut pending, &mut out);
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        let between = &rest[..at];
        if pending.is_none() || !between.trim().is_empty() {
            flush(&mut pending, &mut out);
            out.push_str(between);
        }
        match &mut pending {
            Some((charset, bytes)) if charset.eq_ignore_ascii_case(word.charset) => {
                bytes.extend_from_slice(&word.bytes);
            }
            _ => {
                flush(&mut pending, &mut out);
                pending = Some((Cow::Borrowed(word.charset), word.bytes));
            }
        }
        rest = after;
    }
    flush(&mut pending, &mut out);
    out.push_str(rest);
    // A decoded word may bring line breaks and control characters; a header value has none.
    if out.contains(|c: char| c.is_control()) {
        out = out
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
    }
    out
}

fn flush(pending: &mut Option<(Cow<'_, str>, Vec<u8>)>, out: &mut String) {
    if let Some((charset, bytes)) = pending.take() {
        out.push_str(&charset::decode(&bytes, Some(&charset)).0);
    }
}

struct Word<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
}

impl<'a> Word<'a> {
    /// Reads `=?charset?B|Q?text?=` at the start; returns it with the text behind.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let inner = text.strip_prefix("=?")?;
        let (charset, inner) = split_within(inner, '?', 80)?;
        let (kind, inner) = split_within(inner, '?', 1)?;
        // A `?` may stand inside Q text of careless mailers, so the end is `?=`.
        let limit = inner.floor_char_boundary(4000);
        let end = inner[..limit].find("?=")?;
        let payload = &inner[..end];
        let bytes = match kind {
            "B" | "b" => transfer::base64(payload.as_bytes()),
            "Q" | "q" => transfer::quoted_printable_word(payload.as_bytes()),
            _ => return None,
        };
        // RFC 2231 allows a language behind the charset: `utf-8*en`.
        let charset = charset.split('*').next().unwrap_or(charset);
        Some((Self { charset, bytes }, &inner[end + 2..]))
    }
}

fn split_within(text: &str, separator: char, max: usize) -> Option<(&str, &str)> {
    let (head, tail) = text.split_once(separator)?;
    (!head.is_empty() && head.len() <= max).then_some((head, tail))
}

fn folded_end(bytes: &[u8], mut end: usize) -> usize {
    while end < bytes.len() && (bytes[end] == b' ' || bytes[end] == b'\t') {
        let next = memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |lf| end + lf + 1);
        // A line of blanks ends the header for some writers; folding of nothing for others.
        if bytes[end..next].trim_ascii().is_empty() && !next_line_is_field(&bytes[next..]) {
            return end;
        }
        end = next;
    }
    end
}

fn is_indented(line: &[u8]) -> bool {
    line.starts_with(b" ") || line.starts_with(b"\t")
}

fn next_line_is_field(bytes: &[u8]) -> bool {
    let line = &bytes[..memchr(b'\n', bytes).unwrap_or(bytes.len())];
    !line.is_empty() && (is_indented(line) || field_name(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(value: &str) -> String {
        decode_value(value.as_bytes())
    }

    #[test]
    fn encoded_words() {
        assert_eq!(decoded("=?utf-8?B?w6k=?= =?utf-8?Q?_t=C3=A9?="), "é té");
        assert_eq!(
            decoded("plain =?iso-8859-1?q?caf=E9?= end"),
            "plain café end"
        );
        assert_eq!(
            decoded("=?utf-8?q?a=C3?=\n =?utf-8?q?=A9b?="),
            "aéb",
            "split character"
        );
        assert_eq!(decoded("=?ISO-2022-JP?B?GyRCNEE7ehsoQg==?="), "漢字");
        assert_eq!(decoded("=?utf-8*en?q?x?="), "x");
        assert_eq!(decoded("=?bogus"), "=?bogus");
        assert_eq!(decoded("=?x?z?y?="), "=?x?z?y?=");
    }

    #[test]
    fn folding_and_eight_bit() {
        let (header, text) =
            Header::split(b"Subject: a\n b\r\n\tc\nFrom: J\xe9r\xf4me <j@x>\n\nbody\n");
        assert_eq!(header.text("subject").as_deref(), Some("a b c"));
        assert_eq!(header.text("From").as_deref(), Some("Jérôme <j@x>"));
        assert_eq!(text, b"body\n");
    }

    #[test]
    fn a_text_without_header_or_blank_line() {
        let (header, text) = Header::split(b"just some words\nand more\n");
        assert!(header.is_empty());
        assert_eq!(text, b"just some words\nand more\n");
        let (header, text) = Header::split(b"Subject: x\nno blank line before this\nmore\n");
        assert_eq!(header.text("subject").as_deref(), Some("x"));
        assert_eq!(text, b"no blank line before this\nmore\n");
    }
}
