//! `gleaner group`: named sets of repositories.

use ::db::{Clock, Db, DbError, transact};
use clap::{Args, Subcommand};
use collect::organisation::{self, OwnerAddress};
use engine::{Engine, EnqueueError, Selection};
use facts::group::GroupName;
use store::{
    MAX_ROWS,
    group_sources::{self, Wanted},
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
  gleaner group add mine github.com/owner/name
  gleaner group add mine --from https://github.com/owner")]
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

/// Put repositories into a group, or let it follow whoever owns them
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group add mine github.com/owner/name
  gleaner group add mine 7 8
  gleaner group add mine --from https://github.com/owner --no-forks")]
pub(crate) struct AddArgs {
    /// The group; with `--from` it is made if it is not there
    name: String,
    /// Addresses, paths or numbers of repositories that are watched already
    #[arg(required_unless_present = "from", value_name = "REPO")]
    repositories: Vec<String>,
    /// Keep up with all repositories of a user, an organisation or a group on a forge
    #[arg(long, value_name = "OWNER")]
    from: Vec<String>,
    /// Without their forks
    #[arg(long, requires = "from")]
    no_forks: bool,
    /// Without those that are archived
    #[arg(long, requires = "from")]
    no_archived: bool,
}

/// Take repositories out of a group, or remove the group itself
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group remove mine github.com/owner/name
  gleaner group remove mine --from https://github.com/owner
  gleaner group remove mine")]
pub(crate) struct RemoveArgs {
    /// The group
    name: String,
    /// Repositories to take out; without any, the group is removed and its repositories stay
    #[arg(value_name = "REPO")]
    repositories: Vec<String>,
    /// No longer keep up with this owner; what came that way leaves the group
    #[arg(long, value_name = "OWNER")]
    from: Vec<String>,
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
        GroupCommand::Add(args) => {
            if !args.from.is_empty() {
                follow(session, Engine::new(db.clone(), clock.clone()), &args).await?;
            }
            if !args.repositories.is_empty() {
                add(session, &db, &clock, &args).await?;
            }
        }
        GroupCommand::Remove(args) => {
            remove(session, &Engine::new(db, clock), &args).await?;
        }
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

/// Attaches owners, each with the unit that lists what it has.
async fn follow(session: &Session, engine: Engine, args: &AddArgs) -> Result<()> {
    let name = parse_name(&args.name)?;
    let owners = args.from.iter().map(|text| parse_owner(text));
    let owners = owners.collect::<Result<Vec<OwnerAddress>>>()?;
    let wanted = Wanted {
        forks: !args.no_forks,
        archived: !args.no_archived,
    };
    for owner in &owners {
        attach(&engine, &name, owner, wanted).await?;
        session.printer.note(&format!(
            "the group {} follows {} on {}",
            name.as_str(),
            owner.shown(),
            owner.host
        ));
    }
    Ok(())
}

/// Lets a group follow an owner; makes the group if it is not there.
pub(super) async fn attach(
    engine: &Engine,
    group: &GroupName,
    owner: &OwnerAddress,
    wanted: Wanted,
) -> Result<()> {
    let now = engine.clock().now();
    let attached: Result<(), EnqueueError> = transact!(engine.db(), |tx| {
        let group = groups::create(tx, group, now).await?.id();
        let OwnerAddress { host, owner, .. } = owner;
        let source = group_sources::attach(tx, group, host, owner, wanted, now).await?;
        // What is wanted may be otherwise than before.
        let unit = organisation::unit(source.id(), host).now();
        engine::enqueue_in(tx, &[unit], now).await?;
        Ok(())
    });
    Ok(attached?)
}

async fn remove(session: &Session, engine: &Engine, args: &RemoveArgs) -> Result<()> {
    let db = engine.db();
    let group = find(db, &args.name).await?;
    let id = group.id;
    if !args.from.is_empty() {
        unfollow(session, engine, &group, &args.from).await?;
        if args.repositories.is_empty() {
            return Ok(());
        }
    }
    if args.repositories.is_empty() {
        for source in group_sources::of_group(db, id).await? {
            call_off(engine, source.id).await?;
        }
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

async fn unfollow(
    session: &Session,
    engine: &Engine,
    group: &Group,
    owners: &[String],
) -> Result<()> {
    let db = engine.db();
    let sources = group_sources::of_group(db, group.id).await?;
    for text in owners {
        let owner = parse_owner(text)?;
        let same = |source: &&group_sources::Source| {
            source.host == owner.host && source.owner.eq_ignore_ascii_case(&owner.owner)
        };
        let source = sources.iter().find(same).map(|source| source.id);
        let Some(source) = source else {
            let message = format!("the group {} does not follow `{text}`", group.name);
            return Err(Failure::new(&codes::NOT_FOUND, message));
        };
        call_off(engine, source).await?;
        let detached: Result<bool, DbError> =
            transact!(db, |tx| group_sources::detach(tx, source).await);
        detached?;
        session.printer.note(&format!(
            "the group {} no longer follows {} on {}",
            group.name,
            owner.shown(),
            owner.host
        ));
    }
    Ok(())
}

/// Nobody lists the owner any more.
async fn call_off(engine: &Engine, source: i64) -> Result<()> {
    let unit = engine.find(&format!("organisation:{source}")).await?;
    let which = Selection {
        ids: Some(unit.into_iter().collect()),
        ..Selection::default()
    };
    engine.cancel(&which, false).await?;
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

pub(crate) fn parse_owner(text: &str) -> Result<OwnerAddress> {
    OwnerAddress::parse(text).map_err(|error| {
        Failure::new(
            &codes::REPOSITORY,
            format!("`{text}` is no owner's address"),
        )
        .caused_by(&error)
        .hint("write it as https://HOST/OWNER")
    })
}

async fn repository_ids(db: &Db, texts: &[String]) -> Result<Vec<i64>> {
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        ids.push(repo::find(db, text).await?.id);
    }
    Ok(ids)
}
