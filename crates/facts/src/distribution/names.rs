//! When two names mean the same package.
//!
//! Sources and manifests write one package in different ways: `Foo.Bar` and `foo-bar` on the Python
//! index, `packagist` and `composer`, a module path with and without its major version. A name is
//! therefore compared by the rule of its ecosystem, and across the ecosystems of one *family* (a
//! conda recipe of a Python package) by the rule that both accept.

use std::borrow::Cow;

use serde::Serialize;

use crate::manifest::words;

words! {
    /// How two names compare.
    #[derive(PartialOrd, Ord)]
    pub enum Likeness {
        /// Different packages.
        Different = "different",
        /// The same but for what the ecosystem tells apart and people do not: the case, or a
        /// group that only one of the two names.
        Alike = "alike",
        /// The same package.
        Same = "same",
    }
}

/// The ecosystems among which one package may go under one name. Equal words are always one family.
pub fn family(ecosystem: &str) -> &str {
    FAMILIES
        .iter()
        .find(|(word, _)| *word == ecosystem)
        .map_or(ecosystem, |(_, family)| family)
}

/// Words of sources and manifests that share a family, with its name.
const FAMILIES: &[(&str, &str)] = &[
    ("bioconductor", "cran"),
    ("clojars", "maven"),
    ("conda", "pypi"),
    ("deb", "debian"),
    ("deno", "jsr"),
    ("docker", "container"),
    ("elixir", "hex"),
    ("gem", "rubygems"),
    ("gleam", "hex"),
    ("golang", "go"),
    ("gradle", "maven"),
    ("packagist", "composer"),
    ("swift", "swiftpm"),
    ("ubuntu", "debian"),
];

/// Compares two names, each in its ecosystem. The order does not matter.
pub fn compare(a: (&str, &str), b: (&str, &str)) -> Likeness {
    let ((one, left), (other, right)) = (a, b);
    let common = family(one);
    if common != family(other) || left.is_empty() || right.is_empty() {
        return Likeness::Different;
    }
    let equal = |same: bool| {
        if same {
            Likeness::Same
        } else {
            Likeness::Different
        }
    };
    match common {
        "maven" => coordinates(one, left).compare(&coordinates(other, right)),
        // Two recipes keep `_` and `-` apart; a recipe and the package it wraps do not.
        "pypi" if one == other && one == "conda" => equal(lower(left) == lower(right)),
        "npm" | "rubygems" | "hackage" | "cran" | "julia" => {
            if left == right {
                Likeness::Same
            } else if common != "cran" && lower(left) == lower(right) {
                Likeness::Alike
            } else {
                Likeness::Different
            }
        }
        _ => equal(key(common, left) == key(common, right)),
    }
}

/// The form in which names of an ecosystem are looked up: equal where the names are the same.
pub fn comparable(ecosystem: &str, name: &str) -> String {
    match family(ecosystem) {
        "maven" => coordinates(ecosystem, name).to_string(),
        "npm" | "rubygems" | "hackage" | "cran" | "julia" => name.to_owned(),
        _ if ecosystem == "conda" => lower(name),
        family => key(family, name),
    }
}

/// Equal for any two names that are not different: where to look for one.
pub(super) fn bucket(ecosystem: &str, name: &str) -> String {
    match family(ecosystem) {
        "maven" => coordinates(ecosystem, name).artifact.to_owned(),
        "npm" | "rubygems" | "hackage" | "julia" => lower(name),
        family => key(family, name),
    }
}

fn key(family: &str, name: &str) -> String {
    match family {
        "pypi" => python(name),
        "cargo" => lower(name).replace('_', "-"),
        "go" => module(name),
        "cocoapods" => name.split('/').next().unwrap_or_default().to_owned(),
        "swiftpm" => lower(&location(name)),
        "nuget" | "composer" | "hex" | "pub" | "conan" | "container" | "actions" | "helm"
        | "vcpkg" | "jsr" => lower(name),
        _ => name.to_owned(),
    }
}

fn lower(name: &str) -> String {
    name.to_lowercase()
}

/// PEP 503: runs of `-`, `_` and `.` are one `-`, and case does not count.
fn python(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '-' | '_' | '.') {
            if !key.ends_with('-') {
                key.push('-');
            }
        } else {
            key.extend(character.to_lowercase());
        }
    }
    key
}

/// A module path without its major version, with capitals as they are written in source.
fn module(path: &str) -> String {
    let mut decoded = String::with_capacity(path.len());
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            // Proxies write a capital as `!` and the small letter.
            ('!', Some(small)) if small.is_ascii_lowercase() => {
                decoded.push(small.to_ascii_uppercase());
                characters.next();
            }
            (other, _) => decoded.push(other),
        }
    }
    match decoded.rsplit_once('/') {
        Some((before, version)) if is_major(version) => before.to_owned(),
        _ => decoded,
    }
}

/// `v2` and up; `v0` and `v1` are never written.
pub(super) fn is_major(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && digits != "1"
}

/// An address without scheme, user and `.git`: a Swift package is named by where it lies.
fn location(address: &str) -> String {
    let rest = address
        .split_once("://")
        .map_or(address, |(_, rest)| rest)
        .trim_end_matches('/');
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    rest.replacen(':', "/", 1)
}

/// Group and artifact. Forges write `org/example/thing`, Clojure `org.example/thing` or one word
/// that is both.
struct Coordinates<'n> {
    group: Option<Cow<'n, str>>,
    artifact: &'n str,
}

fn coordinates<'n>(ecosystem: &str, name: &'n str) -> Coordinates<'n> {
    if let Some((group, artifact)) = name.split_once(':') {
        let group = (!group.is_empty()).then_some(Cow::Borrowed(group));
        return Coordinates { group, artifact };
    }
    match name.rsplit_once('/') {
        Some((group, artifact)) => Coordinates {
            group: Some(Cow::Owned(group.replace('/', "."))),
            artifact,
        },
        None => Coordinates {
            group: (ecosystem == "clojars").then_some(Cow::Borrowed(name)),
            artifact: name,
        },
    }
}

impl Coordinates<'_> {
    fn compare(&self, other: &Self) -> Likeness {
        match (&self.group, &other.group) {
            _ if self.artifact != other.artifact => Likeness::Different,
            (Some(one), Some(two)) if one == two => Likeness::Same,
            (Some(_), Some(_)) => Likeness::Different,
            // An artifact alone could be anybody's.
            _ => Likeness::Alike,
        }
    }
}

impl std::fmt::Display for Coordinates<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{group}:{}", self.artifact),
            None => f.write_str(self.artifact),
        }
    }
}
