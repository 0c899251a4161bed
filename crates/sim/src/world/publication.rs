//! What is published in the world: the truth that registries and their views tell of.
//!
//! Most of what repositories declare is published under that name and says where it comes from.
//! The rest is what makes the question hard: declared and never published, published under another
//! name, a name that somebody else took first, published without any manifest, an issue tracker
//! that is not the source, distributions that carry it on. A link is text in a package's metadata:
//! a rename of the repository does not change it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ChangeError, Declared, Forge, Repository, origin::Origin};

/// A package in a registry, whether it is still there or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Publication {
    /// The word of its ecosystem: `npm`.
    pub ecosystem: String,
    /// Its name there.
    pub package: String,
    /// Whose it truly is: a forge and a repository's number. None if nobody's in this world.
    pub owner: Option<(String, u64)>,
    /// Where its metadata says that it comes from: `https://github.com/meadow/some-name`.
    pub link: Option<String>,
    /// Where its metadata says that problems are told.
    pub tracker: Option<String>,
    /// The name in the owner's manifest; none if no manifest declares it.
    pub declared_as: Option<String>,
    /// How its link came to be known, in the words of deps.dev.
    pub provenance: &'static str,
    /// How many versions there are.
    pub versions: u32,
    /// When the first came out.
    pub first_at: Timestamp,
    /// When the last came out.
    pub latest_at: Timestamp,
    /// Its owner says not to use it.
    pub deprecated: bool,
    /// The registry no longer has it.
    pub removed: bool,
    /// Distributions that carry it on, by their words at ecosyste.ms.
    pub carried_by: Vec<&'static str>,
}

/// One version of a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// `1.2.3`
    pub number: String,
    /// When it came out.
    pub at: Timestamp,
}

/// What can happen to a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Registration {
    /// A new one, or the same one anew. `link` is an address.
    Publish {
        ecosystem: String,
        package: String,
        link: Option<String>,
        versions: u32,
    },
    /// So many versions more.
    Release {
        ecosystem: String,
        package: String,
        versions: u32,
    },
    /// The registry takes it away.
    Remove { ecosystem: String, package: String },
    /// It is back, as it was.
    Restore { ecosystem: String, package: String },
    /// Its owner says not to use it.
    Deprecate { ecosystem: String, package: String },
    /// Its metadata says otherwise now.
    Link {
        ecosystem: String,
        package: String,
        link: Option<String>,
    },
}

/// What has become of a declared package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is published under its name, and says that it comes from there.
    Published,
    /// It is published under this name instead.
    Renamed(String),
    /// The name is another's, who says to come from this address.
    Taken(String),
    /// There is a package of the name that does not say where it comes from.
    Silent,
    /// It is not published.
    Unpublished,
}

impl Publication {
    /// A plain one, with this many versions, the last of them out at `now`.
    pub fn new(
        ecosystem: &str,
        package: &str,
        link: Option<&str>,
        versions: u32,
        now: Timestamp,
    ) -> Self {
        Self {
            ecosystem: ecosystem.to_owned(),
            package: package.to_owned(),
            owner: None,
            link: link.map(str::to_owned),
            tracker: None,
            declared_as: None,
            provenance: "UNVERIFIED_METADATA",
            versions,
            first_at: now - SignedDuration::from_hours(24 * i64::from(versions)),
            latest_at: now,
            deprecated: false,
            removed: false,
            carried_by: Vec::new(),
        }
    }

    /// Its versions, the oldest first, evenly between the first and the last.
    pub fn all_versions(&self) -> impl Iterator<Item = Version> {
        let span = self.latest_at.as_second() - self.first_at.as_second();
        let steps = i64::from(self.versions.saturating_sub(1)).max(1);
        let first = self.first_at;
        (0..i64::from(self.versions)).map(move |nth| Version {
            number: format!("{}.{}.{}", 1 + nth / 100, nth / 10 % 10, nth % 10),
            at: first + SignedDuration::from_secs(span / steps * nth),
        })
    }
}

/// All publications, by ecosystem and by name as the registry compares names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registries(BTreeMap<(String, String), Publication>);

impl Registries {
    /// What the world of these forges has published to begin with.
    pub(super) fn of(seed: u64, forges: &BTreeMap<String, Forge>) -> Self {
        let mut registries = Self::default();
        for (host, forge) in forges {
            for repository in forge.repositories().filter(|found| found.is_public()) {
                let origin = Origin { host, repository };
                origin.publish(seed, &mut registries);
            }
        }
        registries
    }

    /// Every one there ever was.
    pub fn all(&self) -> impl Iterator<Item = &Publication> {
        self.0.values()
    }

    /// One by its name, however that is spelt.
    pub fn get(&self, ecosystem: &str, package: &str) -> Option<&Publication> {
        self.0.get(&key(ecosystem, package))
    }

    /// Those whose metadata names this address as their source, whatever its case.
    pub fn linked<'a>(&'a self, link: &'a str) -> impl Iterator<Item = &'a Publication> {
        self.all()
            .filter(move |one| same(one.link.as_deref(), link))
    }

    /// Those whose metadata names this address as the place to tell problems.
    pub fn tracked<'a>(&'a self, link: &'a str) -> impl Iterator<Item = &'a Publication> {
        self.all()
            .filter(move |one| same(one.tracker.as_deref(), link))
    }

    /// What has become of a package that a repository declares, as far as anybody could know.
    pub fn fate(&self, host: &str, repository: &Repository, declared: &Declared) -> Fate {
        let owner = Some((host.to_owned(), repository.id));
        let (ecosystem, package) = (declared.ecosystem, &declared.package);
        let found = self.get(ecosystem, package).filter(|one| !one.removed);
        match found {
            Some(one) if one.owner == owner && one.link.is_some() => return Fate::Published,
            Some(one) if by_name(ecosystem) && one.owner != owner => {
                return one.link.clone().map_or(Fate::Silent, Fate::Taken);
            }
            Some(one) if by_name(ecosystem) && one.link.is_none() => return Fate::Silent,
            _ => {}
        }
        let other = self.all().find(|one| {
            let here = one.owner == owner && one.ecosystem == ecosystem && !one.removed;
            here && one.declared_as.as_ref() == Some(package) && one.package != *package
        });
        other.map_or(Fate::Unpublished, |one| Fate::Renamed(one.package.clone()))
    }

    pub(super) fn apply(
        &mut self,
        change: &Registration,
        now: Timestamp,
    ) -> Result<(), ChangeError> {
        match change {
            Registration::Publish {
                ecosystem,
                package,
                link,
                versions,
            } => {
                let new = Publication::new(ecosystem, package, link.as_deref(), *versions, now);
                self.0.insert(key(ecosystem, package), new);
                Ok(())
            }
            Registration::Release {
                ecosystem,
                package,
                versions,
            } => self.edit(ecosystem, package, |one| {
                one.versions += versions;
                one.latest_at = now;
            }),
            Registration::Remove { ecosystem, package } => {
                self.edit(ecosystem, package, |one| one.removed = true)
            }
            Registration::Restore { ecosystem, package } => {
                self.edit(ecosystem, package, |one| one.removed = false)
            }
            Registration::Deprecate { ecosystem, package } => {
                self.edit(ecosystem, package, |one| one.deprecated = true)
            }
            Registration::Link {
                ecosystem,
                package,
                link,
            } => self.edit(ecosystem, package, |one| one.link.clone_from(link)),
        }
    }

    fn edit(
        &mut self,
        ecosystem: &str,
        package: &str,
        change: impl FnOnce(&mut Publication),
    ) -> Result<(), ChangeError> {
        let found = self.0.get_mut(&key(ecosystem, package));
        let none = || ChangeError::NoPublication(format!("{ecosystem}/{package}"));
        found.map(change).ok_or_else(none)
    }

    pub(super) fn is_free(&self, ecosystem: &str, package: &str) -> bool {
        self.get(ecosystem, package).is_none()
    }

    pub(super) fn add(&mut self, publication: Publication) {
        let key = key(&publication.ecosystem, &publication.package);
        self.0.entry(key).or_insert(publication);
    }
}

/// Whether deps.dev can be asked for a name of this ecosystem.
pub(super) fn by_name(ecosystem: &str) -> bool {
    ["cargo", "go", "maven", "npm", "nuget", "pypi", "rubygems"].contains(&ecosystem)
}

fn same(link: Option<&str>, other: &str) -> bool {
    link.is_some_and(|link| link.eq_ignore_ascii_case(other))
}

fn key(ecosystem: &str, package: &str) -> (String, String) {
    (ecosystem.to_owned(), folded(ecosystem, package))
}

/// A name as the registry compares it.
fn folded(ecosystem: &str, package: &str) -> String {
    match ecosystem {
        "pypi" => {
            let mut name = String::new();
            for character in package.to_lowercase().chars() {
                let character = if "-_.".contains(character) {
                    '-'
                } else {
                    character
                };
                if character != '-' || !name.ends_with('-') {
                    name.push(character);
                }
            }
            name
        }
        "cargo" => package.to_lowercase().replace('_', "-"),
        "nuget" | "composer" | "hex" => package.to_lowercase(),
        _ => package.to_owned(),
    }
}
