//! The rows about detached subprocesses.

use std::time::Duration;

use db::{Db, DbError, Row, Timestamp, sql, transact};

use super::place::Place;
use crate::{RunError, UnitId, claim::Claimed, run::hold};

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub id: i64,
    pub unit: UnitId,
    pub name: String,
    pub host: String,
    pub boot: Option<String>,
    pub pid: Option<u32>,
    pub started: Option<String>,
    pub directory: String,
    pub accepts: String,
    pub grace: Duration,
    pub held_until: Option<Timestamp>,
    pub wanted: bool,
    pub recorded_at: Timestamp,
}

/// The columns of a [`Record`].
pub(super) const COLUMNS: &str = "subprocess.id AS id, subprocess.unit AS unit,
    subprocess.name AS name, subprocess.host AS host, subprocess.boot AS boot,
    subprocess.pid AS pid, subprocess.started AS started, subprocess.directory AS directory,
    subprocess.accepts AS accepts, subprocess.grace AS grace,
    subprocess.held_until AS held_until, subprocess.wanted AS wanted,
    subprocess.recorded_at AS recorded_at";

impl Record {
    pub(super) fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            id: row.get("id")?,
            unit: row.get("unit")?,
            name: row.get("name")?,
            host: row.get("host")?,
            boot: row.get("boot")?,
            pid: row
                .get::<Option<i64>>("pid")?
                .and_then(|pid| pid.try_into().ok()),
            started: row.get("started")?,
            directory: row.get("directory")?,
            accepts: row.get("accepts")?,
            grace: Duration::from_secs(row.get::<i64>("grace")?.unsigned_abs()),
            held_until: row.get("held_until")?,
            wanted: row.get("wanted")?,
            recorded_at: row.get("recorded_at")?,
        })
    }

    pub(super) fn place(&self) -> Place {
        Place::at(&self.directory)
    }

    pub(super) fn accepts(&self, status: i32) -> bool {
        let status = status.to_string();
        self.accepts.split(' ').any(|code| code == status)
    }
}

/// The subprocess that somebody waits for on behalf of a unit.
pub(super) async fn of_unit(db: &Db, unit: UnitId) -> Result<Option<Record>, DbError> {
    let text = format!("SELECT {COLUMNS} FROM subprocess WHERE unit = $1 AND wanted");
    let row = db
        .fetch_optional(db::Statement::built(text).bind(unit))
        .await?;
    row.as_ref().map(Record::read).transpose()
}

/// Writes down that one is about to start, under the fence of the run. Whatever
/// the unit had before is no longer wanted.
pub(super) async fn intend(
    db: &Db,
    unit: &Claimed,
    record: &Record,
    host_name: &str,
) -> Result<i64, RunError> {
    let grace = i64::try_from(record.grace.as_secs()).unwrap_or(i64::MAX);
    transact!(db, |tx| {
        hold(tx, unit).await?;
        tx.execute(sql!(
            "UPDATE subprocess SET wanted = FALSE WHERE unit = $1 AND wanted",
            unit.id
        ))
        .await?;
        let row = tx
            .fetch_one(sql!(
                "INSERT INTO subprocess (unit, attempt, name, host, host_name, boot, directory,
                    accepts, grace, wanted, recorded_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, TRUE, $10) RETURNING id",
                unit.id,
                unit.attempt,
                &record.name,
                &record.host,
                host_name,
                record.boot.as_deref(),
                &record.directory,
                &record.accepts,
                grace,
                record.recorded_at
            ))
            .await?;
        Ok::<_, RunError>(row.get("id")?)
    })
}

/// Fills in the pid. Not under the fence: the process is there, whoever has the unit.
pub(super) async fn fill(db: &Db, id: i64, pid: u32, started: Option<&str>) -> Result<(), DbError> {
    db.execute(sql!(
        "UPDATE subprocess SET pid = $2, started = $3 WHERE id = $1",
        id,
        pid,
        started
    ))
    .await?;
    Ok(())
}

pub(super) async fn forget(db: &Db, id: i64) -> Result<(), DbError> {
    db.execute(sql!("DELETE FROM subprocess WHERE id = $1", id))
        .await?;
    Ok(())
}
