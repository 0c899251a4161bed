//! The feed of Go module versions: what a page costs in a small feed and in a large one, how many
//! requests are answered in a second, and how fast versions are published.
//!
//! Pages of both feeds are read in turns, from places all over them, so that whatever else the
//! machine does hits both alike.

mod clients;

use std::time::Instant;

use anyhow::ensure;
use clap::Args;
use db::{Db, DbError, Dialect, Statement, Timestamp, sql, transact};
use serve::Recorder;
use store::goindex::{self, Asked};

use self::clients::{Site, Want};
use crate::{
    database::{Fresh, Place},
    figure::{Figure, forget_peak, median, memory, remark},
};

/// The first moment of a made feed, in microseconds; a line follows each microsecond.
const BEGIN: i64 = 1_700_000_000_000_000;
const PAGE: usize = 2_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// As for `engine`.
    #[arg(long)]
    database: Option<String>,
    /// Versions in the small feed.
    #[arg(long, default_value_t = 100_000)]
    small: i64,
    /// Versions in the large feed.
    #[arg(long, default_value_t = 10_000_000)]
    large: i64,
    /// Pages read of each.
    #[arg(long, default_value_t = 100)]
    pages: usize,
    /// Clients that ask at the same time.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// How often each of them asks for a page of 2,000; ten times as often for less.
    #[arg(long, default_value_t = 50)]
    requests: usize,
    /// Versions that are published.
    #[arg(long, default_value_t = 50_000)]
    publish: i64,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let recorder = Recorder::install();
    for place in Place::all(options.database.as_deref())? {
        let figure = Figure::new("goindex", place.word());
        let mut feeds = Vec::new();
        for (name, lines) in [("go_small", options.small), ("go_large", options.large)] {
            remark(&format!("goindex on {}: {lines} versions", place.word()));
            let fresh = place.fresh(name).await?;
            db::migrate(
                fresh.db(),
                &[engine::PART, store::PART],
                fresh.engine.clock(),
            )
            .await?;
            fill(fresh.db(), lines).await?;
            fresh.analyze().await?;
            feeds.push((fresh, lines, Vec::new()));
        }
        let before = memory_from_here();
        for turn in 0..options.pages {
            for (fresh, lines, times) in &mut feeds {
                times.push(read(fresh, *lines, turn).await?);
            }
        }
        let mut medians = feeds.iter_mut().map(|(_, _, times)| median(times));
        let (small, large) = (
            medians.next().unwrap_or_default(),
            medians.next().unwrap_or_default(),
        );
        drop(medians);
        figure.print("page_small", small * 1_000.0, "ms")?;
        figure.print("page_large", large * 1_000.0, "ms")?;
        figure.print("page_ratio", large / small, "ratio")?;
        print_more_memory(&figure, "page_memory", before)?;
        if let Some((fresh, lines, _)) = feeds.last() {
            ask(fresh, *lines, &recorder, options, &figure).await?;
        }
        if let Some((fresh, ..)) = feeds.first() {
            let rate = publish(fresh, options.publish).await?;
            figure.print("publish", rate, "versions/s")?;
        }
        for (fresh, ..) in feeds {
            fresh.remove().await?;
        }
    }
    Ok(())
}

/// Requests in a second to the large feed: as large as they may be, as pkgsite asks, and of those
/// who only want to know whether there is anything new; and what all of them at once take in
/// memory.
async fn ask(
    fresh: &Fresh,
    lines: i64,
    recorder: &Recorder,
    options: &Options,
    figure: &Figure,
) -> anyhow::Result<()> {
    let site = Site::open(&fresh.engine, recorder).await?;
    let before = memory_from_here();
    let few = options.requests;
    for (metric, want, each) in [
        ("index_2000", Want::Lines(PAGE), few),
        ("index_10", Want::Lines(10), 10 * few),
        ("index_news", Want::News, 10 * few),
    ] {
        let rate = site.rate(want, options.clients, each, lines).await?;
        figure.print(metric, rate, "requests/s")?;
    }
    print_more_memory(figure, "index_memory", before)
}

/// What the process has now; its peak counts from here on.
fn memory_from_here() -> Option<f64> {
    forget_peak();
    memory().map(|(now, _)| now)
}

/// How much more it had at its peak since then.
fn print_more_memory(
    figure: &Figure,
    metric: &'static str,
    before: Option<f64>,
) -> anyhow::Result<()> {
    if let (Some(before), Some((_, peak))) = (before, memory()) {
        let more = (peak - before).max(0.0);
        figure.print(metric, more / f64::from(1 << 20), "MiB")?;
    }
    Ok(())
}

/// Lines that differ as real ones do: many versions of fewer modules.
async fn fill(db: &Db, lines: i64) -> anyhow::Result<()> {
    const STEP: i64 = 500_000;
    let mut from = 0;
    while from < lines {
        let to = (from + STEP).min(lines);
        let text = match db.dialect() {
            Dialect::Postgres => {
                "INSERT INTO go_feed (seq, path, version, published_at, available)
                 SELECT n + 1, 'forge.example/team' || (n % 997) || '/module' || (n % 100003),
                    'v1.' || (n / 1000) || '.' || (n % 1000),
                    to_timestamp(1700000000) + n * interval '1 microsecond', n % 50 <> 0
                 FROM generate_series($1::bigint, $2::bigint - 1) AS n"
            }
            Dialect::Sqlite => {
                "WITH RECURSIVE made(n) AS (
                    SELECT $1 UNION ALL SELECT n + 1 FROM made WHERE n + 1 < $2)
                 INSERT INTO go_feed (seq, path, version, published_at, available)
                 SELECT n + 1, 'forge.example/team' || (n % 997) || '/module' || (n % 100003),
                    'v1.' || (n / 1000) || '.' || (n % 1000),
                    strftime('%Y-%m-%dT%H:%M:%S', 1700000000 + n / 1000000, 'unixepoch')
                        || '.' || substr('000000' || (n % 1000000), -6) || 'Z', n % 50 <> 0
                 FROM made"
            }
        };
        db.execute(Statement::new(text).bind(from).bind(to)).await?;
        from = to;
    }
    Ok(())
}

/// Seconds for one page, from somewhere.
async fn read(fresh: &Fresh, lines: i64, turn: usize) -> anyhow::Result<f64> {
    let asked = Asked {
        since: Some(since(lines, turn)?),
        limit: PAGE,
        ..Asked::default()
    };
    let begun = Instant::now();
    let entries = goindex::page(fresh.db(), &asked).await?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(entries.len() == PAGE, "a page has {} lines", entries.len());
    Ok(took)
}

/// A moment somewhere in a feed, with more than a page behind it.
fn since(lines: i64, turn: usize) -> anyhow::Result<Timestamp> {
    let spread = i64::try_from(turn)? * 7_919 % 97;
    let page = i64::try_from(PAGE)? * 2;
    let from = BEGIN + (lines - page).max(0) * spread / 97;
    Ok(Timestamp::from_micros(from))
}

/// Versions that are published in a second, in transactions as the collector has them.
async fn publish(fresh: &Fresh, versions: i64) -> anyhow::Result<f64> {
    let db = fresh.db();
    let now = fresh.engine.clock().now();
    let text = match db.dialect() {
        Dialect::Postgres => {
            "INSERT INTO go_version (path, version, tag, commit_id, directory, origin, root,
                found_at, hidden, retracted)
             SELECT 'new.example/module' || (n % 1000), 'v1.0.' || n, 'v1.0.' || n, 'c', '',
                'known', 'r', $2, FALSE, FALSE
             FROM generate_series(1, $1::bigint) AS n"
        }
        Dialect::Sqlite => {
            "WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < $1)
             INSERT INTO go_version (path, version, tag, commit_id, directory, origin, root,
                found_at, hidden, retracted)
             SELECT 'new.example/module' || (n % 1000), 'v1.0.' || n, 'v1.0.' || n, 'c', '',
                'known', 'r', $2, FALSE, FALSE
             FROM made"
        }
    };
    db.execute(Statement::new(text).bind(versions).bind(now))
        .await?;
    db.execute(sql!("ANALYZE go_version")).await?;
    let begun = Instant::now();
    let mut published = 0;
    loop {
        let done: Result<goindex::Published, DbError> = transact!(db, |tx| {
            goindex::publish(tx, store::MAX_ROWS / 2, now).await
        });
        let done = done?.count;
        published += done;
        if done == 0 {
            break;
        }
    }
    ensure!(i64::try_from(published)? == versions, "all are published");
    Ok(published as f64 / begun.elapsed().as_secs_f64())
}
