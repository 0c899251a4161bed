//! The distribution round over a simulated world: a first pass over many repositories on every sort
//! of forge, then a second one over the same, in which nothing has changed.
//!
//! Everything is real but the other side: the engine, the store, the collectors and the client, over
//! HTTP on the loopback. Every answer takes as long as it would from afar. The world's clock runs
//! faster than life, and the wait for answers shrinks with it; what the process itself takes does
//! not, and so counts several times against it.

mod calls;
mod world;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use store::distribution::{EventFilter, events};

use self::{
    calls::{Calls, FORGES, GITHUB},
    world::World,
};
use crate::{
    database::Place,
    figure::{Figure, forget_peak, memory, remark},
};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`; without it, SQLite in a temporary file.
    /// A fresh database is made there and removed again.
    #[arg(long)]
    database: Option<String>,
    /// Repositories, on all forges together.
    #[arg(long, default_value_t = 2_000)]
    repositories: usize,
    /// How long every answer takes, in milliseconds of the world's time.
    #[arg(long, default_value_t = 200)]
    latency_ms: u64,
    /// How many times as fast as life the world's time runs.
    #[arg(long, default_value_t = 4)]
    speed: u32,
}

const DAY: Duration = Duration::from_hours(24);
/// Calls in an hour that a token of the largest forge allows.
const TOKEN: f64 = 5_000.0;

/// What a pass came to.
struct Pass {
    calls: Calls,
    /// World time in which there was something to do.
    took: Duration,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let place = Place::one(options.database.as_deref())?;
    let speed = options.speed.max(1);
    let world = World::new(&place, options.repositories, options.latency_ms, speed).await?;
    let watched = world.watched.len();
    remark(&format!("{watched} repositories are watched"));
    let before = memory();
    forget_peak();

    // An answer may wait for another, and comes back a little later.
    let first = pass(&world, &[Duration::ZERO, DAY / 72, DAY / 72]).await?;
    let seen = world.clock().now();
    // What became of repositories is asked once a week, and so shortly before everything else.
    let second = pass(&world, &[174 * DAY, 6 * DAY + DAY / 2, DAY / 72]).await?;
    let unchanged = EventFilter {
        since: Some(seen),
        ..EventFilter::default()
    };
    let (noticed, _) = events(world.db(), &unchanged, 1).await?;
    ensure!(
        noticed.is_empty(),
        "nothing has changed, and yet there is {noticed:?}"
    );
    let complete = world.complete().await?;
    ensure!(
        complete == watched,
        "{complete} of {watched} repositories have whole answers"
    );

    let figure = Figure::new("distribution", place.word());
    for (name, pass) in [("first", &first), ("second", &second)] {
        report(&figure, name, pass, &world)?;
    }
    if let (Some((start, _)), Some((_, most))) = (before, memory()) {
        figure.print("peak_memory", (most - start).max(0.0) / 1e6, "MB")?;
    }
    world.remove().await
}

/// Lets these spans pass, and runs after each all that has become due.
async fn pass(world: &World, spans: &[Duration]) -> anyhow::Result<Pass> {
    world.server.journal().clear();
    let mut took = Duration::ZERO;
    for span in spans {
        world.let_pass(*span);
        took += world.run().await?;
    }
    let calls = Calls::of(world);
    ensure!(calls.refused == 0, "{} calls were refused", calls.refused);
    Ok(Pass { calls, took })
}

fn report(figure: &Figure, name: &'static str, pass: &Pass, world: &World) -> anyhow::Result<()> {
    let Pass { calls, took } = pass;
    let figure = |of: &str| Figure {
        pass: Some(name),
        ..figure.of(of)
    };
    for forge in FORGES.into_iter().chain(["all"]) {
        let of = |one: &str| forge == "all" || one == forge;
        let repositories = world.watched.iter().filter(|one| of(one.host)).count();
        let per_repository = calls.forge(of) as f64 / repositories.max(1) as f64;
        figure(forge).print("forge_calls", per_repository, "calls/repository")?;
    }
    for forge in FORGES.into_iter().chain(["all"]) {
        let (mean, most) = calls.packages(world, |one| forge == "all" || one == forge);
        figure(forge).print("package_calls", mean, "calls/owner")?;
        figure(forge).print("most_package_calls", most as f64, "calls/owner")?;
    }
    for upstream in ["deps.dev", "ecosyste.ms"] {
        let count = calls.of_upstream(upstream) as f64 / world.watched.len() as f64;
        figure(upstream).print("registry_calls", count, "calls/repository")?;
    }
    let per_hour = world.watched.len() as f64 / took.as_secs_f64() * 3600.0;
    figure("all").print("rate", per_hour, "repositories/h")?;

    // All calls, and those that its budget counted.
    let on_it = world.watched.iter().filter(|one| one.host == GITHUB);
    let on_it = on_it.count().max(1) as f64;
    let (all, counted) = calls.with_token(GITHUB);
    let per_token = |count: usize| TOKEN / (count.max(1) as f64 / on_it);
    let unit = "repositories/h/token";
    figure(GITHUB).print("rate_by_token", per_token(all), unit)?;
    figure(GITHUB).print("rate_by_counted_calls", per_token(counted), unit)?;
    Ok(())
}
