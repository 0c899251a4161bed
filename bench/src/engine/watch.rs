//! Reads the engine's own metrics while it works: how long turns take, and how
//! many ends are committed. So the real worker is measured, not a copy of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Instant,
};

use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tokio::sync::Notify;

const TURNS: &str = "gleaner_claim_duration_seconds";
const ENDS: &str = "gleaner_units_finished_total";

/// What was seen since the last [`Watch::fresh`].
#[derive(Debug, Default)]
pub(crate) struct Watch {
    turns: Mutex<Vec<f64>>,
    /// Ends by kind, and when the last of them was committed.
    ends: Mutex<HashMap<String, (u64, Instant)>>,
    more: Notify,
}

impl Watch {
    /// The watch, set back to nothing.
    pub(crate) fn fresh() -> Arc<Self> {
        static WATCH: OnceLock<Arc<Watch>> = OnceLock::new();
        let watch = WATCH.get_or_init(|| {
            let watch = Arc::new(Watch::default());
            // Fails only where somebody else records: nobody does here.
            let _ = metrics::set_global_recorder(Watcher(watch.clone()));
            watch
        });
        lock(&watch.turns).clear();
        lock(&watch.ends).clear();
        watch.clone()
    }

    /// Seconds of each turn so far.
    pub(crate) fn turns(&self) -> Vec<f64> {
        lock(&self.turns).clone()
    }

    /// Ends of a kind so far.
    pub(crate) fn finished(&self, kind: &str) -> u64 {
        lock(&self.ends).get(kind).map_or(0, |(count, _)| *count)
    }

    /// Waits for so many ends of a kind; returns when the last was committed.
    pub(crate) async fn until(&self, kind: &str, count: u64) -> Instant {
        loop {
            let more = self.more.notified();
            if let Some((seen, at)) = lock(&self.ends).get(kind).copied()
                && seen >= count
            {
                return at;
            }
            more.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Watcher(Arc<Watch>);

impl Recorder for Watcher {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let kind = key.labels().find(|label| label.key() == "kind");
        match kind {
            Some(kind) if key.name() == ENDS => Counter::from_arc(Arc::new(Ends {
                watch: self.0.clone(),
                kind: kind.value().to_owned(),
            })),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        if key.name() == TURNS {
            Histogram::from_arc(Arc::new(Turns(self.0.clone())))
        } else {
            Histogram::noop()
        }
    }
}

struct Ends {
    watch: Arc<Watch>,
    kind: String,
}

impl CounterFn for Ends {
    fn increment(&self, value: u64) {
        let mut ends = lock(&self.watch.ends);
        let entry = ends.entry(self.kind.clone()).or_insert((0, Instant::now()));
        *entry = (entry.0 + value, Instant::now());
        drop(ends);
        self.watch.more.notify_one();
    }

    fn absolute(&self, _: u64) {}
}

struct Turns(Arc<Watch>);

impl HistogramFn for Turns {
    fn record(&self, seconds: f64) {
        lock(&self.0.turns).push(seconds);
    }
}
