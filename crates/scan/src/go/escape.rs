//! Module paths and versions as file and URL names.
//!
//! Proxies and caches may live on file systems that ignore case, so every
//! upper-case letter is written as `!` and its lower-case form.

use super::module_path::{check_path, is_device};

/// `None` when the path is not a valid module path.
pub fn escape_path(path: &str) -> Option<String> {
    check_path(path).is_ok().then(|| escape(path))
}

/// `None` when the version cannot be part of a file name.
pub fn escape_version(version: &str) -> Option<String> {
    (is_file_name(version) && !version.contains('!')).then(|| escape(version))
}

/// The way back; `None` for text that [`escape_path`] cannot have written.
pub fn unescape_path(escaped: &str) -> Option<String> {
    unescape(escaped).filter(|path| check_path(path).is_ok())
}

/// The way back; `None` for text that [`escape_version`] cannot have written.
pub fn unescape_version(escaped: &str) -> Option<String> {
    unescape(escaped).filter(|version| is_file_name(version))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        if c.is_ascii_uppercase() {
            escaped.push('!');
        }
        escaped.push(c.to_ascii_lowercase());
    }
    escaped
}

fn unescape(escaped: &str) -> Option<String> {
    let mut text = String::with_capacity(escaped.len());
    let mut chars = escaped.chars();
    while let Some(c) = chars.next() {
        match c {
            '!' => {
                let letter = chars.next().filter(char::is_ascii_lowercase)?;
                text.push(letter.to_ascii_uppercase());
            }
            c if c.is_ascii_uppercase() || !c.is_ascii() => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

/// ASCII only: what is escaped has to come back the same from any file system.
fn is_file_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&()+,-.=@[]^_{}~ ".contains(&b);
    let only_dots = text.bytes().all(|b| b == b'.');
    let short = text.split_once('.').map_or(text, |(short, _)| short);
    !text.is_empty()
        && !only_dots
        && !text.ends_with('.')
        && text.bytes().all(allowed)
        && !is_device(short)
}
