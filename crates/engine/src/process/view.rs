//! Detached subprocesses for those who look.

use db::{DbError, Timestamp, sql};
use serde::Serialize;

use crate::{Engine, UnitId};

/// A detached subprocess as the database knows it.
#[derive(Clone, Debug, Serialize)]
pub struct SubprocessView {
    /// The unit it works for.
    pub unit: UnitId,
    /// The attempt that started it.
    pub attempt: i64,
    /// What it is.
    pub name: String,
    /// The machine it runs on, by its id.
    pub machine: String,
    /// The name of that machine.
    pub host: String,
    /// Its process id there; none before it has started.
    pub pid: Option<i64>,
    /// Since when.
    pub since: Timestamp,
    /// starting; watched by a run; held, for its host to take up again; or unwanted.
    pub state: &'static str,
    /// Until when its unit stays with its host, while nobody watches it.
    pub held_until: Option<Timestamp>,
}

impl Engine {
    /// The recorded subprocesses, of one unit or of all.
    pub async fn subprocesses(&self, unit: Option<UnitId>) -> Result<Vec<SubprocessView>, DbError> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT subprocess.*, unit.state AS state
                 FROM subprocess LEFT JOIN unit ON unit.id = subprocess.unit
                 WHERE subprocess.unit = COALESCE($1, subprocess.unit) ORDER BY subprocess.id",
                unit
            ))
            .await?;
        rows.iter()
            .map(|row| {
                let wanted: bool = row.get("wanted")?;
                let pid: Option<i64> = row.get("pid")?;
                let running = row.get::<Option<String>>("state")?.as_deref() == Some("running");
                Ok(SubprocessView {
                    unit: row.get("unit")?,
                    attempt: row.get("attempt")?,
                    name: row.get("name")?,
                    machine: row.get("host")?,
                    host: row.get("host_name")?,
                    pid,
                    since: row.get("recorded_at")?,
                    state: match (wanted, running, pid) {
                        (false, ..) => "unwanted",
                        (true, true, None) => "starting",
                        (true, true, Some(_)) => "watched",
                        (true, false, _) => "held",
                    },
                    held_until: row
                        .get::<Option<Timestamp>>("held_until")?
                        .filter(|_| wanted && !running),
                })
            })
            .collect()
    }
}
