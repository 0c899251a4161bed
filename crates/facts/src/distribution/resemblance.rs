//! Whether two different names may be one package's.
//!
//! People rename in few ways: they add what the base name lacked because it was taken (`foo-rs`,
//! `python-foo`, `acme-foo`, `@acme/foo`), or they write it in another way (`foobar`, `foo-bar`).
//! Whoever adds a word that means something (`foo-extras`, `foo-cli`) has made another package that
//! belongs to the first. Names with nothing in common say nothing either way.

use super::names::is_major;

/// What two names that are not the same have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// They differ only in how they are written, or in words that mean nothing by themselves.
    Variant,
    /// They share a word and differ in another: two things that belong together.
    Sibling,
    /// They have nothing in common.
    Stranger,
}

/// Compares two names of one family, as their ecosystems look them up. `owner` is who owns the
/// repository: people put that name before others.
pub(super) fn kinship(one: &str, other: &str, owner: &str) -> Kinship {
    let owner = joined(&words(owner));
    let (one, other) = (Parts::of(one, &owner), Parts::of(other, &owner));
    if one.core == other.core || glued(&one.core, &other.core, &owner) {
        return Kinship::Variant;
    }
    // A short word is in many names without meaning anything there.
    let contains = |long: &Parts, short: &Parts| {
        short.core.len() > MEANINGLESS && long.whole.contains(&short.core)
    };
    let shared = one.words.iter().any(|word| other.words.contains(word));
    if shared || contains(&one, &other) || contains(&other, &one) {
        Kinship::Sibling
    } else {
        Kinship::Stranger
    }
}

/// Words of so many letters are in many names by chance.
const MEANINGLESS: usize = 3;

/// Words that people add to a name that is taken, and that mean nothing by themselves.
const ADDED: &[&str] = &[
    "cargo",
    "crate",
    "csharp",
    "dart",
    "dotnet",
    "fork",
    "gem",
    "go",
    "golang",
    "java",
    "javascript",
    "js",
    "jvm",
    "kotlin",
    "lib",
    "library",
    "module",
    "net",
    "new",
    "next",
    "ng",
    "node",
    "nodejs",
    "npm",
    "official",
    "oss",
    "package",
    "php",
    "pkg",
    "project",
    "py",
    "python",
    "rb",
    "rs",
    "ruby",
    "rust",
    "sharp",
    "swift",
    "ts",
    "typescript",
    "unofficial",
];

/// A name in its parts.
struct Parts {
    /// All letters and digits of the last part of a path or coordinate.
    whole: String,
    /// The words that mean something.
    words: Vec<String>,
    /// Those without the owner's name, one after the other.
    core: String,
}

impl Parts {
    fn of(name: &str, owner: &str) -> Self {
        let parts = name.rsplit([':', '/']);
        // A module's major version is no name.
        let last = parts.into_iter().find(|part| !is_major(part));
        let all = words(last.unwrap_or(name));
        let meant = left(&all, |word| !is_added(word));
        let core = left(&meant, |word| word != owner);
        Self {
            whole: joined(&all),
            core: joined(&core),
            words: meant,
        }
    }
}

/// The words that are wanted; all of them where that would leave none.
fn left(words: &[String], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let left: Vec<String> = words.iter().filter(|word| wanted(word)).cloned().collect();
    if left.is_empty() {
        words.to_vec()
    } else {
        left
    }
}

fn is_added(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number || ADDED.contains(&word)
}

/// `pyfoo`, `foojs`, `acmefoo` of `foo`: what was added stands without anything between.
fn glued(one: &str, other: &str, owner: &str) -> bool {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let rest = long
        .strip_prefix(short)
        .or_else(|| long.strip_suffix(short));
    let is_word = |rest: &str| is_added(rest) || (!rest.is_empty() && rest == owner);
    short.len() >= MEANINGLESS && rest.is_some_and(is_word)
}

fn words(name: &str) -> Vec<String> {
    name.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn joined(words: &[String]) -> String {
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_a_taken_name_makes_a_variant() {
        for (one, other) in [
            ("foo", "foo-rs"),
            ("foo", "python-foo"),
            ("foo", "pyfoo"),
            ("clover", "cloverjs"),
            ("clover", "@meadow/clover"),
            ("@old/clover", "@meadow/clover"),
            ("clover", "meadow-clover"),
            ("clover", "meadowclover"),
            ("red_clover", "redclover"),
            ("meadow-core", "meadow-core-ng"),
            ("org.old:clover", "org.meadow:clover"),
            ("clover", "clover2"),
            ("github.com/a/clover", "example.org/clover/v2"),
        ] {
            assert_eq!(
                kinship(one, other, "Meadow"),
                Kinship::Variant,
                "{one} {other}"
            );
            assert_eq!(
                kinship(other, one, "Meadow"),
                Kinship::Variant,
                "{other} {one}"
            );
        }
    }

    #[test]
    fn a_word_that_means_something_makes_another_package() {
        for (one, other) in [
            ("foo", "foo-extras"),
            ("foo-core", "foo-extras"),
            ("foo", "foo-cli"),
            ("clover", "cloverkit"),
            ("clover", "pytest-clover"),
            ("meadow-core", "meadow-cli"),
            ("org.meadow:clover", "org.meadow:clover-testing"),
        ] {
            assert_eq!(
                kinship(one, other, "meadow"),
                Kinship::Sibling,
                "{one} {other}"
            );
        }
    }

    #[test]
    fn nothing_in_common_says_nothing() {
        for (one, other) in [
            ("one", "three"),
            ("abc", "xabcy"),
            ("org.meadow:a", "org.meadow:b"),
            ("", "x"),
        ] {
            assert_eq!(
                kinship(one, other, "meadow"),
                Kinship::Stranger,
                "{one} {other}"
            );
        }
        // Names of nothing but such words are compared by them.
        assert_eq!(kinship("python", "node", ""), Kinship::Stranger);
        assert_eq!(kinship("node", "node-js", ""), Kinship::Variant);
    }
}
