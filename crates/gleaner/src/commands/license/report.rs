//! `gleaner license stats` and `show`.

use clap::Args;
use serde::Serialize;
use store::license::{self, ScannerStats, Stats};

use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Show figures of the license round
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license stats
  gleaner license stats --scanners --format json")]
pub(crate) struct StatsArgs {
    /// One line for each scanner instead
    #[arg(long)]
    scanners: bool,
}

/// Show the licenses, holders and packages of a repository
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license show github.com/owner/name
  gleaner license show 12 --format json")]
pub(crate) struct ShowArgs {
    /// Address, path, owner/name or number
    #[arg(value_name = "REPO")]
    repository: String,
}

impl Row for Stats {
    const COLUMNS: &'static [&'static str] = &[
        "repositories",
        "without",
        "history",
        "files",
        "files_found",
        "files_failed",
        "answers",
        "nothing",
        "failed",
        "cross_checked",
        "disagreement",
        "oldest",
        "newest",
    ];
}

impl Row for ScannerStats {
    const COLUMNS: &'static [&'static str] = &[
        "scanner",
        "tool",
        "version",
        "repositories",
        "answers",
        "elapsed_ms",
    ];
    const TABLE: &'static [&'static str] = &["scanner", "repositories", "answers", "elapsed_ms"];
}

/// A repository's result, flat.
#[derive(Serialize)]
struct Shown {
    repository: i64,
    url: String,
    last_run: Option<::db::Timestamp>,
    scanner: Option<String>,
    scanner_key: Option<String>,
    commit: Option<String>,
    license: Option<String>,
    license_from: Option<String>,
    files: Option<i64>,
    files_found: Option<i64>,
    files_failed: Option<i64>,
    licenses: Vec<String>,
    holders: Vec<String>,
    packages: Vec<String>,
    skipped: Option<String>,
    told_apart: Option<String>,
    next_run: Option<::db::Timestamp>,
}

impl Row for Shown {
    const COLUMNS: &'static [&'static str] = &[
        "repository",
        "url",
        "last_run",
        "scanner",
        "commit",
        "license",
        "license_from",
        "files",
        "files_found",
        "files_failed",
        "licenses",
        "holders",
        "packages",
        "skipped",
        "told_apart",
        "next_run",
    ];
}

/// Holders and packages that are shown; `files` and the API have the rest.
const MOST: usize = 50;

pub(super) async fn stats(session: &Session, args: &StatsArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let (stats, scanners) = license::stats(engine.db()).await?;
    if args.scanners {
        session.printer.rows(&scanners)?;
    } else {
        session.printer.record(&stats)?;
    }
    Ok(Exit::Ok)
}

pub(super) async fn show(session: &Session, args: &ShowArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let db = engine.db();
    let repository = repo::find(db, &args.repository).await?;
    let unit = engine
        .find(&format!("license/scan:{}", repository.id))
        .await?;
    let next_run = match unit {
        Some(unit) => engine
            .unit(unit)
            .await?
            .and_then(|detail| detail.unit.due_at),
        None => None,
    };
    let current = license::current(db, repository.id).await?;
    let Some(current) = current else {
        let message = format!(
            "the licenses of `{}` were not scanned yet",
            repository.slug()
        );
        let hint = match next_run {
            Some(at) => format!("it is due at {at}; `gleaner work` or `gleaner serve` does it"),
            None => "it has no unit of the license round; is the round switched on?".to_owned(),
        };
        return Err(Failure::new(&codes::NOT_FOUND, message).hint(hint));
    };
    let count = |one: license::LicenseCount| format!("{} ({})", one.value, one.files);
    let licenses = license::licenses(db, current.id).await?;
    let holders = license::holders(db, current.id, MOST).await?;
    let packages = license::packages(db, current.id, MOST).await?;
    session.printer.record(&Shown {
        repository: repository.id,
        url: repository.url,
        last_run: Some(current.last_run),
        scanner: Some(format!("{} {}", current.scanner, current.version)),
        scanner_key: Some(current.scanner_key),
        commit: Some(current.commit),
        license: current.license,
        license_from: current.license_from,
        files: Some(current.files),
        files_found: Some(current.files_found),
        files_failed: Some(current.files_failed),
        licenses: licenses.into_iter().map(count).collect(),
        holders: holders.into_iter().map(count).collect(),
        packages: packages
            .into_iter()
            .map(|one| one.purl.unwrap_or(one.path))
            .collect(),
        skipped: current.skipped,
        told_apart: current.told_apart,
        next_run,
    })?;
    Ok(Exit::Ok)
}
