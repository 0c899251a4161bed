//! A bump of a kind's version makes its older results due.

use db::{DbError, sql, transact};

use crate::{Engine, Kind, Rank, queue};

impl Engine {
    /// Makes due what an older version of this kind has left, in small
    /// transactions; returns how many units. Done one-offs are renewed too.
    pub(crate) async fn upgrade_once(&self, kind: &Kind) -> Result<u64, DbError> {
        let mut total = 0;
        loop {
            let now = self.clock.now();
            let (name, version) = (kind.name, kind.version);
            let touched = transact!(self.db, |tx| {
                let text = format!(
                    "UPDATE unit SET state = 'ready', rank = $1, due_at = $2, version = $4
                             WHERE id IN (
                                SELECT id FROM unit WHERE kind = $3 AND version < $4
                                  AND state IN ('ready', 'done') ORDER BY id LIMIT 2000 {}
                             ) RETURNING id",
                    tx.dialect().skip_locked()
                );
                let touched = tx
                    .fetch_all(
                        db::Statement::built(text)
                            .bind(Rank::Cadence.number())
                            .bind(now)
                            .bind(name)
                            .bind(version),
                    )
                    .await?;
                if !touched.is_empty() {
                    queue::note(tx, queue::ids(&touched)?).await?;
                    tx.wake();
                }
                Ok::<_, DbError>(touched.len() as u64)
            })?;
            total += touched;
            if touched == 0 {
                return Ok(total);
            }
        }
    }

    /// Whether this database was last brought up to an older version of the
    /// kind, or never. One row per kind: no look at its units.
    pub(crate) async fn needs_upgrade(&self, kind: &Kind) -> Result<bool, DbError> {
        let row = self
            .db
            .fetch_optional(sql!(
                "SELECT position FROM duty WHERE name = $1",
                version_of(kind)
            ))
            .await?;
        match row {
            Some(row) => Ok(row.get::<i64>("position")? < kind.version),
            None => Ok(true),
        }
    }

    /// Remembers that all units of the kind are due or up to date.
    pub(crate) async fn upgraded(&self, kind: &Kind) -> Result<(), DbError> {
        self.db
            .execute(sql!(
                "INSERT INTO duty (name, next_at, position) VALUES ($1, $2, $3)
                 ON CONFLICT (name) DO UPDATE SET position = excluded.position
                 WHERE duty.position < excluded.position",
                version_of(kind),
                db::Timestamp::FAR_FUTURE,
                kind.version
            ))
            .await?;
        Ok(())
    }
}

fn version_of(kind: &Kind) -> String {
    format!("version of {}", kind.name)
}
