//! A Python index, crawled: every answer takes as long as it would from afar, and so many are on
//! their way at a time. Beside it, where it is installed, bandersnatch mirrors the same index,
//! metadata only.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use collect::{
    http::{Http, Settings, UpstreamSettings},
    pypi::{IndexAddress, UPSTREAM, crawl_unit},
    registry::{self, Outside},
};
use db::Clock;
use engine::{Pool, Timing, Worker};
use sim::{Config, Rule, Server, WorldSize, upstreams::PythonIndex};
use tokio_util::sync::CancellationToken;

use crate::{
    database::{Fresh, Place},
    figure::{Figure, forget_peak, memory, remark},
};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`; without it, SQLite in a temporary file.
    /// A fresh database is made there and removed again.
    #[arg(long)]
    database: Option<String>,
    /// Projects of the index.
    #[arg(long, default_value_t = 2_000)]
    projects: usize,
    /// How long every answer takes, in milliseconds.
    #[arg(long, default_value_t = 50)]
    latency_ms: u64,
    /// Requests at a time.
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// The program `bandersnatch`, to be measured beside.
    #[arg(long)]
    bandersnatch: Option<PathBuf>,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let place = Place::one(options.database.as_deref())?;
    let index = PythonIndex::new(UPSTREAM).filled(1, options.projects);
    let config = Config {
        upstreams: Vec::new(),
        size: WorldSize {
            repositories: 0,
            organisation: 0,
        },
        ..Config::default()
    };
    let server = Server::start(config.with(index.clone())).await?;
    server
        .plan()
        .add(Rule::slow(UPSTREAM, options.latency_ms))?;
    let parts = [engine::PART, store::PART];
    let fresh = place.fresh_with("pypi", &parts, Clock::system()).await?;
    let directory = tempfile::tempdir()?;
    let base = server.host_url(UPSTREAM).unwrap_or_default();
    let address = IndexAddress::parse(&format!("{base}/simple/"))?;
    let outside = outside(&fresh, &address, options.connections, directory.path())?;
    let figure = Figure {
        workers: Some(options.connections),
        ..Figure::new("pypi", place.word())
    };
    let before = memory();
    forget_peak();

    let started = Instant::now();
    fresh
        .engine
        .enqueue(vec![crawl_unit(&address, None).now()])
        .await?;
    let idle =
        worker(&fresh, &outside, options.connections).run_until_idle(CancellationToken::new());
    Box::pin(idle).await?;
    let took = started.elapsed().as_secs_f64();
    let status = store::pypi::status(fresh.db()).await?;
    ensure!(
        status.full_failed == 0 && status.unread == 0,
        "the crawl is not whole: {status:?}"
    );
    let projects = options.projects as f64;
    figure.print("crawl", projects / took, "projects/s")?;
    figure.print("files", status.files as f64 / took, "files/s")?;
    let requests = server.journal().counts(UPSTREAM);
    figure.print("requests", requests.requests as f64 / took, "requests/s")?;
    figure.print(
        "most_at_once",
        f64::from(requests.most_in_flight),
        "requests",
    )?;
    if let (Some((start, _)), Some((_, most))) = (before, memory()) {
        figure.print("peak_memory", (most - start).max(0.0) / 1e6, "MB")?;
    }
    if let Some(program) = &options.bandersnatch {
        let took = mirror(program, &base, directory.path()).await?;
        let figure = Figure {
            peer: Some("bandersnatch"),
            workers: Some(10),
            ..Figure::new("pypi", None)
        };
        figure.print("mirror", projects / took.as_secs_f64(), "projects/s")?;
    } else {
        remark("--bandersnatch PROGRAM measures it beside");
    }
    fresh.remove().await
}

fn outside(
    fresh: &Fresh,
    address: &IndexAddress,
    connections: usize,
    place: &Path,
) -> anyhow::Result<Outside> {
    let mut settings = Settings::new("https://gleaner.example/bench");
    let upstream = UpstreamSettings {
        allow_private: true,
        concurrency: connections,
        ..UpstreamSettings::at(address.origin())
    };
    settings.upstreams.insert(UPSTREAM.to_owned(), upstream);
    let engine = &fresh.engine;
    let (db, clock) = (engine.db().clone(), engine.clock().clone());
    let http = Http::new(&settings, db, clock, engine.upstreams().clone())?;
    let mut outside = Outside::with_defaults(http, place);
    outside.pypi.address = Some(address.clone());
    Ok(outside)
}

fn worker(fresh: &Fresh, outside: &Outside, connections: usize) -> Worker {
    let ours = registry::all(outside).into_iter();
    let ours = ours.filter(|one| one.round() == "pypi");
    let worker = Worker::new(fresh.engine.clone())
        .pool(Pool::new("pypi", connections))
        .timing(Timing {
            poll: Duration::from_millis(100),
            ..Timing::default()
        });
    ours.fold(worker, |worker, one| {
        worker.boxed_kind(one.kind, one.handler)
    })
}

/// Lets bandersnatch mirror the index without its files; how long that took. It takes at most ten
/// workers.
async fn mirror(program: &Path, base: &str, place: &Path) -> anyhow::Result<Duration> {
    let config = place.join("bandersnatch.conf");
    let directory = place.join("mirror");
    std::fs::create_dir_all(&directory)?;
    let text = format!(
        "[mirror]\ndirectory = {}\nmaster = {base}\nallow-non-https = true\njson = true\n\
         release-files = false\nworkers = 10\ntimeout = 30\nhash-index = false\n\
         stop-on-error = false\nstorage-backend = filesystem\nverifiers = 3\n",
        directory.display()
    );
    std::fs::write(&config, text)?;
    let started = Instant::now();
    let done = tokio::process::Command::new(program)
        .arg("-c")
        .arg(&config)
        .arg("mirror")
        .output()
        .await?;
    let took = started.elapsed();
    let said = String::from_utf8_lossy(&done.stderr);
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    ensure!(done.status.success(), "bandersnatch failed: {last:?}");
    Ok(took)
}
