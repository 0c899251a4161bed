//! Duties that somebody must do now and then: one file each, one `…_once` each,
//! tested without a loop. Which process does one is decided by a row in `duty`.

mod repair;
mod retention;
mod unpark;
mod upgrade;

pub(crate) use repair::Repaired;

use std::time::Duration;

use db::{DbError, Timestamp, sql};

use crate::Engine;

/// A duty and how often it falls due.
pub(crate) const DUTIES: [(&str, Duration); 4] = [
    ("unpark", Duration::from_secs(30)),
    ("expire", Duration::from_secs(30)),
    ("repair", Duration::from_mins(5)),
    ("retention", Duration::from_mins(10)),
];

impl Engine {
    /// Takes a duty if it is due; false when another process has done it already.
    pub(crate) async fn take_duty(&self, name: &str, every: Duration) -> Result<bool, DbError> {
        let now = self.clock.now();
        let row = self
            .db
            .fetch_optional(sql!("SELECT next_at FROM duty WHERE name = $1", name))
            .await?;
        if let Some(row) = row {
            let next: Timestamp = row.get("next_at")?;
            // A clock that was set back must not put duties off for ever.
            if next > now && next.since(now) <= every {
                return Ok(false);
            }
        }
        let taken = self
            .db
            .execute(sql!(
                "INSERT INTO duty (name, next_at, position) VALUES ($1, $2, 0)
                 ON CONFLICT (name) DO UPDATE SET next_at = excluded.next_at
                 WHERE duty.next_at <= $3 OR duty.next_at > $2",
                name,
                now.plus(every),
                now
            ))
            .await?;
        Ok(taken > 0)
    }

    /// Does all duties that are due.
    pub(crate) async fn keep_house(&self, keep_done: Duration) -> Result<(), DbError> {
        for (name, every) in DUTIES {
            if !self.take_duty(name, every).await? {
                continue;
            }
            match name {
                "unpark" => {
                    self.unpark_once().await?;
                }
                "expire" => while self.expire_once().await? > 0 {},
                "repair" => {
                    let repaired = self.repair_once().await?;
                    if repaired != Repaired::default() {
                        tracing::warn!(?repaired, "repaired what should not have been broken");
                    }
                }
                _ => {
                    self.retire_once(keep_done).await?;
                }
            }
        }
        Ok(())
    }
}
