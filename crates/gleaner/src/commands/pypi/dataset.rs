//! `gleaner pypi dataset`: build, list, verify and collect generations of datasets.

use clap::{Args, Subcommand};
use collect::{collector::Collector as _, pypi};
use serde::Serialize;
use store::{
    datasets::{self, DatasetError, Generation, Manifest},
    objects::Objects,
};

use super::dump;
use crate::{
    error::{Exit, Failure, Result, codes},
    objects::{self, failed},
    printer::Row,
    session::Session,
};

/// Build and look after the datasets of the Python index
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner pypi dataset build
  gleaner pypi dataset list")]
pub(crate) enum DatasetCommand {
    Build(BuildArgs),
    List(ListArgs),
    Verify(VerifyArgs),
    Gc(GcArgs),
}

/// Build the next generation from new dumps
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi dataset build
  gleaner pypi dataset build --anew")]
pub(crate) struct BuildArgs {
    /// From the dumps alone, whatever is there
    #[arg(long)]
    anew: bool,
    /// Leave the work to those who work already
    #[arg(long)]
    later: bool,
}

/// List generations
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi dataset list
  gleaner pypi dataset list --format json")]
pub(crate) struct ListArgs {}

/// Read a generation whole and hold it against its checksums
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi dataset verify
  gleaner pypi dataset verify 41")]
pub(crate) struct VerifyArgs {
    /// Which; the newest without it
    #[arg(value_name = "GENERATION")]
    generation: Option<u64>,
}

/// Remove generations, files and dumps that nobody needs
///
/// The newest generations stay, and those that somebody reads. What is younger than two hours stays
/// as well: it may belong to something that is not published yet.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi dataset gc --dry-run
  gleaner pypi dataset gc --keep 5")]
pub(crate) struct GcArgs {
    /// How many of the newest generations stay
    #[arg(long, value_name = "N", default_value_t = 3)]
    keep: usize,
    /// Count and remove nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct GenerationRow {
    generation: u64,
    up_to: i64,
    inputs: usize,
    serial_from: Option<i64>,
    serial_to: Option<i64>,
    extractor_from: Option<i64>,
    extractor_to: Option<i64>,
    files: u64,
    modules: u64,
    dependents: u64,
    bytes: u64,
}

impl Row for GenerationRow {
    const COLUMNS: &'static [&'static str] = &[
        "generation",
        "up_to",
        "inputs",
        "serial_from",
        "serial_to",
        "extractor_from",
        "extractor_to",
        "files",
        "modules",
        "dependents",
        "bytes",
    ];
}

#[derive(Serialize)]
struct VerifiedRow {
    generation: u64,
    dataset: String,
    keys: u64,
    bytes: u64,
    sha256: String,
    state: &'static str,
    error: Option<String>,
}

impl Row for VerifiedRow {
    const COLUMNS: &'static [&'static str] = &[
        "generation",
        "dataset",
        "keys",
        "bytes",
        "sha256",
        "state",
        "error",
    ];
}

#[derive(Serialize)]
struct CollectedRow {
    generations: Vec<u64>,
    files: u64,
    dump_files: u64,
    pins: u64,
    bytes: u64,
    dry_run: bool,
}

impl Row for CollectedRow {
    const COLUMNS: &'static [&'static str] = &[
        "generations",
        "files",
        "dump_files",
        "pins",
        "bytes",
        "dry_run",
    ];
}

pub(super) async fn run(session: &Session, command: DatasetCommand) -> Result<Exit> {
    match command {
        DatasetCommand::Build(args) => build(session, &args).await,
        DatasetCommand::List(_) => list(session).await,
        DatasetCommand::Verify(args) => verify(session, args.generation).await,
        DatasetCommand::Gc(args) => gc(session, &args).await,
    }
}

async fn build(session: &Session, args: &BuildArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let store = objects::open(session)?;
    let ranges = store::dumps::ranges(&store).await;
    let ranges = ranges.map_err(|error| failed(error.into()))?;
    if store::dumps::chain(&ranges).is_empty() {
        return Err(failed(store::dumps::DumpError::NoFullDump.into()));
    }
    let unit = if args.anew {
        pypi::dataset::anew()
    } else {
        pypi::dataset::unit()
    };
    if args.later {
        engine.enqueue(vec![unit.now()]).await?;
        session.printer.note("the datasets are enqueued");
        return Ok(Exit::Ok);
    }
    dump::work(session, &engine, unit, &[pypi::PypiDataset::NAME]).await?;
    match datasets::newest(&store).await.map_err(failed)? {
        Some(manifest) => session.printer.record(&row(&manifest))?,
        None => return Err(none_yet()),
    }
    Ok(Exit::Ok)
}

async fn list(session: &Session) -> Result<Exit> {
    let store = objects::open(session)?;
    let mut list = session.printer.list::<GenerationRow>()?;
    for number in datasets::generations(&store).await.map_err(failed)? {
        if let Some(manifest) = Manifest::read(&store, number).await.map_err(failed)? {
            list.push(&row(&manifest))?;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

async fn verify(session: &Session, number: Option<u64>) -> Result<Exit> {
    let store = objects::open(session)?;
    let manifest = match number {
        Some(number) => Manifest::read(&store, number).await.map_err(failed)?,
        None => datasets::newest(&store).await.map_err(failed)?,
    };
    let manifest = manifest.ok_or_else(none_yet)?;
    // Checks that its parts belong together, and repairs what its builder may not have come to.
    datasets::write_input_list(&store, &manifest)
        .await
        .map_err(failed)?;
    let mut list = session.printer.list::<VerifiedRow>()?;
    let mut is_whole = true;
    for (name, file) in &manifest.files {
        let checked = check(&store, &file.name, &file.sha256, file.keys).await;
        is_whole &= checked.is_ok();
        list.push(&VerifiedRow {
            generation: manifest.generation,
            dataset: name.clone(),
            keys: file.keys,
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            state: if checked.is_ok() { "ok" } else { "damaged" },
            error: checked.err().map(|error| error.to_string()),
        })?;
    }
    list.finish()?;
    Ok(if is_whole { Exit::Ok } else { Exit::Data })
}

/// Reads every value of a file, and hashes it whole.
async fn check(
    store: &Objects,
    name: &str,
    sha256: &str,
    keys: u64,
) -> std::result::Result<(), DatasetError> {
    let copy = tempfile::NamedTempFile::new()?;
    let path = match store.local_file(name) {
        Some(path) => path,
        None if store.fetch(name, copy.path()).await? => copy.path().to_owned(),
        None => return Err(store::dumps::DumpError::Missing(name.to_owned()).into()),
    };
    let (sha256, found) = (sha256.to_owned(), path.clone());
    let checked = tokio::task::spawn_blocking(move || {
        if datasets::hash(&found)? != sha256 {
            let what = "its SHA-256 is not the one that its manifest tells";
            return Err(DatasetError::Corrupt(what.to_owned()));
        }
        let count = datasets::Dataset::open(&found)?.verify()?;
        if count != keys {
            let what = format!("it has {count} keys instead of {keys}");
            return Err(DatasetError::Corrupt(what));
        }
        Ok(())
    });
    checked.await.map_err(std::io::Error::from)?
}

async fn gc(session: &Session, args: &GcArgs) -> Result<Exit> {
    let store = objects::open(session)?;
    let now = crate::clock::clock()?.now();
    let collected = datasets::collect(&store, args.keep, now, !args.dry_run).await;
    let collected = collected.map_err(failed)?;
    session.printer.record(&CollectedRow {
        generations: collected.generations,
        files: collected.files,
        dump_files: collected.dump_files,
        pins: collected.pins,
        bytes: collected.bytes,
        dry_run: args.dry_run,
    })?;
    Ok(Exit::Ok)
}

fn row(manifest: &Manifest) -> GenerationRow {
    let keys = |name: &str| manifest.files.get(name).map_or(0, |file| file.keys);
    GenerationRow {
        generation: manifest.generation,
        up_to: manifest.up_to(),
        inputs: manifest.inputs.len(),
        serial_from: manifest.serials.map(|serials| serials.0),
        serial_to: manifest.serials.map(|serials| serials.1),
        extractor_from: manifest.extractors.map(|extractors| extractors.0),
        extractor_to: manifest.extractors.map(|extractors| extractors.1),
        files: keys("depgraph"),
        modules: keys("modules"),
        dependents: keys("dependents"),
        bytes: manifest.files.values().map(|file| file.bytes).sum(),
    }
}

/// The newest generation, pinned.
pub(super) async fn newest(session: &Session) -> Result<Generation> {
    let store = objects::open(session)?;
    let manifest = datasets::newest(&store).await.map_err(failed)?;
    let manifest = manifest.ok_or_else(none_yet)?;
    let copies = session.settings()?.home.join("cache/datasets");
    let opened = Generation::open(&store, manifest, &copies).await;
    opened.map_err(failed)
}

fn none_yet() -> Failure {
    Failure::new(&codes::NOT_FOUND, "there is no such generation of datasets")
        .hint("`gleaner pypi dataset list` shows what there is; `gleaner pypi dump --full` makes a first one")
}
