//! `gleaner distribution recheck`: ask a source again, of all repositories or of some.

use clap::Args;
use collect::{
    collector::Collector as _,
    distribution::{manifests::Manifests, releases::Releases},
    registry,
    repo_metadata::RepoMetadata,
};
use engine::Enqueue;
use facts::repository::RepositoryUrl;
use serde::Serialize;
use store::{
    distribution::to_recheck,
    repositories::{Page, Repository},
};

use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    rounds,
    session::Session,
};

/// Repositories that are taken up at once.
const PAGE: usize = 1000;
const ROUND: &str = "distribution/";
/// What is not asked about a repository without a commit.
const LOOK_INSIDE: [&str; 2] = [Manifests::NAME, Releases::NAME];

/// Ask a source again, before all others that are due
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner distribution recheck --source depsdev --missing --dry-run
  gleaner distribution recheck --source manifests --repo owner/name")]
pub(super) struct RecheckArgs {
    /// The source: depsdev, ecosystems, releases, packages, manifests; `pairing` asks nobody and
    /// judges anew
    #[arg(long, value_name = "SOURCE")]
    source: String,
    /// Only repositories of which the source has nothing to tell so far
    #[arg(long)]
    missing: bool,
    /// Only this repository; may be given more than once
    #[arg(long, value_name = "REPO")]
    repo: Vec<String>,
    /// Count the repositories and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Rechecked {
    source: String,
    /// Repositories that were chosen.
    selected: usize,
    /// Those of them that the source can be asked about.
    changed: usize,
    dry_run: bool,
}

impl Row for Rechecked {
    const COLUMNS: &'static [&'static str] = &["source", "selected", "changed", "dry_run"];
}

pub(super) async fn recheck(session: &Session, args: RecheckArgs) -> Result<Exit> {
    let kind = kind(&args.source)?;
    let engine = session.engine().await?;
    let mut named = Vec::with_capacity(args.repo.len());
    for name in &args.repo {
        named.push(repo::find(engine.db(), name).await?);
    }
    let mut done = Rechecked {
        source: args.source.clone(),
        dry_run: args.dry_run,
        ..Rechecked::default()
    };
    let mut after = 0;
    loop {
        let Page { items, next } =
            to_recheck(engine.db(), &args.source, args.missing, after, PAGE).await?;
        let chosen = items
            .iter()
            .filter(|one| named.is_empty() || named.iter().any(|other| other.id == one.id));
        let mut units = Vec::new();
        for repository in chosen {
            done.selected += 1;
            let unit = unit(kind, repository);
            done.changed += usize::from(unit.is_some());
            if !named.is_empty() && LOOK_INSIDE.contains(&kind) {
                // Who names a repository wants it as it is now: it may have its first commit.
                units.extend(self::unit(RepoMetadata::NAME, repository));
            }
            units.extend(unit);
        }
        if !args.dry_run {
            engine.enqueue(units).await?;
        }
        match next {
            Some(next) => after = next,
            None => break,
        }
    }
    session.printer.record(&done)?;
    Ok(if done.changed == 0 {
        Exit::Nothing
    } else {
        Exit::Ok
    })
}

/// The unit of a repository that asks this source, if it can be asked about it.
fn unit(kind: &str, repository: &Repository) -> Option<Enqueue> {
    let derived = collect::distribution::pairing::unit(repository.id);
    if kind == derived.kind() {
        return Some(derived.now());
    }
    let url = RepositoryUrl::parse(&repository.url).ok()?;
    let units = rounds::units(repository.id, &url).into_iter();
    units
        .into_iter()
        .find(|unit| unit.kind() == kind)
        .map(Enqueue::now)
}

fn kind(source: &str) -> Result<&'static str> {
    let kinds: Vec<&'static str> = registry::declared()
        .iter()
        .map(|one| one.kind.name)
        .filter(|name| name.starts_with(ROUND))
        .collect();
    let found = kinds
        .iter()
        .find(|name| name.strip_prefix(ROUND) == Some(source));
    found.copied().ok_or_else(|| {
        let sources: Vec<&str> = kinds.iter().map(|name| &name[ROUND.len()..]).collect();
        Failure::new(&codes::NAME, format!("there is no source `{source}`"))
            .hint(format!("the sources are {}", sources.join(", ")))
    })
}
