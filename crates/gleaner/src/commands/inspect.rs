//! `gleaner inspect`: every round that applies to one subject, once, and what came of it.
//!
//! The work is that of the engine and the collectors, as in `serve`; only the store is one that is
//! thrown away, unless the command line names one. There the subject is added if need be, its
//! units are brought forward, and no other unit is touched. What could not be asked is part of the
//! answer: an empty list and a silent source are not the same.

use clap::Args;
use collect::distribution::{manifests, pairing};
use engine::{Engine, Enqueue, UnitId};
use facts::{
    distribution::{Pairing, source},
    evidence::Evidence,
    kept::Kept,
    manifest::ManifestFact,
};
use serde::Serialize;
use store::{
    distribution::{Event, KeptGap, Report, report},
    metadata::Metadata,
    sources::SourceState,
};
use tokio_util::sync::CancellationToken;

use super::{
    distribution::{SourceView, section, source_views},
    own_store::OwnStore,
    repo,
};
use crate::{
    error::{Exit, Failure, Result, codes},
    printer::{Format, Row},
    rounds,
    session::Session,
};

/// The most rows of each table that are printed.
const MOST: usize = 10_000;
const SOURCES: [&str; 5] = [
    source::DEPSDEV,
    source::ECOSYSTEMS,
    source::RELEASES,
    source::PACKAGES,
    source::MANIFESTS,
];

/// Look at one repository now, with everything there is, and print what was found
///
/// Works in a store that is thrown away afterwards; with --data or --database in that one, where
/// the repository stays. A directory without version control is read as it lies.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner inspect https://github.com/owner/name
  gleaner inspect . --format json")]
pub(crate) struct InspectArgs {
    /// Its address, or the path of a local git repository, bare or not, or of any directory
    #[arg(value_name = "URL|PATH")]
    subject: String,
}

/// All that was found.
#[derive(Serialize)]
struct Sheet<'s> {
    url: &'s str,
    forge: &'s str,
    archived: bool,
    default_branch: Option<&'s str>,
    presence: Option<&'s str>,
    fork: Option<bool>,
    manifest_count: usize,
    evidence_count: usize,
    gap_count: usize,
    metadata: Option<&'s Metadata>,
    sources: &'s [SourceView],
    not_asked: &'s [NotAsked],
    manifests: &'s [Kept<ManifestFact>],
    evidence: &'s [Kept<Evidence>],
    pairings: &'s [Kept<Pairing>],
    gaps: &'s [KeptGap],
    events: &'s [Event],
}

impl Row for Sheet<'_> {
    const COLUMNS: &'static [&'static str] = &[
        "url",
        "forge",
        "presence",
        "archived",
        "fork",
        "default_branch",
        "manifest_count",
        "evidence_count",
        "gap_count",
    ];
}

/// Somebody who has not told all, and why.
#[derive(Serialize)]
struct NotAsked {
    source: &'static str,
    why: String,
}

impl Row for NotAsked {
    const COLUMNS: &'static [&'static str] = &["source", "why"];
}

pub(crate) async fn run(session: &Session, args: InspectArgs) -> Result<Exit> {
    let plain = repo::plain_directory(&args.subject)?;
    let url = match &plain {
        Some(url) => url.clone(),
        None => repo::address(&args.subject)?,
    };
    let store = OwnStore::of_command(session).await?;
    let engine = &store.engine;
    let settings = session.settings()?;
    let added = repo::add_batch(engine, std::slice::from_ref(&url), None, settings).await?;
    let id = added
        .first()
        .map(|added| added.id)
        .ok_or_else(|| Failure::new(&codes::NOT_FOUND, "the repository has just gone"))?;

    let mut units = rounds::wanted_units(id, &url, settings);
    if plain.is_some() {
        units = vec![manifests::plain_directory(id)];
    }
    let units = bring_forward(engine, id, units).await?;
    work(session, engine, &units).await?;
    // Whoever has not answered by now does not answer to this command.
    engine.enqueue(vec![pairing::at_once(id)]).await?;
    work(session, engine, &units).await?;

    let report = report(engine.db(), id, MOST)
        .await?
        .ok_or_else(|| Failure::new(&codes::NOT_FOUND, "the repository has just gone"))?;
    let answered = print(session, engine, &report).await?;
    engine.db().close().await;
    Ok(if answered {
        Exit::Ok
    } else {
        Exit::Unavailable
    })
}

/// Makes all work on the repository due, and returns its units.
async fn bring_forward(engine: &Engine, id: i64, units: Vec<Enqueue>) -> Result<Vec<UnitId>> {
    let mut units: Vec<Enqueue> = units.into_iter().map(Enqueue::now).collect();
    units.push(pairing::unit(id));
    let names: Vec<String> = units
        .iter()
        .map(|unit| format!("{}:{}", unit.kind(), unit.key()))
        .collect();
    engine.enqueue(units).await?;
    let mut ids = Vec::with_capacity(names.len());
    for name in &names {
        ids.extend(engine.find(name).await?);
    }
    Ok(ids)
}

async fn work(session: &Session, engine: &Engine, units: &[UnitId]) -> Result<()> {
    let worker = rounds::worker(engine.clone(), session.settings()?, &[])?;
    let worker = worker.only(units.to_vec());
    Box::pin(worker.run_until_idle(CancellationToken::new())).await?;
    Ok(())
}

/// Prints the sheet; tells whether anybody has answered at all.
async fn print(session: &Session, engine: &Engine, report: &Report) -> Result<bool> {
    let repository = &report.repository;
    let metadata = &report.metadata;
    let sources = source_views(engine, repository, &report.sources).await?;
    let silent = not_asked(report, &sources);
    let printer = &session.printer;
    printer.record(&Sheet {
        url: &repository.url,
        forge: &repository.forge,
        archived: repository.archived,
        default_branch: repository.default_branch.as_deref(),
        presence: metadata.as_ref().map(|known| known.presence.as_str()),
        fork: metadata.as_ref().and_then(|known| known.fork),
        manifest_count: report.manifests.len(),
        evidence_count: report.evidence.len(),
        gap_count: report.gaps.len(),
        metadata: metadata.as_ref(),
        sources: &sources,
        not_asked: &silent,
        manifests: &report.manifests,
        evidence: &report.evidence,
        pairings: &report.pairings,
        gaps: &report.gaps,
        events: &report.events,
    })?;
    // Programs have got everything in one object; people read on.
    if printer.format() == Format::Table {
        section(session, "Manifests", &report.manifests)?;
        section(session, "Published", &report.evidence)?;
        section(session, "Pairings", &report.pairings)?;
        section(session, "Gaps", &report.gaps)?;
        section(session, "Could not be asked, or did not tell all", &silent)?;
    }
    let answered = report
        .sources
        .iter()
        .any(|state| state.last_answered.is_some());
    Ok(answered || metadata.is_some())
}

/// Every source without a whole answer.
fn not_asked(report: &Report, views: &[SourceView]) -> Vec<NotAsked> {
    let silent = |source: &'static str| {
        let state = report.sources.iter().find(|state| state.source == source);
        if state.is_some_and(SourceState::is_current) {
            return None;
        }
        let view = views.iter().find(|view| view.source == source);
        let told = state.and_then(|state| state.error.clone());
        let why = told.or_else(|| {
            let view = view?;
            view.error.clone().or_else(|| view.why.clone())
        });
        let why = why.unwrap_or_else(|| {
            if report.repository.local {
                "it knows nothing of a repository that lies on this machine".to_owned()
            } else {
                "it cannot be asked about this repository".to_owned()
            }
        });
        Some(NotAsked { source, why })
    };
    SOURCES.into_iter().filter_map(silent).collect()
}
