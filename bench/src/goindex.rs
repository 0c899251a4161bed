//! The feed of Go module versions: what a page costs in a small feed and in a large one, and how
//! fast versions are published.
//!
//! Pages of both feeds are read in turns, from places all over them, so that whatever else the
//! machine does hits both alike.

use std::time::Instant;

use anyhow::ensure;
use clap::Args;
use db::{Db, DbError, Dialect, Statement, Timestamp, sql, transact};
use store::goindex::{self, Asked};

use crate::{
    database::{Fresh, Place},
    figure::{Figure, median, remark},
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
    /// Versions that are published.
    #[arg(long, default_value_t = 50_000)]
    publish: i64,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
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
        if let Some(bytes) = resident() {
            figure.print("resident", bytes / f64::from(1 << 20), "MiB")?;
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
    let spread = i64::try_from(turn)? * 7_919 % 97;
    let page = i64::try_from(PAGE)? * 2;
    let since = BEGIN + (lines - page).max(0) * spread / 97;
    let asked = Asked {
        since: Some(Timestamp::from_micros(since)),
        limit: PAGE,
        ..Asked::default()
    };
    let begun = Instant::now();
    let entries = goindex::page(fresh.db(), &asked).await?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(entries.len() == PAGE, "a page has {} lines", entries.len());
    Ok(took)
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

/// What this process holds in memory, in bytes.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024.0)
}
