//! Enqueue and drain of units that do nothing: what the engine itself costs.

use std::time::Duration;

use clap::Args;
use engine::{Enqueue, Worker};

use super::{
    Nothing, UNIT, drain, enqueue,
    peers::{self, PGBENCH, PGMQ},
    pool,
    watch::Watch,
};
use crate::{
    database::{Fresh, Place},
    figure::{Figure, cpu_seconds, median, quantile, remark},
};

/// At one unit per commit two hundred thousand would take minutes and say no more.
const MOST_TURNS: usize = 6_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`; without it, SQLite in
    /// a temporary file and a private PostgreSQL cluster, one after the other.
    /// Fresh databases are made there and removed again.
    #[arg(long)]
    database: Option<String>,
    /// Units to enqueue and drain; fewer where a batch is small.
    #[arg(long, default_value_t = 200_000)]
    units: usize,
    /// Units that a worker claims and completes at a time; several to measure each.
    #[arg(long, default_values_t = [500, 1], value_delimiter = ',')]
    batch: Vec<usize>,
    /// Workers in the one process.
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Repetitions, in turns with the peers; the figures are medians.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Give every unit a payload: a second row, read by the claim.
    #[arg(long)]
    payload: bool,
    /// Measure the peers as well.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    peers: bool,
}

#[derive(Debug, Default)]
struct Rounds {
    enqueue: Vec<f64>,
    drain: Vec<f64>,
    turn_p50: Vec<f64>,
    turn_p99: Vec<f64>,
    written: Vec<f64>,
    cpu: Vec<f64>,
    pgmq_enqueue: Vec<f64>,
    pgmq_drain: Vec<f64>,
    pgbench: Vec<f64>,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    for place in Place::all(options.database.as_deref())? {
        for batch in &options.batch {
            let mut rounds = Rounds::default();
            for round in 1..=options.rounds.max(1) {
                remark(&format!(
                    "engine on {}, batch {batch}, round {round} of {}",
                    place.word(),
                    options.rounds
                ));
                let name = format!("drain_{batch}_{round}");
                let fresh = place.fresh(&name).await?;
                measure(options, &fresh, *batch, &mut rounds).await?;
                if options.peers && place.is_postgres() {
                    measure_peers(options, &fresh, *batch, &mut rounds).await?;
                }
                fresh.remove().await?;
            }
            print(options, place.word(), *batch, rounds)?;
        }
    }
    Ok(())
}

async fn measure(
    options: &Options,
    fresh: &Fresh,
    batch: usize,
    rounds: &mut Rounds,
) -> anyhow::Result<()> {
    let engine = &fresh.engine;
    let units = options.units.min(batch * MOST_TURNS);
    let describe = |unit: Enqueue| {
        if options.payload {
            unit.payload(serde_json::json!({"subject": "some/subject", "depth": 3}))
        } else {
            unit
        }
    };
    rounds
        .enqueue
        .push(enqueue(engine, 0, units, describe).await?);
    fresh.analyze().await?;
    let before = fresh.written().await?;
    let worker = Worker::new(engine.clone())
        .kind(UNIT, Nothing)
        .pool(pool(options.workers, batch));
    let watch = Watch::fresh();
    let cpu = cpu_seconds();
    let took = drain(worker, engine, units).await?;
    let after = fresh.written().await?;
    let mut turns = watch.turns();
    rounds.drain.push(units as f64 / took.as_secs_f64());
    rounds.turn_p50.push(quantile(&mut turns, 0.5) * 1e3);
    rounds.turn_p99.push(quantile(&mut turns, 0.99) * 1e3);
    if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
        rounds.cpu.push((after - before) * 1e6 / units as f64);
    }
    if let (Some(before), Some(after)) = (before, after) {
        rounds.written.push((after - before) / units as f64);
    }
    Ok(())
}

async fn measure_peers(
    options: &Options,
    fresh: &Fresh,
    batch: usize,
    rounds: &mut Rounds,
) -> anyhow::Result<()> {
    if batch > 1 {
        let queue = peers::pgmq(&fresh.url, options.units).await?;
        rounds.pgmq_enqueue.push(queue.enqueue);
        rounds.pgmq_drain.push(queue.drain);
    }
    let time = Duration::from_secs(if options.units < 10_000 { 1 } else { 3 });
    let rate = peers::pgbench(&fresh.url, options.workers, time).await?;
    rounds.pgbench.push(rate);
    Ok(())
}

fn print(
    options: &Options,
    database: &'static str,
    batch: usize,
    mut rounds: Rounds,
) -> anyhow::Result<()> {
    let figure = Figure {
        batch: Some(batch),
        workers: Some(options.workers),
        ..Figure::new("engine", database)
    };
    let drain = median(&mut rounds.drain);
    let rate = median(&mut rounds.enqueue);
    figure.print("enqueue", rate, "units/s")?;
    figure.print("drain", drain, "units/s")?;
    figure.print("claim_p50", median(&mut rounds.turn_p50), "ms")?;
    figure.print("claim_p99", median(&mut rounds.turn_p99), "ms")?;
    if !rounds.cpu.is_empty() {
        figure.print("cpu", median(&mut rounds.cpu), "us/unit")?;
    }
    if !rounds.written.is_empty() {
        let metric = match database {
            "postgres" => "wal",
            _ => "file_growth",
        };
        figure.print(metric, median(&mut rounds.written), "bytes/unit")?;
    }
    if !rounds.pgmq_drain.is_empty() {
        let peer = figure.peer(PGMQ);
        peer.print("enqueue", median(&mut rounds.pgmq_enqueue), "units/s")?;
        let theirs = median(&mut rounds.pgmq_drain);
        peer.print("drain", theirs, "units/s")?;
        peer.print("drain_ratio", drain / theirs, "x")?;
    }
    if !rounds.pgbench.is_empty() {
        let peer = figure.peer(PGBENCH);
        let theirs = median(&mut rounds.pgbench);
        peer.print("commit", theirs, "commits/s")?;
        peer.print("drain_ratio", drain / theirs, "x")?;
    }
    Ok(())
}
