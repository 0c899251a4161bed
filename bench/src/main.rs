//! Benchmarks: one JSON object per figure on stdout, everything else on stderr.
//!
//! Budgets are ratios in one run on one machine, because machines differ and a
//! shared one is never quiet: what is compared is measured in turns, and each
//! figure is the median of the rounds.

use clap::{Parser, Subcommand};

// As in xtask: the file needs std only, and the `testing` feature stays out of what is built here.
#[path = "../../crates/db/src/testing/cluster.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "written for another crate as well"
)]
mod cluster;
mod database;
mod distribution;
mod engine;
mod figure;
mod goindex;
mod license;
mod mail;
mod manifests;
mod pypi;
mod pypi_datasets;

#[derive(Debug, Parser)]
#[command(name = "bench", about = "Measures the rooms and prints JSON lines")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Enqueue and drain: rates, turn latency, WAL, and peers in the same run.
    Engine(engine::drain::Options),
    /// The claim beside many done, future and blocked rows.
    EngineScale(engine::scale::Options),
    /// Many children of one parent against as many units without one.
    EngineFanin(engine::fanin::Options),
    /// Pages of a small and of a large feed of Go module versions, and publishing.
    Goindex(goindex::Options),
    /// The distribution round over a simulated world: calls, rates, memory.
    Distribution(distribution::Options),
    /// The license round over one repository, by every scanner there is, and stock ScanCode.
    License(license::Options),
    /// Mail from a file: parsed, classified, into SQLite.
    Mail(mail::Options),
    /// A Python index with slow answers, crawled; bandersnatch beside it.
    Pypi(pypi::Options),
    /// Every manifest parser over a corpus, on one thread.
    Manifests(manifests::Options),
    /// Dumps and datasets of a Python index: rates, size, memory, look-ups.
    PypiDatasets(pypi_datasets::Options),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // What goes wrong inside, on stderr: a bench must not go on in silence.
    tracing_subscriber::fmt()
        // Slow statements are what is measured here.
        .with_env_filter("warn,sqlx=error")
        .with_writer(std::io::stderr)
        .init();
    match Arguments::parse().bench {
        Bench::Engine(options) => engine::drain::run(&options).await,
        Bench::EngineScale(options) => engine::scale::run(&options).await,
        Bench::EngineFanin(options) => engine::fanin::run(&options).await,
        Bench::Goindex(options) => goindex::run(&options).await,
        Bench::Distribution(options) => distribution::run(&options).await,
        Bench::License(options) => license::run(&options).await,
        Bench::Mail(options) => mail::run(&options).await,
        Bench::Pypi(options) => pypi::run(&options).await,
        Bench::Manifests(options) => manifests::run(&options),
        Bench::PypiDatasets(options) => pypi_datasets::run(&options).await,
    }
}
