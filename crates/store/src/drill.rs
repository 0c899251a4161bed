//! Facts of drills: written by units that do nothing else, and counted
//! afterwards. See `collect::drill`.

use db::{Db, DbError, Timestamp, Tx, sql};
use serde::Serialize;

/// One write of a drill unit.
#[derive(Clone, Debug)]
pub struct DrillFact {
    /// The drill.
    pub drill: String,
    /// The unit's number within it.
    pub number: i64,
    /// Which of the unit's writes.
    pub part: i64,
    /// The fencing number under which it was made.
    pub attempt: i64,
}

/// What a drill has written so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DrillCount {
    /// Rows.
    pub written: i64,
    /// Different ones.
    pub distinct: i64,
}

/// Writes one fact.
pub async fn record(tx: &mut Tx, fact: &DrillFact, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO drill_fact (drill, number, part, attempt, at) VALUES ($1, $2, $3, $4, $5)",
        &fact.drill,
        fact.number,
        fact.part,
        fact.attempt,
        now
    ))
    .await?;
    Ok(())
}

/// Counts what a drill has written.
pub async fn count(db: &Db, drill: &str) -> Result<DrillCount, DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT count(*) AS written,
                (SELECT count(*) FROM (SELECT DISTINCT number, part FROM drill_fact WHERE drill = $1) AS d) AS different
             FROM drill_fact WHERE drill = $1",
            drill
        ))
        .await?;
    Ok(DrillCount {
        written: row.get("written")?,
        distinct: row.get("different")?,
    })
}

/// Forgets a drill.
pub async fn forget(tx: &mut Tx, drill: &str) -> Result<u64, DbError> {
    tx.execute(sql!("DELETE FROM drill_fact WHERE drill = $1", drill))
        .await
}
