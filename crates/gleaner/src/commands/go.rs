//! `gleaner go`: the Go index from the command line.

mod add;
mod lists;
mod remove;

use ::db::{DbError, transact};
use clap::{Args, Subcommand};
use collect::collector::Collector as _;
use engine::{Engine, Selection};
use store::goindex::{self, Status};

pub(crate) use self::add::{GROUP, follow};
use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// The feed of Go module versions: where they come from, and what became of each tag
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner go add --from https://github.com/owner
  gleaner go status")]
pub(crate) enum GoCommand {
    Add(add::AddArgs),
    Remove(remove::RemoveArgs),
    Status(StatusArgs),
    Modules(lists::ModulesArgs),
    Versions(lists::VersionsArgs),
    Rejected(lists::RejectedArgs),
    Events(lists::EventsArgs),
    Reindex(ReindexArgs),
}

/// Show how far the index is
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go status
  gleaner go status --format json")]
pub(crate) struct StatusArgs {}

/// Look at all tags of repositories again, those that named nothing too
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go reindex github.com/owner/name
  gleaner go reindex --all")]
pub(crate) struct ReindexArgs {
    /// Addresses, paths or numbers of repositories
    #[arg(required_unless_present = "all", value_name = "REPO")]
    repositories: Vec<String>,
    /// All of the index
    #[arg(long, conflicts_with = "repositories")]
    all: bool,
}

impl Row for Status {
    const COLUMNS: &'static [&'static str] = &[
        "repositories",
        "complete",
        "tags",
        "rejected",
        "modules",
        "versions",
        "waiting",
        "last_seq",
        "last_published",
        "events",
    ];
}

pub(crate) async fn run(session: &Session, command: GoCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        GoCommand::Add(args) => add::run(session, &engine, &args).await,
        GoCommand::Remove(args) => remove::run(session, &engine, &args).await,
        GoCommand::Status(_) => {
            let status = goindex::status(engine.db()).await?;
            session.printer.record(&status)?;
            Ok(Exit::Ok)
        }
        GoCommand::Modules(args) => lists::modules(session, engine.db(), &args).await,
        GoCommand::Versions(args) => lists::versions(session, engine.db(), &args).await,
        GoCommand::Rejected(args) => lists::rejected(session, engine.db(), &args).await,
        GoCommand::Events(args) => lists::events(session, engine.db(), &args).await,
        GoCommand::Reindex(args) => reindex(session, &engine, &args).await,
    }
}

async fn reindex(session: &Session, engine: &Engine, args: &ReindexArgs) -> Result<Exit> {
    let mut repositories = Vec::new();
    for text in &args.repositories {
        repositories.push(Some(repo::find(engine.db(), text).await?.id));
    }
    if args.all {
        repositories.push(None);
    }
    let chosen = &repositories;
    let forgotten: Result<Vec<i64>, DbError> = transact!(engine.db(), |tx| {
        let mut all = Vec::new();
        for repository in chosen {
            all.extend(goindex::forget_digest(tx, *repository).await?);
        }
        Ok(all)
    });
    let forgotten = forgotten?;
    if forgotten.is_empty() {
        let message = "none of these repositories is in the Go index";
        return Err(Failure::new(&codes::NOT_FOUND, message)
            .hint("`gleaner go add ADDRESS` puts one there"));
    }
    let mut units = Vec::new();
    for id in &forgotten {
        let name = format!("{}:{id}", collect::goindex::GoTags::NAME);
        units.extend(engine.find(&name).await?);
    }
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    engine.run_now(&which, false).await?;
    session
        .printer
        .note(&format!("{} will be looked at again", forgotten.len()));
    Ok(Exit::Ok)
}
