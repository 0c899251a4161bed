//! Files attached to releases: which package, of which ecosystem and version, a file name says.
//!
//! [`read`] looks at a name alone. A name that its format does not fix (`app.jar`) still tells the
//! ecosystem; the package is then `None`, since what a person called a file is no package's name.
//!
//! `name-1.2.3.tgz` is what `npm pack` makes of a package and what Helm makes of a chart. The name
//! does not tell which, so it is a [`Reading::Tarball`] until [`Tarball::belongs_to`] has looked
//! around: at the files beside it, at the tag, at what the repository declares. Where nothing tells,
//! it is neither: a bundle of somebody's binaries looks the same.

mod pieces;
mod tarball;

pub use tarball::{Around, Tarball};

use pieces::{dotted_version, semver, without_platform};

use crate::python::{FileKind, Filename};

/// Longer names are no file's.
const MAX_NAME: usize = 255;

/// What a file name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A package.
    Package(ReleaseAsset),
    /// An npm package, a Helm chart, or neither.
    Tarball(Tarball),
}

/// A package that is attached to a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseAsset {
    /// The ecosystem word, for example `pypi`.
    pub ecosystem: &'static str,
    /// The package, where the format of the name fixes it. For Maven it is the artifact alone.
    pub name: Option<String>,
    /// Its version, where the format of the name fixes it.
    pub version: Option<String>,
}

/// What a file name says; nothing for a file that is no package.
pub fn read(file: &str) -> Option<Reading> {
    if file.len() > MAX_NAME || file.contains(['/', '\\']) || file.chars().any(char::is_control) {
        return None;
    }
    let (stem, extension) = file.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    if stem.is_empty() {
        return None;
    }
    let (ecosystem, parts) = match extension.as_str() {
        "tgz" => return tarball::read(stem).map(Reading::Tarball),
        "whl" => ("pypi", wheel(file)),
        "gem" => ("rubygems", gem(stem)),
        "jar" | "war" | "ear" => ("maven", java_archive(stem)),
        "nupkg" => ("nuget", nuget(stem)),
        "crate" => ("cargo", semver(stem)),
        "deb" => ("debian", deb(stem)),
        "rpm" => ("rpm", rpm(stem)),
        "apk" => ("apk", apk(stem)),
        _ => return None,
    };
    let (name, version) = match parts {
        Some((name, version)) => (Some(name.to_owned()), version.map(str::to_owned)),
        None => (None, None),
    };
    Some(Reading::Package(ReleaseAsset {
        ecosystem,
        name,
        version,
    }))
}

/// A name and, where it is there, a version.
type Parts<'a> = Option<(&'a str, Option<&'a str>)>;

/// `name-version(-build)-python-abi-platform`: no dashes within, so the first two parts are them.
fn wheel(file: &str) -> Parts<'_> {
    let found = Filename::parse(file, None)?;
    if !matches!(found.kind, FileKind::Wheel(_)) {
        return None;
    }
    let mut parts = file.split('-');
    Some((parts.next()?, Some(parts.next()?)))
}

/// `name-version(-platform)`: versions of gems have no dashes.
fn gem(stem: &str) -> Parts<'_> {
    let (name, version) = dotted_version(stem)?;
    Some((name, version?.split('-').next()))
}

/// `artifact-version(-classifier)`
fn java_archive(stem: &str) -> Parts<'_> {
    const CLASSIFIERS: [&str; 11] = [
        "-sources",
        "-javadoc",
        "-test-sources",
        "-tests",
        "-all",
        "-shaded",
        "-jar-with-dependencies",
        "-standalone",
        "-full",
        "-fat",
        "-exec",
    ];
    let plain = CLASSIFIERS
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
        .unwrap_or(stem);
    dotted_version(plain)
}

/// `Id.version`, where the id has dots too: the version is the longest end that is one.
fn nuget(stem: &str) -> Parts<'_> {
    let stem = stem.strip_suffix(".symbols").unwrap_or(stem);
    stem.match_indices('.').find_map(|(at, _)| {
        let (id, version) = (&stem[..at], &stem[at + 1..]);
        let numbers = version.split(['-', '+']).next()?;
        let count = numbers.split('.').count();
        let numeric = numbers
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        (numeric && (2..=4).contains(&count) && !id.is_empty()).then_some((id, Some(version)))
    })
}

/// `package_version_architecture`; many write it in other ways.
fn deb(stem: &str) -> Parts<'_> {
    let stem = without_platform(stem);
    match stem.split_once('_') {
        Some((name, version)) if !name.is_empty() => {
            let version = version.split('_').next()?;
            let fits = version.starts_with(|c: char| c.is_ascii_digit());
            fits.then_some((name, Some(version)))
        }
        _ => dotted_version(stem),
    }
}

/// `name-version-release.architecture`
fn rpm(stem: &str) -> Parts<'_> {
    let (front, architecture) = stem.rsplit_once('.')?;
    let known = pieces::is_platform(architecture) || matches!(architecture, "src" | "noarch");
    if known
        && let Some((front, _release)) = front.rsplit_once('-')
        && let Some((name, version)) = front.rsplit_once('-')
        && version.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
    {
        return Some((name, Some(version)));
    }
    dotted_version(without_platform(stem))
}

/// Alpine's: `name-version-r0`. Android's has no rule for names.
fn apk(stem: &str) -> Parts<'_> {
    let (front, release) = stem.rsplit_once("-r")?;
    let numbered = !release.is_empty() && release.bytes().all(|byte| byte.is_ascii_digit());
    let (name, version) = front.rsplit_once('-')?;
    let fits = numbered && !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit());
    fits.then_some((name, Some(version)))
}
