//! `pypi/dataset`: builds the next generation of datasets from the last one and new dumps.

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use store::datasets::{self, Manifest, Updated, Workshop};

use super::desk::{Desk, at_objects};
use crate::collector::{Collector, Need, kind};

/// Builds datasets.
#[derive(Clone, Debug)]
pub struct PypiDataset {
    desk: Desk,
}

/// What a unit is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Everything is built anew from the dumps.
    #[serde(default)]
    pub anew: bool,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    generation: u64,
    up_to: i64,
    incremental: bool,
    rows: u64,
    bytes: u64,
}

/// What a run says of itself that found the dumps behind the datasets.
#[derive(Debug, Serialize)]
struct Behind {
    dumps_reach: i64,
    datasets_reach: i64,
}

/// The one unit there is.
pub fn unit() -> Enqueue {
    about(false)
}

/// The same, to build everything anew.
pub fn anew() -> Enqueue {
    about(true)
}

fn about(anew: bool) -> Enqueue {
    Enqueue::new(&kind::<PypiDataset>(), "all")
        .payload(serde_json::to_value(Subject { anew }).unwrap_or_default())
}

impl PypiDataset {
    /// Builds at this desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk }
    }
}

impl Collector for PypiDataset {
    const NAME: &'static str = "pypi/dataset";
    const SUMMARY: &'static str =
        "builds look-ups of import names and requirements from the dumps of a Python index";
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
        let objects = self.desk.open().map_err(at_objects)?;
        let shop = Workshop {
            memory: self.desk.memory,
            anew: subject.anew,
            ..Workshop::new(&self.desk.scratch)
        };
        let updated = datasets::update(&objects, &shop)
            .await
            .map_err(at_objects)?;
        Ok(match updated {
            Updated::Published {
                manifest,
                incremental,
                rows,
            } => cx.end(Outcome::Done, report(&manifest, incremental, rows)),
            Updated::Current(manifest) => cx.end(Outcome::Done, report(&manifest, true, 0)),
            // The next incremental dump wakes it again.
            Updated::Behind { dumps, newest } => {
                let report = Behind {
                    dumps_reach: dumps,
                    datasets_reach: newest,
                };
                cx.end(Outcome::Done, report)
            }
        })
    }
}

fn report(manifest: &Manifest, incremental: bool, rows: u64) -> Report {
    Report {
        generation: manifest.generation,
        up_to: manifest.up_to(),
        incremental,
        rows,
        bytes: manifest.files.values().map(|file| file.bytes).sum(),
    }
}
