//! Versions of Python projects, by the rules of PEP 440.

use std::cmp::Ordering;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

/// Longer texts are no versions anybody meant.
const MAX_VERSION: usize = 256;

/// The normal spelling (`1.0.RC-1` is `1.0rc1`); `None` for what is no version.
pub fn normalize_version(text: &str) -> Option<String> {
    parse(text).map(|version| version.to_string())
}

/// The order installers use. Versions from before the rules come before all
/// others, among themselves by their text.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => a.cmp(b),
    }
}

/// Whether the text is a list of version clauses: `>=1.0,!=1.3.*`.
pub fn is_version_specifier(text: &str) -> bool {
    if text.len() > 4_096 {
        return false;
    }
    let arbitrary = |clause: &str| {
        clause
            .trim()
            .strip_prefix("===")
            .is_some_and(|rest| !rest.trim().is_empty())
    };
    // `===` compares text and takes whatever stands behind it.
    let (_, strict): (Vec<_>, Vec<_>) = text.split(',').partition(|clause| arbitrary(clause));
    strict.is_empty() || VersionSpecifiers::from_str(&strict.join(",")).is_ok()
}

fn parse(text: &str) -> Option<Version> {
    let text = text.trim();
    (text.len() <= MAX_VERSION).then(|| Version::from_str(text).ok())?
}
