//! `gleaner pypi`: a Python index, dumps and datasets of it, and single distributions, which need no
//! database.

mod crawl;
mod dataset;
mod dump;
mod lookup;
mod remote;
mod shown;

use std::{
    fmt::Display,
    fs::File,
    io::{self, Read as _, Seek as _},
    path::Path,
};

use clap::{Args, Subcommand};
use scan::python::{
    Distribution, EXTRACTOR_VERSION, FileKind, Limits, ReadError, Refusal, SeekSource,
    read_distribution,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Crawl a Python index, dump it, look it up; read distributions
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner pypi crawl --full
  gleaner pypi status
  gleaner pypi file requests-2.32.3-py3-none-any.whl
  gleaner pypi file https://host/path/six-1.16.0-py2.py3-none-any.whl --format json")]
pub(crate) enum PypiCommand {
    Crawl(crawl::CrawlArgs),
    Status(shown::StatusArgs),
    Show(shown::ShowArgs),
    Reprocess(shown::ReprocessArgs),
    File(FileArgs),
    Dump(dump::DumpArgs),
    #[command(subcommand)]
    Dataset(dataset::DatasetCommand),
    #[command(subcommand)]
    Lookup(lookup::LookupCommand),
}

/// Read a wheel, an egg or a source distribution, and show what it requires and provides
///
/// Of a wheel at an address only the parts that tell are fetched, if its server gives parts; then
/// its hash stays unknown. A `#sha256=…` behind the address is held against what was fetched whole.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi file requests-2.32.3-py3-none-any.whl --format json
  gleaner pypi file https://host/path/six-1.16.0-py2.py3-none-any.whl")]
pub(crate) struct FileArgs {
    /// The file, on this machine or at an address; its name tells its kind, as on an index
    #[arg(value_name = "PATH|URL")]
    file: String,
}

#[derive(Serialize)]
struct DistributionRow {
    filename: String,
    kind: &'static str,
    name: String,
    version: String,
    requires_python: Option<String>,
    requires_dist: Vec<String>,
    extras: Vec<String>,
    dynamic: Vec<String>,
    modules: Vec<String>,
    import_names: Vec<String>,
    entry_points: Vec<EntryPointRow>,
    /// None if only parts of the file were fetched.
    sha256: Option<String>,
    size: u64,
    /// How much of the file was needed, apart from its hash; or how much was fetched.
    bytes_read: u64,
    extractor: u32,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct EntryPointRow {
    group: String,
    name: String,
    target: String,
}

impl Row for DistributionRow {
    const COLUMNS: &'static [&'static str] = &[
        "filename",
        "kind",
        "name",
        "version",
        "requires_python",
        "requires_dist",
        "extras",
        "dynamic",
        "modules",
        "import_names",
        "entry_points",
        "sha256",
        "size",
        "bytes_read",
        "extractor",
        "warnings",
    ];
}

pub(crate) async fn run(session: &Session, command: PypiCommand) -> Result<Exit> {
    match command {
        PypiCommand::Crawl(args) => crawl::run(session, &session.engine().await?, &args).await,
        PypiCommand::Status(args) => shown::status(session, &session.engine().await?, &args).await,
        PypiCommand::Show(args) => shown::show(session, &session.engine().await?, &args).await,
        PypiCommand::Reprocess(args) => {
            shown::reprocess(session, &session.engine().await?, &args).await
        }
        PypiCommand::File(args) => file(session, &args).await,
        PypiCommand::Dump(args) => dump::run(session, &args).await,
        PypiCommand::Dataset(command) => dataset::run(session, command).await,
        PypiCommand::Lookup(command) => lookup::run(session, command).await,
    }
}

async fn file(session: &Session, args: &FileArgs) -> Result<Exit> {
    let row = if remote::is_address(&args.file) {
        remote::read(session, &args.file).await?
    } else {
        read(Path::new(&args.file))?
    };
    session.printer.record(&row)?;
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<DistributionRow> {
    let unreadable = |error: &io::Error| Failure::unreadable(path, error);
    let filename = path.file_name().unwrap_or_default().to_string_lossy();
    let mut file = File::open(path).map_err(|error| unreadable(&error))?;
    let (sha256, size) = hash(&mut file).map_err(|error| unreadable(&error))?;
    let mut source = SeekSource::new(file).map_err(|error| unreadable(&error))?;
    let read = read_distribution(&filename, None, &mut source, &Limits::default());
    let read = read.map_err(|error| refused(&path.display(), &error))?;
    Ok(row(filename.into_owned(), &read, Some(sha256), size))
}

/// The whole file goes through here once, so that the hash can be held against the index's.
fn hash(file: &mut File) -> io::Result<(String, u64)> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        size += read as u64;
    }
    file.rewind()?;
    Ok((facts::hex::lower(digest.finalize()), size))
}

fn refused(path: &dyn Display, error: &ReadError) -> Failure {
    match error {
        ReadError::Refused(kind @ (Refusal::UnknownKind(_) | Refusal::Installer(_))) => {
            Failure::new(&codes::FILE, format!("`{path}` is no distribution that is read"))
                .caused_by(kind)
                .hint("wheels end in .whl, eggs in .egg, sources in .tar.gz, .zip and the like, with name and version before")
        }
        error => {
            let message = format!("`{path}` cannot be read as a distribution");
            Failure::new(&codes::DAMAGED, message).caused_by(error)
        }
    }
}

fn row(
    filename: String,
    read: &Distribution,
    sha256: Option<String>,
    size: u64,
) -> DistributionRow {
    let kind = match read.filename.kind {
        FileKind::Wheel(_) => "wheel",
        FileKind::Egg { .. } => "egg",
        FileKind::Sdist(_) => "sdist",
        FileKind::Installer(_) => "installer",
    };
    let entry_points = read.entry_points.iter().map(|point| EntryPointRow {
        group: point.group.clone(),
        name: point.name.clone(),
        target: point.target.clone(),
    });
    DistributionRow {
        filename,
        kind,
        name: read.name().to_owned(),
        version: read.version().to_owned(),
        requires_python: read.metadata.requires_python.clone(),
        requires_dist: read.requires_dist.clone(),
        extras: read.extras.clone(),
        dynamic: read.metadata.dynamic.clone(),
        modules: read.importable().map(str::to_owned).collect(),
        import_names: read.import_names(),
        entry_points: entry_points.collect(),
        sha256,
        size,
        bytes_read: read.bytes_read,
        extractor: EXTRACTOR_VERSION,
        warnings: read.warnings.iter().map(ToString::to_string).collect(),
    }
}
