//! Appearances, removals and reappearances of packages, the newest first.

use db::{Db, DbError, Row, Statement, Timestamp};
use serde::Serialize;

use super::gaps::REPO;

/// Something that became of a package in a source's view of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When it was noticed.
    pub observed_at: Timestamp,
    /// `appeared`, `removed` or `reappeared`.
    pub event: String,
    /// The repository's id.
    pub repository: i64,
    /// What people call the repository.
    pub repo: String,
    /// Whose view it is.
    pub source: String,
    /// The ecosystem word.
    pub ecosystem: String,
    /// The package, as the source spells it.
    pub package: String,
    /// The evidence's id.
    pub evidence: i64,
}

/// Where a list of events goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPlace {
    observed_at: Timestamp,
    evidence: i64,
    event: String,
}

/// As it stands in addresses: `2026-01-01T00:00:00.000000Z~7~removed`.
impl std::fmt::Display for EventPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}~{}~{}", self.observed_at, self.evidence, self.event)
    }
}

impl EventPlace {
    /// Reads what [`Display`](std::fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '~');
        let moment: jiff::Timestamp = parts.next()?.parse().ok()?;
        Some(Self {
            observed_at: moment.into(),
            evidence: parts.next()?.parse().ok()?,
            event: parts.next()?.to_owned(),
        })
    }
}

/// Which events to list.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Of this repository.
    pub repository: Option<i64>,
    /// In this source's view.
    pub source: Option<String>,
    /// Only `appeared`, `removed` or `reappeared`.
    pub event: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Those that follow this one in the list.
    pub after: Option<EventPlace>,
}

/// At most `limit` events, the newest first, and where the list goes on.
pub async fn events(
    db: &Db,
    filter: &EventFilter,
    limit: usize,
) -> Result<(Vec<Event>, Option<EventPlace>), DbError> {
    let limit = limit.max(1);
    let text = format!(
        "SELECT e.observed_at, e.event, e.repo_id, {REPO} AS repo, e.source, e.ecosystem,
            e.package_name, e.distribution_id
         FROM repo_distribution_event e JOIN repository r ON r.id = e.repo_id
         WHERE ($1 IS NULL OR e.repo_id = $1)
           AND ($2 IS NULL OR e.source = $2)
           AND ($3 IS NULL OR e.event = $3)
           AND ($4 IS NULL OR e.observed_at >= $4)
           AND ($5 IS NULL OR (e.observed_at, e.distribution_id, e.event) < ($5, $6, $7))
         ORDER BY e.observed_at DESC, e.distribution_id DESC, e.event DESC LIMIT $8"
    );
    let after = filter.after.as_ref();
    let statement = Statement::built(text)
        .bind(filter.repository)
        .bind(filter.source.clone())
        .bind(filter.event.clone())
        .bind(filter.since)
        .bind(after.map(|place| place.observed_at))
        .bind(after.map(|place| place.evidence))
        .bind(after.map(|place| place.event.clone()))
        .bind(limit + 1);
    let rows = db.fetch_all(statement).await?;
    let mut items: Vec<Event> = rows.iter().map(read).collect::<Result<_, _>>()?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| EventPlace {
        observed_at: last.observed_at,
        evidence: last.evidence,
        event: last.event.clone(),
    });
    Ok((items, next))
}

fn read(row: &Row) -> Result<Event, DbError> {
    Ok(Event {
        observed_at: row.get("observed_at")?,
        event: row.get("event")?,
        repository: row.get("repo_id")?,
        repo: row.get("repo")?,
        source: row.get("source")?,
        ecosystem: row.get("ecosystem")?,
        package: row.get("package_name")?,
        evidence: row.get("distribution_id")?,
    })
}
