//! `distribution/manifests`: reads a repository's tree and records how it
//! declares itself. The pattern for all later collectors.
//!
//! A repository on this machine is read by git, one on a forge through the forge: one listing of
//! the tree, and only those contents that nobody has fetched before. When a bump of the parsers'
//! version makes a unit due, what the last visit saw is read again without asking the forge.

use std::{path::Path, time::Duration};

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::{manifest::ManifestFact, repository::RepositoryUrl};
use serde::{Deserialize, Serialize};
use store::{
    metadata, observed, repositories,
    repositories::Repository,
    sources::{self, Extent},
};

use super::{
    MAX_MANIFESTS, Snapshot,
    kept_blobs::KeptBlobs,
    read_manifests,
    remote::{self, Cellar},
    unmoved,
    visit::Visit,
};
use crate::{
    answer::Answer,
    collector::{Collector, Need, kind},
    distribution::{
        at_forge::{self, Opening, Question},
        names, pairing,
    },
    forge::Looked,
    git::{Limits, Local},
    http::{Http, RequestLog},
};

/// Reads manifests.
#[derive(Clone, Debug)]
pub struct Manifests {
    http: Http,
    kept: KeptBlobs,
}

/// The name under which facts are recorded.
pub(in crate::distribution) const SOURCE: &str = "manifests";
/// What is missing of a large tree until its last piece is written.
pub(in crate::distribution) const BEING_READ: &str = "being read";
/// Facts in one transaction: each may also append to history and end another.
const CHUNK: usize = store::MAX_ROWS / 3;

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// How far a large tree has been written down, and what is remembered of the last visit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    commit: String,
    written: usize,
    #[serde(default)]
    visit: Option<Visit>,
}

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
struct Report {
    commit: String,
    manifests: usize,
    unreadable: usize,
    left_out: usize,
    /// Made from another repository, as far as its forge told: its manifests are that one's too.
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<bool>,
    /// The parsers are new, the contents are those of the last visit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_again: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<RequestLog>,
}

/// The unit of a repository.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    let subject = Subject { repository: id };
    let unit = Enqueue::new(&kind::<Manifests>(), id.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default());
    Some(if url.is_local() {
        unit
    } else {
        unit.upstream(url.host())
    })
}

impl Manifests {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self {
            http,
            kept: KeptBlobs::default(),
        }
    }
}

impl Collector for Manifests {
    const NAME: &'static str = "distribution/manifests";
    const SUMMARY: &'static str =
        "reads the manifests in a repository's tree: names, versions, intent to publish";
    const VERSION: i64 = scan::manifest::VERSION as i64;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Tool("git"), Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let repository = match at_forge::tracked(cx, subject.repository).await? {
            Ok(repository) => repository,
            Err(over) => return Ok(over),
        };
        // All facts of one run are observed at one time: what an earlier run
        // saw and this one did not is then easily told.
        let question = Question {
            repository: repository.id,
            source: SOURCE,
            collector_version: Self::VERSION,
            now: cx.clock().now(),
        };
        if repository.local {
            return match on_this_machine(&repository).await {
                Answer::Found(snapshot) => {
                    let branch = Branch::Here(snapshot.branch.clone());
                    found(question, snapshot, branch, None, Report::default(), cx).await
                }
                Answer::Absent => Ok(nothing_declared(question, Report::default(), cx)),
                Answer::Unknown(why) => could_not_read(question, why, cx).await,
            };
        }
        self.at_forge(repository, question, cursor, cx).await
    }
}

impl Manifests {
    async fn at_forge(
        &self,
        repository: Repository,
        question: Question,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let cellar = Cellar {
            kept: &self.kept,
            db: cx.db(),
            now: question.now,
        };
        let last = cursor.as_ref().and_then(|progress| progress.visit.as_ref());
        if let Some(visit) = last
            && let Some(snapshot) = read_again(&repository, visit, &cellar).await?
        {
            let report = Report {
                read_again: true,
                ..Report::default()
            };
            let visit = Some(visit.clone());
            return found(question, snapshot, Branch::Elsewhere, visit, report, cx).await;
        }

        let mut at = match at_forge::open(cx, &self.http, repository, question, &cursor).await? {
            Opening::Ready(at) => at,
            Opening::Over(ending) => return Ok(ending),
        };
        let known = metadata::of(cx.db(), question.repository).await?;
        let fork = known.as_ref().and_then(|known| known.fork);
        if at_forge::is_empty(known.as_ref(), question.now) {
            let report = Report {
                fork,
                ..Report::default()
            };
            return Ok(nothing_declared(question, report, cx));
        }
        if known.is_some_and(|known| known.empty == Some(true)) {
            let known = observed::manifests(cx.db(), question.repository, false, 1).await?;
            at.which.was_empty = known.is_empty();
        }
        let looked = match unmoved::look(&at, last, question, cx).await? {
            Ok(Some(snapshot)) => Ok(Looked::Here(snapshot)),
            Ok(None) => remote::read(at.client.as_ref(), &at.which, &cellar).await,
            Err(why) => Err(why),
        };
        let looked = match looked {
            Ok(looked) => looked,
            Err(why) => {
                return at_forge::could_not_ask(cx, question, &cursor, why, &at.session).await;
            }
        };
        let report = Report {
            fork,
            requests: Some(at.session.log()),
            ..Report::default()
        };
        match looked {
            Looked::Here(snapshot) => {
                let visit = Visit::of(&snapshot, question.now);
                found(question, snapshot, Branch::Elsewhere, visit, report, cx).await
            }
            Looked::Empty => Ok(nothing_declared(question, report, cx)),
            Looked::Missing => Ok(at_forge::not_shown(cx, question, false, &at)),
            Looked::Blocked => Ok(at_forge::not_shown(cx, question, true, &at)),
        }
    }
}

/// What the last visit saw, as the parsers of today read it; none if the forge should be asked.
async fn read_again(
    repository: &Repository,
    visit: &Visit,
    cellar: &Cellar<'_>,
) -> Result<Option<Snapshot>, RunError> {
    let cadence = Manifests::CADENCE.unwrap_or_default();
    let states = sources::states(cellar.db, repository.id).await?;
    let older = states.iter().any(|state| {
        let version = state.collector_version;
        let older = version.is_some_and(|version| version < Manifests::VERSION);
        state.source == SOURCE && state.complete && older
    });
    if !older || repository.archived || !visit.serves(cellar.now, cadence) {
        return Ok(None);
    }
    let limit = MAX_MANIFESTS + 1;
    let mut known = observed::manifests(cellar.db, repository.id, false, limit).await?;
    known.retain(|kept| kept.source == SOURCE);
    Ok(remote::read_again(&known, &visit.silent, cellar).await)
}

async fn on_this_machine(repository: &Repository) -> Answer<Snapshot> {
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

/// A repository without a commit declares nothing, and that is known.
fn nothing_declared(question: Question, report: Report, cx: &Run) -> Ending {
    let ending = cx.finish(Outcome::Done, report, question, |tx, question| {
        Box::pin(async move {
            observed::record_manifests(tx, &question.asked(), &[], Extent::Whole).await?;
            pairing::wake(tx, question.repository, question.now).await
        })
    });
    ending.cursor(Progress::default())
}

/// Where the default branch is learned.
enum Branch {
    /// From the repository on this machine.
    Here(Option<String>),
    /// From the forge, by `repo-metadata`.
    Elsewhere,
}

async fn found(
    question: Question,
    snapshot: Snapshot,
    branch: Branch,
    visit: Option<Visit>,
    report: Report,
    cx: &Run,
) -> Result<Ending, RunError> {
    let Snapshot {
        commit,
        mut facts,
        left_out,
        cut,
        ..
    } = snapshot;
    let report = Report {
        commit: commit.clone(),
        manifests: facts.len(),
        unreadable: facts.iter().filter(|fact| fact.error.is_some()).count(),
        left_out,
        ..report
    };

    // A tree with thousands of manifests is written in pieces. Until the last
    // one says "whole", nothing that was there before counts as gone.
    let last = facts.split_off(facts.len().saturating_sub(1) / CHUNK * CHUNK);
    for (index, chunk) in facts.chunks(CHUNK).enumerate() {
        let progress = Progress {
            commit: commit.clone(),
            written: index * CHUNK + chunk.len(),
            visit: None,
        };
        let piece = (question, chunk.to_vec());
        cx.commit(&progress, &piece, |tx, (question, chunk)| {
            Box::pin(async move {
                let extent = Extent::Part(BEING_READ);
                observed::record_manifests(tx, &question.asked(), chunk, extent).await?;
                Ok(())
            })
        })
        .await?;
    }

    let missing =
        cut.or_else(|| (left_out > 0).then(|| format!("{left_out} manifests were left out")));
    let outcome = match &missing {
        None => Outcome::Done,
        Some(why) => Outcome::Partial {
            why: why.clone(),
            retry_at: None,
        },
    };
    let progress = Progress {
        written: report.manifests,
        commit,
        visit,
    };
    let facts = Last {
        question,
        branch,
        facts: last,
        is_one_of_many: !facts.is_empty(),
        missing,
    };
    let ending = cx.finish(outcome, report, facts, |tx, last| {
        Box::pin(async move {
            let extent = last.missing.as_deref().map_or(Extent::Whole, Extent::Part);
            let recorded =
                observed::record_manifests(tx, &last.question.asked(), &last.facts, extent).await?;
            let Question {
                repository, now, ..
            } = last.question;
            match &last.branch {
                Branch::Here(branch) => {
                    repositories::set_default_branch(tx, repository, branch.as_deref()).await?;
                }
                // What earlier pieces changed is not remembered.
                Branch::Elsewhere if last.is_one_of_many || recorded.is_news() => {
                    names::changed(tx, repository, now).await?;
                }
                Branch::Elsewhere => {}
            }
            pairing::wake(tx, repository, now).await
        })
    });
    Ok(ending.cursor(progress))
}

/// Nothing is known that was not known before, except that we looked. The note
/// is written at once; the run then fails, and the engine decides when to look again.
async fn could_not_read(question: Question, why: String, cx: &Run) -> Result<Ending, RunError> {
    let note = (question, why.clone());
    cx.commit(&(), &note, |tx, (question, why)| {
        Box::pin(async move {
            sources::could_not_answer(tx, question.repository, SOURCE, why, question.now).await?;
            pairing::wake_after_failure(tx, question.repository, SOURCE, question.now).await
        })
    })
    .await?;
    Err(RunError::unit(why))
}

/// The last piece of a snapshot.
struct Last {
    question: Question,
    branch: Branch,
    facts: Vec<ManifestFact>,
    is_one_of_many: bool,
    missing: Option<String>,
}
