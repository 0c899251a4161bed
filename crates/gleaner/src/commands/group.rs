//! `gleaner group`: named sets of repositories.

use ::db::{Clock, Db, DbError, transact};
use clap::{Args, Subcommand};
use facts::group::GroupName;
use store::{
    MAX_ROWS,
    groups::{self, Group},
    repositories::Filter,
};

use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Make and look at groups of repositories
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner group create mine
  gleaner group add mine github.com/owner/name")]
pub(crate) enum GroupCommand {
    Create(CreateArgs),
    List(ListArgs),
    Show(ShowArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
}

/// Make a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group create mine
  gleaner group create apache")]
pub(crate) struct CreateArgs {
    /// Its name
    name: String,
}

/// List groups
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group list
  gleaner group list --format json")]
pub(crate) struct ListArgs {}

/// List the repositories of a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group show mine
  gleaner group show mine --format csv")]
pub(crate) struct ShowArgs {
    /// Its name
    name: String,
}

/// Put repositories into a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group add mine github.com/owner/name
  gleaner group add mine 7 8")]
pub(crate) struct AddArgs {
    /// The group
    name: String,
    /// Addresses, paths or numbers of repositories that are watched already
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
}

/// Take repositories out of a group, or remove the group itself
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group remove mine github.com/owner/name
  gleaner group remove mine")]
pub(crate) struct RemoveArgs {
    /// The group
    name: String,
    /// Repositories to take out; without any, the group is removed and its repositories stay
    #[arg(value_name = "REPO")]
    repositories: Vec<String>,
}

impl Row for Group {
    const COLUMNS: &'static [&'static str] = &["id", "name", "repositories", "added_at"];
}

pub(crate) async fn run(session: &Session, command: GroupCommand) -> Result<Exit> {
    let (db, clock) = session.open().await?;
    match command {
        GroupCommand::Create(args) => {
            let name = parse_name(&args.name)?;
            let (group, now) = (&name, clock.now());
            let made: Result<_, DbError> = transact!(db, |tx| groups::create(tx, group, now).await);
            let made = made?;
            let is = if made.is_new() {
                "made"
            } else {
                "there already"
            };
            session
                .printer
                .note(&format!("the group {} is {is}", name.as_str()));
        }
        GroupCommand::List(_) => session.printer.rows(&groups::list(&db).await?)?,
        GroupCommand::Show(args) => {
            let group = find(&db, &args.name).await?;
            let filter = Filter {
                group: Some(group.id),
                ..Filter::default()
            };
            return repo::list(session, &db, filter, None).await;
        }
        GroupCommand::Add(args) => add(session, &db, &clock, &args).await?,
        GroupCommand::Remove(args) => remove(session, &db, &args).await?,
    }
    Ok(Exit::Ok)
}

async fn add(session: &Session, db: &Db, clock: &Clock, args: &AddArgs) -> Result<()> {
    let group = find(db, &args.name).await?;
    let ids = repository_ids(db, &args.repositories).await?;
    let mut added = 0;
    for ids in ids.chunks(MAX_ROWS) {
        let (group, now) = (group.id, clock.now());
        let members: Result<u64, DbError> =
            transact!(db, |tx| groups::add_members(tx, group, ids, now).await);
        added += members?;
    }
    session
        .printer
        .note(&format!("{added} added to {}", group.name));
    Ok(())
}

async fn remove(session: &Session, db: &Db, args: &RemoveArgs) -> Result<()> {
    let group = find(db, &args.name).await?;
    let id = group.id;
    if args.repositories.is_empty() {
        let removed: Result<bool, DbError> = transact!(db, |tx| groups::remove(tx, id).await);
        removed?;
        session
            .printer
            .note(&format!("the group {} is removed", group.name));
        return Ok(());
    }
    let ids = repository_ids(db, &args.repositories).await?;
    let mut removed = 0;
    for ids in ids.chunks(MAX_ROWS) {
        let members: Result<u64, DbError> =
            transact!(db, |tx| groups::remove_members(tx, id, ids).await);
        removed += members?;
    }
    session
        .printer
        .note(&format!("{removed} taken out of {}", group.name));
    Ok(())
}

/// The group of that name.
pub(super) async fn find(db: &Db, name: &str) -> Result<Group> {
    groups::find(db, name).await?.ok_or_else(|| {
        Failure::new(&codes::NOT_FOUND, format!("there is no group `{name}`"))
            .hint("`gleaner group list` shows them, `gleaner group create` makes one")
    })
}

pub(super) fn parse_name(text: &str) -> Result<GroupName> {
    GroupName::parse(text).map_err(|error| {
        Failure::new(&codes::NAME, format!("`{text}` cannot name a group")).caused_by(&error)
    })
}

async fn repository_ids(db: &Db, texts: &[String]) -> Result<Vec<i64>> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        ids.push(repo::find(db, text).await?.id);
    }
    Ok(ids)
}
