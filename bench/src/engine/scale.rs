//! The claim beside many rows that are none of its business.
//!
//! Each scenario is a database of its own with the same ready units in it, and
//! the turns (end what was claimed before, claim the next, commit) go round the
//! scenarios, so that whatever else the machine does hits all of them alike.

use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use db::{Dialect, Statement, Timestamp};
use engine::{
    Ending, Kind, Outcome, RunError,
    steps::{Hand, Held},
};

use super::{UNIT, enqueue};
use crate::{
    database::{Fresh, Place},
    figure::{Figure, quantile, remark},
};

const BASE: usize = 10_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// As for `engine`.
    #[arg(long)]
    database: Option<String>,
    /// Done rows in the largest scenario; a fifth as many future and blocked ones.
    #[arg(long, default_value_t = 5_000_000)]
    rows: usize,
    /// Units per claim.
    #[arg(long, default_values_t = [1, 100], value_delimiter = ',')]
    batch: Vec<usize>,
    /// Turns measured in each scenario.
    #[arg(long, default_value_t = 300)]
    turns: usize,
}

/// What surrounds the ready units.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// The baseline: few done rows.
    Few(usize),
    Done(usize),
    Future(usize),
    /// Due, for an upstream whose breaker is open.
    Blocked(usize),
}

impl Crowd {
    /// Names of the figure and of its ratio to the baseline.
    fn metrics(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Few(_) => ("claim_p50_few_done", None),
            Self::Done(_) => ("claim_p50_done", Some("claim_p50_done_ratio")),
            Self::Future(_) => ("claim_p50_future", Some("claim_p50_future_ratio")),
            Self::Blocked(_) => ("claim_p50_blocked", Some("claim_p50_blocked_ratio")),
        }
    }

    async fn gather(self, fresh: &Fresh, first: usize) -> anyhow::Result<()> {
        let engine = &fresh.engine;
        let soon = engine.clock().now().plus(Duration::from_hours(24));
        match self {
            Self::Few(rows) | Self::Done(rows) => fill_done(fresh, rows).await?,
            Self::Future(rows) => {
                enqueue(engine, first, first + rows, |unit| unit.due_at(soon)).await?;
            }
            Self::Blocked(rows) => {
                engine
                    .db()
                    .execute(db::sql!(
                        "INSERT INTO upstream (name, failures, openings, open_until)
                         VALUES ('blocked.example', 10, 1, $1)",
                        soon
                    ))
                    .await?;
                enqueue(engine, first, first + rows, |unit| {
                    unit.upstream("blocked.example")
                })
                .await?;
            }
        }
        Ok(())
    }
}

struct Scene {
    crowd: Crowd,
    fresh: Fresh,
    hand: Hand,
    held: Vec<Held>,
    turns: Vec<f64>,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let crowds = [
        Crowd::Few(BASE.min(options.rows)),
        Crowd::Done(options.rows),
        Crowd::Future(options.rows / 5),
        Crowd::Blocked(options.rows / 5),
    ];
    for place in Place::all(options.database.as_deref())? {
        let mut scenes = Vec::new();
        for (number, crowd) in crowds.into_iter().enumerate() {
            remark(&format!("engine-scale on {}: {crowd:?}", place.word()));
            let fresh = place.fresh(&format!("scale_{number}")).await?;
            scenes.push(prepare(options, crowd, fresh).await?);
        }
        for batch in &options.batch {
            remark(&format!("engine-scale: claims of {batch}"));
            measure(options, &mut scenes, *batch).await?;
            print(place.word(), *batch, &mut scenes)?;
        }
        for scene in scenes {
            scene.fresh.remove().await?;
        }
    }
    Ok(())
}

async fn prepare(options: &Options, crowd: Crowd, fresh: Fresh) -> anyhow::Result<Scene> {
    let ready: usize = options
        .batch
        .iter()
        .map(|batch| batch * (options.turns + 2))
        .sum();
    enqueue(&fresh.engine, 0, ready, |unit| unit).await?;
    crowd.gather(&fresh, ready).await?;
    fresh.analyze().await?;
    let kinds: [Kind; 1] = [UNIT];
    let hand = Hand::start(&fresh.engine, &kinds, Duration::from_secs(30)).await?;
    Ok(Scene {
        crowd,
        fresh,
        hand,
        held: Vec::new(),
        turns: Vec::new(),
    })
}

async fn measure(options: &Options, scenes: &mut [Scene], batch: usize) -> anyhow::Result<()> {
    for scene in scenes.iter_mut() {
        scene.turns.clear();
        // The first turn warms caches and statements, and is not counted.
        scene.turn(batch).await?;
        scene.turns.clear();
    }
    for _ in 0..options.turns {
        for scene in scenes.iter_mut() {
            scene.turn(batch).await?;
        }
    }
    for scene in scenes.iter_mut() {
        scene.end_all().await?;
    }
    Ok(())
}

impl Scene {
    async fn turn(&mut self, batch: usize) -> anyhow::Result<()> {
        let ends = self.take_ends();
        let begun = Instant::now();
        let (claimed, _) = self.hand.turn(UNIT.pool, ends, batch, false).await?;
        self.turns.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure!(
            claimed.len() == batch,
            "claimed {} of {batch}",
            claimed.len()
        );
        self.held = claimed;
        Ok(())
    }

    async fn end_all(&mut self) -> anyhow::Result<()> {
        let ends = self.take_ends();
        self.hand.turn(UNIT.pool, ends, 0, false).await?;
        Ok(())
    }

    fn take_ends(&mut self) -> Vec<(Held, Result<Ending, RunError>)> {
        std::mem::take(&mut self.held)
            .into_iter()
            .map(|held| {
                let ending = self.hand.run(&held).end(Outcome::Done, ());
                (held, Ok(ending))
            })
            .collect()
    }
}

fn print(database: &'static str, batch: usize, scenes: &mut [Scene]) -> anyhow::Result<()> {
    let figure = Figure {
        batch: Some(batch),
        workers: Some(1),
        ..Figure::new("engine-scale", database)
    };
    let mut base = 0.0;
    for scene in scenes {
        let p50 = quantile(&mut scene.turns, 0.5);
        let (metric, ratio) = scene.crowd.metrics();
        figure.print(metric, p50, "ms")?;
        match ratio {
            None => base = p50,
            Some(ratio) => figure.print(ratio, p50 / base, "x")?,
        }
    }
    Ok(())
}

/// Done rows as retention would find them; written by SQL, for to run five
/// million units says nothing more of the claim.
async fn fill_done(fresh: &Fresh, rows: usize) -> anyhow::Result<()> {
    const CHUNK: usize = 250_000;
    let db = fresh.db();
    let numbers = match db.dialect() {
        Dialect::Postgres => "SELECT generate_series($1::bigint, $2::bigint) AS n",
        Dialect::Sqlite => {
            "WITH RECURSIVE counted(n) AS (
                SELECT $1 UNION ALL SELECT n + 1 FROM counted WHERE n < $2
             ) SELECT n FROM counted"
        }
    };
    let text = format!(
        "INSERT INTO unit (kind, key, pool, upstream, state, rank, due_at, attempt, worker, strikes,
            partials, lost, cadence, version, ended_at, succeeded_at, again, required, body)
         SELECT $3, 'done/' || n, $4, '', 'done', 3, $5, 1, NULL, 0,
            0, 0, NULL, 1, $5, $5, FALSE, FALSE, FALSE
         FROM ({numbers}) AS numbers"
    );
    let now: Timestamp = fresh.engine.clock().now();
    for from in (1..=rows).step_by(CHUNK) {
        let statement = Statement::built(text.clone())
            .bind(from)
            .bind((from + CHUNK - 1).min(rows))
            .bind(UNIT.name)
            .bind(UNIT.pool)
            .bind(now);
        db.execute(statement).await?;
    }
    Ok(())
}
