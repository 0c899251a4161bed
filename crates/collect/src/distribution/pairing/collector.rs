//! `distribution/pairing`: judges what is known of one repository.

use std::{collections::BTreeMap, time::Duration};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, EnqueueError, Outcome, Run, RunError, enqueue_in};
use facts::{
    distribution::{self as meaning, Gap, Judgement, NameCheck, Observed, SourceAnswer, Verdict},
    repository::RepositoryUrl,
};
use serde::{Deserialize, Serialize};
use store::{
    distribution::{self, expect_sources, record_gaps, record_pairings},
    observed,
    repositories::{self, Repository},
    sources::{self, Asked, Extent, SourceState},
};

use super::SwitchedOn;
use crate::collector::{Collector, Need, kind, untracked};

/// The observer under which pairings and gaps are kept.
pub const SOURCE: &str = "pairing";
/// How long after a repository was added the first answers of its sources are waited for.
const PATIENCE: Duration = Duration::from_hours(1);
/// The most packages and manifests that are judged; no repository is known to have as many.
const MOST: usize = 200_000;
/// Facts in one transaction: each may also append to history and end another.
const CHUNK: usize = store::MAX_ROWS / 3;

/// Pairs packages with manifests and grades what is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairing {
    switched_on: SwitchedOn,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
    /// Judge with what there is, whoever may still answer.
    #[serde(default)]
    pub at_once: bool,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    pairings: usize,
    gaps: BTreeMap<&'static str, usize>,
    /// Sources without a whole answer.
    silent: Vec<String>,
}

/// What a run says of itself that found it too early to judge.
#[derive(Debug, Serialize)]
struct Waiting<'w> {
    waits_for: &'w [&'w str],
}

/// The unit of a repository.
pub fn unit(repository: i64) -> Enqueue {
    about(repository, false)
}

/// The same, to be judged with what there is: somebody is waiting for it.
pub fn at_once(repository: i64) -> Enqueue {
    about(repository, true).now()
}

fn about(repository: i64, at_once: bool) -> Enqueue {
    let subject = Subject {
        repository,
        at_once,
    };
    Enqueue::new(&kind::<Pairing>(), repository.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

/// Lets a repository be judged again: to be called where an answer about it is recorded, in the
/// same transaction. Judging is cheap and asks nobody.
pub async fn wake(tx: &mut Tx, repository: i64, now: Timestamp) -> Result<(), RunError> {
    match enqueue_in(tx, &[unit(repository).now()], now).await {
        Ok(_) => Ok(()),
        Err(EnqueueError::Database(error)) => Err(error.into()),
        Err(other) => Err(RunError::unit(other)),
    }
}

/// The same where it is noted that a source could not answer. Only the first failure of one that
/// never answered is news: it has been asked now, and what it knows is unknown. Later ones change
/// nothing that was known.
pub async fn wake_after_failure(
    tx: &mut Tx,
    repository: i64,
    source: &str,
    now: Timestamp,
) -> Result<(), RunError> {
    if sources::has_failed_at_first(tx, repository, source).await? {
        wake(tx, repository, now).await?;
    }
    Ok(())
}

impl Pairing {
    /// Expects answers of these sources only.
    pub fn new(switched_on: SwitchedOn) -> Self {
        Self { switched_on }
    }
}

impl Collector for Pairing {
    const NAME: &'static str = "distribution/pairing";
    const SUMMARY: &'static str =
        "pairs published packages with manifests and grades where the two disagree";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let now = cx.clock().now();
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            return Ok(untracked(cx));
        };
        let states = sources::states(cx.db(), repository.id).await?;
        let evidence = observed::evidence(cx.db(), repository.id, false, MOST).await?;
        let known = evidence
            .iter()
            .any(|kept| kept.source == meaning::source::DEPSDEV);
        let expected = self.switched_on.sources(&repository, &states, known);

        let never_asked: Vec<&str> = expected
            .iter()
            .copied()
            .filter(|source| !states.iter().any(|state| state.source == *source))
            .collect();
        let patience_ends = repository.added_at.plus(PATIENCE);
        if !subject.at_once && !never_asked.is_empty() && now < patience_ends {
            return Ok(wait(cx, &never_asked));
        }

        let answers = answers(&expected, &states);
        let manifests = observed::manifests(cx.db(), repository.id, false, MOST).await?;
        let checks = checks(cx, &repository).await?;
        let judged = {
            let evidence: Vec<_> = evidence
                .iter()
                .map(|kept| (kept.source.as_str(), &kept.fact))
                .collect();
            let manifests: Vec<_> = manifests.iter().map(|kept| &kept.fact).collect();
            meaning::judge(&Observed {
                forge: &repository.forge,
                owner: &repository.owner,
                evidence: &evidence,
                manifests: &manifests,
                sources: &answers,
                names_are_asked: self.switched_on.depsdev && !repository.local,
                checks: &checks,
            })
        };
        if !subject.at_once && judged.unchecked > 0 && now < patience_ends {
            return Ok(wait(cx, &["names"]));
        }
        write_down(repository.id, judged, &answers, now, cx).await
    }
}

/// Somebody has not been asked yet: whoever answers next wakes this unit. It ends well for that: an
/// answer that came meanwhile then lets it run again at once, which a retry would not.
fn wait(cx: &Run, silent: &[&str]) -> Ending {
    let report = Waiting { waits_for: silent };
    cx.end(Outcome::Done, report)
}

fn answers(expected: &[&str], states: &[SourceState]) -> Vec<SourceAnswer> {
    let answer = |source: &&str| {
        let state = states.iter().find(|state| state.source == **source);
        SourceAnswer {
            source: (*source).to_owned(),
            complete: state.is_some_and(SourceState::is_current),
            why: state.and_then(|state| state.error.clone()),
        }
    };
    expected.iter().map(answer).collect()
}

/// What the registry says of declared names, with what the catalogue knows of the addresses: one of
/// the repository's own former ones is its own, and one of another repository is another's.
async fn checks(cx: &Run, repository: &Repository) -> Result<Vec<NameCheck>, RunError> {
    let mut checks = distribution::name_checks(cx.db(), repository.id).await?;
    let linked = |check: &NameCheck| matches!(check.verdict, Verdict::Other | Verdict::Unclear);
    if !checks.iter().any(linked) {
        return Ok(checks);
    }
    let parse = |url: &str| RepositoryUrl::parse(url).ok();
    let former = repositories::former_names(cx.db(), repository.id).await?;
    let former = former.iter().filter_map(|url| parse(url));
    let former: Vec<String> = former.map(|url| url.key()).collect();
    for check in checks.iter_mut().filter(|check| linked(check)) {
        let Some(url) = check.linked.as_deref().and_then(parse) else {
            continue;
        };
        match repositories::by_url(cx.db(), &url).await? {
            Some(holder) if holder.id == repository.id => {
                check.verdict = Verdict::Ours;
                check.linked = None;
            }
            // It left the address, and another one has it now: it may be either's.
            Some(_) if former.contains(&url.key()) => check.verdict = Verdict::Unclear,
            Some(_) => check.verdict = Verdict::Other,
            None => {}
        }
    }
    Ok(checks)
}

async fn write_down(
    repository: i64,
    judged: Judgement,
    answers: &[SourceAnswer],
    now: Timestamp,
    cx: &Run,
) -> Result<Ending, RunError> {
    let Judgement {
        mut pairings,
        mut gaps,
        ..
    } = judged;
    let silent = answers.iter().filter(|answer| !answer.complete);
    let report = Report {
        pairings: pairings.len(),
        gaps: counted(&gaps),
        silent: silent.map(|answer| answer.source.clone()).collect(),
    };
    // Until the last piece says "whole", nothing that was there before counts as gone.
    while pairings.len() + gaps.len() > CHUNK {
        let some_pairings = pairings.split_off(pairings.len() - pairings.len().min(CHUNK / 2));
        let some_gaps = gaps.split_off(gaps.len() - gaps.len().min(CHUNK / 2));
        let piece = Piece {
            repository,
            now,
            pairings: some_pairings,
            gaps: some_gaps,
            sources: None,
        };
        cx.commit(&(), &piece, |tx, piece| Box::pin(piece.write(tx)))
            .await?;
    }
    let last = Piece {
        repository,
        now,
        pairings,
        gaps,
        sources: Some(answers.iter().map(|answer| answer.source.clone()).collect()),
    };
    Ok(cx.finish(Outcome::Done, report, last, |tx, last| {
        Box::pin(last.write(tx))
    }))
}

fn counted(gaps: &[Gap]) -> BTreeMap<&'static str, usize> {
    let mut counted = BTreeMap::new();
    for gap in gaps {
        *counted.entry(gap.grade.as_str()).or_default() += 1;
    }
    counted
}

/// As much of a judgement as one transaction writes.
struct Piece {
    repository: i64,
    now: Timestamp,
    pairings: Vec<meaning::Pairing>,
    gaps: Vec<Gap>,
    /// With the last piece, who was expected to answer.
    sources: Option<Vec<String>>,
}

impl Piece {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let asked = Asked {
            repository: self.repository,
            source: SOURCE,
            collector_version: Pairing::VERSION,
            now: self.now,
        };
        let extent = match &self.sources {
            Some(_) => Extent::Whole,
            None => Extent::Part("being judged"),
        };
        record_pairings(tx, &asked, &self.pairings, extent).await?;
        record_gaps(tx, &asked, &self.gaps, extent).await?;
        if let Some(sources) = &self.sources {
            expect_sources(tx, self.repository, sources).await?;
        }
        Ok(())
    }
}
