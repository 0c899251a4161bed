//! Names of archive members, made safe to think about.

use super::refusal::{Limits, Refusal};

/// A member's path with `/` between its parts and nothing at the ends.
///
/// `None` for directories, for names that are no text, and for what a Mac adds
/// beside each file. Names that point out of the archive refuse the archive:
/// nobody writes them by mistake.
pub(super) fn member_path(raw: &[u8], limits: &Limits) -> Result<Option<String>, Refusal> {
    if raw.len() > limits.name {
        return Err(Refusal::NameTooLong(limits.name));
    }
    let Ok(text) = std::str::from_utf8(raw) else {
        return Ok(None);
    };
    // Old tools on Windows wrote their own separator.
    let text = text.replace('\\', "/");
    let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
    if text.starts_with('/') || drive || text.contains('\0') {
        return Err(Refusal::PathEscape(shown(&text)));
    }
    if text.is_empty() || text.ends_with('/') {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(Refusal::PathEscape(shown(&text))),
            part => parts.push(part),
        }
    }
    match parts.last() {
        Some(last) if !last.starts_with("._") => Ok(Some(parts.join("/"))),
        _ => Ok(None),
    }
}

fn shown(name: &str) -> String {
    name.chars().take(200).collect()
}
