//! What the collectors share that ask views of many registries: whom they ask about, how much of
//! the answer came, and how it is written down.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use db::{DbError, Timestamp};
use engine::{Ending, Outcome, Run, RunError};
use facts::{evidence::Evidence, repository::RepositoryUrl};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use store::{
    observed, repositories,
    repositories::Repository,
    sources::{self, Asked, Extent},
};

use super::{depsdev, names, pairing};
use crate::http::{Ask, Class, Reply, Unknown};

/// What a person can set about these collectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Look into repositories that are found. What is there already is not touched by this.
    pub enabled: bool,
    /// Ask ecosyste.ms also where deps.dev had rows.
    pub cross_check: bool,
    /// Where ecosyste.ms can write to: it asks for that, and gives a larger limit for it.
    pub polite_address: Option<String>,
    /// What deps.dev and ecosyste.ms are told about who asks, instead of the usual.
    pub user_agent: Option<String>,
    /// When a list is asked for again that is longer than its source gives: sooner would bring the
    /// same.
    pub cadence: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            cross_check: true,
            polite_address: None,
            user_agent: None,
            cadence: CADENCE,
        }
    }
}

impl Settings {
    /// The question under the name that was set.
    pub(super) fn signed(&self, ask: Ask) -> Ask {
        match &self.user_agent {
            Some(agent) => ask.header("user-agent", agent),
            None => ask,
        }
    }
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// Least time between two complete runs, of all of them.
pub(super) const CADENCE: Duration = Duration::from_hours(180 * 24);
/// So many former names are asked for as well; who was renamed more often was so long ago.
const FORMER_NAMES: usize = 3;
/// Questions of one run at the same time.
const AT_ONCE: usize = 4;
/// After so many failures the rest of a run's questions wait for the next.
const FAILURES: usize = 3;
/// Facts in one transaction: each may also append to history and end another.
const CHUNK: usize = store::MAX_ROWS / 3;
/// Longer names are nobody's.
const LONGEST: usize = 1_000;

/// The addresses that packages may name as their source: the present one first. Metadata that was
/// published before a rename goes on to name the old one.
pub(super) async fn addresses(
    cx: &Run,
    repository: &Repository,
) -> Result<Vec<RepositoryUrl>, DbError> {
    let mut addresses: Vec<RepositoryUrl> = RepositoryUrl::parse(&repository.url)
        .into_iter()
        .filter(|url| !url.is_local())
        .collect();
    let former = repositories::former_names(cx.db(), repository.id).await?;
    for url in former.iter().take(FORMER_NAMES) {
        let Ok(url) = RepositoryUrl::parse(url) else {
            continue;
        };
        // Somebody else has the name now, and with it perhaps the packages.
        let holder = repositories::by_url(cx.db(), &url).await?;
        let ours = holder.is_some_and(|holder| holder.id == repository.id);
        let known = addresses.iter().any(|known| known.key() == url.key());
        if ours && !known && !url.is_local() {
            addresses.push(url);
        }
    }
    Ok(addresses)
}

/// Who is asked about what, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) repository: i64,
    pub(super) source: &'static str,
    pub(super) version: i64,
    pub(super) now: Timestamp,
}

impl Question {
    fn asked(&self) -> Asked<'static> {
        Asked {
            repository: self.repository,
            source: self.source,
            collector_version: self.version,
            now: self.now,
        }
    }

    /// What this source said before, and has not taken back.
    pub(super) async fn before(&self, cx: &Run) -> Result<Vec<Evidence>, DbError> {
        let known = observed::evidence(cx.db(), self.repository, false, MOST_KNOWN).await?;
        let ours = known.into_iter().filter(|one| one.source == self.source);
        Ok(ours.map(|one| one.fact).collect())
    }
}

/// What is known of one repository is read up to here.
const MOST_KNOWN: usize = 50_000;

/// What an asking brought.
#[derive(Debug, Default)]
pub(super) struct Brought {
    pub(super) facts: Vec<Evidence>,
    /// Why it is not the whole answer.
    pub(super) missing: Option<String>,
    /// When to ask for the rest, if that is known.
    pub(super) retry_at: Option<Timestamp>,
}

/// Writes an answer down. A large one goes in pieces that all bear the same time; only the last
/// one may end what the source said before.
pub(super) async fn write(
    cx: &Run,
    question: Question,
    mut brought: Brought,
    report: impl Serialize,
) -> Result<Ending, RunError> {
    let outcome = match &brought.missing {
        None => Outcome::Done,
        Some(why) => Outcome::Partial {
            why: why.clone(),
            retry_at: brought.retry_at,
        },
    };
    let whole = brought.facts.len().saturating_sub(1) / CHUNK * CHUNK;
    let last = brought.facts.split_off(whole);
    for chunk in brought.facts.chunks(CHUNK) {
        let piece = (question, chunk.to_vec());
        cx.commit(&(), &piece, |tx, (question, chunk)| {
            Box::pin(async move {
                let extent = Extent::Part("being written");
                observed::record_evidence(tx, &question.asked(), chunk, extent).await?;
                Ok(())
            })
        })
        .await?;
    }
    let facts = (question, last, brought.missing);
    Ok(finish(cx, outcome, report, facts))
}

/// There can be nothing: the source does not look at such repositories, and that is known.
pub(super) fn never(cx: &Run, question: Question, why: &str, report: impl Serialize) -> Ending {
    let outcome = Outcome::Gone { why: why.into() };
    finish(cx, outcome, report, (question, Vec::new(), None))
}

fn finish(
    cx: &Run,
    outcome: Outcome,
    report: impl Serialize,
    facts: (Question, Vec<Evidence>, Option<String>),
) -> Ending {
    cx.finish(outcome, report, facts, |tx, (question, facts, missing)| {
        Box::pin(async move {
            let extent = missing.as_deref().map_or(Extent::Whole, Extent::Part);
            let recorded = observed::record_evidence(tx, &question.asked(), facts, extent).await?;
            // "It is ours" was true because it was listed.
            if question.source == depsdev::SOURCE && recorded.gone > 0 {
                names::changed(tx, question.repository, question.now).await?;
            }
            pairing::wake(tx, question.repository, question.now).await
        })
    })
}

/// Nothing is known that was not known before, except that we asked. The note is written at once;
/// the run then ends as the failure says.
pub(super) async fn could_not_answer(
    cx: &Run,
    question: Question,
    why: Unknown,
    report: impl Serialize,
) -> Result<Ending, RunError> {
    if is_our_own(&why) {
        return Err(why.into());
    }
    let note = (question, why.to_string());
    cx.commit(&(), &note, |tx, (asked, why)| {
        Box::pin(async move {
            sources::could_not_answer(tx, asked.repository, asked.source, why, asked.now).await?;
            pairing::wake_after_failure(tx, asked.repository, asked.source, asked.now).await
        })
    })
    .await?;
    why.end(cx, report)
}

/// The failure is no word of the other side's: nothing may be concluded from it.
fn is_our_own(why: &Unknown) -> bool {
    matches!(why.class, Class::Interrupted | Class::Database)
}

/// What was learned about one of many things.
#[derive(Debug)]
pub(super) enum Learned<T> {
    Found(T),
    Absent,
    /// It could not be asked about.
    Nothing,
}

/// What kept a run from asking about all of many things.
#[derive(Debug)]
pub(super) struct Missed {
    pub(super) count: usize,
    pub(super) first: Box<Unknown>,
}

/// Asks about many things, a few at a time, and gives up on the rest after a few failures or when
/// told to come later: what fails for three will fail for the fourth, and may well be harmed by it.
pub(super) async fn each<I, O, F>(
    things: Vec<I>,
    ask: impl Fn(I) -> F,
) -> Result<(Vec<(I, Learned<O>)>, Option<Missed>), Box<Unknown>>
where
    I: Clone,
    F: Future<Output = Reply<O>>,
{
    let failures = AtomicUsize::new(0);
    let (failures, ask) = (&failures, &ask);
    let asked = stream::iter(things).map(|thing| async move {
        if failures.load(Ordering::Relaxed) >= FAILURES {
            return (thing, None);
        }
        let reply = ask(thing.clone()).await;
        if let Reply::Unknown(why) = &reply {
            let told = why.class == Class::Limited || is_our_own(why);
            let weight = if told { FAILURES } else { 1 };
            failures.fetch_add(weight, Ordering::Relaxed);
        }
        (thing, Some(reply))
    });
    let asked: Vec<(I, Option<Reply<O>>)> = asked.buffered(AT_ONCE).collect().await;

    let mut learned = Vec::with_capacity(asked.len());
    let (mut count, mut first) = (0, None::<Box<Unknown>>);
    for (thing, reply) in asked {
        let what = match reply {
            Some(Reply::Found(found)) => Learned::Found(found),
            Some(Reply::Absent) => Learned::Absent,
            Some(Reply::Unknown(why)) if is_our_own(&why) => return Err(why),
            Some(Reply::Unknown(why)) => {
                // Who says when to come back is heard before who does not.
                let heard = first
                    .as_ref()
                    .is_some_and(|known| known.retry_at.is_some() || why.retry_at.is_none());
                if !heard {
                    first = Some(why);
                }
                Learned::Nothing
            }
            None => Learned::Nothing,
        };
        count += usize::from(matches!(what, Learned::Nothing));
        learned.push((thing, what));
    }
    Ok((learned, first.map(|first| Missed { count, first })))
}

/// A name: not empty, short, without invisible characters.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control)
}

/// A time; what is none is not told, and the zero of time means the same.
pub(super) fn time(text: Option<&str>) -> Option<jiff::Timestamp> {
    let time: jiff::Timestamp = text?.parse().ok()?;
    (time.as_second() > 0).then_some(time)
}
