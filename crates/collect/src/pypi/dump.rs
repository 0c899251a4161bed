//! `pypi/dump`: writes what is known of the files of the index as dumps.
//!
//! Three sorts of units. A full dump waits for its shards, which are units of their own: each
//! waits for the one `concurrency` before it, so that at most so many run at once, however many
//! slots there are. When all are there it dumps what changed meanwhile, and counts. An incremental
//! dump goes on where the last one ended. Both wake the datasets, unless told otherwise.

use std::time::Duration;

use engine::{Ending, Enqueue, EnqueueError, Outcome, Requirement, Run, RunError, enqueue_in};
use serde::{Deserialize, Serialize};
use store::dumps::{self, Dump, DumpError, Range, Shard};

use super::{
    dataset,
    desk::{Desk, at_objects},
};
use crate::collector::{Collector, Need, kind};

/// Shards of a full dump, unless told otherwise.
pub const SHARDS: u32 = 256;
/// More are not made.
pub const MOST_SHARDS: u32 = 4_096;
/// Shards that are written at once, unless told otherwise.
pub const CONCURRENCY: u32 = 4;
/// A full dump that nobody asked for has about so many rows in each shard.
const ROWS_OF_A_SHARD: i64 = 50_000;

/// Dumps the files of the index.
#[derive(Clone, Debug)]
pub struct PypiDump {
    desk: Desk,
}

/// What a unit is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Subject {
    /// Everything up to a change.
    Full {
        /// Which.
        to: i64,
        /// In so many shards.
        shards: u32,
        /// So many of them at once.
        concurrency: u32,
        /// Datasets are built afterwards.
        then_build: bool,
    },
    /// A shard of that.
    Shard {
        /// The end of the whole dump.
        to: i64,
        /// Which shard.
        shard: u32,
        /// Of how many.
        shards: u32,
    },
    /// What changed since the last dump.
    Incremental {
        /// Datasets are built afterwards.
        then_build: bool,
    },
}

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
    rows: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "is_zero")]
    waits_for_shards: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The unit of a full dump up to the change `to`.
pub fn full(to: i64, shards: u32, concurrency: u32, then_build: bool) -> Enqueue {
    let subject = Subject::Full {
        to,
        shards: shards.clamp(1, MOST_SHARDS),
        concurrency: concurrency.max(1),
        then_build,
    };
    unit(format!("0-{to}"), &subject)
}

/// The unit of incremental dumps.
pub fn incremental(then_build: bool) -> Enqueue {
    unit(
        "incremental".to_owned(),
        &Subject::Incremental { then_build },
    )
}

fn unit(key: String, subject: &Subject) -> Enqueue {
    Enqueue::new(&kind::<PypiDump>(), key)
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

fn shard_unit(to: i64, shard: u32, shards: u32) -> Enqueue {
    let key = format!("0-{to}/{shard:04}");
    unit(key, &Subject::Shard { to, shard, shards })
}

impl PypiDump {
    /// Dumps to this desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk }
    }

    async fn full(
        &self,
        to: i64,
        shards: u32,
        concurrency: u32,
        then_build: bool,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let objects = self.desk.open().map_err(at_objects)?;
        let range = Range { from: 0, to };
        let shards = dumps::plan(&objects, range, shards)
            .await
            .map_err(at_objects)?;
        let mut there: Vec<Shard> = Vec::new();
        let mut missing = Vec::new();
        for number in 0..shards {
            let shard = dumps::read_shard(&objects, range, number).await;
            match shard.map_err(at_objects)? {
                Some(shard) => there.push(shard),
                None => missing.push(number),
            }
        }
        if !missing.is_empty() {
            let report = Report {
                range: Some(range),
                waits_for_shards: missing.len(),
                ..Report::default()
            };
            let requirements = missing.iter().map(|number| {
                let shard = shard_unit(to, *number, shards);
                let before = number.checked_sub(concurrency);
                let before = before.filter(|before| missing.contains(before));
                Requirement::hard(match before {
                    Some(before) => {
                        shard.requires(Requirement::hard(shard_unit(to, before, shards)))
                    }
                    None => shard,
                })
            });
            let requirements = requirements.collect();
            return Ok(cx.end(Outcome::Wait { requirements }, report));
        }
        let dump = dumps::complete(cx.db(), &objects, range, there, &self.desk.scratch);
        let dump = dump.await.map_err(at_objects)?;
        Ok(ended(Some(&dump), then_build, cx))
    }
}

impl Collector for PypiDump {
    const NAME: &'static str = "pypi/dump";
    const SUMMARY: &'static str =
        "dumps what is known of the files of a Python index, wholly or what has changed";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = super::POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        match subject {
            Subject::Full {
                to,
                shards,
                concurrency,
                then_build,
            } => self.full(to, shards, concurrency, then_build, cx).await,
            Subject::Shard { to, shard, shards } => {
                let objects = self.desk.open().map_err(at_objects)?;
                let range = Range { from: 0, to };
                let scratch = &self.desk.scratch;
                let shard = dumps::shard(cx.db(), &objects, range, shard, shards, scratch).await;
                let shard = shard.map_err(at_objects)?;
                let report = Report {
                    range: Some(range),
                    rows: shard.rows,
                    bytes: shard.json.bytes + shard.parquet.bytes,
                    ..Report::default()
                };
                Ok(cx.end(Outcome::Done, report))
            }
            Subject::Incremental { then_build } => {
                let objects = self.desk.open().map_err(at_objects)?;
                match dumps::incremental(cx.db(), &objects, &self.desk.scratch).await {
                    Ok(dump) => Ok(ended(dump.as_ref(), then_build, cx)),
                    Err(DumpError::NoFullDump) => first(then_build, cx).await,
                    Err(error) => Err(at_objects(error)),
                }
            }
        }
    }
}

/// Nothing was dumped before: what changed is everything, and comes first.
async fn first(then_build: bool, cx: &Run) -> Result<Ending, RunError> {
    let to = store::pypi::last_seq(cx.db()).await?;
    if to == 0 {
        return Ok(ended(None, then_build, cx));
    }
    let shards = u32::try_from(to / ROWS_OF_A_SHARD).map_or(SHARDS, |shards| shards + 1);
    let everything = full(to, shards.min(SHARDS), CONCURRENCY, false);
    let requirements = vec![Requirement::hard(everything)];
    Ok(cx.end(Outcome::Wait { requirements }, Report::default()))
}

/// The end of a dump: the datasets are woken, also when there was nothing to dump, for whoever
/// wanted them may have been interrupted before.
fn ended(dump: Option<&Dump>, then_build: bool, cx: &Run) -> Ending {
    let report = dump.map_or_else(Report::default, |dump| Report {
        range: Some(dump.range),
        rows: dump.rows,
        bytes: dump
            .shards
            .iter()
            .map(|shard| shard.json.bytes + shard.parquet.bytes)
            .sum(),
        ..Report::default()
    });
    if !then_build {
        return cx.end(Outcome::Done, report);
    }
    let now = cx.clock().now();
    cx.finish(Outcome::Done, report, now, |tx, now| {
        Box::pin(async move {
            match enqueue_in(tx, &[dataset::unit().now()], *now).await {
                Ok(_) => Ok(()),
                Err(EnqueueError::Database(error)) => Err(error.into()),
                Err(other) => Err(RunError::unit(other)),
            }
        })
    })
}
