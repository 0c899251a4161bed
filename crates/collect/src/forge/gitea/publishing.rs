//! Gitea's releases, and its own package registry, which lists all types of an owner at once, one
//! row for each version.

use serde::Deserialize;

use super::{Gitea, code::place};
use crate::{
    forge::{
        Asked, Looked, NoAnswer, OwnerPackages, Package, PackageList, Release, Releases, Which,
        content::{MOST_PAGES, why_nothing},
        publishing::{Asset, LAST_RELEASES, ecosystem, gather, too_many_pages},
        text,
    },
    http::{Ask, Reply, segment},
};

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
    browser_download_url: Option<String>,
}

#[derive(Deserialize)]
struct PackageAnswer {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    version: Option<String>,
    created_at: Option<String>,
    html_url: Option<String>,
    repository: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    id: Option<u64>,
    full_name: Option<String>,
}

impl Gitea {
    pub(super) async fn last_releases(&self, which: &Which) -> Asked<Looked<Releases>> {
        let mut ask = self
            .ask(&format!("{}/releases", place(which)))
            .query("draft", false)
            .query("limit", 50);
        let mut all = Releases::default();
        loop {
            let found = match self.session.ask_json::<Vec<ReleaseAnswer>>(&ask).await {
                Reply::Found(found) => found,
                Reply::Absent => return why_nothing(self, which, "its list of releases").await,
                Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Looked::Blocked),
                Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
            };
            let none = found.value.is_empty();
            let published = found.value.into_iter().filter(|one| !one.draft);
            all.releases.extend(published.map(release));
            let Some(next) = found.response.next.filter(|_| !none) else {
                break;
            };
            if all.releases.len() >= LAST_RELEASES {
                all.more = true;
                break;
            }
            ask = Ask::get(&self.host, next).absent(&[404, 410]);
        }
        all.more |= all.releases.len() > LAST_RELEASES;
        all.releases.truncate(LAST_RELEASES);
        Ok(Looked::Here(all))
    }

    pub(super) async fn packages_of(&self, owner: &str) -> Asked<OwnerPackages> {
        let mut ask = self
            .ask(&format!("/packages/{}", segment(owner)))
            .query("limit", 50);
        let mut rows = Vec::new();
        let mut cut = Some(too_many_pages());
        for _ in 0..MOST_PAGES {
            let found = self.session.ask_json::<Vec<PackageAnswer>>(&ask).await;
            let Some(found) = found.known()? else {
                return Ok(OwnerPackages::Nobody);
            };
            rows.extend(found.value.into_iter().map(package));
            let Some(next) = found.response.next else {
                cut = None;
                break;
            };
            ask = Ask::get(&self.host, next).absent(&[404, 410]);
        }
        let packages = gather(rows);
        Ok(OwnerPackages::All(PackageList { packages, cut }))
    }
}

fn release(said: ReleaseAnswer) -> Release {
    Release {
        tag: text::name(said.tag_name).unwrap_or_default(),
        published_at: text::time(said.published_at.as_deref()),
        assets: said
            .assets
            .into_iter()
            .filter_map(|asset| {
                Some(Asset {
                    name: text::name(asset.name)?,
                    url: text::name(asset.browser_download_url),
                })
            })
            .collect(),
    }
}

fn package(said: PackageAnswer) -> Package {
    let at = text::time(said.created_at.as_deref());
    let source = said.repository;
    Package {
        ecosystem: ecosystem(&said.kind).to_owned(),
        name: said.name,
        version: text::name(said.version),
        versions: Some(1),
        first_at: at,
        latest_at: at,
        url: text::name(said.html_url),
        repository: source
            .as_ref()
            .and_then(|source| Some(source.id?.to_string())),
        repository_path: source.and_then(|source| text::name(source.full_name)),
    }
}
