//! Where in a file name the version is.

use super::Parts;

/// `name-1.2(.3…)(-qualifier)`: the version begins at the last part that starts with a digit and
/// has a dot. A name may hold numbers of its own (`log4j-1.2-api-2.17.1`).
pub(super) fn dotted_version(stem: &str) -> Parts<'_> {
    let mut found = None;
    for (at, _) in stem.match_indices('-') {
        let part = stem[at + 1..].split('-').next().unwrap_or_default();
        let numbered = part.starts_with(|c: char| c.is_ascii_digit());
        if at > 0 && numbered && part.contains('.') && !is_snapshot_time(part) {
            found = Some((&stem[..at], Some(&stem[at + 1..])));
        }
    }
    found
}

/// `20240131.123456`: a snapshot's time stands behind its version.
fn is_snapshot_time(part: &str) -> bool {
    part.split_once('.').is_some_and(|(day, time)| {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        day.len() == 8 && time.len() == 6 && digits(day) && digits(time)
    })
}

/// `name-1.2.3(-pre.1)(+build)`: the first dash behind which all is a semantic version.
pub(super) fn semver(stem: &str) -> Parts<'_> {
    stem.match_indices('-').find_map(|(at, _)| {
        let version = &stem[at + 1..];
        let fits = at > 0 && is_semver(version);
        fits.then_some((&stem[..at], Some(version)))
    })
}

pub(super) fn is_semver(text: &str) -> bool {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (numbers, pre) = match text.split_once('-') {
        Some((numbers, pre)) => (numbers, Some(pre)),
        None => (text, None),
    };
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let words = |text: &str| {
        text.split('.').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    numbers.split('.').count() == 3
        && numbers.split('.').all(number)
        && pre.is_none_or(words)
        && build.is_none_or(words)
}

/// Without the words for machines and systems at its end.
pub(super) fn without_platform(stem: &str) -> &str {
    let mut rest = stem;
    while let Some(at) = rest.rfind(['-', '_', '.']) {
        // `x86_64` has the separator inside.
        let long = rest[..at].rfind(['-', '.']).map_or(0, |before| before + 1);
        if is_platform(&rest[at + 1..]) {
            rest = &rest[..at];
        } else if long > 0 && is_platform(&rest[long..]) {
            rest = &rest[..long - 1];
        } else {
            break;
        }
    }
    rest
}

/// Whether a word names a machine or a system.
pub(super) fn is_platform(word: &str) -> bool {
    const PLATFORMS: [&str; 33] = [
        "aarch64", "aix", "alpine", "amd64", "android", "apple", "arm", "arm64", "armhf", "armv6",
        "armv7", "armv7hl", "darwin", "freebsd", "gnu", "i386", "i686", "ios", "linux", "linux64",
        "mac", "macos", "musl", "osx", "ppc64le", "riscv64", "s390x", "win32", "win64", "windows",
        "x64", "x86", "x86_64",
    ];
    let word = word.to_ascii_lowercase();
    PLATFORMS.contains(&word.as_str())
}
