//! `gleaner pypi dump`: everything that is known of the files of the index, as objects.

use clap::Args;
use collect::{collector::Collector as _, pypi};
use engine::{Engine, Enqueue, State, UnitDetail};
use serde::Serialize;
use store::dumps::{self, Dump};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Exit, Failure, Result, codes},
    objects,
    printer::Row,
    rounds,
    session::Session,
};

/// Dump all that is known of files, or what has changed
///
/// Dumps are JSON and Parquet under `data_dumps/python_distribution_data`, in the place that
/// `[objects]` names. Datasets are built from them afterwards.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi dump --full --shards 256 --concurrency 4
  gleaner pypi dump")]
pub(crate) struct DumpArgs {
    /// Everything, as shards; without it what has changed, as one
    #[arg(long)]
    full: bool,
    /// Files that a full dump is made of
    #[arg(long, value_name = "N", default_value_t = pypi::dump::SHARDS, requires = "full",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(pypi::dump::MOST_SHARDS)))]
    shards: u32,
    /// Files that are written at once
    #[arg(long, value_name = "N", default_value_t = pypi::dump::CONCURRENCY, requires = "full",
        value_parser = clap::value_parser!(u32).range(1..=256))]
    concurrency: u32,
    /// Build no datasets afterwards
    #[arg(long)]
    no_datasets: bool,
    /// Leave the work to those who work already
    #[arg(long)]
    later: bool,
}

#[derive(Serialize)]
struct DumpRow {
    from: i64,
    to: i64,
    shards: usize,
    rows: u64,
    bytes: u64,
    directory: String,
}

impl Row for DumpRow {
    const COLUMNS: &'static [&'static str] =
        &["from", "to", "shards", "rows", "bytes", "directory"];
}

pub(super) async fn run(session: &Session, args: &DumpArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let store = objects::open(session)?;
    let ranges = dumps::ranges(&store).await;
    let before = ranges.map_err(|error| objects::failed(error.into()))?;
    let unit = if args.full {
        let to = store::pypi::last_seq(engine.db()).await?;
        if to == 0 {
            return Err(
                Failure::new(&codes::NOT_FOUND, "there is nothing to dump yet")
                    .hint("the files of an index become known by a crawl"),
            );
        }
        pypi::dump::full(to, args.shards, args.concurrency, !args.no_datasets)
    } else if dumps::chain(&before).is_empty() {
        return Err(objects::failed(dumps::DumpError::NoFullDump.into()));
    } else {
        pypi::dump::incremental(!args.no_datasets)
    };
    if args.later {
        engine.enqueue(vec![unit.now()]).await?;
        session.printer.note("the dump is enqueued");
        return Ok(Exit::Ok);
    }
    let kinds = if args.no_datasets {
        vec![pypi::PypiDump::NAME]
    } else {
        vec![pypi::PypiDump::NAME, pypi::PypiDataset::NAME]
    };
    work(session, &engine, unit, &kinds).await?;
    let after = dumps::ranges(&store).await;
    let after = after.map_err(|error| objects::failed(error.into()))?;
    let new = after.into_iter().filter(|range| !before.contains(range));
    let mut list = session.printer.list::<DumpRow>()?;
    let mut count = 0;
    for range in new {
        let dump = Dump::read(&store, range).await;
        if let Some(dump) = dump.map_err(|error| objects::failed(error.into()))? {
            list.push(&row(&dump, store.address(&range.directory())))?;
            count += 1;
        }
    }
    list.finish()?;
    if count == 0 {
        session
            .printer
            .note("nothing has changed since the last dump");
    }
    Ok(Exit::Ok)
}

fn row(dump: &Dump, directory: String) -> DumpRow {
    let files = dump.shards.iter();
    DumpRow {
        from: dump.range.from,
        to: dump.range.to,
        shards: dump.shards.len(),
        rows: dump.rows,
        bytes: files
            .map(|shard| shard.json.bytes + shard.parquet.bytes)
            .sum(),
        directory,
    }
}

/// Does a unit and what it brings, here and now, beside whoever else works.
pub(super) async fn work(
    session: &Session,
    engine: &Engine,
    unit: Enqueue,
    kinds: &[&str],
) -> Result<UnitDetail> {
    let name = format!("{}:{}", unit.kind(), unit.key());
    engine.enqueue(vec![unit.now()]).await?;
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let worker = rounds::worker(engine.clone(), session.settings()?, &kinds)?;
    Box::pin(worker.run_until_idle(CancellationToken::new())).await?;
    let found = match engine.find(&name).await? {
        Some(id) => engine.unit(id).await?,
        None => None,
    };
    match found {
        Some(detail) if detail.unit.state == State::Done => Ok(detail),
        _ => Err(Failure::new(
            &codes::UPSTREAM,
            format!("the unit {name} has not come to its end"),
        )
        .hint(format!(
            "`gleaner unit show {name}` and `gleaner unit why {name}` tell more"
        ))),
    }
}
