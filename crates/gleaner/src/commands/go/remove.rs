//! `gleaner go remove`: what the index is no longer made of.

use ::db::{DbError, transact};
use clap::Args;
use collect::{collector::Collector as _, goindex as round};
use engine::{Engine, Selection};
use store::{goindex, group_sources, groups};

use super::add::GROUP;
use crate::{
    commands::{group, repo},
    error::{Exit, Failure, Result, codes},
    session::Session,
};

/// No longer read the tags of repositories; what they have published stays in the feed
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go remove github.com/owner/name
  gleaner go remove --from https://github.com/owner")]
pub(crate) struct RemoveArgs {
    /// Addresses, paths or numbers of repositories; they are read again when they are added again
    #[arg(required_unless_present = "from", value_name = "REPO")]
    repositories: Vec<String>,
    /// An owner, server, installation or search, with all repositories that came that way alone
    #[arg(long, value_name = "OWNER")]
    from: Vec<String>,
}

pub(super) async fn run(session: &Session, engine: &Engine, args: &RemoveArgs) -> Result<Exit> {
    let db = engine.db();
    // Everything is looked up before anything is changed.
    let mut ids = Vec::new();
    for text in &args.repositories {
        ids.push(repo::find(db, text).await?.id);
    }
    let mut sources = Vec::new();
    for text in &args.from {
        sources.push(find_source(engine, text).await?);
    }
    for source in sources {
        call_off(engine, &[format!("{}:{}", round::GoList::NAME, source.id)]).await?;
        let source = source.id;
        let left: Result<Vec<i64>, DbError> = transact!(db, |tx| {
            let alone = goindex::only_from(tx, source).await?;
            group_sources::detach(tx, source).await?;
            Ok(alone)
        });
        ids.extend(left?);
    }
    let mut removed = 0;
    for ids in ids.chunks(store::MAX_ROWS) {
        let left: Result<u64, DbError> = transact!(db, |tx| goindex::leave(tx, ids).await);
        removed += left?;
        let units: Vec<String> = ids
            .iter()
            .map(|id| format!("{}:{id}", round::GoTags::NAME))
            .collect();
        call_off(engine, &units).await?;
        for id in ids {
            let which = Selection {
                kind: Some(round::GoVanity::NAME.to_owned()),
                key: Some(format!("{id}/*")),
                ..Selection::default()
            };
            engine.cancel(&which, false).await?;
        }
    }
    session
        .printer
        .note(&format!("{removed} are no longer read for the Go index"));
    Ok(Exit::Ok)
}

async fn find_source(engine: &Engine, text: &str) -> Result<group_sources::Source> {
    let owner = group::parse_owner(text)?;
    let group = groups::find(engine.db(), GROUP).await?;
    let sources = match group {
        Some(group) => group_sources::of_group(engine.db(), group.id).await?,
        None => Vec::new(),
    };
    let same = |source: &group_sources::Source| {
        source.host == owner.host && source.owner.eq_ignore_ascii_case(&owner.owner)
    };
    sources.into_iter().find(same).ok_or_else(|| {
        let message = format!("the Go index does not follow `{text}`");
        Failure::new(&codes::NOT_FOUND, message)
    })
}

async fn call_off(engine: &Engine, names: &[String]) -> Result<()> {
    let mut units = Vec::new();
    for name in names {
        units.extend(engine.find(name).await?);
    }
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    engine.cancel(&which, false).await?;
    Ok(())
}
