//! GitHub's releases, and its own package registry.
//!
//! Packages are listed by owner and by type. Where it is not known whether an owner is an
//! organisation or a person, the first of these questions finds it out. Images of the former registry (`docker`) were all
//! moved to the present one, which lists them as `container`, so they are not asked for twice. An
//! enterprise server may still have the former one.

use serde::Deserialize;

use super::{GitHub, blocked, place};
use crate::{
    forge::{
        Asked, Looked, NoAnswer, OwnerPackages, Package, PackageList, Release, Releases, Which,
        content::{MOST_PAGES, why_nothing},
        publishing::{Asset, LAST_RELEASES, ecosystem, too_many_pages},
        text,
    },
    http::{Reply, segment},
};

const TYPES: [&str; 5] = ["npm", "maven", "rubygems", "nuget", "container"];

#[derive(Deserialize)]
struct ReleaseAnswer {
    tag_name: Option<String>,
    #[serde(default)]
    draft: bool,
    published_at: Option<String>,
    #[serde(default)]
    assets: Vec<AssetAnswer>,
}

#[derive(Deserialize)]
struct AssetAnswer {
    name: Option<String>,
    state: Option<String>,
    browser_download_url: Option<String>,
}

#[derive(Deserialize)]
struct PackageAnswer {
    name: String,
    version_count: Option<i64>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    repository: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    id: Option<u64>,
    full_name: Option<String>,
}

impl GitHub {
    pub(super) async fn last_releases(&self, which: &Which) -> Asked<Looked<Releases>> {
        let ask = self
            .ask(&format!("{}/releases", place(which)))
            .query("per_page", LAST_RELEASES);
        let found = match self.session.ask_json::<Vec<ReleaseAnswer>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return why_nothing(self, which, "its list of releases").await,
            Reply::Unknown(why) if blocked(&why) => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        // Drafts are shown to those who may publish them.
        let published = found.value.into_iter().filter(|one| !one.draft);
        Ok(Looked::Here(Releases {
            releases: published.map(release).collect(),
            more: found.response.next.is_some(),
        }))
    }

    pub(super) async fn packages_of(
        &self,
        owner: &str,
        of_person: Option<bool>,
    ) -> Asked<OwnerPackages> {
        let mut all = PackageList::default();
        let mut people = of_person.unwrap_or(false);
        let former = (!self.root.is_empty()).then_some("docker");
        for kind in TYPES.into_iter().chain(former) {
            let mut listed = self.list_packages(owner, people, kind).await?;
            // Whoever was a person may have become an organisation since.
            if listed.is_none() && kind == TYPES[0] {
                people = !people;
                listed = self.list_packages(owner, people, kind).await?;
            }
            let Some(mut listed) = listed else {
                return Ok(OwnerPackages::Nobody);
            };
            all.packages.append(&mut listed.packages);
            all.cut = all.cut.or(listed.cut);
        }
        Ok(OwnerPackages::All(all))
    }

    /// All of one type; none if there is no such owner of that sort.
    async fn list_packages(
        &self,
        owner: &str,
        people: bool,
        kind: &str,
    ) -> Asked<Option<PackageList>> {
        let whose = if people { "users" } else { "orgs" };
        let path = format!("/{whose}/{}/packages", segment(owner));
        let first = self
            .ask(&path)
            .query("package_type", kind)
            .query("per_page", 100);
        let mut ask = first;
        let mut packages = Vec::new();
        for _ in 0..MOST_PAGES {
            let found = self.session.ask_json::<Vec<PackageAnswer>>(&ask).await;
            let Some(found) = found.known()? else {
                return Ok(None);
            };
            packages.extend(found.value.into_iter().map(|one| package(one, kind, owner)));
            match found.response.next {
                Some(next) => ask = self.ask_on(&next),
                None => {
                    return Ok(Some(PackageList {
                        packages,
                        cut: None,
                    }));
                }
            }
        }
        let cut = Some(too_many_pages());
        Ok(Some(PackageList { packages, cut }))
    }
}

fn release(said: ReleaseAnswer) -> Release {
    let uploaded = said.assets.into_iter().filter(|asset| {
        asset
            .state
            .as_deref()
            .is_none_or(|state| state == "uploaded")
    });
    Release {
        tag: text::name(said.tag_name).unwrap_or_default(),
        published_at: text::time(said.published_at.as_deref()),
        assets: uploaded
            .filter_map(|asset| {
                Some(Asset {
                    name: text::name(asset.name)?,
                    url: text::name(asset.browser_download_url),
                })
            })
            .collect(),
    }
}

fn package(said: PackageAnswer, kind: &str, owner: &str) -> Package {
    let name = match kind {
        // The registry knows scopes of owners only, and leaves them out.
        "npm" if !said.name.starts_with('@') => {
            format!("@{}/{}", owner.to_lowercase(), said.name)
        }
        _ => said.name,
    };
    let source = said.repository;
    Package {
        ecosystem: ecosystem(kind).to_owned(),
        name,
        version: None,
        versions: said.version_count,
        first_at: text::time(said.created_at.as_deref()),
        latest_at: text::time(said.updated_at.as_deref()),
        url: text::name(said.html_url),
        repository: source
            .as_ref()
            .and_then(|source| Some(source.id?.to_string())),
        repository_path: source.and_then(|source| text::name(source.full_name)),
    }
}
