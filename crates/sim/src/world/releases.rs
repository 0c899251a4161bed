//! The releases of each repository, with the files attached to them.

use jiff::{SignedDuration, Timestamp};

use super::{Repository, declared::declared};
use crate::dice::{Dice, fingerprint};

/// One release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The forge's own number.
    pub id: u64,
    /// `v1.2.0`.
    pub tag: String,
    /// When it was published.
    pub published_at: Timestamp,
    /// File names.
    pub assets: Vec<String>,
}

/// The releases of a repository, the newest first. Two of three have none.
pub fn releases(repository: &Repository) -> Vec<Release> {
    let mut dice = Dice(fingerprint(b"releases") ^ repository.id);
    if repository.empty || repository.retracted || dice.below(3) != 0 {
        return Vec::new();
    }
    let count = match dice.below(20) {
        0 => 130,
        more => 1 + more % 5,
    };
    let packages = declared(repository);
    let mut all: Vec<Release> = (0..count)
        .map(|index| {
            let version = format!("1.{index}.0");
            let age = SignedDuration::from_hours(24 * (count - index) as i64);
            let mut assets: Vec<String> = packages
                .iter()
                .filter(|one| one.intent == "yes")
                .flat_map(|one| assets(one.ecosystem, &one.package, &version))
                .collect();
            assets.push("checksums.txt".to_owned());
            Release {
                id: repository.id * 1_000 + index,
                tag: format!("v{version}"),
                published_at: repository.pushed_at - age,
                assets,
            }
        })
        .collect();
    all.reverse();
    all
}

/// What a release of a package brings along.
fn assets(ecosystem: &str, package: &str, version: &str) -> Vec<String> {
    match ecosystem {
        "npm" => vec![format!("{package}-{version}.tgz")],
        "cargo" => vec![format!("{package}-{version}.crate")],
        "pypi" => vec![
            format!("{}-{version}-py3-none-any.whl", package.replace('-', "_")),
            format!("{package}-{version}.tar.gz"),
        ],
        "maven" => {
            let artifact = package.rsplit(':').next().unwrap_or(package);
            ["", "-sources", "-javadoc"]
                .map(|part| format!("{artifact}-{version}{part}.jar"))
                .into()
        }
        "rubygems" => vec![format!("{package}-{version}.gem")],
        "nuget" => vec![format!("{package}.{version}.nupkg")],
        _ => vec![
            // Debian's names have no underscores: they part name and version.
            format!("{}_{version}_amd64.deb", package.replace('_', "-")),
            format!("{package}-linux-amd64.tgz"),
        ],
    }
}
