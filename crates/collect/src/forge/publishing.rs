//! What forges publish themselves: files attached to releases, and packages in registries of
//! their own.

use std::collections::BTreeMap;

use db::Timestamp;
use serde::{Deserialize, Serialize};

use super::content::MOST_PAGES;

/// So many releases are looked at, the newest first.
pub const LAST_RELEASES: usize = 100;

/// The newest releases of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// At most [`LAST_RELEASES`], the newest first.
    pub releases: Vec<Release>,
    /// There are older ones.
    pub more: bool,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The tag it was made of.
    pub tag: String,
    /// When it was published.
    pub published_at: Option<Timestamp>,
    /// The files attached to it.
    pub assets: Vec<Asset>,
}

/// A file attached to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its name.
    pub name: String,
    /// Where it can be had.
    pub url: Option<String>,
}

/// What an owner has in the registry of a forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnerPackages {
    /// All of it, whatever repository it comes from.
    All(PackageList),
    /// It cannot be listed by owner: each repository must be asked.
    ByRepository,
    /// There is no such owner.
    Nobody,
}

/// Packages, one entry for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageList {
    /// The packages.
    pub packages: Vec<Package>,
    /// The list is longer than what was read of it, and why.
    pub cut: Option<String>,
}

/// Why a list of packages is not read to its end.
pub(super) fn too_many_pages() -> String {
    format!("there are more than {MOST_PAGES} pages of packages")
}

/// One package in the registry of a forge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The ecosystem word, for example `npm`.
    pub ecosystem: String,
    /// The name as the ecosystem spells it.
    pub name: String,
    /// The newest version.
    pub version: Option<String>,
    /// How many versions there are.
    pub versions: Option<i64>,
    /// When the first one came.
    pub first_at: Option<Timestamp>,
    /// When the newest one came.
    pub latest_at: Option<Timestamp>,
    /// Its page.
    pub url: Option<String>,
    /// The repository it comes from: the forge's own number.
    pub repository: Option<String>,
    /// The repository it comes from: owner and name.
    pub repository_path: Option<String>,
}

impl Package {
    /// Whether it comes from this repository. The number decides where both are known: a name
    /// alone may be an equal one of another owner, or a former one.
    pub fn comes_from(&self, number: Option<&str>, path: &str) -> bool {
        match (&self.repository, number) {
            (Some(of), Some(number)) => of == number,
            _ => self
                .repository_path
                .as_ref()
                .is_some_and(|of| of.to_lowercase() == path.to_lowercase()),
        }
    }
}

/// The ecosystem word for what a forge calls a type of package.
pub(super) fn ecosystem(kind: &str) -> &str {
    match kind {
        "container" => "docker",
        "golang" => "go",
        "alpine" => "apk",
        "swift" => "swiftpm",
        "terraform_module" => "terraform",
        other => other,
    }
}

/// Makes one package of all rows that are its versions, where a forge lists versions.
pub(super) fn gather(rows: impl IntoIterator<Item = Package>) -> Vec<Package> {
    let mut packages: BTreeMap<_, Package> = BTreeMap::new();
    for row in rows {
        let key = (
            row.ecosystem.clone(),
            row.name.clone(),
            row.repository.clone(),
            row.repository_path.clone(),
        );
        let Some(known) = packages.get_mut(&key) else {
            packages.insert(key, row);
            continue;
        };
        known.versions = Some(known.versions.unwrap_or(0) + row.versions.unwrap_or(0));
        known.first_at = match (known.first_at, row.first_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if row.latest_at > known.latest_at {
            known.latest_at = row.latest_at;
            known.version = row.version;
            known.url = row.url;
        }
    }
    packages.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: &str, at: i64, repository: Option<&str>) -> Package {
        let at = Some(Timestamp::from_micros(at));
        Package {
            ecosystem: "npm".into(),
            name: "a".into(),
            version: Some(version.into()),
            versions: Some(1),
            first_at: at,
            latest_at: at,
            repository: repository.map(Into::into),
            repository_path: Some("Meadow/A".into()),
            ..Package::default()
        }
    }

    #[test]
    fn versions_become_one_package_for_each_repository() {
        let rows = [
            row("2", 2, Some("1")),
            row("10", 3, Some("1")),
            row("1", 1, Some("1")),
            row("1", 1, Some("7")),
        ];
        let packages = gather(rows);
        assert_eq!(packages.len(), 2);
        let first = &packages[0];
        assert_eq!(
            (first.versions, first.version.as_deref()),
            (Some(3), Some("10"))
        );
        assert_eq!(first.first_at, Some(Timestamp::from_micros(1)));
        assert_eq!(first.latest_at, Some(Timestamp::from_micros(3)));
    }

    #[test]
    fn the_number_counts_before_the_name() {
        assert!(row("1", 1, Some("7")).comes_from(Some("7"), "elsewhere/b"));
        assert!(!row("1", 1, Some("7")).comes_from(Some("8"), "meadow/a"));
        assert!(row("1", 1, None).comes_from(Some("8"), "meadow/a"));
        assert!(!row("1", 1, None).comes_from(None, "other/a"));
    }
}
