//! The queue: which units are ready, in the order in which they are claimed.
//!
//! A row of `ready` is a *hint*: "look at this unit, it was ready at this place".
//! The rule that claims rest on: **a ready unit has a hint with its rank and due
//! time**. The reverse need not hold. A unit that was cancelled, moved or taken up
//! by name leaves its hint behind; the claim that meets such a hint removes it and
//! looks at the unit's own row before it believes anything.
//!
//! Why a table of its own. An index over ready units would do, but a claim then
//! changes an indexed column, and PostgreSQL writes a new version of the row into
//! *every* index of the table, the two unique ones included: of 11 ms for a claim
//! of 500, 8 were spent on that. With the queue apart, a unit's row is only ever
//! updated in place, whatever becomes of it.

use db::{Bulk, DbError, Tx, sql};

use crate::UnitId;

/// Gives those of these units that are ready their place in the queue. To be
/// called by whoever makes units ready, or changes the rank or due time of ready
/// ones, in the same transaction.
pub(crate) async fn note(
    tx: &mut Tx,
    units: impl IntoIterator<Item = UnitId>,
) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "INSERT INTO ready (pool, upstream, rank, due_at, unit, kind, version)
             SELECT unit.pool, unit.upstream, unit.rank, unit.due_at, unit.id, unit.kind, unit.version
             FROM {rows} JOIN unit ON unit.id = r.unit WHERE unit.state = 'ready'
             ON CONFLICT (pool, upstream, rank, due_at, unit) DO UPDATE SET version = excluded.version"
        ),
        Bulk::new().ints("unit", units),
    )
    .await?;
    Ok(())
}

/// The ids in the answer to a statement that returns them.
pub(crate) fn ids(rows: &[db::Row]) -> Result<Vec<UnitId>, DbError> {
    rows.iter().map(|row| row.get("id")).collect()
}
