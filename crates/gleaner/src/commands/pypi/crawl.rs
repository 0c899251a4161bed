//! `gleaner pypi crawl`: what is to be read of the index.

use ::db::transact;
use clap::{ArgGroup, Args};
use collect::pypi::{self as round, IndexAddress};
use engine::{Engine, Enqueue, EnqueueError};
use scan::python::{is_valid_name, normalize_name};
use store::pypi::{self, DueProject};

use crate::{
    config,
    error::{Exit, Failure, Result, codes},
    outside::python_index::{self, Found},
    session::Session,
};

/// Projects in one transaction, each with its work.
const BATCH: usize = 1_000;

/// Have a Python index read: all of it, what changes from now on, or some projects
///
/// The work is put into the database; `gleaner serve` and `gleaner work` do it.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(true), before_help = "Examples:
  gleaner pypi crawl --full
  gleaner pypi crawl --full --sample 1000
  gleaner pypi crawl --follow
  gleaner pypi crawl --project requests --project flask")]
pub(crate) struct CrawlArgs {
    /// Every project that the index lists
    #[arg(long, group = "what")]
    full: bool,
    /// What changes from now on, for ever; a full crawl must have ended
    #[arg(long, group = "what")]
    follow: bool,
    /// One project; may be given several times
    #[arg(long, group = "what", value_name = "NAME", num_args = 1..)]
    project: Vec<String>,
    /// Only so many projects, the same ones every time
    #[arg(long, value_name = "N", requires = "full")]
    sample: Option<u32>,
    /// Take everything up to this serial for known, instead of a full crawl
    #[arg(
        long,
        value_name = "SERIAL",
        requires = "follow",
        conflicts_with = "full"
    )]
    baseline: Option<u32>,
}

pub(super) async fn run(session: &Session, engine: &Engine, args: &CrawlArgs) -> Result<Exit> {
    let found = index(session, engine).await?;
    let address = &found.address;
    let mut names = Vec::new();
    for name in &args.project {
        if !is_valid_name(name) {
            let message = format!("`{name}` cannot be the name of a project");
            return Err(Failure::new(&codes::NAME, message));
        }
        names.push(name.clone());
    }
    if args.follow && !args.full {
        let known = pypi::index(engine.db()).await?;
        if known.full_finished_at.is_none() && known.safe.is_none() && args.baseline.is_none() {
            let message = match known.full_began_at {
                Some(_) => "the full crawl has not ended yet",
                None => "there was no full crawl that could be followed on",
            };
            return Err(Failure::new(&codes::NOT_FOUND, message)
                .hint("`gleaner pypi crawl --full` reads all projects first")
                .hint("`--baseline SERIAL` takes everything up to that serial for known"));
        }
    }
    let now = engine.clock().now();
    if let Some(serial) = args.baseline {
        let set: Result<(), ::db::DbError> = transact!(engine.db(), |tx| {
            pypi::baseline(tx, i64::from(serial), now).await
        });
        set?;
    }
    if args.full {
        let sample = args.sample.map(|count| count as usize);
        let unit = round::crawl_unit(address, sample);
        engine.enqueue(vec![unit.now()]).await?;
        session
            .printer
            .note("all projects of the index will be read");
    }
    if args.follow {
        let units = round::follow_units(address).into_iter();
        engine.enqueue(units.map(Enqueue::now).collect()).await?;
        session
            .printer
            .note("what changes on the index will be read");
    }
    for batch in names.chunks(BATCH) {
        one_by_one(engine, address, batch).await?;
    }
    if !names.is_empty() {
        engine.enqueue(vec![round::number_unit()]).await?;
        let note = format!("{} projects will be read", names.len());
        session.printer.note(&note);
    }
    Ok(Exit::Ok)
}

async fn one_by_one(engine: &Engine, address: &IndexAddress, names: &[String]) -> Result<()> {
    let due: Vec<DueProject> = names
        .iter()
        .map(|name| DueProject {
            name: normalize_name(name),
            shown: name.clone(),
            required: 0,
        })
        .collect();
    let units: Vec<Enqueue> = due
        .iter()
        .map(|one| round::project_unit(address, &one.name).now())
        .collect();
    let (due, units, now) = (&due, &units, engine.clock().now());
    let done: Result<(), EnqueueError> = transact!(engine.db(), |tx| {
        pypi::due(tx, due, now).await?;
        engine::enqueue_in(tx, units, now).await?;
        Ok(())
    });
    Ok(done?)
}

/// The index, by the configuration, by pip's, or by pip itself; what pip itself says is remembered
/// for the processes that do the work.
async fn index(session: &Session, engine: &Engine) -> Result<Found> {
    if let Some(found) = python_index::find(session.settings()?, &config::environment())? {
        return Ok(found);
    }
    let found = tokio::task::spawn_blocking(python_index::usual_of_pip).await;
    let Some(mut found) = found.ok().flatten() else {
        return Err(Failure::new(
            &codes::CONFIG_VALUE,
            "nobody says which Python index to read",
        )
        .hint("set `index_url` under `[pypi]`, or PIP_INDEX_URL"));
    };
    found.address = found.address.by_host();
    let text = found.address.as_str().to_owned();
    let text = &text;
    let set: Result<(), ::db::DbError> =
        transact!(engine.db(), |tx| pypi::set_address(tx, text).await);
    set?;
    let note = format!("reading {text}, which {} names", found.said_by);
    session.printer.note(&note);
    Ok(found)
}

/// Where the index is, for work on files that are known.
pub(super) async fn known_address(session: &Session, engine: &Engine) -> Result<IndexAddress> {
    Ok(index(session, engine).await?.address)
}
