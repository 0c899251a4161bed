//! `goindex/publish`: appends to the feed what collectors have committed.
//!
//! One unit, whoever holds it: its lease makes it the only writer, so that numbers and moments grow
//! in the order of publication and never depend on which transaction was faster. Whoever commits
//! versions wakes it in the same transaction.

use std::{
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use store::goindex;

use crate::{
    collector::{Collector, Need, kind},
    repo_metadata::enqueue,
};

/// Versions in one transaction; each is a line of the feed and a change of its version.
const BATCH: usize = store::MAX_ROWS / 2;

/// Appends to the feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoPublish;

/// There is one feed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

#[derive(Debug, Serialize)]
struct Report {
    published: usize,
    last_seq: i64,
}

/// Has what was committed published, in the transaction that commits it.
pub async fn wake(tx: &mut Tx, now: Timestamp) -> Result<(), RunError> {
    enqueue(tx, &[unit().now()], now).await
}

fn unit() -> Enqueue {
    Enqueue::new(&kind::<GoPublish>(), "feed")
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

impl Collector for GoPublish {
    const NAME: &'static str = "goindex/publish";
    const SUMMARY: &'static str = "appends new module versions to the feed";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = "goindex";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        _subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let mut report = Report {
            published: 0,
            last_seq: 0,
        };
        loop {
            // The transaction may be run again, and then tells anew.
            let step = Step {
                now: cx.clock().now(),
                count: AtomicUsize::new(0),
                last: AtomicI64::new(0),
            };
            cx.commit(&(), &step, |tx, step| Box::pin(step.take(tx)))
                .await?;
            let count = step.count.into_inner();
            report.published += count;
            report.last_seq = step.last.into_inner();
            if count < BATCH {
                return Ok(cx.end(Outcome::Done, report));
            }
        }
    }
}

struct Step {
    now: Timestamp,
    count: AtomicUsize,
    last: AtomicI64,
}

impl Step {
    async fn take(&self, tx: &mut Tx) -> Result<(), RunError> {
        let published = goindex::publish(tx, BATCH, self.now).await?;
        self.count.store(published.count, Ordering::Relaxed);
        self.last.store(published.last, Ordering::Relaxed);
        Ok(())
    }
}
