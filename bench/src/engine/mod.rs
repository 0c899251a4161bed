//! Benches of the engine: real workers with a handler that does nothing.

pub(crate) mod drain;
pub(crate) mod fanin;
mod peers;
pub(crate) mod scale;
mod watch;

use std::time::{Duration, Instant};

use anyhow::ensure;
use engine::{Ending, Engine, Enqueue, Handler, Kind, Outcome, Pool, Run, RunError, State, Worker};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use watch::Watch;

/// The kind that is enqueued and drained.
const UNIT: Kind = Kind::one_off("bench/unit");

/// Ends well at once, and leaves nothing.
struct Nothing;

impl Handler for Nothing {
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>> {
        Box::pin(async move { Ok(run.end(Outcome::Done, ())) })
    }
}

fn pool(workers: usize, batch: usize) -> Pool {
    let mut pool = Pool::new(UNIT.pool, workers);
    pool.batch = batch;
    pool
}

/// Enqueues units `from..to`; returns units per second.
async fn enqueue(
    engine: &Engine,
    from: usize,
    to: usize,
    describe: impl Fn(Enqueue) -> Enqueue,
) -> anyhow::Result<f64> {
    let mut spent = Duration::ZERO;
    let all: Vec<usize> = (from..to).collect();
    for chunk in all.chunks(50_000) {
        let units: Vec<Enqueue> = chunk
            .iter()
            .map(|number| describe(Enqueue::new(&UNIT, format!("subject/{number}"))))
            .collect();
        let begun = Instant::now();
        let done = engine.enqueue(units).await?;
        spent += begun.elapsed();
        ensure!(
            done.created == chunk.len(),
            "a fresh database had units already"
        );
    }
    Ok((to - from) as f64 / spent.as_secs_f64())
}

/// Runs a worker until `units` units of [`UNIT`] are committed; returns how
/// long that took from its start, and checks that each ended exactly once.
async fn drain(worker: Worker, engine: &Engine, units: usize) -> anyhow::Result<Duration> {
    let watch = Watch::fresh();
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let task = tokio::spawn(worker.run(stop.clone()));
    let ended = watch.until(UNIT.name, units as u64).await;
    stop.cancel();
    task.await??;
    check(engine, units).await?;
    ensure!(
        watch.finished(UNIT.name) == units as u64,
        "more ends than units"
    );
    Ok(ended.duration_since(begun))
}

/// Every unit is done, by its first attempt.
async fn check(engine: &Engine, units: usize) -> anyhow::Result<()> {
    let done: u64 = engine
        .counts()
        .await?
        .iter()
        .filter(|count| count.kind == UNIT.name && count.state == State::Done)
        .map(|count| count.units as u64)
        .sum();
    ensure!(done == units as u64, "{done} of {units} units are done");
    let again = engine
        .db()
        .fetch_all(db::sql!(
            "SELECT id FROM unit WHERE kind = $1 AND attempt <> 1 LIMIT 1",
            UNIT.name
        ))
        .await?;
    ensure!(again.is_empty(), "a unit was claimed twice");
    Ok(())
}
