//! Many children of one parent, against as many units without one.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use engine::{Ending, Engine, Enqueue, Kind, Outcome, Requirement, RunError, Worker, steps::Hand};

use super::{Nothing, UNIT, drain, enqueue, pool, watch::Watch};
use crate::{
    database::{Fresh, Place},
    figure::{Figure, median, remark},
};

const PARENT: Kind = Kind::one_off("bench/parent");

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// As for `engine`.
    #[arg(long)]
    database: Option<String>,
    /// Children of the one parent, and units without one.
    #[arg(long, default_value_t = 220_000)]
    children: usize,
    /// Units that a worker claims and completes at a time.
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// Workers in the one process.
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Repetitions, with and without a parent in turns; the figures are medians.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    for place in Place::all(options.database.as_deref())? {
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        let (mut fan_out, mut parent) = (Vec::new(), Vec::new());
        for round in 1..=options.rounds.max(1) {
            remark(&format!(
                "engine-fanin on {}, round {round} of {}",
                place.word(),
                options.rounds
            ));
            let fresh = place.fresh(&format!("alone_{round}")).await?;
            alone.push(without_parent(options, &fresh).await?);
            fresh.remove().await?;
            let fresh = place.fresh(&format!("fanin_{round}")).await?;
            let seen = with_parent(options, &fresh).await?;
            fresh.remove().await?;
            fan_out.push(seen.fan_out);
            together.push(seen.completion);
            parent.push(seen.parent_after.as_secs_f64());
        }
        let figure = Figure {
            batch: Some(options.batch),
            workers: Some(options.workers),
            ..Figure::new("engine-fanin", place.word())
        };
        let (alone, together) = (median(&mut alone), median(&mut together));
        figure.print("fan_out", median(&mut fan_out), "units/s")?;
        figure.print("completion_without_parent", alone, "units/s")?;
        figure.print("completion", together, "units/s")?;
        figure.print("completion_ratio", together / alone, "x")?;
        figure.print("parent_done_after_last_child", median(&mut parent), "s")?;
    }
    Ok(())
}

async fn without_parent(options: &Options, fresh: &Fresh) -> anyhow::Result<f64> {
    enqueue(&fresh.engine, 0, options.children, |unit| unit).await?;
    fresh.analyze().await?;
    let worker = worker(options, &fresh.engine);
    let took = drain(worker, &fresh.engine, options.children).await?;
    Ok(options.children as f64 / took.as_secs_f64())
}

struct Seen {
    /// Children that began to be waited for, per second.
    fan_out: f64,
    /// Children ended per second.
    completion: f64,
    /// From the last child's end to the parent's.
    parent_after: Duration,
}

async fn with_parent(options: &Options, fresh: &Fresh) -> anyhow::Result<Seen> {
    let engine = &fresh.engine;
    let fan_out = wait_for_children(options, engine).await?;
    fresh.analyze().await?;
    let watch = Watch::fresh();
    let begun = std::time::Instant::now();
    let stop = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(worker(options, engine).run(stop.clone()));
    let children = watch.until(UNIT.name, options.children as u64).await;
    let parent = watch.until(PARENT.name, 1).await;
    stop.cancel();
    task.await??;
    super::check(engine, options.children).await?;
    ensure!(
        parent >= children,
        "the parent ran before its last child ended"
    );
    let took = children.duration_since(begun);
    Ok(Seen {
        fan_out,
        completion: options.children as f64 / took.as_secs_f64(),
        parent_after: parent.duration_since(children),
    })
}

/// Lets one parent wait for all children; returns children per second.
async fn wait_for_children(options: &Options, engine: &Engine) -> anyhow::Result<f64> {
    engine
        .enqueue(vec![Enqueue::new(&PARENT, "parent")])
        .await?;
    let hand = Hand::start(engine, &[PARENT], Duration::from_secs(30)).await?;
    let (mut claimed, _) = hand.turn(PARENT.pool, Vec::new(), 1, false).await?;
    let parent = claimed.pop().context("the parent is not to be had")?;
    let requirements = (0..options.children)
        .map(|number| Requirement::hard(Enqueue::new(&UNIT, format!("subject/{number}"))))
        .collect();
    let ending = hand.run(&parent).end(Outcome::Wait { requirements }, ());
    let ends: Vec<(_, Result<Ending, RunError>)> = vec![(parent, Ok(ending))];
    let begun = std::time::Instant::now();
    let (_, kept) = hand.turn(PARENT.pool, ends, 0, false).await?;
    ensure!(kept.len() == 1, "the parent lost its lease");
    // The note that the parent began to wait is folded now, as a worker's resolver would.
    while engine.step_fold().await? > 0 {}
    Ok(options.children as f64 / begun.elapsed().as_secs_f64())
}

fn worker(options: &Options, engine: &Engine) -> Worker {
    Worker::new(engine.clone())
        .kind(UNIT, Nothing)
        .kind(PARENT, Nothing)
        .pool(pool(options.workers, options.batch))
}
