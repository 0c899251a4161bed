//! What the engine must know of a sort of work.

use std::time::Duration;

/// The contract of one kind, as its owner declares it.
#[derive(Clone, Debug)]
pub struct Kind {
    /// `round/what`, stable for ever: it is in the database.
    pub name: &'static str,
    /// Bumped when its output changes. A unit stamped by a newer version is left alone.
    pub version: i64,
    /// Which slots it uses.
    pub pool: &'static str,
    /// Least time between two complete runs; none for a one-off.
    pub cadence: Option<Duration>,
    /// After this a run has hung and is a strike.
    pub max_run: Duration,
    /// Partials come back by the square law; else they wait for the cadence.
    pub immediate_partial_retry: bool,
    /// How long the history of its runs is kept; none keeps no history.
    pub keep_runs: Option<Duration>,
}

impl Kind {
    /// A one-off with the defaults: pool of its own name, an hour to run, no history.
    pub const fn one_off(name: &'static str) -> Self {
        Self {
            name,
            version: 1,
            pool: name,
            cadence: None,
            max_run: Duration::from_hours(1),
            immediate_partial_retry: true,
            keep_runs: None,
        }
    }

    /// A kind that comes back every `cadence`.
    pub const fn recurring(name: &'static str, cadence: Duration) -> Self {
        let mut kind = Self::one_off(name);
        kind.cadence = Some(cadence);
        kind
    }

    /// The cadence as the column has it.
    pub(crate) fn cadence_seconds(&self) -> Option<i64> {
        self.cadence
            .map(|cadence| i64::try_from(cadence.as_secs()).unwrap_or(i64::MAX))
    }
}

/// Slots for kinds, in one process.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name; kinds point to it.
    pub name: String,
    /// How many runs at a time.
    pub workers: usize,
    /// How many units one worker may hold at a time. 1 for anything that talks
    /// to the network; hundreds for kinds that take microseconds, which are
    /// then claimed and completed in batches.
    pub batch: usize,
    /// Least gap between two starts while the pool first fills up, over the whole fleet.
    pub min_start_gap: Duration,
}

impl Pool {
    /// A pool of `workers` slots that run one unit each.
    pub fn new(name: impl Into<String>, workers: usize) -> Self {
        Self {
            name: name.into(),
            workers,
            batch: 1,
            min_start_gap: Duration::ZERO,
        }
    }
}
