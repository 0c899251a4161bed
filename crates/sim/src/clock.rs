//! The world's time, given from outside.
//!
//! Everything the doubles announce is in world time: `Date`, reset times,
//! `Retry-After`, `updated_at`. Only the pace of bytes on the wire (a trickle, a
//! delay) is real, since a client's timeouts are.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp, fmt::rfc2822::DateTimePrinter};

/// Tells world time. Clones tell the same time.
#[derive(Clone)]
pub struct WorldClock(Source);

#[derive(Clone)]
enum Source {
    Given {
        /// Microseconds since 1970.
        now: Arc<dyn Fn() -> i64 + Send + Sync>,
        factor: f64,
    },
    Standing(Arc<AtomicI64>),
}

impl WorldClock {
    /// Asks `now` for microseconds since 1970. `factor` is how many times as
    /// fast as life it runs; it is only told to those who want to follow.
    pub fn given(factor: f64, now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Source::Given {
            now: Arc::new(now),
            factor,
        })
    }

    /// Starts at `from` and runs `factor` times as fast as life.
    pub fn scaled(from: Timestamp, factor: f64) -> Self {
        let started = Instant::now();
        Self::given(factor, move || {
            let passed = started.elapsed().as_secs_f64() * factor;
            from.as_microsecond() + (passed * 1e6) as i64
        })
    }

    /// Stands still until [`WorldClock::advance`] moves it.
    pub fn standing(at: Timestamp) -> Self {
        Self(Source::Standing(Arc::new(AtomicI64::new(
            at.as_microsecond(),
        ))))
    }

    /// The time in the world.
    pub fn now(&self) -> Timestamp {
        let micros = match &self.0 {
            Source::Given { now, .. } => now(),
            Source::Standing(at) => at.load(Ordering::SeqCst),
        };
        Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
    }

    /// How many times as fast as life; zero for a standing clock.
    pub fn factor(&self) -> f64 {
        match &self.0 {
            Source::Given { factor, .. } => *factor,
            Source::Standing(_) => 0.0,
        }
    }

    /// Moves a standing clock. Tells whether it could be moved.
    pub fn advance(&self, by: Duration) -> bool {
        match &self.0 {
            Source::Given { .. } => false,
            Source::Standing(at) => {
                at.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
                true
            }
        }
    }
}

impl fmt::Debug for WorldClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorldClock")
            .field("now", &self.now())
            .field("factor", &self.factor())
            .finish()
    }
}

/// As `Date`, `Last-Modified` and `Retry-After` write it.
pub(crate) fn http_date(at: Timestamp) -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&at)
        .unwrap_or_default()
}

/// As the forges write times: whole seconds.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `at` and some seconds, as far as time goes.
pub(crate) fn later(at: Timestamp, seconds: u64) -> Timestamp {
    at.saturating_add(SignedDuration::from_secs(seconds as i64))
        .unwrap_or(Timestamp::MAX)
}
