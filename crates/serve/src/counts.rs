//! Counts of units, kept for a while.
//!
//! Counting is a scan of the whole table: milliseconds for ten thousand units,
//! a second for five million. So an answer is kept for fifty times as long as
//! it took (at least two seconds), which bounds the cost to two hundredths of
//! one core however many pages are open, and is exact as of its time. Counters
//! kept up to date at every completion were rejected: they cost every unit a
//! write for the sake of a page that few look at.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use engine::{Count, Engine};

const LEAST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Counts {
    engine: Engine,
    /// One count at a time; the others wait for its answer.
    counting: tokio::sync::Mutex<()>,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    counts: Arc<Vec<Count>>,
    until: Instant,
}

impl Counts {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            counting: tokio::sync::Mutex::new(()),
            kept: Mutex::new(None),
        }
    }

    pub(crate) async fn get(&self) -> Result<Arc<Vec<Count>>, String> {
        if let Some(counts) = self.fresh() {
            return Ok(counts);
        }
        let _one = self.counting.lock().await;
        if let Some(counts) = self.fresh() {
            return Ok(counts);
        }
        let begun = Instant::now();
        let counts = self
            .engine
            .counts()
            .await
            .map_err(|error| error.to_string())?;
        let counts = Arc::new(counts);
        *self.lock() = Some(Kept {
            counts: counts.clone(),
            until: Instant::now() + LEAST.max(begun.elapsed() * 50),
        });
        Ok(counts)
    }

    fn fresh(&self) -> Option<Arc<Vec<Count>>> {
        let kept = self.lock();
        let kept = kept.as_ref()?;
        (kept.until > Instant::now()).then(|| kept.counts.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
