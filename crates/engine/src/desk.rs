//! One pool, as one process sees it: what the last survey found, and how long
//! that is believed.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use db::Timestamp;

use crate::{Rank, claim::Pair, share::Shares, upstream::admission::Admission};

/// A survey is believed for this long while there is work.
const SURVEY_HOLDS: Duration = Duration::from_secs(1);
/// One that found nothing due holds for this long, unless a signal says
/// otherwise: all idle workers of a pool then live on one query in 5 s.
const IDLE_SURVEY_HOLDS: Duration = Duration::from_millis(4_900);

/// One pool, as one process sees it.
#[derive(Debug)]
pub(crate) struct Desk {
    pub pool: String,
    /// Kinds of this pool that the process can run, with their versions.
    pub kinds: Vec<(&'static str, i64)>,
    market: Mutex<Market>,
}

/// What is to be had.
#[derive(Debug, Default)]
pub(crate) struct Market {
    pub pairs: Vec<Pair>,
    pub surveyed: Option<Duration>,
    /// Whether the survey asked what is blocked and paused. It does not while
    /// nothing is due, and must before anything that became due is claimed.
    pub checked: bool,
    pub paused: bool,
    /// What may be claimed of upstreams that may not simply be asked.
    pub restricted: HashMap<String, Admission>,
    /// When one of them may be asked again.
    pub reopens_at: Option<Timestamp>,
    pub shares: Shares,
    pub barren: HashMap<(String, Rank), Duration>,
}

impl Desk {
    pub(crate) fn new(pool: String, kinds: Vec<(&'static str, i64)>) -> Self {
        Self {
            pool,
            kinds,
            market: Mutex::default(),
        }
    }

    /// The next claim looks at the table again.
    pub(crate) fn stale(&self) {
        self.lock().surveyed = None;
    }

    /// Whether a unit that must run alone is due.
    pub(crate) fn suspect_due(&self, now: Timestamp) -> bool {
        let market = self.lock();
        !market.paused
            && market
                .pairs
                .iter()
                .any(|pair| pair.rank == Rank::Alone && pair.due_at <= now)
    }

    /// Whether anything could be claimed now, as of the last survey.
    pub(crate) fn anything_due(&self, now: Timestamp) -> bool {
        let market = self.lock();
        !market.paused && market.pairs.iter().any(|pair| pair.due_at <= now)
    }

    /// When something in this pool will be due that is not due now.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let market = self.lock();
        if market.paused {
            return None;
        }
        market
            .pairs
            .iter()
            .map(|pair| pair.due_at)
            .chain(market.reopens_at)
            .filter(|due| *due > now)
            .min()
    }

    /// Upstreams and ranks that have something due, as of the last survey.
    pub(crate) fn due_pairs(&self, now: Timestamp) -> Vec<Pair> {
        let market = self.lock();
        let due = market.pairs.iter().filter(|pair| pair.due_at <= now);
        due.cloned().collect()
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Market> {
        self.market.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Market {
    /// Whether a survey is needed before the next claim.
    pub(crate) fn is_stale(&self, now: Timestamp, monotonic: Duration) -> bool {
        let Some(at) = self.surveyed else {
            return true;
        };
        let due = self.pairs.iter().any(|pair| pair.due_at <= now);
        let holds = if due || self.paused {
            SURVEY_HOLDS
        } else {
            IDLE_SURVEY_HOLDS
        };
        (due && !self.checked)
            || self.reopens_at.is_some_and(|at| at <= now)
            || monotonic.saturating_sub(at) >= holds
    }

    /// Pairs that can be claimed from now.
    pub(crate) fn due(&self, now: Timestamp, monotonic: Duration, alone: bool) -> Vec<Pair> {
        if self.paused {
            return Vec::new();
        }
        self.pairs
            .iter()
            .filter(|pair| pair.due_at <= now && (pair.rank == Rank::Alone) == alone)
            .filter(|pair| {
                self.barren
                    .get(&(pair.upstream.clone(), pair.rank))
                    .is_none_or(|until| *until <= monotonic)
            })
            .cloned()
            .collect()
    }
}
