//! What one process remembers of upstreams, so that it reads and writes seldom.
//! Nothing here must outlive the process.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use db::Timestamp;

use super::{UpstreamPolicy, pace::Paced, view::View};
use crate::finish::Attempt;

/// No request is longer on its way than this: its answer came and said nothing.
const ON_ITS_WAY: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Memory {
    pub policies: HashMap<String, UpstreamPolicy>,
    /// The tokens that were last offered for an upstream.
    pub offered: HashMap<String, Vec<String>>,
    pub views: HashMap<String, Arc<View>>,
    /// Monotonic time of the last success that was written down.
    pub noted: HashMap<String, Duration>,
    /// Failures that are not written down yet.
    pub pending: HashMap<String, Pending>,
    /// When a request last said itself how it fared.
    pub spoken: HashMap<String, Timestamp>,
    /// Upstreams for which this process holds the probe's lease.
    pub probing: HashMap<String, Trial>,
    /// By upstream and token.
    pub purses: HashMap<(String, String), Purse>,
    pub paced: HashMap<String, Paced>,
    /// Counts readings and leases, so that it is known which came first.
    steps: u64,
}

/// Failures that are not written down yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub count: i64,
    pub first: Timestamp,
    pub why: String,
}

/// What decides whether an upstream works again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    /// The run that is let through alone; none: a probe request.
    pub attempt: Option<Attempt>,
    /// A request has failed meanwhile: this is how.
    pub failed: Option<String>,
}

/// What one process has of one budget.
#[derive(Clone, Debug, Default)]
pub(super) struct Purse {
    pub slice: Option<Slice>,
    /// Monotonic times of requests that were granted and whose answer was not
    /// heard yet. Not every answer says anything of the budget.
    pub sent: VecDeque<Duration>,
    /// The lowest that the service said, in the window that ends then.
    pub lowest: Option<(Timestamp, i64)>,
}

/// A leased part of a budget.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub left: i64,
    /// The window it belongs to ends then.
    pub reset_at: Timestamp,
    /// When it was leased, in the order of this process's steps.
    pub leased: u64,
    /// Monotonic: when what is left goes back.
    pub expires: Duration,
}

impl Purse {
    /// How many requests may be on their way.
    pub(super) fn unanswered(&mut self, monotonic: Duration) -> i64 {
        while let Some(sent) = self.sent.front()
            && monotonic.saturating_sub(*sent) > ON_ITS_WAY
        {
            self.sent.pop_front();
        }
        i64::try_from(self.sent.len()).unwrap_or(i64::MAX)
    }

    pub(super) fn send(&mut self, monotonic: Duration) {
        self.unanswered(monotonic);
        self.sent.push_back(monotonic);
    }
}

impl Memory {
    pub(super) fn policy(&self, upstream: &str) -> UpstreamPolicy {
        self.policies.get(upstream).cloned().unwrap_or_default()
    }

    pub(super) fn step(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }

    pub(super) fn spoke(&mut self, upstream: &str, now: Timestamp) {
        self.spoken.insert(upstream.to_owned(), now);
    }

    pub(super) fn purse(&mut self, upstream: &str, token: &str) -> &mut Purse {
        self.purses
            .entry((upstream.to_owned(), token.to_owned()))
            .or_default()
    }

    /// What this process may still send of a budget without asking again.
    pub(super) fn left(&self, upstream: &str, token: &str) -> i64 {
        self.purses
            .get(&(upstream.to_owned(), token.to_owned()))
            .and_then(|purse| purse.slice.as_ref())
            .map_or(0, |slice| slice.left)
    }
}
