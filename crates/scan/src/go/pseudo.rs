//! Tags that look like the versions Go makes up for untagged commits.

use super::Semver;

/// Whether the text has one of the pseudo-version forms:
/// `vX.0.0-TIME-HASH`, `vX.Y.Z-0.TIME-HASH`, `vX.Y.Z-pre.0.TIME-HASH`,
/// each perhaps with a build part.
///
/// Such a tag can never be a version: Go reads the text as "the commit HASH",
/// whatever the tag points at.
pub fn is_pseudo_version(text: &str) -> bool {
    if Semver::parse(text).is_none() {
        return false;
    }
    let body = text.split_once('+').map_or(text, |(body, _)| body);
    // The hash has no dash, so it is what follows the last one.
    let Some((rest, hash)) = body.rsplit_once('-') else {
        return false;
    };
    if hash.is_empty() || !hash.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return false;
    }
    let Some(split) = rest.len().checked_sub(TIME_DIGITS) else {
        return false;
    };
    let Some((base, time)) = rest.split_at_checked(split) else {
        return false;
    };
    if !time.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let Some((numbers, before_time)) = base.split_once('-') else {
        return false;
    };
    match before_time {
        "" => numbers
            .split_once('.')
            .is_some_and(|(_, minor_patch)| minor_patch == "0.0"),
        "0." => true,
        other => other.ends_with(".0."),
    }
}

/// `yyyymmddhhmmss`
const TIME_DIGITS: usize = 14;
