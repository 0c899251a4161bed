//! `pypi/number`: gives numbers to changes that have been committed.
//!
//! One unit, whoever holds it: its lease makes it the only writer of numbers, so that they grow in
//! the order in which changes became visible. Whoever changes files wakes it in the same
//! transaction, unless somebody else's change waits already: of thousands of transactions in a
//! crawl, few have to touch its unit. What slips through between a check and a commit is numbered
//! with the next change, at the end of the window, or within a quarter of an hour.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use store::pypi;

use super::POOL;
use crate::{
    collector::{Collector, Need, kind},
    repo_metadata::enqueue,
};

/// Gives numbers to changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct PypiNumber;

/// There is one sequence.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

#[derive(Debug, Serialize)]
struct Report {
    numbered: usize,
}

/// The one unit.
pub fn unit() -> Enqueue {
    Enqueue::new(&kind::<PypiNumber>(), "changes")
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

/// Has changes numbered, in the transaction that makes them, before it has made any.
pub(super) async fn wake(tx: &mut Tx, now: Timestamp) -> Result<(), RunError> {
    if pypi::awaits_numbers(tx).await? {
        return Ok(());
    }
    enqueue(tx, &[unit().now()], now).await
}

impl Collector for PypiNumber {
    const NAME: &'static str = "pypi/number";
    const SUMMARY: &'static str = "gives numbers to changes of Python distributions";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_mins(15));
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        _subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        const BATCH: usize = store::MAX_ROWS - 1;
        let mut numbered = 0;
        loop {
            // The transaction may be run again, and then tells anew.
            let count = AtomicUsize::new(0);
            cx.commit(&(), &count, |tx, count| {
                Box::pin(async move {
                    let given = pypi::number(tx, BATCH).await?;
                    count.store(given, Ordering::Relaxed);
                    Ok(())
                })
            })
            .await?;
            let count = count.into_inner();
            numbered += count;
            if count < BATCH {
                return Ok(cx.end(Outcome::Done, Report { numbered }));
            }
        }
    }
}
