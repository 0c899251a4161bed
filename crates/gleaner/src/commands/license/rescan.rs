//! `gleaner license rescan`: results that are wanted once more.

use ::db::{DbError, transact};
use clap::Args;
use collect::{collector::Collector as _, license::LicenseScan};
use engine::Selection;
use store::license::{self, Again};

use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    session::Session,
};

/// Scan repositories again, before everything else
///
/// They come in the order of their numbers. What is known stays visible until it is replaced. Files
/// whose contents were scanned by the same scanner are not scanned again unless `--fresh` says so.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license rescan --repo github.com/owner/name
  gleaner license rescan --scanner-version 32.5.0")]
pub(crate) struct RescanArgs {
    /// One repository
    #[arg(long, value_name = "REPO", required_unless_present_any = ["scanner_version", "all"])]
    repo: Option<String>,
    /// All whose result is of this version of a scanner
    #[arg(long, value_name = "VERSION", conflicts_with = "repo")]
    scanner_version: Option<String>,
    /// All that have a result
    #[arg(long, conflicts_with_all = ["repo", "scanner_version"])]
    all: bool,
    /// Scan files again too that this scanner has scanned
    #[arg(long)]
    fresh: bool,
}

pub(super) async fn run(session: &Session, args: &RescanArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let repository = match &args.repo {
        Some(text) => Some(repo::find(engine.db(), text).await?.id),
        None => None,
    };
    let (version, what) = (
        args.scanner_version.as_deref(),
        if args.fresh {
            Again::Files
        } else {
            Again::Tree
        },
    );
    let marked: Result<Vec<i64>, DbError> = transact!(engine.db(), |tx| {
        license::again(tx, repository, version, what).await
    });
    let mut chosen = marked?;
    // One without a result runs as soon as it can.
    chosen.extend(repository.filter(|id| !chosen.contains(id)));
    let mut units = Vec::new();
    for id in &chosen {
        units.extend(engine.find(&format!("{}:{id}", LicenseScan::NAME)).await?);
    }
    if units.is_empty() {
        return Err(
            Failure::new(&codes::NOT_FOUND, "there is nothing to scan again")
                .hint("`gleaner license stats --scanners` shows which versions there are"),
        );
    }
    let count = units.len();
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    engine.run_now(&which, false).await?;
    session
        .printer
        .note(&format!("{count} will be scanned again"));
    Ok(Exit::Ok)
}
