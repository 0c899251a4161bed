//! Looks for what the engine's own rules should make impossible. A finding is
//! logged as a warning: it is a bug, and nothing is lost by it.

use db::{Bulk, DbError, sql, transact};

use crate::{Engine, UnitId, requirement};

/// What was found and mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Waiting units with nothing left to wait for.
    pub woken: usize,
    /// Open edges of units that do not wait.
    pub dangling: u64,
    /// Edges to units that do not exist.
    pub broken: usize,
}

impl Engine {
    /// One pass, a bounded one. About 5 ms per waiting unit with many edges.
    pub(crate) async fn repair_once(&self) -> Result<Repaired, DbError> {
        let woken = self.wake_forgotten().await?;
        let dangling = self
            .db
            .execute(sql!(
                "DELETE FROM requirement WHERE state <> 'missed' AND EXISTS (
                    SELECT 1 FROM unit WHERE unit.id = requirement.parent
                      AND unit.state IN ('done', 'cancelled'))"
            ))
            .await?;
        let broken = self.drop_broken().await?;
        Ok(Repaired {
            woken,
            dangling,
            broken,
        })
    }

    /// Waiting units that have no open edge, or one whose child has ended, and
    /// no note that would make the resolver look.
    async fn wake_forgotten(&self) -> Result<usize, DbError> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT id FROM unit WHERE shelf = 'waiting'
                   AND NOT EXISTS (SELECT 1 FROM unfolded WHERE unfolded.unit = unit.id)
                   AND NOT EXISTS (SELECT 1 FROM requirement
                        JOIN unfolded ON unfolded.unit = requirement.child
                        WHERE requirement.parent = unit.id)
                   AND (NOT EXISTS (SELECT 1 FROM requirement WHERE requirement.parent = unit.id
                                    AND requirement.state = 'open')
                        OR NOT EXISTS (SELECT 1 FROM requirement
                            JOIN unit AS child ON child.id = requirement.child
                            WHERE requirement.parent = unit.id AND requirement.state = 'open'
                              AND child.state NOT IN ('done', 'parked', 'cancelled')))
                 ORDER BY id LIMIT 1000"
            ))
            .await?;
        let units: Vec<UnitId> = rows
            .iter()
            .map(|row| row.get("id"))
            .collect::<Result<_, _>>()?;
        if units.is_empty() {
            return Ok(0);
        }
        let units = &units;
        transact!(self.db, |tx| requirement::unfold_waiting(tx, units.clone())
            .await)?;
        Ok(units.len())
    }

    /// A child can only vanish by hand; the requirement on it is void.
    async fn drop_broken(&self) -> Result<usize, DbError> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT parent, child FROM requirement
                 WHERE NOT EXISTS (SELECT 1 FROM unit WHERE unit.id = requirement.child)
                    OR NOT EXISTS (SELECT 1 FROM unit WHERE unit.id = requirement.parent)
                 LIMIT 1000"
            ))
            .await?;
        let edges: Vec<(UnitId, UnitId)> = rows
            .iter()
            .map(|row| Ok((row.get("parent")?, row.get("child")?)))
            .collect::<Result<_, DbError>>()?;
        if edges.is_empty() {
            return Ok(0);
        }
        let edges = &edges;
        transact!(self.db, |tx| {
            tx.execute_bulk(
                        sql!(
                            "DELETE FROM requirement WHERE (parent, child) IN (SELECT r.up, r.down FROM {rows})"
                        ),
                        Bulk::new()
                            .ints("up", edges.iter().map(|(parent, _)| *parent))
                            .ints("down", edges.iter().map(|(_, child)| *child)),
                    )
                    .await?;
            requirement::unfold_waiting(tx, edges.iter().map(|(parent, _)| *parent).collect()).await
        })?;
        Ok(edges.len())
    }
}
