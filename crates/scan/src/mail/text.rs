//! The readable text of a message, out of its parts.
//!
//! The text is every inline `text/plain` part in order (list footers come as parts of their own).
//! Where there is none, or only blanks, HTML and other text is rendered. Of alternatives the plain
//! one is taken. Named parts and attachments are not text, unless nothing else is there.

use std::borrow::Cow;

use super::charset::{self, Repair};
use super::html;
use super::mime::Part;

/// Text beyond this is cut: no person wrote it.
const MAX_TEXT: usize = 16 * 1024 * 1024;
const MAX_PARAMETER: usize = 200;

/// The body with LF line ends, no NUL, and what had to be repaired.
#[derive(Debug, Default)]
pub struct BodyText {
    pub text: String,
    pub repair: Repair,
    pub from_html: bool,
}

/// Chooses and renders the body.
pub fn body(parts: &[Part<'_>]) -> BodyText {
    let own = || parts.iter().filter(|part| !part.is_nested);
    let inline = |part: &&Part<'_>| !part.is_attachment && part.file_name.is_none();
    let plain = join(own().filter(inline).filter(|part| part.is_text("plain")));
    if !plain.text.trim().is_empty() {
        return plain;
    }
    let rendered = join(own().filter(inline).filter(|part| is_other_text(part)));
    if !rendered.text.trim().is_empty() {
        return rendered;
    }
    let named = join(
        own()
            .filter(|part| !part.is_attachment && part.content_type.starts_with("text/"))
            .take(1),
    );
    if named.text.trim().is_empty() {
        plain
    } else {
        named
    }
}

/// The text of one part, decoded but not yet rendered.
pub fn decode_part(part: &Part<'_>) -> (String, Repair) {
    let bytes = part.decoded();
    let bytes = &bytes[..bytes.len().min(MAX_TEXT)];
    let (text, repair) = charset::decode(bytes, part.charset.as_deref());
    (normalise(text), repair)
}

fn join<'p, 'a: 'p>(parts: impl Iterator<Item = &'p Part<'a>>) -> BodyText {
    let mut body = BodyText::default();
    let mut taken: Option<(usize, usize)> = None;
    for part in parts {
        // One choice of each set of alternatives: the first of this kind.
        if let (Some(before), Some(this)) = (taken, part.alternative)
            && before.0 == this.0
            && before.1 != this.1
        {
            continue;
        }
        taken = part.alternative.or(taken);
        let (text, repair) = decode_part(part);
        let text = render(part, text, &mut body.from_html);
        if !body.text.is_empty() && !body.text.ends_with('\n') {
            body.text.push('\n');
        }
        if body.text.is_empty() {
            body.text = text;
        } else {
            body.text.push_str(&text);
        }
        if repair != Repair::None && body.repair != Repair::Lossy {
            body.repair = repair;
        }
    }
    body
}

fn render(part: &Part<'_>, text: String, from_html: &mut bool) -> String {
    if part.is_text("html") {
        *from_html = true;
        html::to_text(&text)
    } else if part.is_text("enriched") || part.is_text("richtext") {
        enriched_to_text(&text)
    } else if part.is_flowed {
        unflow(&text, part.deletes_space)
    } else {
        text
    }
}

fn is_other_text(part: &Part<'_>) -> bool {
    // Anything that is text of a kind we do not know is still better than nothing.
    part.content_type.starts_with("text/")
        && !part.is_text("plain")
        && !matches!(
            part.content_type.as_str(),
            "text/calendar" | "text/x-vcard" | "text/vcard" | "text/css"
        )
        || part.content_type.starts_with("multipart/")
}

/// Line ends to LF; NUL is replaced, since databases refuse it.
fn normalise(text: Cow<'_, str>) -> String {
    if memchr::memchr2(b'\r', b'\0', text.as_bytes()).is_none() {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\0' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// RFC 3676: lines ending in a blank continue on the next line of the same quote depth.
fn unflow(text: &str, deletes_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open_depth: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let unquoted = line.trim_start_matches('>');
        let depth = line.len() - unquoted.len();
        let content = unquoted.strip_prefix(' ').unwrap_or(unquoted);
        let is_signature = content == "-- ";
        // A line of blanks is a blank line of some quoted patch, not half of a paragraph.
        let flows = content.ends_with(' ') && !is_signature && !content.trim().is_empty();
        let content = if flows && deletes_space {
            &content[..content.len() - 1]
        } else {
            content
        };
        if open_depth == Some(depth) && !is_signature {
            out.push_str(content);
        } else {
            if open_depth.is_some() {
                finish_line(&mut out);
            }
            out.extend(std::iter::repeat_n('>', depth));
            if depth > 0 && !content.is_empty() {
                out.push(' ');
            }
            out.push_str(content);
        }
        if flows {
            open_depth = Some(depth);
        } else {
            open_depth = None;
            out.push('\n');
        }
    }
    if open_depth.is_some() {
        finish_line(&mut out);
    }
    out
}

fn finish_line(out: &mut String) {
    if out.ends_with(' ') && !out.ends_with("-- ") {
        out.pop();
    }
    out.push('\n');
}

/// RFC 1896: commands in angle brackets, `<<` is one bracket, single line breaks are blanks.
fn enriched_to_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('<') {
            out.push('<');
            rest = after;
            continue;
        }
        // A command is short; without its end the bracket was text.
        match rest
            .find(['>', '<', '\n'])
            .filter(|end| rest.as_bytes()[*end] == b'>' && *end < 70)
        {
            Some(end) if rest[..end].eq_ignore_ascii_case("param") => {
                // Parameters are colours and fonts; a far end is somebody else's.
                let near = &rest[..rest.floor_char_boundary(MAX_PARAMETER)];
                let close = near.find("</param>").or_else(|| near.find("</PARAM>"));
                rest = close.map_or(&rest[end + 1..], |close| &rest[close + 8..]);
            }
            Some(end) => rest = &rest[end + 1..],
            None => out.push('<'),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flowed_lines_are_joined_within_their_depth() {
        let text = "> a long \n> quote\nmy own \nanswer\n\n-- \nJane \nDoe\n";
        assert_eq!(
            unflow(text, false),
            "> a long quote\nmy own answer\n\n-- \nJane Doe\n"
        );
        assert_eq!(unflow("ab \ncd\n", true), "abcd\n");
        assert_eq!(
            unflow(" From here\n ok \n>q\n", false),
            "From here\nok\n> q\n"
        );
    }

    #[test]
    fn enriched_text_loses_its_commands() {
        assert_eq!(
            enriched_to_text("<bold>Now</bold> a << b <fontfamily><param>Arial</param>x"),
            "Now a < b x"
        );
    }

    #[test]
    fn line_ends_and_nul() {
        assert_eq!(normalise("a\r\nb\rc\0".into()), "a\nb\nc\u{fffd}");
    }
}
