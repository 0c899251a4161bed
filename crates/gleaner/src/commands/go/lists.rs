//! Modules, versions, rejected tags and events.

use ::db::Db;
use clap::Args;
use store::goindex::{self, Event, Module, Rejected, Version};

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Rows that are read at once; lists are written as they are read.
const PAGE: usize = 1000;
/// More versions than any module has.
const MOST_VERSIONS: usize = 100_000;

/// List modules
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go modules
  gleaner go modules --prefix example.org/tools")]
pub(crate) struct ModulesArgs {
    /// Only those whose path begins so
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// List the versions of a module
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go versions example.org/tools/v2
  gleaner go versions example.org/tools --format json")]
pub(crate) struct VersionsArgs {
    /// The module's path
    path: String,
}

/// List tags that are no version of anything, with the reason
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go rejected
  gleaner go rejected --reason major-mismatch")]
pub(crate) struct RejectedArgs {
    /// Only for this reason: not-canonical, no-go-mod, major-mismatch…
    #[arg(long, value_name = "WORD")]
    reason: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// List tags that moved, vanished or came back, and versions that two repositories claim
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner go events
  gleaner go events --after 100 --limit 50")]
pub(crate) struct EventsArgs {
    /// Behind the event of this number
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: i64,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Row for Module {
    const COLUMNS: &'static [&'static str] = &["path", "latest", "versions", "deprecated"];
}

impl Row for Version {
    const COLUMNS: &'static [&'static str] = &[
        "version",
        "seq",
        "published_at",
        "committed_at",
        "repository",
        "url",
        "tag",
        "commit",
        "directory",
        "origin",
        "retracted",
        "retraction",
        "hidden",
        "moved_at",
        "gone_at",
    ];
    const TABLE: &'static [&'static str] = &[
        "version",
        "published_at",
        "committed_at",
        "repository",
        "directory",
        "commit",
        "retracted",
        "moved_at",
        "gone_at",
    ];
}

impl Row for Rejected {
    const COLUMNS: &'static [&'static str] =
        &["id", "repository", "tag", "reason", "detail", "first_seen"];
    const TABLE: &'static [&'static str] = &["repository", "tag", "reason", "detail"];
}

impl Row for Event {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "observed_at",
        "event",
        "repository",
        "tag",
        "was",
        "became",
    ];
}

pub(super) async fn modules(session: &Session, db: &Db, args: &ModulesArgs) -> Result<Exit> {
    let mut list = session.printer.list()?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut after: Option<String> = None;
    while left > 0 {
        let size = left.min(PAGE);
        let page = goindex::modules(db, args.prefix.as_deref(), after.as_deref(), size).await?;
        for module in &page {
            list.push(module)?;
        }
        left -= page.len();
        after = page.last().map(|module| module.path.clone());
        if page.len() < size {
            break;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

pub(super) async fn versions(session: &Session, db: &Db, args: &VersionsArgs) -> Result<Exit> {
    let versions = goindex::versions(db, &args.path, MOST_VERSIONS).await?;
    if versions.is_empty() {
        let message = format!("there is no module `{}`", args.path);
        return Err(Failure::new(&codes::NOT_FOUND, message)
            .hint("`gleaner go modules` shows them, `gleaner go rejected` what is none"));
    }
    session.printer.rows(&versions)?;
    Ok(Exit::Ok)
}

pub(super) async fn rejected(session: &Session, db: &Db, args: &RejectedArgs) -> Result<Exit> {
    let mut list = session.printer.list()?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut after = 0;
    while left > 0 {
        let size = left.min(PAGE);
        let page = goindex::rejected(db, args.reason.as_deref(), after, size).await?;
        for tag in &page {
            list.push(tag)?;
            after = tag.id;
        }
        left -= page.len();
        if page.len() < size {
            break;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

pub(super) async fn events(session: &Session, db: &Db, args: &EventsArgs) -> Result<Exit> {
    let mut list = session.printer.list()?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut after = args.after;
    while left > 0 {
        let size = left.min(PAGE);
        let page = goindex::events(db, after, size).await?;
        for event in &page {
            list.push(event)?;
            after = event.id;
        }
        left -= page.len();
        if page.len() < size {
            break;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}
