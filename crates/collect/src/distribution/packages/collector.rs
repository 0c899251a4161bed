//! `distribution/packages`: which packages of a repository lie in the registry of its own forge.
//!
//! Forges list by owner, so one listing is asked for and kept for all repositories of the owner. A
//! package counts for the repository that the registry links it with, by number where it is told;
//! an equal name under another owner is another's.

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::{evidence::Evidence, json::Attributes, repository::RepositoryUrl};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use store::{metadata, observed, sources::Extent};

use super::listing::Listings;
use crate::{
    collector::{Collector, Need, kind},
    distribution::{
        at_forge::{self, AtForge, Opening, Question},
        pairing,
    },
    forge::{Looked, NoAnswer, OwnerPackages, Package, PackageList},
    http::{Http, RequestLog},
};

/// Looks into the registries of forges.
#[derive(Clone, Debug)]
pub struct Packages {
    http: Http,
    listings: Listings,
}

/// The name under which evidence is recorded.
const SOURCE: &str = "packages";
/// More packages than this are not recorded for one repository.
const MOST: usize = store::MAX_ROWS / 3;
/// How soon it is looked whether there is a token now.
const WITHOUT_TOKEN: Duration = Duration::from_hours(7 * 24);

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    owner: String,
    /// The owner's listing was at hand.
    at_hand: bool,
    packages: usize,
    requests: RequestLog,
}

/// The packages of a repository, as its forge told.
struct Told {
    list: PackageList,
    at_hand: bool,
}

/// The unit of a repository; one on this machine has no registry.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    (!url.is_local()).then(|| {
        let subject = Subject { repository: id };
        Enqueue::new(&kind::<Packages>(), id.to_string())
            .upstream(url.host())
            .payload(serde_json::to_value(subject).unwrap_or_default())
    })
}

impl Packages {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self {
            http,
            listings: Listings::default(),
        }
    }
}

impl Collector for Packages {
    const NAME: &'static str = "distribution/packages";
    const SUMMARY: &'static str =
        "asks a repository's forge what of it lies in the forge's own registry";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution-packages";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network, Need::Token];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let repository = match at_forge::tracked(cx, subject.repository).await? {
            Ok(repository) => repository,
            Err(over) => return Ok(over),
        };
        let question = Question {
            repository: repository.id,
            source: SOURCE,
            collector_version: Self::VERSION,
            now: cx.clock().now(),
        };
        let at = match at_forge::open(cx, &self.http, repository, question, &()).await? {
            Opening::Ready(at) => at,
            Opening::NoForge(plain) => return Ok(plain.cannot_be_asked(cx, question)),
            Opening::Over(ending) => return Ok(ending),
        };
        if at.client.packages_need_token() && !at.session.shows_token(&at.repository.host) {
            let why = "packages are shown only to a token with the right to read them".to_owned();
            let outcome = Outcome::Retry {
                at: question.now.plus(WITHOUT_TOKEN),
                why: why.clone(),
            };
            return Ok(at_forge::nothing_learned(
                cx,
                question,
                outcome,
                why,
                &at.session,
            ));
        }
        let owner = at.client.packages_owner(&at.which);
        let told = match self.ask(&at, &owner, question, cx).await? {
            Ok(Looked::Here(told)) => told,
            // Without a commit there may be packages all the same; an owner's list has them.
            Ok(Looked::Empty) => Told {
                list: PackageList::default(),
                at_hand: false,
            },
            Ok(Looked::Missing) => {
                return Ok(at_forge::not_shown(cx, question, false, &at.session));
            }
            Ok(Looked::Blocked) => return Ok(at_forge::not_shown(cx, question, true, &at.session)),
            Err(why) => {
                return at_forge::could_not_ask(cx, question, &(), why, &at.session).await;
            }
        };
        Ok(found(told, owner, &at, question, cx))
    }
}

impl Packages {
    /// The packages of the repository: out of the owner's, or its own.
    async fn ask(
        &self,
        at: &AtForge,
        owner: &str,
        question: Question,
        cx: &Run,
    ) -> Result<Result<Looked<Told>, NoAnswer>, RunError> {
        let (forge, host) = (at.client.as_ref(), &at.repository.host);
        let known = metadata::of(cx.db(), question.repository).await?;
        let of_person = known.and_then(|known| known.of_person);
        let listed = self
            .listings
            .of(cx, forge, host, owner, of_person, question.now)
            .await?;
        let (listing, at_hand) = match listed {
            Ok(listed) => listed,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match listing {
            OwnerPackages::All(mut list) => {
                let path = format!("{}/{}", at.which.owner, at.which.name);
                let number = at.which.number.as_deref();
                list.packages
                    .retain(|package| package.comes_from(number, &path));
                Ok(Looked::Here(Told { list, at_hand }))
            }
            OwnerPackages::ByRepository => {
                let own = forge.repository_packages(&at.which).await;
                own.map(|looked| {
                    looked.map(|list| Told {
                        list,
                        at_hand: false,
                    })
                })
            }
            OwnerPackages::Nobody => Ok(Looked::Missing),
        })
    }
}

fn found(told: Told, owner: String, at: &AtForge, question: Question, cx: &Run) -> Ending {
    let PackageList {
        mut packages,
        cut: mut missing,
    } = told.list;
    if packages.len() > MOST {
        missing = Some(format!("only {MOST} packages were recorded"));
        packages.truncate(MOST);
    }
    let evidence: Vec<Evidence> = packages
        .into_iter()
        .map(|package| evidence(package, &owner, &at.repository.host))
        .collect();
    let report = Report {
        owner,
        at_hand: told.at_hand,
        packages: evidence.len(),
        requests: at.session.log(),
    };
    let outcome = match &missing {
        None => Outcome::Done,
        Some(why) => Outcome::Partial {
            why: why.clone(),
            retry_at: None,
        },
    };
    let facts = (question, evidence, missing);
    cx.finish(outcome, report, facts, |tx, facts| {
        Box::pin(async move {
            let (question, evidence, missing) = facts;
            let extent = missing.as_deref().map_or(Extent::Whole, Extent::Part);
            observed::record_evidence(tx, &question.asked(), evidence, extent).await?;
            pairing::wake(tx, question.repository, question.now).await
        })
    })
}

fn evidence(package: Package, owner: &str, host: &str) -> Evidence {
    let mut attributes = Map::new();
    attributes.insert("owner".into(), owner.into());
    attributes.insert("registry".into(), host.into());
    if let Some(url) = package.url {
        attributes.insert("url".into(), url.into());
    }
    Evidence {
        ecosystem: package.ecosystem,
        package: package.name,
        version: package.version,
        version_count: package.versions,
        first_published_at: package.first_at.map(Into::into),
        latest_published_at: package.latest_at.map(Into::into),
        path: None,
        attributes: Attributes::from(attributes),
    }
}
