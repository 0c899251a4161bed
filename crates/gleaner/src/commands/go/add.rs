//! `gleaner go add`: which repositories the index is made of.

use std::path::PathBuf;

use ::db::{Tx, transact};
use clap::Args;
use collect::{goindex as round, organisation::OwnerAddress};
use engine::{Engine, Enqueue, EnqueueError};
use facts::{group::GroupName, repository::RepositoryUrl};
use store::{
    goindex,
    group_sources::{self, Wanted},
    groups,
    repositories::{self, NewRepository},
};

use crate::{
    commands::{group, repo},
    error::{Exit, Result},
    session::Session,
};

/// The group that holds what owners of the index have.
pub(crate) const GROUP: &str = "go-index";

/// Repositories in one transaction, each with its work.
const BATCH: usize = 500;

/// Have the tags of repositories read, one by one or all of an owner
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go add --from https://github.com/owner
  gleaner go add --from server:git.example.org
  gleaner go add --from 'search:github.com language:go org:owner'
  gleaner go add https://git.example.org/tools.git
  gleaner go add --file repositories.txt")]
pub(crate) struct AddArgs {
    /// Addresses, or paths of local git repositories
    #[arg(required_unless_present_any = ["from", "file"], value_name = "REPO")]
    repositories: Vec<String>,
    /// All repositories of a user, an organisation or a group on a forge, now and later; or
    /// `server:HOST` for all there are, `installation:HOST` for what a GitHub App was given,
    /// `search:HOST QUERY` for what a search on GitHub finds
    #[arg(long, value_name = "OWNER")]
    from: Vec<String>,
    /// Without their forks
    #[arg(long, requires = "from")]
    no_forks: bool,
    /// A file of addresses, one per line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) async fn run(session: &Session, engine: &Engine, args: &AddArgs) -> Result<Exit> {
    // Everything is read before anything is changed.
    let addresses = args.repositories.iter().map(|text| repo::address(text));
    let mut addresses = addresses.collect::<Result<Vec<RepositoryUrl>>>()?;
    if let Some(file) = &args.file {
        addresses.extend(repo::read_addresses(session, file)?);
    }
    let owners = args.from.iter().map(|text| group::parse_owner(text));
    let owners = owners.collect::<Result<Vec<OwnerAddress>>>()?;

    let mut new = 0;
    for batch in addresses.chunks(BATCH) {
        new += add(engine, batch).await?;
    }
    if !addresses.is_empty() {
        let known = addresses.len() - usize::try_from(new).unwrap_or(addresses.len());
        let note = format!("{new} added to the Go index, {known} there already");
        session.printer.note(&note);
    }
    let wanted = Wanted {
        forks: !args.no_forks,
        archived: true,
    };
    for owner in &owners {
        follow(engine, owner, wanted, true).await?;
        let note = format!("the Go index follows {} on {}", owner.shown(), owner.host);
        session.printer.note(&note);
    }
    Ok(Exit::Ok)
}

async fn add(engine: &Engine, addresses: &[RepositoryUrl]) -> Result<u64> {
    let new: Vec<NewRepository> = addresses.iter().cloned().map(NewRepository::from).collect();
    let (new, now) = (&new, engine.clock().now());
    let added: Result<u64, EnqueueError> = transact!(engine.db(), |tx| {
        let added = repositories::add_batch(tx, new, now).await?;
        let ids: Vec<i64> = added.iter().map(|added| added.id()).collect();
        let units: Vec<Enqueue> = ids
            .iter()
            .zip(new)
            // Now: it may have been taken out before.
            .map(|(id, new)| round::tags_unit(*id, &new.url).now())
            .collect();
        enter(tx, &ids, &units, now).await
    });
    Ok(added?)
}

async fn enter(
    tx: &mut Tx,
    ids: &[i64],
    units: &[Enqueue],
    now: ::db::Timestamp,
) -> Result<u64, EnqueueError> {
    let entered = goindex::enter(tx, ids, now).await?;
    engine::enqueue_in(tx, units, now).await?;
    Ok(entered)
}

/// Lets the index follow an owner; tells whether that is new.
pub(crate) async fn follow(
    engine: &Engine,
    owner: &OwnerAddress,
    wanted: Wanted,
    at_once: bool,
) -> Result<bool> {
    let name: GroupName = group::parse_name(GROUP)?;
    let (name, now) = (&name, engine.clock().now());
    let attached: Result<bool, EnqueueError> = transact!(engine.db(), |tx| {
        let group = groups::create(tx, name, now).await?.id();
        let OwnerAddress { host, owner, .. } = owner;
        let source = group_sources::attach(tx, group, host, owner, wanted, now).await?;
        let unit = round::list_unit(source.id(), host);
        let unit = if at_once { unit.now() } else { unit };
        engine::enqueue_in(tx, &[unit], now).await?;
        Ok(source.is_new())
    });
    Ok(attached?)
}
