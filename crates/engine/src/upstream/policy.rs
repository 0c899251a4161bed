//! How one upstream is to be treated, from configuration.

use std::time::Duration;

/// A fiftieth: 100 of GitHub's 5,000 an hour, enough for a person who looks at
/// a few units by hand while the fleet has spent the rest.
const RESERVE: f64 = 0.02;

/// How one upstream is to be treated, from configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamPolicy {
    /// Requests per span, for a service that announces no budget; without one
    /// it is not limited, only paced.
    pub budget: Option<(i64, Duration)>,
    /// Share of a budget, 0 to 1, that only requests somebody waits for may use.
    pub reserve: f64,
    /// Least time between two requests of the whole fleet.
    pub min_gap: Duration,
    /// The names of the tokens that this process will offer: it then knows
    /// before its first request whether one of them has anything left.
    pub tokens: Vec<String>,
}

impl Default for UpstreamPolicy {
    fn default() -> Self {
        Self {
            budget: None,
            reserve: RESERVE,
            min_gap: Duration::ZERO,
            tokens: Vec::new(),
        }
    }
}
