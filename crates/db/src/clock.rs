//! The one source of time.
//!
//! Two times are needed and they must not be mixed up. **Wall time**
//! ([`Clock::now`]) is stored, shown and compared with what other hosts stored;
//! it may jump. **Monotonic time** ([`Clock::monotonic`]) only ever grows and
//! decides whether a heartbeat is late.
//!
//! Against PostgreSQL the wall time is disciplined by the database's
//! ([`Clock::discipline`]), so hosts with skewed clocks agree. In tests both are
//! set by hand; in the simulated world wall time runs faster than life.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::Timestamp;

/// Tells the time. Cheap to clone; all clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    System {
        started: Instant,
        /// What the database's clock is ahead of ours, in microseconds.
        offset: AtomicI64,
    },
    Scaled {
        started: Instant,
        from: Timestamp,
        factor: f64,
    },
    Fake(FakeTimes),
}

#[derive(Debug)]
struct FakeTimes {
    wall: AtomicI64,
    monotonic: AtomicU64,
}

impl Clock {
    /// The host's clock.
    pub fn system() -> Self {
        Self(Arc::new(Source::System {
            started: Instant::now(),
            offset: AtomicI64::new(0),
        }))
    }

    /// Wall time that starts at `from` and runs `factor` times as fast as life;
    /// monotonic time stays real. For the simulated world.
    pub fn scaled(from: Timestamp, factor: f64) -> Self {
        Self(Arc::new(Source::Scaled {
            started: Instant::now(),
            from,
            factor,
        }))
    }

    /// A clock that stands still until the returned handle moves it.
    pub fn fake(at: Timestamp) -> (Self, FakeClock) {
        let clock = Self(Arc::new(Source::Fake(FakeTimes {
            wall: AtomicI64::new(at.as_micros()),
            monotonic: AtomicU64::new(0),
        })));
        (clock.clone(), FakeClock(clock))
    }

    /// Wall time, as all hosts on one database agree on it.
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::System { offset, .. } => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "this is the one place that reads the wall clock"
                )]
                let host = Timestamp::from(jiff::Timestamp::now());
                Timestamp::from_micros(host.as_micros() + offset.load(Ordering::Relaxed))
            }
            Source::Scaled {
                started,
                from,
                factor,
            } => from.plus(started.elapsed().mul_f64(*factor)),
            Source::Fake(times) => Timestamp::from_micros(times.wall.load(Ordering::SeqCst)),
        }
    }

    /// Time since this clock was made; never goes back, whatever the wall clock does.
    pub fn monotonic(&self) -> Duration {
        match &*self.0 {
            Source::System { started, .. } | Source::Scaled { started, .. } => started.elapsed(),
            Source::Fake(times) => Duration::from_micros(times.monotonic.load(Ordering::SeqCst)),
        }
    }

    /// How long to really wait until wall time has moved on by `span`.
    pub fn real(&self, span: Duration) -> Duration {
        match &*self.0 {
            Source::Scaled { factor, .. } => span.div_f64(factor.max(1e-9)),
            Source::System { .. } | Source::Fake(_) => span,
        }
    }

    /// Takes over the database's time: `theirs` was read between the two
    /// readings of our own clock `before` and `after`. Returns what the host's
    /// clock is behind, in microseconds; `None` for clocks that are not the host's.
    pub fn discipline(
        &self,
        before: Timestamp,
        theirs: Timestamp,
        after: Timestamp,
    ) -> Option<i64> {
        let Source::System { offset, .. } = &*self.0 else {
            return None;
        };
        // The readings include the offset in force; the middle of the round trip
        // is the best guess of when the database looked at its clock.
        let ours = i64::midpoint(before.as_micros(), after.as_micros());
        let ahead = offset.load(Ordering::Relaxed) + theirs.as_micros() - ours;
        offset.store(ahead, Ordering::Relaxed);
        Some(ahead)
    }
}

/// The hand that moves a fake clock.
#[derive(Clone, Debug)]
pub struct FakeClock(Clock);

impl FakeClock {
    /// Time passes: both clocks move on.
    pub fn advance(&self, by: Duration) {
        let times = self.times();
        let micros = by.as_micros() as i64;
        times.wall.fetch_add(micros, Ordering::SeqCst);
        times.monotonic.fetch_add(micros as u64, Ordering::SeqCst);
    }

    /// Somebody sets the wall clock, forwards or back; monotonic time knows nothing of it.
    pub fn jump(&self, micros: i64) {
        self.times().wall.fetch_add(micros, Ordering::SeqCst);
    }

    fn times(&self) -> &FakeTimes {
        match &*self.0.0 {
            Source::Fake(times) => times,
            Source::System { .. } | Source::Scaled { .. } => {
                unreachable!("a FakeClock is only made around a fake source")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_moves_the_wall_only() {
        let (clock, hand) = Clock::fake(Timestamp::EPOCH);
        hand.advance(Duration::from_secs(5));
        hand.jump(-60_000_000);
        assert_eq!(clock.now(), Timestamp::from_micros(-55_000_000));
        assert_eq!(clock.monotonic(), Duration::from_secs(5));
    }

    #[test]
    fn a_disciplined_clock_tells_the_databases_time() {
        let clock = Clock::system();
        let now = clock.now();
        let theirs = now.plus(Duration::from_hours(1));
        let ahead = clock.discipline(now, theirs, now).unwrap();
        assert_eq!(ahead, 3_600_000_000);
        assert!(clock.now() >= theirs);
    }
}
