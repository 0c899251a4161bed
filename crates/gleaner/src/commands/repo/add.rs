//! `gleaner repo add` and `import`: many repositories, each with its work, or none.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    time::Instant,
};

use ::db::{Tx, transact};
use engine::Engine;
use facts::{group::GroupName, repository::RepositoryUrl};
use serde::Serialize;
use store::{
    groups,
    repositories::{self, Added, NewRepository},
};

use super::{AddArgs, ImportArgs, find};
use crate::{
    commands::group,
    config::Settings,
    error::{Exit, Failure, Result, codes},
    printer::{Gauge, Row},
    rounds,
    session::Session,
};

/// A repository brings rows for itself, its group and its units: so many fit into one transaction.
const BATCH: usize = 500;

/// More is not a list of repositories.
const LONGEST_LINE: usize = 4096;

/// What became of one address.
#[derive(Serialize)]
pub(in crate::commands) struct Addition {
    pub(in crate::commands) id: i64,
    url: String,
    /// Whether it is new.
    pub(super) added: bool,
}

impl Row for Addition {
    const COLUMNS: &'static [&'static str] = &["id", "url", "added"];
}

pub(super) async fn add(session: &Session, args: AddArgs) -> Result<Exit> {
    let addresses = args.repositories.iter().map(|text| find::address(text));
    let addresses = addresses.collect::<Result<Vec<RepositoryUrl>>>()?;
    let group = args.group.as_deref().map(group::parse_name).transpose()?;
    let engine = session.engine().await?;
    let settings = session.settings()?;
    let mut list = session.printer.list()?;
    for batch in addresses.chunks(BATCH) {
        for addition in add_batch(&engine, batch, group.as_ref(), settings).await? {
            list.push(&addition)?;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

pub(super) async fn import(session: &Session, args: ImportArgs) -> Result<Exit> {
    let group = args.group.as_deref().map(group::parse_name).transpose()?;
    // All lines are read first: a file with a wrong one changes nothing.
    let addresses = read_addresses(session, &args.file)?;
    let engine = session.engine().await?;
    let settings = session.settings()?;
    let mut progress = session.printer.progress();
    let (mut done, mut new) = (0, 0);
    for batch in addresses.chunks(BATCH) {
        let additions = add_batch(&engine, batch, group.as_ref(), settings).await?;
        done += additions.len();
        new += additions.iter().filter(|addition| addition.added).count();
        let gauge = Gauge {
            name: "repositories".into(),
            done: done as u64,
            total: Some(addresses.len() as u64),
            detail: format!("{new} new"),
        };
        progress.show(Instant::now(), &[gauge]);
    }
    drop(progress);
    session.printer.note(&format!(
        "{new} added, {} there already",
        addresses.len() - new
    ));
    Ok(Exit::Ok)
}

pub(in crate::commands) async fn add_batch(
    engine: &Engine,
    addresses: &[RepositoryUrl],
    group: Option<&GroupName>,
    settings: &Settings,
) -> Result<Vec<Addition>> {
    let new: Vec<NewRepository> = addresses.iter().cloned().map(NewRepository::from).collect();
    let (new, now) = (&new, engine.clock().now());
    let units = |id: i64, url: &RepositoryUrl| rounds::wanted_units(id, url, settings);
    let units = &units;
    let added: Result<Vec<Added>, engine::EnqueueError> = transact!(engine.db(), |tx| {
        add_with_work(tx, new, group, now, units).await
    });
    let additions = addresses.iter().zip(added?);
    Ok(additions
        .map(|(url, added)| Addition {
            id: added.id(),
            url: url.url(),
            added: added.is_new(),
        })
        .collect())
}

/// The repositories, their places in the group and their units commit together.
async fn add_with_work(
    tx: &mut Tx,
    new: &[NewRepository],
    group: Option<&GroupName>,
    now: ::db::Timestamp,
    units: &(impl Fn(i64, &RepositoryUrl) -> Vec<engine::Enqueue> + Sync),
) -> Result<Vec<Added>, engine::EnqueueError> {
    let added = repositories::add_batch(tx, new, now).await?;
    if let Some(group) = group {
        let group = groups::create(tx, group, now).await?.id();
        let ids: Vec<i64> = added.iter().map(|added| added.id()).collect();
        groups::add_members(tx, group, &ids, now).await?;
    }
    let units: Vec<engine::Enqueue> = new
        .iter()
        .zip(&added)
        .filter(|(_, added)| added.is_new())
        .flat_map(|(new, added)| units(added.id(), &new.url))
        .collect();
    engine::enqueue_in(tx, &units, now).await?;
    Ok(added)
}

/// One address per line; `#` begins a comment. All wrong lines are told at once.
pub(in crate::commands) fn read_addresses(
    session: &Session,
    path: &Path,
) -> Result<Vec<RepositoryUrl>> {
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
        Box::new(BufReader::new(file))
    };
    let mut addresses = Vec::new();
    let mut wrong = 0_usize;
    for (number, line) in reader.lines().enumerate() {
        let line = line.map_err(|error| Failure::unreadable(path, &error))?;
        let text = line.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let address = if text.len() > LONGEST_LINE {
            Err(Failure::new(&codes::REPOSITORY, "the line is too long"))
        } else {
            find::address(text)
        };
        match address {
            Ok(address) => addresses.push(address),
            Err(failure) => {
                wrong += 1;
                if wrong <= 20 {
                    let place = format!("{}:{}", path.display(), number + 1);
                    session
                        .printer
                        .warning(&format!("{place}: {}", failure.message()));
                }
            }
        }
    }
    if wrong > 0 {
        let message = format!(
            "`{}` has lines that are no repository address: {wrong}",
            path.display()
        );
        return Err(Failure::new(&codes::REPOSITORY, message)
            .hint("nothing was added; mend or remove those lines, or set `#` before them"));
    }
    Ok(addresses)
}
