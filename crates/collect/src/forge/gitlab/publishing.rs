//! GitLab's releases, and its own package registry.
//!
//! A group lists the packages of all its projects, those of groups within it too, so the topmost
//! group is asked once for all of them. A person's projects must be asked one by one.

use serde::Deserialize;

use super::{GitLab, code::place};
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
    released_at: Option<String>,
    #[serde(default)]
    upcoming_release: bool,
    assets: Option<Assets>,
}

#[derive(Deserialize)]
struct Assets {
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    name: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct PackageAnswer {
    name: String,
    version: Option<String>,
    package_type: String,
    created_at: Option<String>,
    project_id: Option<u64>,
    project_path: Option<String>,
    #[serde(rename = "_links")]
    links: Option<PackageLinks>,
}

#[derive(Deserialize)]
struct PackageLinks {
    web_path: Option<String>,
}

impl GitLab {
    pub(super) async fn last_releases(&self, which: &Which) -> Asked<Looked<Releases>> {
        let ask = self
            .ask(&format!("{}/releases", place(which)))
            .query("per_page", LAST_RELEASES);
        let found = match self.session.ask_json::<Vec<ReleaseAnswer>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return why_nothing(self, which, "its list of releases").await,
            Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let published = found.value.into_iter().filter(|one| !one.upcoming_release);
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
        if of_person == Some(true) {
            return Ok(OwnerPackages::ByRepository);
        }
        let ask = self.ask(&format!("/groups/{}/packages", segment(owner)));
        Ok(match self.list_packages(ask, None).await? {
            Some(list) => OwnerPackages::All(list),
            // A person, as far as a group's list can tell; its projects tell for themselves.
            None => OwnerPackages::ByRepository,
        })
    }

    pub(super) async fn packages_here(&self, which: &Which) -> Asked<Looked<PackageList>> {
        let ask = self.ask(&format!("{}/packages", place(which)));
        match self.list_packages(ask, Some(which)).await? {
            Some(listed) => Ok(Looked::Here(listed)),
            None => why_nothing(self, which, "its list of packages").await,
        }
    }

    /// `of` is the project that is asked, where it is one: it does not name itself.
    async fn list_packages(&self, first: Ask, of: Option<&Which>) -> Asked<Option<PackageList>> {
        let mut ask = first.query("per_page", 100);
        let mut rows = Vec::new();
        let mut cut = Some(too_many_pages());
        for _ in 0..MOST_PAGES {
            let found = self.session.ask_json::<Vec<PackageAnswer>>(&ask).await;
            let Some(found) = found.known()? else {
                return Ok(None);
            };
            rows.extend(found.value.into_iter().map(|one| self.package(one, of)));
            let Some(next) = found.response.next else {
                cut = None;
                break;
            };
            ask = Ask::get(&self.host, next).absent(&[404, 410]);
        }
        let packages = gather(rows);
        Ok(Some(PackageList { packages, cut }))
    }

    fn package(&self, said: PackageAnswer, of: Option<&Which>) -> Package {
        let name = match said.package_type.as_str() {
            // `org/meadow/parser` is the artifact `parser` of the group `org.meadow`.
            "maven" => match said.name.rsplit_once('/') {
                Some((group, artifact)) => format!("{}:{artifact}", group.replace('/', ".")),
                None => said.name,
            },
            _ => said.name,
        };
        let at = text::time(said.created_at.as_deref());
        let page = said.links.and_then(|links| text::name(links.web_path));
        let number = said.project_id.map(|id| id.to_string());
        Package {
            ecosystem: ecosystem(&said.package_type).to_owned(),
            name,
            version: text::name(said.version),
            versions: Some(1),
            first_at: at,
            latest_at: at,
            url: page
                .filter(|page| page.starts_with('/'))
                .map(|page| format!("https://{}{page}", self.host)),
            repository: match of {
                Some(which) => which.number.clone().or(number),
                None => number,
            },
            repository_path: match of {
                Some(which) => Some(format!("{}/{}", which.owner, which.name)),
                None => text::name(said.project_path),
            },
        }
    }
}

/// A link may be named by what it is (`Linux package`) while its address ends in the file.
fn release(said: ReleaseAnswer) -> Release {
    let links = said.assets.map(|assets| assets.links).unwrap_or_default();
    Release {
        tag: text::name(said.tag_name).unwrap_or_default(),
        published_at: text::time(said.released_at.as_deref()),
        assets: links
            .into_iter()
            .filter_map(|link| {
                let url = text::name(link.url);
                let file = url.as_deref().and_then(|url| {
                    let path = url.split(['?', '#']).next()?;
                    let last = path.rsplit('/').next()?;
                    last.contains('.').then(|| last.to_owned())
                });
                let name = text::name(link.name);
                let named = name.filter(|name| name.contains('.') && !name.contains(' '));
                Some(Asset {
                    name: named.or(file)?,
                    url,
                })
            })
            .collect(),
    }
}
