//! `distribution/releases`: which packages a repository attaches to its last 100 releases.
//!
//! One question for each repository, and none of the files is fetched: their names tell. What slid
//! behind the hundredth release since it was last seen is not gone.

use std::{collections::BTreeSet, time::Duration};

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::{evidence::Evidence, repository::RepositoryUrl};
use serde::{Deserialize, Serialize};
use store::{
    metadata, observed,
    sources::{self, Extent},
};

use super::evidence::{Known, NAME_FROM, evidence, out_of_sight};
use crate::{
    collector::{Collector, Need, kind},
    distribution::{
        at_forge::{self, Opening, Question},
        manifests, pairing,
    },
    forge::{self, Looked},
    http::{Http, RequestLog},
};

/// Looks at releases.
#[derive(Clone, Debug)]
pub struct Releases {
    http: Http,
}

/// The name under which evidence is recorded.
const SOURCE: &str = "releases";
/// More packages than this are not read from one repository's releases.
const MOST: usize = store::MAX_ROWS / 3;

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    releases: usize,
    assets: usize,
    packages: usize,
    /// Tarballs of which nothing told what they are.
    untold: usize,
    /// There are older releases.
    more: bool,
    requests: RequestLog,
}

/// The unit of a repository; one on this machine has no releases.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    (!url.is_local()).then(|| {
        let subject = Subject { repository: id };
        Enqueue::new(&kind::<Releases>(), id.to_string())
            .upstream(url.host())
            .payload(serde_json::to_value(subject).unwrap_or_default())
    })
}

impl Releases {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self { http }
    }
}

impl Collector for Releases {
    const NAME: &'static str = "distribution/releases";
    const SUMMARY: &'static str = "asks a repository's forge which packages its releases bring";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution-releases";
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
        let about = metadata::of(cx.db(), question.repository).await?;
        let looked = if at_forge::is_empty(about.as_ref(), question.now) {
            Ok(Looked::Empty)
        } else {
            at.client.releases(&at.which).await
        };
        let releases = match looked {
            Ok(Looked::Here(releases)) => releases,
            // Without a commit there is nothing to release.
            Ok(Looked::Empty) => forge::Releases::default(),
            Ok(Looked::Missing) => {
                return Ok(at_forge::not_shown(cx, question, false, &at.session));
            }
            Ok(Looked::Blocked) => return Ok(at_forge::not_shown(cx, question, true, &at.session)),
            Err(why) => {
                return at_forge::could_not_ask(cx, question, &(), why, &at.session).await;
            }
        };

        let (known, manifests_read) = known(cx, question.repository, &at.repository.name).await?;
        let mut found = evidence(&releases.releases, &known);
        let report = Report {
            releases: releases.releases.len(),
            assets: found.assets,
            packages: found.evidence.len(),
            untold: found.untold,
            more: releases.more,
            requests: at.session.log(),
        };
        if releases.more {
            let before = before(cx, question.repository).await?;
            let kept = out_of_sight(before, &found.evidence, &releases.releases);
            found.evidence.extend(kept);
        }
        let mut missing = None;
        if found.evidence.len() > MOST {
            missing = Some(format!("only {MOST} packages were recorded"));
            found.evidence.truncate(MOST);
        } else if found.untold > 0 && !manifests_read {
            let untold = found.untold;
            missing = Some(format!(
                "what {untold} tarballs are is not told before the manifests are read"
            ));
        }
        let outcome = match &missing {
            None => Outcome::Done,
            Some(why) => Outcome::Partial {
                why: why.clone(),
                retry_at: None,
            },
        };
        let facts = (question, found.evidence, missing);
        Ok(cx.finish(outcome, report, facts, |tx, facts| {
            Box::pin(async move {
                let (question, evidence, missing) = facts;
                let extent = missing.as_deref().map_or(Extent::Whole, Extent::Part);
                observed::record_evidence(tx, &question.asked(), evidence, extent).await?;
                pairing::wake(tx, question.repository, question.now).await
            })
        }))
    }
}

/// What the repository declares and its releases were told to be before, and whether it was looked
/// at for that.
async fn known(cx: &Run, repository: i64, name: &str) -> Result<(Known, bool), RunError> {
    // First this: manifests that are written between the two questions must not be missed.
    let states = sources::states(cx.db(), repository).await?;
    let read = states
        .iter()
        .filter(|state| state.source == manifests::SOURCE && state.last_answered.is_some())
        .any(|state| state.error.as_deref() != Some(manifests::BEING_READ));
    let manifests = observed::manifests(cx.db(), repository, false, store::MAX_ROWS).await?;
    // A manifest may go or take another name: what was published under the old one is still that.
    let before = observed::evidence(cx.db(), repository, true, store::MAX_ROWS).await?;
    let before: Vec<&Evidence> = before
        .iter()
        .filter(|kept| kept.source == SOURCE)
        .map(|kept| &kept.fact)
        .collect();
    let names = |word: &str| {
        let declared = manifests
            .iter()
            .filter(|kept| kept.fact.manifest_type == word)
            .filter_map(|kept| kept.fact.effective_name.clone());
        let told = before
            .iter()
            .filter(|fact| fact.ecosystem == word)
            .map(|fact| fact.package.clone());
        let names: BTreeSet<String> = declared.chain(told).collect();
        names.into_iter().collect()
    };
    // Likewise a renamed repository.
    let unnamed = before
        .iter()
        .find(|fact| fact.attributes.to_map().contains_key(NAME_FROM));
    let known = Known {
        repository: unnamed
            .map_or(name, |fact| fact.package.as_str())
            .to_owned(),
        npm: names("npm"),
        helm: names("helm"),
    };
    Ok((known, read))
}

/// What earlier visits recorded.
async fn before(cx: &Run, repository: i64) -> Result<Vec<Evidence>, RunError> {
    let kept = observed::evidence(cx.db(), repository, false, store::MAX_ROWS).await?;
    let ours = kept.into_iter().filter(|one| one.source == SOURCE);
    Ok(ours.map(|one| one.fact).collect())
}
