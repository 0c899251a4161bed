//! Which strings are module paths, and which major version a path promises.

use super::Semver;

/// Why a string cannot be a module path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    #[error("the module path is empty")]
    Empty,
    #[error("the module path is longer than {MAX_PATH} bytes")]
    TooLong,
    #[error("the module path has an empty element")]
    EmptyElement,
    #[error("the module path begins with a dash")]
    LeadingDash,
    #[error("the path element {0:?} begins or ends with a dot")]
    DotElement(String),
    #[error("the module path contains {0:?}")]
    Character(char),
    #[error("the path element {0:?} is reserved on Windows")]
    WindowsName(String),
    #[error("the first path element {0:?} is not a host name")]
    NotAHost(String),
    #[error("the module path ends in a version that cannot be one")]
    Version,
}

/// The part of a module path that fixes the major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMajor<'a> {
    /// No suffix: v0 and v1.
    None,
    /// `/v2`; holds `v2`.
    Slash(&'a str),
    /// `.v2` of gopkg.in; holds `v2`.
    Dot(&'a str),
    /// `.v2-unstable` of gopkg.in, a path that no tag belongs to.
    Unstable(&'a str),
}

impl PathMajor<'_> {
    /// Whether a version of this major may be a version of the path.
    pub fn allows(&self, version: &Semver<'_>) -> bool {
        match self {
            PathMajor::None => !version.needs_suffix(),
            PathMajor::Slash(word) | PathMajor::Dot(word) => version.major_word() == *word,
            PathMajor::Unstable(_) => false,
        }
    }
}

/// Go sets no limit, file systems and databases do.
const MAX_PATH: usize = 1024;

/// Checks a module path that can be fetched from a server.
pub fn check_path(path: &str) -> Result<(), InvalidPath> {
    if path.is_empty() {
        return Err(InvalidPath::Empty);
    }
    if path.len() > MAX_PATH {
        return Err(InvalidPath::TooLong);
    }
    if path.starts_with('-') {
        return Err(InvalidPath::LeadingDash);
    }
    path.split('/').try_for_each(check_element)?;
    let host = path.split_once('/').map_or(path, |(host, _)| host);
    let host_letters =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    if !host.contains('.') || !host.bytes().all(host_letters) {
        return Err(InvalidPath::NotAHost(host.to_owned()));
    }
    split_major(path).map(|_| ()).ok_or(InvalidPath::Version)
}

/// Splits off the major version; `None` when the end looks like one but is not
/// allowed (`/v0`, `/v1`, `/v02`, `/v1.2`, gopkg.in without one).
pub fn split_major(path: &str) -> Option<(&str, PathMajor<'_>)> {
    if path.starts_with("gopkg.in/") {
        return split_gopkg_in(path);
    }
    let stem = path.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &path[stem.len()..];
    let Some(prefix) = stem.strip_suffix("/v") else {
        return Some((path, PathMajor::None));
    };
    if number.is_empty() {
        return Some((path, PathMajor::None));
    }
    if number.contains('.') || number.starts_with('0') || number == "1" {
        return None;
    }
    Some((prefix, PathMajor::Slash(&path[prefix.len() + 1..])))
}

fn split_gopkg_in(path: &str) -> Option<(&str, PathMajor<'_>)> {
    let stable = path.strip_suffix("-unstable").unwrap_or(path);
    let stem = stable.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &stable[stem.len()..];
    let prefix = stem.strip_suffix(".v")?;
    if number.is_empty() || (number.starts_with('0') && number != "0") {
        return None;
    }
    let word = &stable[prefix.len() + 1..];
    let major = if stable.len() == path.len() {
        PathMajor::Dot(word)
    } else {
        PathMajor::Unstable(word)
    };
    Some((prefix, major))
}

fn check_element(element: &str) -> Result<(), InvalidPath> {
    if element.is_empty() {
        return Err(InvalidPath::EmptyElement);
    }
    if element.starts_with('.') || element.ends_with('.') {
        return Err(InvalidPath::DotElement(element.to_owned()));
    }
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    if let Some(strange) = element.chars().find(|c| !allowed(c)) {
        return Err(InvalidPath::Character(strange));
    }
    check_windows_name(element)
}

/// A module is unpacked into a directory of its own name, on Windows too.
pub(super) fn check_windows_name(element: &str) -> Result<(), InvalidPath> {
    let short = element.split_once('.').map_or(element, |(short, _)| short);
    let reserved = || InvalidPath::WindowsName(element.to_owned());
    if is_device(short) {
        return Err(reserved());
    }
    // `name~1` is what Windows calls the short form of another name.
    match short.rsplit_once('~') {
        Some((_, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Err(reserved())
        }
        _ => Ok(()),
    }
}

pub(super) fn is_device(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    match name.as_bytes() {
        b"CON" | b"PRN" | b"AUX" | b"NUL" => true,
        [b'C', b'O', b'M', digit] | [b'L', b'P', b'T', digit] => matches!(digit, b'1'..=b'9'),
        _ => false,
    }
}
