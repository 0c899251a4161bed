//! Removes done one-offs and old runs by age.
//!
//! Done units have no index: it would cost a write at every completion. This
//! duty walks the table by id instead, a few thousand rows at a time, and
//! remembers where it was; ids grow with time, so the old ones come first.

use std::time::Duration;

use db::{DbError, Statement, sql, transact};

use crate::{Engine, UnitId};

/// Rows looked at in one step.
const STEP: i64 = 5_000;
/// Steps in one pass, so that a pass stays short.
const STEPS: usize = 40;

impl Engine {
    /// Walks on from where the last pass stopped; returns how many units went.
    pub(crate) async fn retire_once(&self, keep_done: Duration) -> Result<u64, DbError> {
        let cut = self.clock.now().minus(keep_done);
        let mut gone = 0;
        for _ in 0..STEPS {
            let row = self
                .db
                .fetch_one(sql!(
                    "SELECT (SELECT position FROM duty WHERE name = 'retention') AS position,
                            (SELECT max(id) FROM unit) AS last"
                ))
                .await?;
            let from: i64 = row.get::<Option<i64>>("position")?.unwrap_or(0);
            let Some(last) = row.get::<Option<UnitId>>("last")? else {
                break;
            };
            let to = from.saturating_add(STEP);
            gone += transact!(self.db, |tx| {
                // Locked first, deleted second: an edge that somebody adds
                // meanwhile is either visible to the second statement or finds
                // its child gone and makes it anew.
                let text = format!(
                    "SELECT id FROM unit WHERE id > $1 AND id <= $2
                       AND state IN ('done', 'cancelled') AND COALESCE(ended_at, due_at) < $3 ORDER BY id {}",
                    tx.dialect().skip_locked()
                );
                let old = tx
                    .fetch_all(Statement::built(text).bind(from).bind(to).bind(cut))
                    .await?;
                let candidates: Vec<UnitId> = old
                    .iter()
                    .map(|row| row.get("id"))
                    .collect::<Result<_, _>>()?;
                let old = tx
                    .fetch_bulk(
                        sql!(
                            "DELETE FROM unit WHERE id IN (SELECT r.id FROM {rows})
                               AND NOT EXISTS (SELECT 1 FROM requirement
                                               WHERE requirement.child = unit.id)
                             RETURNING id"
                        ),
                        db::Bulk::new().ints("id", candidates),
                    )
                    .await?;
                let ids: Vec<UnitId> = old
                    .iter()
                    .map(|row| row.get("id"))
                    .collect::<Result<_, _>>()?;
                for table in ["unit_body", "run", "requirement"] {
                    let column = if table == "requirement" {
                        "parent"
                    } else {
                        "unit"
                    };
                    tx.execute_bulk(
                        Statement::built(format!(
                            "DELETE FROM {table} WHERE {column} IN (SELECT r.id FROM {{rows}})"
                        )),
                        db::Bulk::new().ints("id", ids.clone()),
                    )
                    .await?;
                }
                let position = if to >= last { 0 } else { to };
                tx.execute(sql!(
                    "UPDATE duty SET position = $1 WHERE name = 'retention'",
                    position
                ))
                .await?;
                Ok::<_, DbError>(ids.len() as u64)
            })?;
            if to >= last {
                break;
            }
        }
        Ok(gone)
    }

    /// Removes runs older than their kind keeps them.
    pub(crate) async fn retire_runs_once(
        &self,
        kind: &str,
        keep: Duration,
    ) -> Result<u64, DbError> {
        let cut = self.clock.now().minus(keep);
        self.db
            .execute(sql!(
                "DELETE FROM run WHERE id IN (
                    SELECT run.id FROM run JOIN unit ON unit.id = run.unit
                    WHERE unit.kind = $1 AND run.ended_at < $2 LIMIT 5000)",
                kind,
                cut
            ))
            .await
    }
}
