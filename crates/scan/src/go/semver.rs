//! Semantic versions as Go writes them.
//!
//! They differ from other ecosystems' in the leading `v`, in the short forms
//! `v1` and `v1.2` (valid, never canonical), and in numbers of any length:
//! date tags such as `v20240131235959000000.0.0` exist and must compare.

use std::cmp::Ordering;

/// A parsed version that borrows its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semver<'a> {
    text: &'a str,
    major: &'a str,
    minor: &'a str,
    patch: &'a str,
    /// Without the leading `-`; empty when there is none.
    prerelease: &'a str,
    /// Without the leading `+`; empty when there is none.
    build: &'a str,
}

impl<'a> Semver<'a> {
    /// `None` when the text is not a version at all.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (major, rest) = number(text.strip_prefix('v')?)?;
        let mut version = Semver {
            text,
            major,
            minor: "0",
            patch: "0",
            prerelease: "",
            build: "",
        };
        if rest.is_empty() {
            return Some(version);
        }
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        version.minor = minor;
        if rest.is_empty() {
            return Some(version);
        }
        let (patch, mut rest) = number(rest.strip_prefix('.')?)?;
        version.patch = patch;
        if let Some(tail) = rest.strip_prefix('-') {
            let end = tail.find('+').unwrap_or(tail.len());
            version.prerelease = &tail[..end];
            if !version.prerelease.split('.').all(prerelease_word) {
                return None;
            }
            rest = &tail[end..];
        }
        if let Some(tail) = rest.strip_prefix('+') {
            version.build = tail;
            return tail.split('.').all(word).then_some(version);
        }
        rest.is_empty().then_some(version)
    }

    /// The word a module path's suffix is compared with: `v2`.
    pub fn major_word(&self) -> &'a str {
        &self.text[..=self.major.len()]
    }

    /// Whether the major version needs a suffix in the module path.
    pub fn needs_suffix(&self) -> bool {
        !matches!(self.major, "0" | "1")
    }

    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// The build part without its `+`, empty when there is none.
    pub fn build(&self) -> &'a str {
        self.build
    }

    /// All three numbers, no build part: the only spelling that names a version.
    pub fn canonical(&self) -> String {
        let mut text = format!("v{}.{}.{}", self.major, self.minor, self.patch);
        if self.is_prerelease() {
            text.push('-');
            text.push_str(self.prerelease);
        }
        text
    }

    pub fn is_canonical(&self) -> bool {
        self.build.is_empty() && self.canonical() == self.text
    }
}

impl PartialOrd for Semver<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Semantic order; build parts and spelling only break ties, so that the order is total.
impl Ord for Semver<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        by_number(self.major, other.major)
            .then_with(|| by_number(self.minor, other.minor))
            .then_with(|| by_number(self.patch, other.patch))
            .then_with(|| by_prerelease(self.prerelease, other.prerelease))
            .then_with(|| self.build.cmp(other.build))
            .then_with(|| self.text.cmp(other.text))
    }
}

fn number(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    (!digits.is_empty() && !leading_zero).then_some((digits, rest))
}

fn word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn prerelease_word(text: &str) -> bool {
    let leading_zero = text.len() > 1 && text.starts_with('0') && is_number(text);
    word(text) && !leading_zero
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Compares digits without leading zeros: the longer number is the greater.
fn by_number(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn by_prerelease(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match (is_number(x), is_number(y)) {
                (true, true) => by_number(x, y),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => x.cmp(y),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}
