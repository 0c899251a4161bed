//! What lies in the registry of a forge itself, by the repository it comes from.

use jiff::{SignedDuration, Timestamp};

use super::{Repository, declared::declared};
use crate::dice::{Dice, fingerprint};

/// One package in the registry of a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packaged {
    /// The forge's own number.
    pub id: u64,
    /// `npm`, `maven`, `rubygems`, `nuget` or `container`.
    pub kind: &'static str,
    /// As its ecosystem spells it, without a scope.
    pub name: String,
    /// The versions with their times, the oldest first.
    pub versions: Vec<(String, Timestamp)>,
    /// Whether the registry knows which repository it comes from.
    pub linked: bool,
}

/// What a repository has there. Most have nothing.
pub fn packages(repository: &Repository) -> Vec<Packaged> {
    let mut dice = Dice(fingerprint(b"packages") ^ repository.id);
    if repository.empty || dice.below(5) != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for one in declared(repository) {
        let fits = matches!(one.ecosystem, "npm" | "maven" | "rubygems" | "nuget");
        if fits && one.intent == "yes" && !repository.unpackaged {
            found.push((one.ecosystem, one.package, true));
        }
    }
    let linked = dice.below(3) != 0;
    found.push(("container", repository.first_name.clone(), linked));
    found
        .into_iter()
        .enumerate()
        .map(|(index, (kind, name, linked))| Packaged {
            id: repository.id * 10 + index as u64,
            kind,
            name,
            versions: versions(&mut dice, repository.pushed_at),
            linked,
        })
        .collect()
}

fn versions(dice: &mut Dice, last: Timestamp) -> Vec<(String, Timestamp)> {
    let count = 1 + dice.below(4) as i64;
    (0..count)
        .map(|index| {
            let age = SignedDuration::from_hours(24 * (count - index));
            (format!("1.{index}.0"), last - age)
        })
        .collect()
}
