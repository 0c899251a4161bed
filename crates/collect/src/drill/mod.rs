//! `drill/fact`: units that ask nobody and write two facts each, one at a
//! checkpoint and one at the end. They exist so that anybody can kill processes,
//! cut networks and fill disks on their own installation and then count:
//! every fact exactly once, or the engine is broken.

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use store::drill::{self, DrillFact};

use crate::collector::{Collector, Need, kind};

/// Runs drill units.
#[derive(Clone, Copy, Debug)]
pub struct Drill;

/// Facts that each unit writes.
pub const FACTS_PER_UNIT: i64 = 2;

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The drill it belongs to.
    pub drill: String,
    /// Its number within the drill.
    pub number: i64,
}

/// The facts that are written already.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Written(i64);

/// The units of a drill.
pub fn units(name: &str, count: i64) -> Vec<Enqueue> {
    let kind = kind::<Drill>();
    (0..count)
        .map(|number| {
            let subject = Subject {
                drill: name.to_owned(),
                number,
            };
            Enqueue::new(&kind, format!("{name}/{number}"))
                .payload(serde_json::to_value(subject).unwrap_or_default())
        })
        .collect()
}

impl Collector for Drill {
    const NAME: &'static str = "drill/fact";
    const SUMMARY: &'static str =
        "writes two facts per unit, so that a drill can count that none is lost or doubled";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = "drill";
    const MAX_RUN: Duration = Duration::from_mins(1);
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = Written;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Written>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let now = cx.clock().now();
        let fact = |part| DrillFact {
            drill: subject.drill.clone(),
            number: subject.number,
            part,
            attempt: cx.attempt(),
        };
        if cursor.is_none() {
            let first = (fact(0), now);
            cx.commit(&Written(1), &first, |tx, (fact, now)| {
                Box::pin(async move { Ok(drill::record(tx, fact, *now).await?) })
            })
            .await?;
        }
        let last = (fact(1), now);
        Ok(cx.finish(Outcome::Done, (), last, |tx, (fact, now)| {
            Box::pin(async move { Ok(drill::record(tx, fact, *now).await?) })
        }))
    }
}
