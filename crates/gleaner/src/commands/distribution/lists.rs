//! Gaps and events, page by page.

use ::db::{Db, Timestamp};
use clap::Args;
use facts::distribution::Grade;
use store::distribution::{self, Event, EventFilter, EventPlace, GapFilter, KeptGap};

use super::grade;
use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Rows that are read at once; lists are written as they are read.
const PAGE: usize = 1000;

/// List where declaring and publishing disagree
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner distribution gaps
  gleaner distribution gaps --grade name-conflict --ecosystem npm --format csv")]
pub(super) struct GapsArgs {
    /// Only this grade; may be given more than once
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    grade: Vec<Grade>,
    /// Only this grade and stronger ones
    #[arg(long, value_name = "GRADE", value_parser = grade, conflicts_with = "grade")]
    min_grade: Option<Grade>,
    /// Only this ecosystem
    #[arg(long, value_name = "WORD")]
    ecosystem: Option<String>,
    /// Only this repository
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// List packages that appeared, were removed and reappeared, the newest first
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner distribution events --limit 50
  gleaner distribution events --event removed --source depsdev --since 2026-01-01T00:00:00Z")]
pub(super) struct EventsArgs {
    /// Only this: appeared, removed, reappeared
    #[arg(long, value_name = "WORD", value_parser = ["appeared", "removed", "reappeared"])]
    event: Option<String>,
    /// Only in this source's view
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only this repository
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,
    /// Nothing that was noticed before this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on behind the place that an earlier list ended at
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
}

impl Row for KeptGap {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "repository",
        "repo",
        "ecosystem",
        "name",
        "grade",
        "purl",
        "path",
        "package",
        "linked",
        "reason",
        "since",
        "first_seen",
        "last_seen",
    ];
    const TABLE: &'static [&'static str] = &[
        "repo",
        "grade",
        "ecosystem",
        "name",
        "path",
        "package",
        "reason",
        "since",
    ];
}

impl Row for Event {
    const COLUMNS: &'static [&'static str] = &[
        "observed_at",
        "event",
        "repository",
        "repo",
        "source",
        "ecosystem",
        "package",
        "evidence",
    ];
    const TABLE: &'static [&'static str] = &[
        "observed_at",
        "event",
        "repo",
        "source",
        "ecosystem",
        "package",
    ];
}

pub(super) async fn gaps(session: &Session, args: GapsArgs) -> Result<Exit> {
    let (db, _) = session.open().await?;
    let filter = GapFilter {
        grades: match args.min_grade {
            Some(least) => from(least),
            None => args.grade,
        },
        ecosystem: args.ecosystem,
        repository: find(&db, args.repo.as_deref()).await?,
        ..GapFilter::default()
    };
    list(session, &db, filter, args.limit).await
}

/// The gaps that begin with a manifest.
pub(super) async fn orphans(session: &Session, least: Grade, limit: Option<usize>) -> Result<Exit> {
    let (db, _) = session.open().await?;
    let filter = GapFilter {
        grades: from(least),
        declared: true,
        ..GapFilter::default()
    };
    list(session, &db, filter, limit).await
}

pub(super) async fn events(session: &Session, args: EventsArgs) -> Result<Exit> {
    let (db, _) = session.open().await?;
    let mut filter = EventFilter {
        repository: find(&db, args.repo.as_deref()).await?,
        source: args.source,
        event: args.event,
        since: args.since.as_deref().map(moment).transpose()?,
        after: args.after.as_deref().map(place).transpose()?,
    };
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut list = session.printer.list()?;
    let mut next = None;
    while left > 0 {
        let (page, more) = distribution::events(&db, &filter, left.min(PAGE)).await?;
        for event in &page {
            list.push(event)?;
        }
        left -= page.len();
        next.clone_from(&more);
        match more {
            Some(more) => filter.after = Some(more),
            None => break,
        }
    }
    list.finish()?;
    if let Some(next) = next {
        let note = format!("the list ends at its limit; go on with `--after {next}`");
        session.printer.note(&note);
    }
    Ok(Exit::Ok)
}

async fn list(
    session: &Session,
    db: &Db,
    mut filter: GapFilter,
    limit: Option<usize>,
) -> Result<Exit> {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut list = session.printer.list()?;
    while left > 0 {
        let page = distribution::gaps(db, &filter, left.min(PAGE)).await?;
        for gap in &page.items {
            list.push(gap)?;
        }
        left -= page.items.len();
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

/// A grade and all that are stronger.
fn from(least: Grade) -> Vec<Grade> {
    let all = Grade::ALL.into_iter();
    all.filter(|grade| *grade >= least).collect()
}

async fn find(db: &Db, name: Option<&str>) -> Result<Option<i64>> {
    match name {
        None => Ok(None),
        Some(name) => Ok(Some(repo::find(db, name).await?.id)),
    }
}

fn moment(text: &str) -> Result<Timestamp> {
    text.parse().map_err(|_| {
        Failure::new(&codes::NAME, format!("`{text}` is no time"))
            .hint("write it as in `2026-01-31T00:00:00Z`")
    })
}

fn place(text: &str) -> Result<EventPlace> {
    EventPlace::parse(text).ok_or_else(|| {
        Failure::new(&codes::NAME, format!("`{text}` is no place in a list"))
            .hint("take it from the note below an earlier list")
    })
}
