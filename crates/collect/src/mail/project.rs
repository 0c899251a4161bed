//! `mail/project`: ties messages to the repositories and people they concern, as those become known.
//!
//! One unit for all mail. It runs when messages were written, and comes back every hour while
//! somebody is still unknown.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use store::mail::{self, Projected, SendersFound};

use super::{Settings, senders};
use crate::{
    collector::{Collector, Need, kind},
    forge_activity,
    repo_metadata::enqueue,
};

/// Messages in one transaction; each may change a few rows more of its thread.
const BATCH: usize = 500;
/// Repositories whose forges are asked for issues, in one step.
const REPOSITORIES: usize = 1_000;
/// After this long it is made sure that they still are.
const WANTED_AGAIN: Duration = Duration::from_hours(30 * 24);
/// What became known meanwhile is looked up this often.
const AGAIN: Duration = Duration::from_hours(1);

/// Ties messages to what they concern.
#[derive(Clone, Debug)]
pub struct MailProject(Settings);

/// There is one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

#[derive(Debug, Default, Serialize)]
struct Report {
    looked_at: usize,
    linked: usize,
    waiting: usize,
    keys_found: u64,
    repositories_found: u64,
    senders_found: u64,
    /// Whose forges are asked for their issues from now on.
    repositories_asked: u64,
    repositories_unknown: i64,
    senders_unknown: i64,
}

/// The unit.
pub fn unit() -> Enqueue {
    Enqueue::new(&kind::<MailProject>(), "all")
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

/// Has what was written tied, in the transaction that writes it.
pub(super) async fn wake(tx: &mut Tx, _list: i64, now: Timestamp) -> Result<(), RunError> {
    enqueue(tx, &[unit().now()], now).await
}

impl MailProject {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self(settings)
    }
}

impl Collector for MailProject {
    const NAME: &'static str = "mail/project";
    const SUMMARY: &'static str = "ties messages to repositories, issues and people";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = "mail-resolve";
    const MAX_RUN: Duration = Duration::from_hours(6);
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        _subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let senders_found = look_senders_up(cx).await?;
        let step = Step {
            now: cx.clock().now(),
            ask_for_issues: self.0.ask_for_issues,
            found: Found::default(),
        };
        cx.commit(&(), &step, |tx, step| Box::pin(step.take(tx)))
            .await?;
        let found = step.found;
        let mut report = Report {
            keys_found: found.keys.into_inner(),
            repositories_found: found.signals.into_inner(),
            senders_found,
            repositories_asked: found.asked.into_inner(),
            repositories_unknown: found.signals_left.into_inner(),
            senders_unknown: found.senders_left.into_inner(),
            ..Report::default()
        };
        let mut after = 0;
        loop {
            if cx.cancelled().is_cancelled() {
                return Err(RunError::Interrupted);
            }
            let batch = Batch {
                after,
                now: cx.clock().now(),
                done: Mutex::default(),
            };
            cx.commit(&(), &batch, |tx, batch| Box::pin(batch.take(tx)))
                .await?;
            let done = batch.done.into_inner().unwrap_or_default();
            if done.looked_at == 0 {
                break;
            }
            after = done.last;
            report.looked_at += done.looked_at;
            report.linked += done.linked;
            report.waiting += done.waiting;
        }
        if !senders::strangers(cx, &self.0, 1).await?.is_empty() {
            let now = cx.clock().now();
            cx.commit(&(), &now, |tx, now| {
                Box::pin(async move { enqueue(tx, &[senders::unit().now()], *now).await })
            })
            .await?;
        }
        let unknown = report.repositories_unknown + report.senders_unknown;
        if unknown == 0 && report.waiting == 0 {
            return Ok(cx.end(Outcome::Done, report));
        }
        let outcome = Outcome::Retry {
            at: cx.clock().now().plus(AGAIN),
            why: "repositories, issues or senders are not known yet".to_owned(),
        };
        Ok(cx.end(outcome, report))
    }
}

/// Finds out who senders are, as far as that is known here; answers how many turned out to be
/// somebody.
async fn look_senders_up(cx: &Run) -> Result<u64, RunError> {
    let mut known = 0;
    loop {
        if cx.cancelled().is_cancelled() {
            return Err(RunError::Interrupted);
        }
        let portion = (cx.clock().now(), Mutex::new(SendersFound::default()));
        cx.commit(&(), &portion, |tx, (now, place)| {
            Box::pin(async move {
                let found = mail::resolve_senders(tx, *now).await?;
                if let Ok(mut place) = place.lock() {
                    *place = found;
                }
                Ok(())
            })
        })
        .await?;
        let found = portion.1.into_inner().unwrap_or_default();
        known += found.known;
        if !found.more {
            return Ok(known);
        }
    }
}

struct Batch {
    after: i64,
    now: Timestamp,
    /// The transaction may be run again, and then tells anew.
    done: Mutex<Projected>,
}

impl Batch {
    async fn take(&self, tx: &mut Tx) -> Result<(), RunError> {
        let done = mail::project(tx, self.after, BATCH, self.now).await?;
        if let Ok(mut place) = self.done.lock() {
            *place = done;
        }
        Ok(())
    }
}

struct Step {
    now: Timestamp,
    ask_for_issues: bool,
    /// The transaction may be run again, and then tells anew.
    found: Found,
}

#[derive(Default)]
struct Found {
    asked: AtomicU64,
    keys: AtomicU64,
    signals: AtomicU64,
    signals_left: AtomicI64,
    senders_left: AtomicI64,
}

impl Step {
    async fn take(&self, tx: &mut Tx) -> Result<(), RunError> {
        let keys = mail::backfill_keys(tx).await?;
        self.found.keys.store(keys, Ordering::Relaxed);
        let signals = mail::resolve_signals(tx).await?;
        if self.ask_for_issues {
            let wanted =
                mail::concerned(tx, REPOSITORIES, self.now.minus(WANTED_AGAIN), self.now).await?;
            let units: Vec<Enqueue> = wanted
                .iter()
                // One that was called off comes back only so.
                .map(|one| forge_activity::unit(one.repository, &one.host).now())
                .collect();
            enqueue(tx, &units, self.now).await?;
            let asked = u64::try_from(units.len()).unwrap_or_default();
            self.found.asked.store(asked, Ordering::Relaxed);
        }
        let (signals_left, senders_left) = mail::unresolved(tx).await?;
        self.found.signals.store(signals, Ordering::Relaxed);
        self.found
            .signals_left
            .store(signals_left, Ordering::Relaxed);
        self.found
            .senders_left
            .store(senders_left, Ordering::Relaxed);
        Ok(())
    }
}
