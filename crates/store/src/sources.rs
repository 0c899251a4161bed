//! When each source was asked about a repository, and how it answered.

use db::{Db, DbError, Row, Timestamp, Tx, sql};
use serde::Serialize;

/// One asking: who, about what, when.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The repository's id.
    pub repository: i64,
    /// The source, for example `deps.dev`. It may end its own facts and nobody else's.
    pub source: &'a str,
    /// The version of the collector that understood the answer.
    pub collector_version: i64,
    /// The time of the observation.
    pub now: Timestamp,
}

/// How much of the answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent<'a> {
    /// All of it: what it does not name is not there.
    Whole,
    /// A part, and why: what it does not name may still be there.
    Part(&'a str),
}

/// How a source stands with a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceState {
    /// The source.
    pub source: String,
    /// When it was last asked.
    pub last_asked: Timestamp,
    /// When it last answered, in whole or in part.
    pub last_answered: Option<Timestamp>,
    /// Whether its last answer was the whole one.
    pub complete: bool,
    /// Why the last asking brought none, or only part of one.
    pub error: Option<String>,
    /// The version of the collector that got the last answer.
    pub collector_version: Option<i64>,
    /// How often in a row it could not answer.
    pub failures: i64,
    /// When it last could not.
    pub last_failed_at: Option<Timestamp>,
}

impl SourceState {
    /// The last asking brought the whole answer.
    pub fn is_current(&self) -> bool {
        self.complete && self.last_answered == Some(self.last_asked)
    }
}

/// Notes that a source could not be asked or gave no answer. No fact changes.
pub async fn could_not_answer(
    tx: &mut Tx,
    repository: i64,
    source: &str,
    why: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO source_state
            (repository, source, last_asked, complete, error, failures, last_failed_at)
         VALUES ($1, $2, $3, FALSE, $4, 1, $3)
         ON CONFLICT (repository, source) DO UPDATE SET
            last_asked = excluded.last_asked, error = excluded.error,
            failures = source_state.failures + 1, last_failed_at = excluded.last_failed_at",
        repository,
        source,
        now,
        why
    ))
    .await?;
    Ok(())
}

/// Whether a source was asked about a repository once and could not answer.
pub async fn has_failed_at_first(
    tx: &mut Tx,
    repository: i64,
    source: &str,
) -> Result<bool, DbError> {
    let row = tx
        .fetch_optional(sql!(
            "SELECT 1 AS n FROM source_state
             WHERE repository = $1 AND source = $2 AND last_answered IS NULL AND failures = 1",
            repository,
            source
        ))
        .await?;
    Ok(row.is_some())
}

/// How each source stands with a repository.
pub async fn states(db: &Db, repository: i64) -> Result<Vec<SourceState>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT source, last_asked, last_answered, complete, error, collector_version,
                failures, last_failed_at
             FROM source_state WHERE repository = $1 ORDER BY source",
            repository
        ))
        .await?;
    rows.iter().map(read).collect()
}

/// The next repositories by id that a source was not asked about since `since`: ids and addresses.
/// Those are left out that are archived, gone, on this machine, or were renamed, which takes more
/// than an address to ask about. The look goes only so far ahead, whatever it finds.
pub async fn not_asked_since(
    db: &Db,
    source: &str,
    since: Timestamp,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String)>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT r.id, r.url FROM repository r
             WHERE r.id > $1 AND r.id <= $2 AND NOT r.local AND NOT r.archived
               AND r.gone_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM repository_name n WHERE n.repository = r.id)
               AND NOT EXISTS (SELECT 1 FROM source_state s
                   WHERE s.repository = r.id AND s.source = $3 AND s.last_asked >= $4)
             ORDER BY r.id LIMIT $5",
            after,
            after.saturating_add(AHEAD),
            source,
            since,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("url")?)))
        .collect()
}

/// How far [`not_asked_since`] looks: among many that were asked, the few others may be far away.
const AHEAD: i64 = 1_000;

/// Notes an answer.
pub(crate) async fn answered(
    tx: &mut Tx,
    asked: &Asked<'_>,
    extent: Extent<'_>,
) -> Result<(), DbError> {
    let (complete, error) = match extent {
        Extent::Whole => (true, None),
        Extent::Part(why) => (false, Some(why)),
    };
    tx.execute(sql!(
        "INSERT INTO source_state
            (repository, source, last_asked, last_answered, complete, error, collector_version)
         VALUES ($1, $2, $3, $3, $4, $5, $6)
         ON CONFLICT (repository, source) DO UPDATE SET
            last_asked = excluded.last_asked, last_answered = excluded.last_answered,
            complete = excluded.complete, error = excluded.error,
            collector_version = excluded.collector_version, failures = 0",
        asked.repository,
        asked.source,
        asked.now,
        complete,
        error,
        asked.collector_version
    ))
    .await?;
    Ok(())
}

fn read(row: &Row) -> Result<SourceState, DbError> {
    Ok(SourceState {
        source: row.get("source")?,
        last_asked: row.get("last_asked")?,
        last_answered: row.get("last_answered")?,
        complete: row.get("complete")?,
        error: row.get("error")?,
        collector_version: row.get("collector_version")?,
        failures: row.get("failures")?,
        last_failed_at: row.get("last_failed_at")?,
    })
}
