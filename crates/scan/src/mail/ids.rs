//! Message ids: read, filtered, and made where there is none.

use sha2::{Digest, Sha256};

/// Domain of the ids made here, so that nobody mistakes them for the sender's.
pub const GENERATED_DOMAIN: &str = "generated.gleaner";

/// Longer ids are damage; they are cut, not dropped, so that the message keeps some identity.
const MAX_ID: usize = 2000;
/// References of longer chains keep their first and their newest ids.
const MAX_REFERENCES: usize = 400;

/// The ids of a `Message-ID` value: those in angle brackets, else the bare word.
pub fn message_ids(value: &str) -> Vec<String> {
    let ids = bracketed(value);
    if !ids.is_empty() {
        return ids;
    }
    let word = value.trim().trim_matches(['<', '>']);
    let word = word.split_whitespace().next().unwrap_or_default();
    clean(word).into_iter().collect()
}

/// The ids that a message names as its ancestors in one field. Bare words count only when they look
/// like ids: `In-Reply-To: Your message of Monday` names nobody.
pub fn ancestors(value: &str) -> Vec<String> {
    let mut ids = bracketed(value);
    if ids.is_empty() && !value.contains('"') {
        let words: Vec<&str> = value
            .split([' ', '\t', ','])
            .filter(|word| !word.is_empty())
            .collect();
        if !words.is_empty() && words.iter().all(|word| word.contains('@')) {
            ids = words
                .iter()
                .filter_map(|word| clean(word.trim_matches(['<', '>'])))
                .collect();
        }
    }
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| !is_prompt_answer(id) && seen.insert(id.clone()));
    if ids.len() > MAX_REFERENCES {
        ids.drain(1..=ids.len() - MAX_REFERENCES);
    }
    ids
}

/// An id for a message that has none: the same message gives the same id from every archive, so it
/// is made of what senders write and archives keep.
pub fn generated(parts: &[&str]) -> String {
    format!("{}@{GENERATED_DOMAIN}", hex(&content_hash(parts)[..16]))
}

/// A hash over texts; line ends and blanks at line ends do not count, since archives change them.
pub fn content_hash(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        for line in part.trim_end().lines() {
            hash.update(line.trim_end().as_bytes());
            hash.update(b"\n");
        }
        // A byte that text cannot hold keeps the parts apart.
        hash.update([0xff]);
    }
    hash.finalize().into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn bracketed(value: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find('<') {
        let inner = &rest[at + 1..];
        // A bracket that is never closed ends at the next one, or with the value.
        let end = inner.find(['<', '>']).unwrap_or(inner.len());
        ids.extend(clean(&inner[..end]));
        rest = &inner[end..];
        if let Some(after) = rest.strip_prefix('>') {
            rest = after;
        }
    }
    ids
}

/// Folding put blanks into ids, and RFC 822 allowed comments there.
fn clean(id: &str) -> Option<String> {
    let id = id.trim();
    let mut cleaned = if id.contains(char::is_whitespace) {
        without_comments(id)
    } else {
        id.to_owned()
    };
    cleaned.retain(|c| !c.is_control() && !c.is_whitespace());
    cleaned.truncate(cleaned.floor_char_boundary(MAX_ID));
    (!cleaned.is_empty()).then_some(cleaned)
}

fn without_comments(text: &str) -> String {
    let mut depth = 0_usize;
    let kept: String = text
        .chars()
        .filter(|&c| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth > 0 => {
                depth -= 1;
                false
            }
            _ => depth == 0,
        })
        .collect();
    if depth == 0 { kept } else { text.to_owned() }
}

/// Old `git send-email` asked "Message-ID to be used as In-Reply-To?" and people answered yes.
fn is_prompt_answer(id: &str) -> bool {
    matches!(id.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_all_spellings() {
        assert_eq!(message_ids("<a@b>"), ["a@b"]);
        assert_eq!(message_ids(" a@b "), ["a@b"]);
        assert_eq!(
            message_ids("<1234   @   local(blah)  .machine .example>"),
            ["1234@local.machine.example"]
        );
        assert_eq!(message_ids("<a@b> <c@d>"), ["a@b", "c@d"]);
        assert_eq!(message_ids("<unclosed@x"), ["unclosed@x"]);
        assert!(message_ids("<>").is_empty());
    }

    #[test]
    fn ancestors_skip_what_is_no_id() {
        assert_eq!(ancestors("Your message of \"Mon, 1 Jan\" <a@b>"), ["a@b"]);
        assert!(ancestors("Your message of Monday").is_empty());
        assert!(ancestors("<y>").is_empty());
        assert_eq!(ancestors("a@b, c@d"), ["a@b", "c@d"]);
        assert_eq!(ancestors("<a@b><c@d> <a@b>"), ["a@b", "c@d"]);
        let long: Vec<String> = (0..1000).map(|n| format!("<{n}@x>")).collect();
        let ids = ancestors(&long.join(" "));
        assert_eq!(
            (ids.len(), ids[0].as_str(), ids[399].as_str()),
            (400, "0@x", "999@x")
        );
    }

    #[test]
    fn generated_ids_do_not_depend_on_line_ends() {
        let unix = generated(&["subject", "body\ntext\n"]);
        assert_eq!(unix, generated(&["subject", "body  \r\ntext\r\n\r\n"]));
        assert_ne!(unix, generated(&["subject body", "text"]));
        assert!(unix.ends_with("@generated.gleaner"));
    }
}
