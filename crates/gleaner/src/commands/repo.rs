//! `gleaner repo`: the repositories that are watched.

mod add;
mod find;
mod foundation;
mod show;

use std::path::PathBuf;

use ::db::{Db, DbError, transact};
use clap::{Args, Subcommand};
use store::repositories::{self, Filter, Repository};

pub(super) use add::{add_batch, read_addresses};
pub(crate) use find::find;
pub(super) use find::{address, plain_directory};

use crate::{
    commands::group,
    error::{Exit, Result},
    printer::Row,
    rounds,
    session::Session,
};

/// Rows that are read at once; lists are written as they are read.
const PAGE: usize = 1000;

/// Add, list and look at repositories
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner repo add https://github.com/owner/name
  gleaner repo show github.com/owner/name")]
pub(crate) enum RepoCommand {
    Add(AddArgs),
    Import(ImportArgs),
    LoadFoundation(foundation::FoundationArgs),
    List(ListArgs),
    Show(ShowArgs),
    Remove(RemoveArgs),
    Archive(ArchiveArgs),
}

/// Watch repositories from now on
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo add https://github.com/owner/name
  gleaner repo add ./my-checkout --group mine")]
pub(crate) struct AddArgs {
    /// Addresses, or paths of local git repositories
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
    /// Also put them into this group
    #[arg(long)]
    group: Option<String>,
}

/// Watch all repositories of a file: one address per line, `#` begins a comment
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo import repositories.txt
  gleaner repo import - --group mine")]
pub(crate) struct ImportArgs {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Also put them into this group
    #[arg(long)]
    group: Option<String>,
}

/// List repositories
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo list
  gleaner repo list --group mine --format csv")]
pub(crate) struct ListArgs {
    /// Only those of this group
    #[arg(long)]
    group: Option<String>,
    /// Only those on this host
    #[arg(long)]
    host: Option<String>,
    /// Only those with this text in owner or name
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only archived ones
    #[arg(long)]
    archived: bool,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Show everything that is known about a repository
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo show github.com/owner/name
  gleaner repo show 7 --format json")]
pub(crate) struct ShowArgs {
    /// Its address, path or number
    #[arg(value_name = "REPO")]
    repository: String,
}

/// Stop watching repositories and forget what was found
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo remove github.com/owner/name
  gleaner repo remove 7 8")]
pub(crate) struct RemoveArgs {
    /// Addresses, paths or numbers
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
}

/// Mark repositories as archived: they are kept and no longer scanned
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo archive github.com/owner/name
  gleaner repo archive 7 --undo")]
pub(crate) struct ArchiveArgs {
    /// Addresses, paths or numbers
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
    /// Scan them again
    #[arg(long)]
    undo: bool,
}

impl Row for Repository {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "forge",
        "host",
        "owner",
        "name",
        "url",
        "forge_id",
        "local",
        "archived",
        "default_branch",
        "added_at",
        "gone_at",
    ];
    const TABLE: &'static [&'static str] = &["id", "url", "archived", "added_at", "gone_at"];
}

pub(crate) async fn run(session: &Session, command: RepoCommand) -> Result<Exit> {
    match command {
        RepoCommand::Add(args) => add::add(session, args).await,
        RepoCommand::Import(args) => add::import(session, args).await,
        RepoCommand::LoadFoundation(args) => foundation::run(session, &args).await,
        RepoCommand::List(args) => {
            let (db, _) = session.open().await?;
            let group = match &args.group {
                Some(name) => Some(group::find(&db, name).await?.id),
                None => None,
            };
            let filter = Filter {
                host: args.host,
                text: args.search,
                archived: args.archived.then_some(true),
                group,
                ..Filter::default()
            };
            list(session, &db, filter, args.limit).await
        }
        RepoCommand::Show(args) => show::show(session, &args.repository).await,
        RepoCommand::Remove(args) => remove(session, args).await,
        RepoCommand::Archive(args) => archive(session, args).await,
    }
}

/// Writes all repositories of a filter, page by page.
pub(super) async fn list(
    session: &Session,
    db: &Db,
    mut filter: Filter,
    limit: Option<usize>,
) -> Result<Exit> {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut list = session.printer.list()?;
    while left > 0 {
        let page = repositories::list(db, &filter, left.min(PAGE)).await?;
        for repository in &page.items {
            list.push(repository)?;
        }
        left -= page.items.len();
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

async fn remove(session: &Session, args: RemoveArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let found = find::all(engine.db(), &args.repositories).await?;
    for repository in found {
        // First the work, so that nothing writes about it while it goes.
        rounds::stop(&engine, repository.id).await?;
        repositories::remove(engine.db(), repository.id).await?;
        session
            .printer
            .note(&format!("{} is removed", repository.url));
    }
    Ok(Exit::Ok)
}

async fn archive(session: &Session, args: ArchiveArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let found = find::all(engine.db(), &args.repositories).await?;
    for repository in found {
        let (id, archived) = (repository.id, !args.undo);
        let changed: Result<bool, DbError> = transact!(engine.db(), |tx| {
            repositories::set_archived(tx, id, archived).await
        });
        let changed = changed?;
        if archived {
            rounds::stop(&engine, id).await?;
        } else {
            rounds::start(&engine, &repository, session.settings()?).await?;
        }
        let state = if archived { "archived" } else { "not archived" };
        let now = if changed { "now" } else { "already" };
        session
            .printer
            .note(&format!("{} is {now} {state}", repository.url));
    }
    Ok(Exit::Ok)
}
