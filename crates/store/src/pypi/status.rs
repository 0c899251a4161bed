//! Figures about the index.

use db::{Db, DbError, Timestamp, sql};
use serde::Serialize;

/// How far the index is, in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Projects that the index has, as far as is known.
    pub projects: i64,
    /// Projects that are gone.
    pub gone: i64,
    /// Projects that were not read since they changed.
    pub due: i64,
    /// Files that the index lists.
    pub files: i64,
    /// Files that it no longer lists.
    pub removed: i64,
    /// Listed files that are yanked.
    pub yanked: i64,
    /// Files of projects that it withholds.
    pub quarantined: i64,
    /// Listed distributions that were read.
    pub extracted: i64,
    /// Listed files that were refused.
    pub refused: i64,
    /// Listed distributions that are still to be read.
    pub unread: i64,
    /// The serial from which changes are followed.
    pub floor: Option<i64>,
    /// The newest serial that the index was seen to have.
    pub seen: Option<i64>,
    /// Up to here every change is known, but for the projects that are due.
    pub safe: Option<i64>,
    /// How many serials that is behind.
    pub lag: Option<i64>,
    /// When that was found.
    pub safe_at: Option<Timestamp>,
    /// `changelog`, `serials` or `pages`.
    pub followed_by: Option<String>,
    /// When the last full crawl began.
    pub full_began_at: Option<Timestamp>,
    /// When it ended.
    pub full_finished_at: Option<Timestamp>,
    /// Projects that it asked for.
    pub full_projects: i64,
    /// Those of them that it did not get.
    pub full_failed: i64,
    /// When all projects were last compared with the root.
    pub audit_at: Option<Timestamp>,
    /// Projects that were other than the root said, and not known to be due.
    pub audit_drift: Option<i64>,
    /// The last number of a change.
    pub last_seq: i64,
}

/// A reason for which files were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Its word.
    pub reason: String,
    /// So many.
    pub files: i64,
    /// One of them, as `project/filename`.
    pub example: String,
}

/// How far the index is.
pub async fn status(db: &Db) -> Result<Status, DbError> {
    let projects = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS known, COUNT(gone_at) AS gone, COUNT(required) AS due
             FROM pypi_project"
        ))
        .await?;
    let files = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS known,
                COUNT(CASE WHEN removed THEN 1 END) AS removed,
                COUNT(CASE WHEN NOT removed AND yanked IS NOT NULL THEN 1 END) AS yanked,
                COUNT(CASE WHEN NOT removed AND quarantined THEN 1 END) AS quarantined,
                COUNT(CASE WHEN NOT removed AND extracted = 'ok' THEN 1 END) AS extracted,
                COUNT(CASE WHEN NOT removed AND extracted = 'refused' THEN 1 END) AS refused,
                COUNT(CASE WHEN NOT removed AND NOT quarantined AND extracted = 'not-yet'
                    AND kind IN ('wheel', 'egg', 'sdist') THEN 1 END) AS unread
             FROM pypi_files"
        ))
        .await?;
    let index = db
        .fetch_one(sql!("SELECT * FROM pypi_index WHERE id = 1"))
        .await?;
    let (known, gone): (i64, i64) = (projects.get("known")?, projects.get("gone")?);
    let (all, removed): (i64, i64) = (files.get("known")?, files.get("removed")?);
    let (seen, safe): (Option<i64>, Option<i64>) = (index.get("seen")?, index.get("safe")?);
    Ok(Status {
        projects: known - gone,
        gone,
        due: projects.get("due")?,
        files: all - removed,
        removed,
        yanked: files.get("yanked")?,
        quarantined: files.get("quarantined")?,
        extracted: files.get("extracted")?,
        refused: files.get("refused")?,
        unread: files.get("unread")?,
        floor: index.get("floor")?,
        seen,
        safe,
        lag: seen.zip(safe).map(|(seen, safe)| (seen - safe).max(0)),
        safe_at: index.get("safe_at")?,
        followed_by: index.get("followed_by")?,
        full_began_at: index.get("full_began_at")?,
        full_finished_at: index.get("full_finished_at")?,
        full_projects: index.get("full_projects")?,
        full_failed: index.get("full_failed")?,
        audit_at: index.get("audit_at")?,
        audit_drift: index.get("audit_drift")?,
        last_seq: index.get("last_seq")?,
    })
}

/// Why files were refused, the most frequent reason first.
pub async fn reasons(db: &Db) -> Result<Vec<Reason>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT refusal, COUNT(*) AS files, MIN(project || '/' || filename) AS example
             FROM pypi_files WHERE refusal IS NOT NULL AND NOT removed
             GROUP BY refusal ORDER BY COUNT(*) DESC, refusal"
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Reason {
                reason: row.get("refusal")?,
                files: row.get("files")?,
                example: row.get("example")?,
            })
        })
        .collect()
}
