//! `gleaner pypi lookup`: who has a module, what a project requires, and who requires it.

use clap::{Args, Subcommand};
use serde::Serialize;
use store::datasets::Generation;

use super::dataset::newest;
use crate::{
    error::{Exit, Failure, Result, codes},
    objects::failed,
    printer::Row,
    session::Session,
};

/// Look up import names and requirements in the newest datasets
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner pypi lookup module yaml
  gleaner pypi lookup deps flask --version 3.0.0")]
pub(crate) enum LookupCommand {
    Module(ModuleArgs),
    Deps(DepsArgs),
}

/// Tell which projects and versions have a module
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi lookup module yaml
  gleaner pypi lookup module google.cloud --prefix")]
pub(crate) struct ModuleArgs {
    /// The name, as it is imported
    name: String,
    /// List import names that begin so
    #[arg(long)]
    prefix: bool,
    /// List import names that are spelled much like it
    #[arg(long, conflicts_with = "prefix")]
    similar: bool,
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Tell what a project requires, or who requires it
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi lookup deps flask --version 3.0.0
  gleaner pypi lookup deps flask --reverse --limit 50")]
pub(crate) struct DepsArgs {
    /// The project
    name: String,
    /// Only this version; without it all of them
    #[arg(long, value_name = "VERSION", conflicts_with = "reverse")]
    version: Option<String>,
    /// Who requires it
    #[arg(long)]
    reverse: bool,
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// With --reverse: behind this project
    #[arg(long, value_name = "PROJECT", requires = "reverse")]
    after: Option<String>,
}

#[derive(Serialize)]
struct ProviderRow {
    name: String,
    project: String,
    latest: Option<String>,
    versions: Vec<String>,
    yanked: Vec<String>,
    data_version: u64,
}

impl Row for ProviderRow {
    const COLUMNS: &'static [&'static str] = &[
        "name",
        "project",
        "latest",
        "versions",
        "yanked",
        "data_version",
    ];
}

#[derive(Serialize)]
struct NameRow {
    name: String,
    data_version: u64,
}

impl Row for NameRow {
    const COLUMNS: &'static [&'static str] = &["name", "data_version"];
}

#[derive(Serialize)]
struct FileRow {
    project: String,
    version: String,
    filename: String,
    dist_type: String,
    requires_python: Option<String>,
    requires_dist: Vec<String>,
    extras: Vec<String>,
    tags: Vec<String>,
    sha256: Option<String>,
    yanked: Option<String>,
    extracted: String,
    data_version: u64,
}

impl Row for FileRow {
    const COLUMNS: &'static [&'static str] = &[
        "project",
        "version",
        "filename",
        "dist_type",
        "requires_python",
        "requires_dist",
        "extras",
        "tags",
        "sha256",
        "yanked",
        "extracted",
        "data_version",
    ];
    const TABLE: &'static [&'static str] =
        &["version", "filename", "requires_python", "requires_dist"];
}

pub(super) async fn run(session: &Session, command: LookupCommand) -> Result<Exit> {
    let generation = newest(session).await?;
    match command {
        LookupCommand::Module(args) => module(session, &generation, &args),
        LookupCommand::Deps(args) if args.reverse => dependents(session, &generation, &args),
        LookupCommand::Deps(args) => dependencies(session, &generation, &args),
    }
}

fn module(session: &Session, generation: &Generation, args: &ModuleArgs) -> Result<Exit> {
    let data_version = generation.number();
    if args.prefix || args.similar {
        let names = if args.prefix {
            generation.modules_like(&args.name, args.limit)
        } else {
            let found = generation.similar_modules(&args.name, args.limit);
            found.map_err(failed)?
        };
        let mut list = session.printer.list::<NameRow>()?;
        let count = names.len();
        for name in names {
            list.push(&NameRow { name, data_version })?;
        }
        list.finish()?;
        return Ok(found_any(count));
    }
    let found = generation.module(&args.name, args.limit).map_err(failed)?;
    if found.is_empty() {
        let mut failure = Failure::new(
            &codes::NOT_FOUND,
            format!("no project has a module `{}`", args.name),
        );
        let similar = generation
            .similar_modules(&args.name, 3)
            .unwrap_or_default();
        if !similar.is_empty() {
            failure = failure.hint(format!("there is {}", similar.join(", ")));
        }
        return Err(failure);
    }
    let mut list = session.printer.list::<ProviderRow>()?;
    for one in found {
        list.push(&ProviderRow {
            name: args.name.clone(),
            project: one.project,
            latest: one.versions.last().cloned(),
            versions: one.versions,
            yanked: one.yanked,
            data_version,
        })?;
    }
    list.finish()?;
    Ok(Exit::Ok)
}

fn dependencies(session: &Session, generation: &Generation, args: &DepsArgs) -> Result<Exit> {
    let files = generation.files(&args.name, args.version.as_deref());
    let files = files.map_err(failed)?;
    if files.is_empty() {
        let version = args.version.as_ref();
        let version = version.map(|version| format!(" {version}"));
        let message = format!(
            "there is no file of `{}`{}",
            args.name,
            version.unwrap_or_default()
        );
        return Err(Failure::new(&codes::NOT_FOUND, message));
    }
    let mut list = session.printer.list::<FileRow>()?;
    for file in files.into_iter().take(args.limit) {
        let record = file.record;
        list.push(&FileRow {
            project: file.project,
            version: record.version,
            filename: file.filename,
            dist_type: record.dist_type,
            requires_python: record.requires_python,
            requires_dist: record.requires_dist,
            extras: record.extras,
            tags: record.tags,
            sha256: record.sha256,
            yanked: record.yanked,
            extracted: record.extracted,
            data_version: generation.number(),
        })?;
    }
    list.finish()?;
    Ok(Exit::Ok)
}

fn dependents(session: &Session, generation: &Generation, args: &DepsArgs) -> Result<Exit> {
    let found = generation.dependents(&args.name, args.after.as_deref(), args.limit);
    let found = found.map_err(failed)?;
    let mut list = session.printer.list::<ProviderRow>()?;
    let count = found.len();
    for one in found {
        list.push(&ProviderRow {
            name: args.name.clone(),
            project: one.project,
            latest: one.versions.last().cloned(),
            versions: one.versions,
            yanked: one.yanked,
            data_version: generation.number(),
        })?;
    }
    list.finish()?;
    Ok(found_any(count))
}

fn found_any(count: usize) -> Exit {
    if count == 0 { Exit::Nothing } else { Exit::Ok }
}
