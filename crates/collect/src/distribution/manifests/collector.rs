//! `distribution/manifests`: reads a repository's tree and records how it
//! declares itself. The pattern for all later collectors.

use std::{path::Path, time::Duration};

use db::Timestamp;
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::{manifest::ManifestFact, repository::RepositoryUrl};
use serde::{Deserialize, Serialize};
use store::{
    observed, repositories,
    repositories::Repository,
    sources::{self, Asked, Extent},
};

use super::{Snapshot, read_manifests};
use crate::{
    answer::Answer,
    collector::{Collector, Need, kind},
    distribution::pairing,
    git::{Limits, Local},
};

/// Reads manifests.
#[derive(Clone, Copy, Debug)]
pub struct Manifests;

/// The name under which facts are recorded.
const SOURCE: &str = "manifests";
/// Facts in one transaction: each may also append to history and end another.
const CHUNK: usize = store::MAX_ROWS / 3;

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// How far a large tree has been written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    commit: String,
    written: usize,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report<'a> {
    commit: &'a str,
    manifests: usize,
    unreadable: usize,
    left_out: usize,
}

/// The unit of a repository, if this collector can read it: so far, one that
/// lies on this machine.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    url.is_local().then(|| {
        let subject = Subject { repository: id };
        Enqueue::new(&kind::<Manifests>(), id.to_string())
            .payload(serde_json::to_value(subject).unwrap_or_default())
    })
}

impl Collector for Manifests {
    const NAME: &'static str = "distribution/manifests";
    const SUMMARY: &'static str =
        "reads the manifests in a repository's tree: names, versions, intent to publish";
    const VERSION: i64 = scan::manifest::VERSION as i64;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Tool("git")];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        // All facts of one run are observed at one time: what an earlier run
        // saw and this one did not is then easily told.
        let now = cx.clock().now();
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            let why = "the repository is no longer tracked".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let asked = Question {
            repository: repository.id,
            now,
        };
        match answer(&repository).await {
            Answer::Found(snapshot) => found(asked, snapshot, cx).await,
            Answer::Absent => {
                let report = Report {
                    commit: "",
                    manifests: 0,
                    unreadable: 0,
                    left_out: 0,
                };
                Ok(cx.finish(Outcome::Done, report, asked, |tx, asked| {
                    Box::pin(async move {
                        observed::record_manifests(tx, &asked.asked(), &[], Extent::Whole).await?;
                        pairing::wake(tx, asked.repository, asked.now).await
                    })
                }))
            }
            Answer::Unknown(why) => could_not_ask(asked, why, cx).await,
        }
    }
}

async fn answer(repository: &Repository) -> Answer<Snapshot> {
    let path = RepositoryUrl::parse(&repository.url)
        .ok()
        .and_then(|url| url.path());
    let Some(path) = path else {
        return Answer::Unknown(format!("`{}` has no path on this machine", repository.url));
    };
    match Local::open(Path::new(&path), Limits::default()).await {
        Ok(local) => read_manifests(&local).await,
        Err(error) => Answer::Unknown(error.to_string()),
    }
}

async fn found(asked: Question, snapshot: Snapshot, cx: &Run) -> Result<Ending, RunError> {
    let Snapshot {
        commit,
        branch,
        mut facts,
        left_out,
    } = snapshot;
    let report = serde_json::to_value(Report {
        commit: &commit,
        manifests: facts.len(),
        unreadable: facts.iter().filter(|fact| fact.error.is_some()).count(),
        left_out,
    })
    .map_err(RunError::unit)?;

    // A tree with thousands of manifests is written in pieces. Until the last
    // one says "whole", nothing that was there before counts as gone.
    let last = facts.split_off(facts.len().saturating_sub(1) / CHUNK * CHUNK);
    for (index, chunk) in facts.chunks(CHUNK).enumerate() {
        let progress = Progress {
            commit: commit.clone(),
            written: index * CHUNK + chunk.len(),
        };
        let piece = (asked, chunk.to_vec());
        cx.commit(&progress, &piece, |tx, (asked, chunk)| {
            Box::pin(async move {
                let extent = Extent::Part("being read");
                observed::record_manifests(tx, &asked.asked(), chunk, extent).await?;
                Ok(())
            })
        })
        .await?;
    }

    let missing = (left_out > 0).then(|| format!("{left_out} manifests were left out"));
    let outcome = match &missing {
        None => Outcome::Done,
        Some(why) => Outcome::Partial {
            why: why.clone(),
            retry_at: None,
        },
    };
    let facts = Last {
        asked,
        branch,
        facts: last,
        missing,
    };
    Ok(cx.finish(outcome, report, facts, |tx, last| {
        Box::pin(async move {
            let extent = last.missing.as_deref().map_or(Extent::Whole, Extent::Part);
            observed::record_manifests(tx, &last.asked.asked(), &last.facts, extent).await?;
            let branch = last.branch.as_deref();
            repositories::set_default_branch(tx, last.asked.repository, branch).await?;
            pairing::wake(tx, last.asked.repository, last.asked.now).await
        })
    }))
}

/// Nothing is known that was not known before, except that we asked. The note
/// is written at once; the run then fails, and the engine decides when to ask again.
async fn could_not_ask(asked: Question, why: String, cx: &Run) -> Result<Ending, RunError> {
    let note = (asked, why.clone());
    cx.commit(&(), &note, |tx, (asked, why)| {
        Box::pin(async move {
            sources::could_not_answer(tx, asked.repository, SOURCE, why, asked.now).await?;
            pairing::wake_after_failure(tx, asked.repository, SOURCE, asked.now).await
        })
    })
    .await?;
    Err(RunError::unit(why))
}

/// Who is asked about what, and when.
#[derive(Clone, Copy, Debug)]
struct Question {
    repository: i64,
    now: Timestamp,
}

impl Question {
    fn asked(&self) -> Asked<'static> {
        Asked {
            repository: self.repository,
            source: SOURCE,
            collector_version: Manifests::VERSION,
            now: self.now,
        }
    }
}

/// The last piece of a snapshot.
struct Last {
    asked: Question,
    branch: Option<String>,
    facts: Vec<ManifestFact>,
    missing: Option<String>,
}
