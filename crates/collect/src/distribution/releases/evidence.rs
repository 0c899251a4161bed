//! From files attached to releases to evidence: one for each package, over all releases seen.

use std::collections::{BTreeMap, BTreeSet};

use facts::{evidence::Evidence, json::Attributes};
use scan::release_asset::{Around, Reading, ReleaseAsset, read};
use serde_json::Map;

use crate::forge::{Asset, Release};

/// The attribute of evidence whose package is named after the repository, for want of better.
pub(super) const NAME_FROM: &str = "name_from";

/// What is known of the repository beside its releases.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Its name, for files whose own name fixes no package's.
    pub(super) repository: String,
    /// The names it declares, or declared, for npm packages.
    pub(super) npm: Vec<String>,
    /// The names it declares, or declared, for Helm charts.
    pub(super) helm: Vec<String>,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) evidence: Vec<Evidence>,
    /// Files that were looked at.
    pub(super) assets: usize,
    /// Tarballs of which nothing told what they are.
    pub(super) untold: usize,
}

/// One package over all releases, the newest of which comes first.
#[derive(Default)]
struct Gathered {
    newest: Option<Evidence>,
    versions: BTreeSet<String>,
    first: Option<jiff::Timestamp>,
    latest: Option<jiff::Timestamp>,
}

pub(super) fn evidence(releases: &[Release], known: &Known) -> Found {
    let npm: Vec<&str> = known.npm.iter().map(String::as_str).collect();
    let helm: Vec<&str> = known.helm.iter().map(String::as_str).collect();
    let mut found = Found::default();
    let mut packages: BTreeMap<(&'static str, String), Gathered> = BTreeMap::new();
    for release in releases {
        let files: Vec<&str> = release.assets.iter().map(|one| one.name.as_str()).collect();
        let around = Around {
            tag: &release.tag,
            files: &files,
            npm: &npm,
            helm: &helm,
        };
        for asset in &release.assets {
            found.assets += 1;
            let said = match read(&asset.name) {
                None => continue,
                Some(Reading::Package(said)) => said,
                Some(Reading::Tarball(tarball)) => {
                    let Some(said) = tarball.belongs_to(&around) else {
                        found.untold += 1;
                        continue;
                    };
                    said
                }
            };
            let name = said.name.as_ref().unwrap_or(&known.repository).clone();
            let package = packages.entry((said.ecosystem, name)).or_default();
            package.add(release, asset, &said);
        }
    }
    found.evidence = packages
        .into_iter()
        .filter_map(|((ecosystem, package), gathered)| gathered.evidence(ecosystem, package))
        .collect();
    found
}

impl Gathered {
    fn add(&mut self, release: &Release, asset: &Asset, said: &ReleaseAsset) {
        let at = release.published_at.map(jiff::Timestamp::from);
        let version = said.version.clone();
        self.versions
            .insert(version.clone().unwrap_or_else(|| release.tag.clone()));
        self.first = match (self.first, at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let newer = at > self.latest;
        self.latest = self.latest.max(at);
        if self.newest.is_some() && !newer {
            return;
        }
        let mut attributes = Map::new();
        attributes.insert("asset".into(), asset.name.clone().into());
        if let Some(url) = &asset.url {
            attributes.insert("url".into(), url.clone().into());
        }
        if said.name.is_none() {
            attributes.insert(NAME_FROM.into(), "repository".into());
        }
        self.newest = Some(Evidence {
            version,
            attributes: Attributes::from(attributes),
            ..Evidence::default()
        });
    }

    fn evidence(self, ecosystem: &str, package: String) -> Option<Evidence> {
        Some(Evidence {
            ecosystem: ecosystem.to_owned(),
            package,
            version_count: i64::try_from(self.versions.len()).ok(),
            first_published_at: self.first,
            latest_published_at: self.latest,
            ..self.newest?
        })
    }
}

/// What was known from releases that are older than all that were looked at now: nobody said that
/// it is gone.
pub(super) fn out_of_sight(
    before: impl IntoIterator<Item = Evidence>,
    found: &[Evidence],
    releases: &[Release],
) -> Vec<Evidence> {
    let Some(oldest) = releases.iter().filter_map(|one| one.published_at).min() else {
        return Vec::new();
    };
    let oldest = jiff::Timestamp::from(oldest);
    before
        .into_iter()
        .filter(|old| old.latest_published_at.is_none_or(|at| at < oldest))
        .filter(|old| {
            !found
                .iter()
                .any(|new| (&new.ecosystem, &new.package) == (&old.ecosystem, &old.package))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(tag: &str, day: i64, files: &[&str]) -> Release {
        Release {
            tag: tag.into(),
            published_at: Some(db::Timestamp::from_micros(day * 86_400_000_000)),
            assets: files
                .iter()
                .map(|name| Asset {
                    name: (*name).into(),
                    url: None,
                })
                .collect(),
        }
    }

    #[test]
    fn versions_of_a_package_are_one_evidence() {
        let releases = [
            release(
                "v2",
                20,
                &["a-2.0.0-py3-none-any.whl", "app.jar", "b-2.0.0.tgz"],
            ),
            release("v1", 10, &["a-1.0.0-py3-none-any.whl", "a-1.0.0.tar.gz"]),
        ];
        let known = Known {
            repository: "thing".into(),
            ..Known::default()
        };
        let found = evidence(&releases, &known);
        assert_eq!((found.assets, found.untold), (5, 1));
        let [jar, wheel] = found.evidence.as_slice() else {
            panic!("{:?}", found.evidence);
        };
        assert_eq!(
            (jar.ecosystem.as_str(), jar.package.as_str()),
            ("maven", "thing")
        );
        assert!(jar.attributes.as_str().contains("name_from"));
        assert_eq!(wheel.version.as_deref(), Some("2.0.0"));
        assert_eq!(wheel.version_count, Some(2));
        assert!(wheel.first_published_at < wheel.latest_published_at);

        let declared = Known {
            helm: vec!["b".into()],
            ..known
        };
        let found = evidence(&releases, &declared);
        assert_eq!(found.untold, 0);
        assert!(found.evidence.iter().any(|one| one.ecosystem == "helm"));
    }

    #[test]
    fn what_slid_out_of_sight_is_not_gone() {
        let old = evidence(&[release("v0", 1, &["old-1.0.0.crate"])], &Known::default());
        let dropped = evidence(
            &[release("v2", 20, &["new-1.0.0.crate"])],
            &Known::default(),
        );
        let before: Vec<Evidence> = [old.evidence, dropped.evidence].concat();
        let now = [release("v3", 30, &[]), release("v2", 20, &[])];
        let kept = out_of_sight(before, &[], &now);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].package, "old");
    }
}
