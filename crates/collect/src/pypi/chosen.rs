//! Which projects are wanted: lists of names and patterns, and a sample.

use scan::python::normalize_name;
use sha2::{Digest as _, Sha256};

/// Which projects are wanted. Without anything, all are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Only these: names, or patterns with `*` for anything. Empty for all.
    pub allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Chosen {
    /// Whether a project is wanted, by its normalised name.
    pub fn wants(&self, name: &str) -> bool {
        let among = |list: &[String]| list.iter().any(|pattern| fits(pattern, name));
        (self.allow.is_empty() || among(&self.allow)) && !among(&self.deny)
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return normalize_name(pattern) == name;
    };
    // Patterns are written as people write names; the joints are not normalised at their ends, so
    // that `zope-*` means what it says.
    let plain = |part: &str| part.to_lowercase().replace(['_', '.'], "-");
    let Some(mut rest) = name.strip_prefix(plain(first).as_str()) else {
        return false;
    };
    for part in middle {
        let part = plain(part);
        let Some(at) = rest.find(&part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(plain(last).as_str())
}

/// So many of the names, the same ones every time: those whose hashes are lowest.
pub(super) fn sample(
    mut names: Vec<(String, String, Option<i64>)>,
    count: usize,
) -> Vec<(String, String, Option<i64>)> {
    names.sort_by_cached_key(|(name, ..)| <[u8; 32]>::from(Sha256::digest(name.as_bytes())));
    names.truncate(count);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_choose() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let chosen = Chosen {
            allow: list(&["Zope.*", "six", "*-client-*"]),
            deny: list(&["zope-secret"]),
        };
        for wanted in ["zope-interface", "six", "a-client-b"] {
            assert!(chosen.wants(wanted), "{wanted}");
        }
        for unwanted in ["zope-secret", "sixer", "client", "zope"] {
            assert!(!chosen.wants(unwanted), "{unwanted}");
        }
        assert!(Chosen::default().wants("anything"));
    }
}
