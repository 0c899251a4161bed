//! A deterministic simulation of the engine.
//!
//! Several hand-driven processes share one database and one fake clock. A
//! seeded generator decides every step: who enqueues, claims, commits, ends,
//! crashes, loses the answer to a commit, sleeps through its beats, or sets the
//! wall clock. The world keeps its own books (`model`), checks each step
//! against them (`invariants`), and in the end lets everything heal and looks
//! at where it came to rest (`healing`).
//!
//! A seed that fails is printed with the command that replays it alone.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails loudly and says how to replay it"
)]

mod actions;
mod healing;
mod invariants;
mod model;
mod turning;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use db::{Db, testing::TestDb};
use model::World;

/// Steps of chaos before the world may heal.
const STEPS: usize = 120;

#[derive(Clone, Copy)]
enum On {
    Memory,
    Postgres,
}

/// Runs a range of seeds, or the one that is to be replayed.
fn simulate(on: On, test: &str, first: u64, seeds: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // The few units of a world meet hints for several all the same.
    engine::steps::bundle_by(2);
    let (first, seeds) = match (
        std::env::var("GLEANER_SIM_SEED"),
        std::env::var_os("GLEANER_LONG"),
    ) {
        (Ok(seed), _) => (seed.parse().unwrap(), 1),
        // Far from the seeds of the gate and of the other tests.
        (_, Some(_)) => (1_000_000 + first * 1_000, seeds * 50),
        _ => (first, seeds),
    };
    // On PostgreSQL a fresh database costs more than a run: it is swept between.
    let mut db = None;
    for seed in first..first + seeds {
        let fresh = match (on, db.take()) {
            (On::Postgres, Some(db)) => db,
            (On::Postgres, None) => runtime.block_on(TestDb::postgres(&[engine::PART])),
            (On::Memory, _) => runtime.block_on(TestDb::memory(&[engine::PART])),
        };
        let log = model::Log::default();
        let run = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(simulate_one(&fresh, seed, log.clone()));
        }));
        if let Err(panic) = run {
            eprintln!("the last steps of seed {seed}:");
            for line in log.tail(60) {
                eprintln!("  {line}");
            }
            eprintln!(
                "seed {seed} failed; replay it alone with\n  \
                 GLEANER_SIM_SEED={seed} cargo nextest run -p engine --test simulation {test}"
            );
            resume_unwind(panic);
        }
        db = Some(fresh);
    }
}

async fn simulate_one(db: &Db, seed: u64, log: model::Log) {
    let mut world = World::create(db, seed, log).await;
    for _ in 0..STEPS {
        world.step().await;
    }
    world.heal().await;
}

macro_rules! seeds {
    ($($name:ident: $on:ident, $first:expr, $count:expr;)*) => {$(
        #[test]
        fn $name() {
            simulate(On::$on, stringify!($name), $first, $count);
        }
    )*};
}

// Many small tests: the runner spreads them over the cores.
seeds! {
    sqlite_a: Memory, 0, 250;
    sqlite_b: Memory, 250, 250;
    sqlite_c: Memory, 500, 250;
    sqlite_d: Memory, 750, 250;
    sqlite_e: Memory, 1_000, 250;
    sqlite_f: Memory, 1_250, 250;
    sqlite_g: Memory, 1_500, 250;
    sqlite_h: Memory, 1_750, 250;
    postgres_a: Postgres, 10_000, 20;
    postgres_b: Postgres, 10_020, 20;
    postgres_c: Postgres, 10_040, 20;
    postgres_d: Postgres, 10_060, 20;
    postgres_e: Postgres, 10_080, 20;
}
