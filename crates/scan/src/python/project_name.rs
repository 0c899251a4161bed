//! Names of Python projects.

/// The one spelling of a project's name: lower case, and one dash for each run
/// of dashes, underscores and dots.
pub fn normalize_name(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    let mut pending = false;
    for c in name.chars() {
        if matches!(c, '-' | '_' | '.') {
            pending = true;
            continue;
        }
        if std::mem::take(&mut pending) {
            normal.push('-');
        }
        normal.extend(c.to_lowercase());
    }
    if pending {
        normal.push('-');
    }
    normal
}

/// Whether the text may be a project's name: ASCII letters and digits, with
/// dashes, underscores and dots between them.
pub fn is_valid_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
