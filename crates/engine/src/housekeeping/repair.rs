//! Looks for what the engine's own rules should make impossible. A finding is
//! logged as a warning: it is a bug, and nothing is lost by it.

use db::{Bulk, DbError, Statement, sql, transact};

use crate::{Engine, MOST_ROWS, UnitId, queue, requirement};

/// Units looked at in one pass for whether they have their place in the queue: some 30 ms.
const STRETCH: usize = 50_000;

/// What was found and mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Waiting units with nothing left to wait for.
    pub woken: usize,
    /// Open edges of units that do not wait.
    pub dangling: u64,
    /// Edges to units that do not exist.
    pub broken: usize,
    /// Ready units that nobody would have claimed.
    pub unqueued: usize,
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
        let unqueued = self.queue_forgotten().await?;
        Ok(Repaired {
            woken,
            dangling,
            broken,
            unqueued,
        })
    }

    /// Waiting units that have no open edge, or one whose child has ended, when
    /// there is no note that would make the resolver look. While there are notes it
    /// may be about to, and this waits for the next pass.
    async fn wake_forgotten(&self) -> Result<usize, DbError> {
        let notes = sql!("SELECT seq FROM unfolded LIMIT 1");
        if self.db.fetch_optional(notes).await?.is_some() {
            return Ok(0);
        }
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT id FROM unit WHERE shelf = 'waiting'
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

    /// Ready units without a hint at their place: a stretch of ids, from where the
    /// pass before stopped.
    async fn queue_forgotten(&self) -> Result<usize, DbError> {
        let place = self
            .db
            .fetch_optional(sql!("SELECT position FROM duty WHERE name = 'queue'"))
            .await?;
        let from: UnitId = place.map_or(Ok(0), |row| row.get("position"))?;
        let row = self
            .db
            .fetch_one(sql!(
                "SELECT max(id) AS last FROM (
                    SELECT id FROM unit WHERE id > $1 ORDER BY id LIMIT $2) AS stretch",
                from,
                STRETCH
            ))
            .await?;
        // At the end it begins anew.
        let last: Option<UnitId> = row.get("last")?;
        let rows = self
            .db
            .fetch_all(
                Statement::built(format!(
                    "SELECT id FROM (
                        SELECT id, pool, upstream, rank, due_at FROM unit
                        WHERE id > $1 AND id <= $2 AND state = 'ready'
                        EXCEPT
                        SELECT id, pool, upstream, rank, due_at FROM {}
                        WHERE named.unit <= $2 AND named.id > $1
                     ) AS forgotten ORDER BY id LIMIT $3",
                    queue::named(self.db.dialect())
                ))
                .bind(from)
                .bind(last.unwrap_or(0))
                .bind(MOST_ROWS),
            )
            .await?;
        let lost = queue::ids(&rows)?;
        let next = match lost.last() {
            Some(place) if lost.len() == MOST_ROWS => *place,
            _ => last.unwrap_or(0),
        };
        let lost = &lost;
        transact!(self.db, |tx| {
            tx.execute(sql!(
                "INSERT INTO duty (name, next_at, position) VALUES ('queue', $1, $2)
                 ON CONFLICT (name) DO UPDATE SET position = excluded.position",
                db::Timestamp::FAR_FUTURE,
                next
            ))
            .await?;
            if !lost.is_empty() {
                queue::note(tx, lost.iter().copied()).await?;
                tx.wake();
            }
            Ok::<_, DbError>(())
        })?;
        Ok(lost.len())
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
