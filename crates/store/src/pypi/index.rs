//! How far the index is known.

use db::{Db, DbError, Timestamp, Tx, sql};

/// How far the index is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The serial before the last full crawl began, or the one that was given.
    pub floor: Option<i64>,
    /// When the last full crawl began.
    pub full_began_at: Option<Timestamp>,
    /// When it ended.
    pub full_finished_at: Option<Timestamp>,
    /// Only a sample of projects is known on purpose.
    pub sampled: bool,
    /// The newest serial that the index was seen to have.
    pub seen: Option<i64>,
    /// Up to here every change is known, but for the projects that are still due.
    pub safe: Option<i64>,
    /// When that was found.
    pub safe_at: Option<Timestamp>,
    /// When all projects were last compared with the root.
    pub audit_at: Option<Timestamp>,
}

/// How far the index is known.
pub async fn index(db: &Db) -> Result<Index, DbError> {
    let row = db
        .fetch_one(sql!("SELECT * FROM pypi_index WHERE id = 1"))
        .await?;
    Ok(Index {
        floor: row.get("floor")?,
        full_began_at: row.get("full_began_at")?,
        full_finished_at: row.get("full_finished_at")?,
        sampled: row.get("sampled")?,
        seen: row.get("seen")?,
        safe: row.get("safe")?,
        safe_at: row.get("safe_at")?,
        audit_at: row.get("audit_at")?,
    })
}

/// Where the index is, if the configuration does not say so.
pub async fn address(db: &Db) -> Result<Option<String>, DbError> {
    let row = db
        .fetch_one(sql!("SELECT address FROM pypi_index WHERE id = 1"))
        .await?;
    row.get("address")
}

/// Remembers where the index is, for processes that are not told.
pub async fn set_address(tx: &mut Tx, address: &str) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET address = $1 WHERE id = 1",
        address
    ))
    .await?;
    Ok(())
}

/// A full crawl begins, at this serial of the index; of all projects, or of a sample.
pub async fn crawl_began(
    tx: &mut Tx,
    serial: Option<i64>,
    sampled: bool,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET floor = $1, full_began_at = $2, full_finished_at = NULL,
            full_projects = 0, full_failed = 0, sampled = $3 WHERE id = 1",
        serial,
        now,
        sampled
    ))
    .await?;
    seen(tx, serial, now).await
}

/// A full crawl has ended: from its floor on, changes can be followed. Those that failed stay due.
pub async fn crawl_finished(
    tx: &mut Tx,
    projects: i64,
    failed: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET full_finished_at = $1, full_projects = $2, full_failed = $3,
            safe = CASE WHEN safe > floor THEN safe ELSE floor END, safe_at = $1 WHERE id = 1",
        now,
        projects,
        failed
    ))
    .await?;
    Ok(())
}

/// Everything up to this serial is taken for known, without a full crawl.
pub async fn baseline(tx: &mut Tx, serial: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET floor = $1, safe = $1, safe_at = $2, sampled = FALSE WHERE id = 1",
        serial,
        now
    ))
    .await?;
    Ok(())
}

/// The index was seen to have this serial.
pub async fn seen(tx: &mut Tx, serial: Option<i64>, now: Timestamp) -> Result<(), DbError> {
    if let Some(serial) = serial {
        tx.execute(sql!(
            "UPDATE pypi_index SET seen = CASE WHEN seen > $1 THEN seen ELSE $1 END, seen_at = $2
             WHERE id = 1",
            serial,
            now
        ))
        .await?;
    }
    Ok(())
}

/// Every change up to this serial is known, found by this way of following.
pub async fn safe_up_to(
    tx: &mut Tx,
    serial: Option<i64>,
    how: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET safe_at = $3, followed_by = $2,
            safe = CASE WHEN $1 IS NULL OR safe > $1 THEN safe ELSE $1 END WHERE id = 1",
        serial,
        how,
        now
    ))
    .await?;
    Ok(())
}

/// All projects were compared with the root.
pub async fn audited(
    tx: &mut Tx,
    projects: i64,
    drift: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE pypi_index SET audit_at = $1, audit_projects = $2, audit_drift = $3 WHERE id = 1",
        now,
        projects,
        drift
    ))
    .await?;
    Ok(())
}
