//! Dumps and datasets of a Python index: how fast they are made, how large they are, how fast they
//! answer.
//!
//! Rows are made up, the same in every run: projects with eight files each, ten modules and five
//! requirements a file, as an index has on average. Nothing here asks anybody.

use std::{path::Path, time::Instant};

use anyhow::bail;
use clap::Args;
use db::{Bulk, Clock, Db, DbError, Settings, Timestamp, migrate, sql, transact};
use store::{
    datasets::{self, Generation, Updated, Workshop},
    dumps::{self, Dump, DumpRow, Range, ShardWriter},
    objects::Objects,
};

use crate::figure::{Figure, cpu_seconds, forget_peak, median, memory, remark};

/// Files of one project.
const FILES: u64 = 8;
/// Rows of one shard.
const SHARD: u64 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rows that datasets are built of
    #[arg(long, default_value_t = 2_000_000)]
    rows: u64,
    /// Rows that are dumped from SQLite
    #[arg(long, default_value_t = 100_000)]
    dumped: u64,
    /// Look-ups of each sort
    #[arg(long, default_value_t = 200_000)]
    lookups: u64,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    dump(options, place.path()).await?;
    let objects = Objects::directory(place.path().join("objects"))?;
    remark("writing the dumps that datasets are built of");
    write_dump(&objects, place.path(), 0, options.rows).await?;
    build(options, &objects, place.path(), "full").await?;
    let some = options.rows / 100;
    write_dump(&objects, place.path(), options.rows, options.rows + some).await?;
    build(options, &objects, place.path(), "incremental").await?;
    ask(options, &objects, place.path()).await
}

/// From the database into one shard of JSON and Parquet.
async fn dump(options: &Options, place: &Path) -> anyhow::Result<()> {
    let url = format!("sqlite:{}", place.join("dump.db").display());
    let db = Db::connect(&url, &Settings::default()).await?;
    migrate(&db, &[store::PART], &Clock::system()).await?;
    remark("filling a database to dump");
    for first in (1..=options.dumped).step_by(2_000) {
        let rows = (first..=options.dumped.min(first + 1_999)).map(row);
        fill(&db, &rows.collect::<Vec<_>>()).await?;
    }
    let objects = Objects::directory(place.join("dumped"))?;
    let to = i64::try_from(options.dumped)?;
    let (cpu, began) = (cpu_seconds(), Instant::now());
    let shard = dumps::shard(&db, &objects, Range { from: 0, to }, 0, 1, place).await?;
    let took = began.elapsed().as_secs_f64();
    if shard.rows != options.dumped {
        bail!(
            "{} rows were dumped instead of {}",
            shard.rows,
            options.dumped
        );
    }
    let figure = Figure::new("pypi", "sqlite");
    figure.print("dump", shard.rows as f64 / took, "rows/s")?;
    if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
        let each = (after - before) / shard.rows as f64;
        figure.print("dump cpu", each * 1e6, "µs/row")?;
    }
    figure
        .of("json")
        .print("dump size", shard.json.bytes as f64, "bytes")?;
    figure
        .of("parquet")
        .print("dump size", shard.parquet.bytes as f64, "bytes")?;
    db.close().await;
    Ok(())
}

async fn fill(db: &Db, rows: &[DumpRow]) -> anyhow::Result<()> {
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let json = |texts: &[String]| serde_json::Value::from(texts).to_string();
    let bulk = Bulk::new()
        .ints("seq", rows.iter().map(|row| row.seq))
        .texts("project", rows.iter().map(|row| row.project.clone()))
        .texts("version", rows.iter().map(|row| row.version.clone()))
        .texts("filename", rows.iter().map(|row| row.filename.clone()))
        .texts("url", rows.iter().map(|row| row.url.clone()))
        .texts("sha256", rows.iter().map(|row| row.sha256.clone()))
        .texts("requires", rows.iter().map(|row| json(&row.requires_dist)))
        .texts("names", rows.iter().map(|row| json(&row.import_names)))
        .texts("modules", rows.iter().map(|row| json(&row.modules)))
        .texts("tags", rows.iter().map(|row| json(&row.tags)));
    let bulk = &bulk;
    let filled: Result<(), DbError> = transact!(db, |tx| {
        let insert = sql!(
            "INSERT INTO pypi_files (change_seq, unnumbered, project, version, filename, kind, url,
                size, sha256, requires_python, removed, quarantined, serial, extracted,
                extractor_version, requires_dist, extras, import_names, modules, tags, warnings,
                first_seen, changed_at)
             SELECT r.seq, FALSE, r.project, r.version, r.filename, 'wheel', r.url, 123456,
                r.sha256, '>=3.9', FALSE, FALSE, r.seq, 'ok', 1, r.requires, '[]', r.names,
                r.modules, r.tags, '[]', $1, $1
             FROM {rows}",
            now
        );
        tx.execute_bulk(insert, bulk.clone()).await?;
        Ok(())
    });
    filled?;
    Ok(())
}

/// A dump of rows with these numbers, as the collector writes them.
async fn write_dump(objects: &Objects, place: &Path, from: u64, to: u64) -> anyhow::Result<()> {
    let range = Range {
        from: i64::try_from(from)?,
        to: i64::try_from(to)?,
    };
    let mut shards = Vec::new();
    for first in (from + 1..=to).step_by(usize::try_from(SHARD)?) {
        let scratch = tempfile::tempdir_in(place)?;
        let mut writer = ShardWriter::create(scratch.path())?;
        for number in first..=to.min(first + SHARD - 1) {
            writer.push(row(number))?;
        }
        let number = u32::try_from(shards.len())?;
        shards.push(dumps::put_shard(objects, range, number, writer).await?);
    }
    Dump::of(range, shards).publish(objects).await?;
    Ok(())
}

async fn build(
    options: &Options,
    objects: &Objects,
    place: &Path,
    pass: &'static str,
) -> anyhow::Result<()> {
    let figure = Figure {
        pass: Some(pass),
        ..Figure::new("pypi", None)
    };
    forget_peak();
    let (cpu, began) = (cpu_seconds(), Instant::now());
    let updated = datasets::update(objects, &Workshop::new(place)).await?;
    let took = began.elapsed().as_secs_f64();
    let Updated::Published { manifest, rows, .. } = updated else {
        bail!("nothing was built: {updated:?}");
    };
    if pass == "full" && rows != options.rows {
        bail!("{rows} rows were read instead of {}", options.rows);
    }
    figure.print("dataset rows", rows as f64, "rows")?;
    figure.print("dataset build", took, "s")?;
    if let (Some(before), Some(after)) = (cpu, cpu_seconds()) {
        figure.print("dataset build cpu", after - before, "s")?;
    }
    if let Some((_, peak)) = memory() {
        figure.print("dataset build memory", peak, "bytes")?;
    }
    for (name, file) in &manifest.files {
        let figure = figure.of(name);
        figure.print("dataset size", file.bytes as f64, "bytes")?;
        figure.print("dataset keys", file.keys as f64, "keys")?;
    }
    Ok(())
}

async fn ask(options: &Options, objects: &Objects, place: &Path) -> anyhow::Result<()> {
    let figure = Figure::new("pypi", None);
    let Some(manifest) = datasets::newest(objects).await? else {
        bail!("there is no generation");
    };
    let mut opened = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let generation = Generation::open(objects, manifest.clone(), place).await?;
        opened.push(began.elapsed().as_secs_f64() * 1e3);
        drop(generation);
    }
    figure.print("open", median(&mut opened), "ms")?;
    let generation = Generation::open(objects, manifest, place).await?;
    // A walk that meets every project and is far from their order.
    let project = |step: u64| (step * 7_919) % (options.rows / FILES).max(1);
    let began = Instant::now();
    for step in 0..options.lookups {
        let name = format!("package{}.core", project(step));
        if generation.module(&name, 10)?.is_empty() {
            bail!("`{name}` was not found");
        }
    }
    let rate = |began: Instant| options.lookups as f64 / began.elapsed().as_secs_f64();
    figure.of("module").print("look-ups", rate(began), "/s")?;
    let began = Instant::now();
    for step in 0..options.lookups {
        let project = project(step);
        let key = format!("package-{project}\0package_{project}-1.0-py3-none-any.whl");
        if generation.datasets.depgraph.get(key.as_bytes())?.is_none() {
            bail!("`{key}` was not found");
        }
    }
    figure.of("file").print("look-ups", rate(began), "/s")?;
    Ok(())
}

/// The row with a number.
fn row(number: u64) -> DumpRow {
    let (project, file) = ((number - 1) / FILES, (number - 1) % FILES);
    let filename = format!("package_{project}-1.{file}-py3-none-any.whl");
    let module = |at: u64| match at {
        0 => format!("package{project}"),
        1 => format!("package{project}.core"),
        at => format!("package{project}.part{at}.module{}", (project * at) % 97),
    };
    // Some projects are required by many.
    let required = |at: u64| (project * 31 + at * at * 17) % (1 + project / (at + 1));
    let requirement = |at: u64| format!("package-{}>={at}.0,<{}", required(at), at + 2);
    DumpRow {
        url: format!("https://files.example.org/packages/{project:x}/{filename}"),
        filename,
        project: format!("package-{project}"),
        version: format!("1.{file}"),
        dist_type: "wheel".to_owned(),
        sha256: Some(format!(
            "{:064x}",
            u128::from(number) * 0x9E37_79B9_7F4A_7C15_F39C_C060
        )),
        requires_dist: (0..5).map(requirement).collect(),
        requires_python: Some(">=3.9".to_owned()),
        modules: (0..10).map(module).collect(),
        import_names: vec![module(0)],
        tags: vec!["py3-none-any".to_owned()],
        size: Some(123_456),
        serial: i64::try_from(number).ok(),
        extracted: "ok".to_owned(),
        extractor: Some(1),
        seq: i64::try_from(number).unwrap_or(i64::MAX),
        ..DumpRow::default()
    }
}
