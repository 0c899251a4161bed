//! `goindex/vanity`: asks the host of an import path whether it leads to the repository that
//! declares it.
//!
//! Anybody can write any path into a go.mod, and every fork keeps that of its origin. So a path
//! counts only if the go command would come to this repository by it: its host answers `?go-get=1`
//! with a `go-import` that names the repository, and perhaps a directory of it. Hosts that the go
//! command knows by itself are not asked that; there a repository that was renamed is found by its
//! old path, as git is.
//!
//! An answer that is new makes the tags of the repository due.

use std::time::Duration;

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::RepositoryUrl;
use scan::go::import_meta;
use serde::{Deserialize, Serialize};
use store::{
    goindex::{self, Leads, Root},
    repositories::{self, Repository},
};

use super::{Settings, Way, address, tags};
use crate::{
    collector::{Collector, Need, kind, untracked},
    git::remote,
    http::{Ask, Expect, Http, Reply, segment},
    repo_metadata::enqueue,
};

/// Hosts whose repositories the go command knows by their paths.
const KNOWN_TO_GO: &[&str] = &["github.com", "bitbucket.org"];
/// No page that answers is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Asks about import paths.
#[derive(Clone, Debug)]
pub struct GoVanity {
    http: Http,
    way: Way,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
    /// The path that it declares.
    pub path: String,
}

#[derive(Debug, Serialize)]
struct Report {
    leads: &'static str,
    to: Option<String>,
    subdirectory: String,
}

/// The unit of a path that a repository declares.
pub(super) fn unit(repository: i64, path: &str) -> Enqueue {
    let subject = Subject {
        repository,
        path: path.to_owned(),
    };
    Enqueue::new(&kind::<GoVanity>(), format!("{repository}/{path}"))
        .upstream(host_of(path))
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl GoVanity {
    /// Asks this way.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self {
            http,
            way: Way::new(settings),
        }
    }
}

impl Collector for GoVanity {
    const NAME: &'static str = "goindex/vanity";
    const SUMMARY: &'static str = "asks the host of an import path which repository it leads to";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(7 * 24));
    const POOL: &'static str = "goindex";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            return Ok(untracked(cx));
        };
        let path = subject.path.as_str();
        let led = if let Some(url) = behind_gopkg(path) {
            Some(Led::to(path, url))
        } else if KNOWN_TO_GO.contains(&host_of(path)) {
            match self.by_git(path, &repository, cx).await {
                Ok(led) => led,
                Err(error) => return error.end(cx, ()),
            }
        } else {
            let session = self.http.for_run(cx);
            match session.ask(&question(path)).await {
                Reply::Found(page) => Led::of(&page.body, path),
                Reply::Absent => None,
                Reply::Unknown(why) => return why.end(cx, session.log()),
            }
        };
        Ok(end(&repository, path, led, &self.way.settings, cx))
    }
}

impl GoVanity {
    /// Where a path leads whose host the go command knows by itself: to the repository of that
    /// name, or to where git is sent from there.
    async fn by_git(
        &self,
        path: &str,
        repository: &Repository,
        cx: &Run,
    ) -> Result<Option<Led>, remote::RemoteError> {
        let mut parts = path.splitn(4, '/');
        let (Some(host), Some(owner), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let prefix = format!("{host}/{owner}/{name}");
        let url = format!("https://{prefix}");
        // Nobody is sent to another host from there, and the name may be our own in other letters.
        if repository.host != host || is_at(repository, &url, &self.way.settings) {
            return Ok(Some(Led::to(&prefix, url)));
        }
        let base = self.way.settings.bases.get(host);
        let place = base.map_or_else(
            || format!("{url}.git"),
            |base| format!("{}/{owner}/{name}.git", base.trim_end_matches('/')),
        );
        let refs = self.way.to(&place).await?.refs(&["HEAD"]).await;
        remote::account(cx, &refs).await;
        match refs {
            Ok(refs) => Ok(Some(Led::to(&prefix, refs.moved_to.unwrap_or(url)))),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Where a path leads.
struct Led {
    prefix: String,
    subdir: String,
    url: String,
}

impl Led {
    fn to(prefix: &str, url: String) -> Self {
        Self {
            prefix: prefix.to_owned(),
            subdir: String::new(),
            url,
        }
    }

    fn of(page: &[u8], path: &str) -> Option<Self> {
        let meta = import_meta(page, path)?;
        Some(Self {
            prefix: meta.prefix,
            subdir: meta.subdir,
            url: meta.url,
        })
    }
}

fn end(
    repository: &Repository,
    path: &str,
    led: Option<Led>,
    settings: &Settings,
    cx: &Run,
) -> Ending {
    let leads = match &led {
        None => Leads::Nowhere,
        Some(led) if is_at(repository, &led.url, settings) => Leads::Here,
        Some(_) => Leads::Elsewhere,
    };
    let (prefix, subdir, url) = led.map_or_else(
        || (path.to_owned(), String::new(), None),
        |led| (led.prefix, led.subdir, Some(led.url)),
    );
    let report = Report {
        leads: match leads {
            Leads::Here => "here",
            Leads::Elsewhere => "elsewhere",
            Leads::Nowhere => "nowhere",
        },
        to: url.clone(),
        subdirectory: subdir.clone(),
    };
    let facts = Answered {
        repository: repository.id,
        tags: RepositoryUrl::parse(&repository.url)
            .ok()
            .map(|url| tags::unit(repository.id, &url).now()),
        root: Root {
            asked: path.to_owned(),
            leads,
            path: prefix,
            subdir,
            url,
        },
        now: cx.clock().now(),
    };
    cx.finish(Outcome::Done, report, facts, |tx, facts| {
        Box::pin(facts.write(tx))
    })
}

struct Answered {
    repository: i64,
    root: Root,
    tags: Option<Enqueue>,
    now: Timestamp,
}

impl Answered {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        if !goindex::root_answered(tx, self.repository, &self.root, self.now).await? {
            return Ok(());
        }
        goindex::forget_digest(tx, Some(self.repository)).await?;
        enqueue(tx, self.tags.as_slice(), self.now).await
    }
}

/// Whether an address is that of the repository, as it is known or as git is given it.
fn is_at(repository: &Repository, url: &str, settings: &Settings) -> bool {
    let key = |url: &str| RepositoryUrl::parse(url).ok().map(|url| url.key());
    let Some(found) = key(url) else {
        return false;
    };
    [
        repository.url.clone(),
        address::clone_url(repository, settings),
    ]
    .iter()
    .any(|own| key(own).as_ref() == Some(&found))
}

fn question(path: &str) -> Ask {
    let (host, rest) = path.split_once('/').unwrap_or((path, ""));
    let segments: Vec<String> = rest.split('/').map(segment).collect();
    Ask::get(host, format!("/{}", segments.join("/")))
        .query("go-get", 1)
        .accept("text/html")
        .expect(Expect::Any)
        .max_bytes(MOST_BYTES)
        .absent(&[404, 410])
}

fn host_of(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// `gopkg.in/yaml.v2` is github.com/go-yaml/yaml, `gopkg.in/owner/name.v2` github.com/owner/name:
/// that is its whole business, and it serves them under its own address.
fn behind_gopkg(path: &str) -> Option<String> {
    let rest = path.strip_prefix("gopkg.in/")?;
    let (stem, _) = rest.rsplit_once(".v")?;
    Some(match stem.split_once('/') {
        Some((owner, name)) => format!("https://github.com/{owner}/{name}"),
        None => format!("https://github.com/go-{stem}/{stem}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gopkg_leads_to_github() {
        for (path, url) in [
            ("gopkg.in/yaml.v2", Some("https://github.com/go-yaml/yaml")),
            (
                "gopkg.in/src-d/go-git.v4",
                Some("https://github.com/src-d/go-git"),
            ),
            ("gopkg.in/yaml", None),
            ("example.org/yaml.v2", None),
        ] {
            assert_eq!(behind_gopkg(path).as_deref(), url, "{path}");
        }
    }
}
