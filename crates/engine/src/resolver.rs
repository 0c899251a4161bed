//! Folds ended children into the parents that wait for them.
//!
//! The run that ends never touches its parents: with 220,000 children of one
//! parent that would make all workers queue on one row. It leaves a note in
//! `unfolded`, and this resolver takes notes by the thousand: met edges are
//! deleted (a delete touches no index, an update touches all of them), failed
//! and missed ones are marked, and each parent that was touched is looked at
//! once.
//!
//! A parent that begins to wait leaves a note about itself, so that children
//! that ended before it began are found: no wake-up is lost. Parents are locked
//! before their remaining edges are counted, so of two resolvers that fold the
//! last two edges of one parent, the second sees what the first did.

use std::collections::BTreeMap;

use db::{Bulk, DbError, Timestamp, Tx, sql, transact};

use crate::{Engine, MOST_ROWS, Rank, UnitId, queue};

/// Units whose notes are taken in one transaction, or somewhat more. Each may touch
/// more rows than itself (its edge, its parent), so it stays below the limit on rows.
const UNITS: usize = MOST_ROWS / 2;

impl Engine {
    /// Folds one batch of notes; returns how many units they were about.
    pub(crate) async fn fold_once(&self) -> Result<usize, DbError> {
        // Most of the time there is nothing: find out without being a writer.
        if self
            .db
            .fetch_optional(sql!("SELECT seq FROM unfolded LIMIT 1"))
            .await?
            .is_none()
        {
            return Ok(0);
        }
        transact!(self.db, |tx| fold(tx, self.clock.now()).await)
    }

    /// Fails edges whose deadline has passed; returns how many.
    pub(crate) async fn expire_once(&self) -> Result<usize, DbError> {
        let now = self.clock.now();
        let late = self
            .db
            .fetch_all(sql!(
                "SELECT parent, child FROM requirement
                 WHERE state = 'open' AND deadline IS NOT NULL AND deadline <= $1
                 ORDER BY deadline LIMIT 1000",
                now
            ))
            .await?;
        if late.is_empty() {
            return Ok(0);
        }
        let edges: Vec<(UnitId, UnitId)> = late
            .iter()
            .map(|row| Ok((row.get("parent")?, row.get("child")?)))
            .collect::<Result<_, DbError>>()?;
        let edges = &edges;
        transact!(self.db, |tx| {
            let parents = lock(tx, edges.iter().map(|(parent, _)| *parent).collect()).await?;
            tx.execute_bulk(
                sql!(
                    "UPDATE requirement SET state = CASE WHEN hard THEN 'failed' ELSE 'missed' END
                             FROM {rows}
                             WHERE requirement.parent = r.up AND requirement.child = r.down
                               AND requirement.state = 'open' AND requirement.deadline <= $1",
                    now
                ),
                Bulk::new()
                    .ints("up", edges.iter().map(|(parent, _)| *parent))
                    .ints("down", edges.iter().map(|(_, child)| *child)),
            )
            .await?;
            settle(tx, parents, now).await?;
            Ok::<_, DbError>(())
        })?;
        Ok(edges.len())
    }
}

async fn fold(tx: &mut Tx, now: Timestamp) -> Result<usize, DbError> {
    let text = format!(
        "DELETE FROM unfolded WHERE seq IN (
            SELECT seq FROM (
                SELECT seq, sum(size) OVER (ORDER BY seq) - size AS before FROM (
                    SELECT seq, size FROM unfolded ORDER BY seq LIMIT {UNITS} {}
                ) AS first
            ) AS counted WHERE before < {UNITS}
         ) RETURNING units, waits",
        tx.dialect().skip_locked()
    );
    let notes = tx.fetch_all(db::Statement::built(text)).await?;
    let (mut ended, mut waiting): (Vec<UnitId>, Vec<UnitId>) = (Vec::new(), Vec::new());
    for note in &notes {
        let side = if note.get("waits")? {
            &mut waiting
        } else {
            &mut ended
        };
        side.extend(queue::listed(&note.get::<String>("units")?));
    }
    let folded = ended.len() + waiting.len();
    for side in [&mut ended, &mut waiting] {
        side.sort_unstable();
        side.dedup();
    }
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT DISTINCT requirement.parent AS parent
                 FROM {rows} JOIN requirement ON requirement.child = r.unit"
            ),
            Bulk::new().ints("unit", ended.clone()),
        )
        .await?;
    let mut parents: Vec<UnitId> = rows
        .iter()
        .map(|row| row.get("parent"))
        .collect::<Result<_, _>>()?;
    parents.extend(&waiting);
    let parents = lock(tx, parents).await?;
    // Where a parent has more met edges than one transaction may delete, go on in the next.
    if fold_edges(tx, "child", &ended, now).await? {
        crate::requirement::unfold(tx, ended).await?;
    }
    if fold_edges(tx, "parent", &waiting, now).await? {
        crate::requirement::unfold_waiting(tx, waiting).await?;
    }
    settle(tx, parents, now).await?;
    Ok(folded)
}

/// Looks at the open and failed edges on one side of these units; true if it
/// stopped at the limit on rows.
///
/// Nearly all are met, and go in one statement that returns nothing. What is
/// then still there is looked at edge by edge.
async fn fold_edges(
    tx: &mut Tx,
    side: &'static str,
    units: &[UnitId],
    now: Timestamp,
) -> Result<bool, DbError> {
    let bulk = || Bulk::new().ints("unit", units.iter().copied());
    let ended_since = "(CASE WHEN requirement.hard THEN unit.succeeded_at ELSE unit.ended_at END)";
    let bad = "unit.state IN ('parked', 'cancelled')";
    // Met: it succeeded (hard) or ended otherwise than badly (soft), late enough.
    let met = format!(
        "DELETE FROM requirement WHERE (parent, child) IN (
            SELECT requirement.parent, requirement.child
            FROM {{rows}} JOIN requirement ON requirement.{side} = r.unit
            JOIN unit ON unit.id = requirement.child
            WHERE requirement.state <> 'missed'
              AND (requirement.hard OR NOT ({bad}))
              AND {ended_since} IS NOT NULL
              AND (requirement.since IS NULL OR {ended_since} >= requirement.since)
            LIMIT {MOST_ROWS}
         )"
    );
    let met = tx.execute_bulk(db::Statement::built(met), bulk()).await?;
    // Those that tell something: the child is set aside, or its success was too early.
    let rest = format!(
        "SELECT requirement.parent AS parent, requirement.child AS child,
            requirement.since AS since, {bad} AS bad
         FROM {{rows}} JOIN requirement ON requirement.{side} = r.unit
         JOIN unit ON unit.id = requirement.child
         WHERE (requirement.state = 'open' AND {bad})
            OR (requirement.state <> 'missed' AND unit.state = 'done'
                AND requirement.since > unit.succeeded_at)
         LIMIT {MOST_ROWS}"
    );
    let rest = tx.fetch_bulk(db::Statement::built(rest), bulk()).await?;
    let mut fallen: Vec<(UnitId, UnitId)> = Vec::new();
    let mut early: BTreeMap<UnitId, Timestamp> = BTreeMap::new();
    for edge in &rest {
        let child = edge.get("child")?;
        if edge.get("bad")? {
            fallen.push((edge.get("parent")?, child));
        } else if let Some(since) = edge.get::<Option<Timestamp>>("since")? {
            let due = early.entry(child).or_insert(now);
            *due = since.max(*due);
        }
    }
    fail(tx, &fallen).await?;
    renew(tx, &early).await?;
    Ok(met.max(rest.len() as u64) >= MOST_ROWS as u64)
}

/// Not met, and the child is set aside: failed or missed.
async fn fail(tx: &mut Tx, edges: &[(UnitId, UnitId)]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "UPDATE requirement SET state = CASE WHEN hard THEN 'failed' ELSE 'missed' END
             FROM {rows}
             WHERE requirement.parent = r.up AND requirement.child = r.down
               AND requirement.state = 'open'"
        ),
        Bulk::new()
            .ints("up", edges.iter().map(|(parent, _)| *parent))
            .ints("down", edges.iter().map(|(_, child)| *child)),
    )
    .await?;
    Ok(())
}

/// A done child whose success was too early for somebody would never run
/// again, and they would wait for ever: it runs once more.
async fn renew(tx: &mut Tx, early: &BTreeMap<UnitId, Timestamp>) -> Result<(), DbError> {
    let renewed = tx
        .fetch_bulk(
            sql!(
                "UPDATE unit SET state = 'ready', rank = $1, due_at = r.due FROM {rows}
                 WHERE unit.id = r.unit AND unit.state = 'done' RETURNING id",
                Rank::First.number()
            ),
            Bulk::new()
                .ints("unit", early.keys().copied())
                .times("due", early.values().copied()),
        )
        .await?;
    if !renewed.is_empty() {
        queue::note(tx, queue::ids(&renewed)?).await?;
        tx.wake();
    }
    Ok(())
}

/// Locks these units in order, so that nobody else settles them meanwhile.
async fn lock(tx: &mut Tx, mut units: Vec<UnitId>) -> Result<Vec<UnitId>, DbError> {
    units.sort_unstable();
    units.dedup();
    if tx.dialect() == db::Dialect::Postgres {
        tx.fetch_bulk(
            sql!(
                "SELECT unit.id AS id FROM {rows} JOIN unit ON unit.id = r.unit
                 WHERE unit.state IN ('waiting', 'parked') ORDER BY unit.id FOR UPDATE OF unit"
            ),
            Bulk::new().ints("unit", units.clone()),
        )
        .await?;
    }
    Ok(units)
}

/// Decides what becomes of parents whose edges have changed.
async fn settle(tx: &mut Tx, parents: Vec<UnitId>, now: Timestamp) -> Result<(), DbError> {
    let bulk = || Bulk::new().ints("unit", parents.iter().copied());
    let edge = |state: &str| {
        format!(
            "EXISTS (SELECT 1 FROM requirement q WHERE q.parent = unit.id AND q.state = '{state}')"
        )
    };
    // A failed hard requirement parks whoever waits.
    let parked = format!(
        "UPDATE unit SET state = 'parked', due_at = $2, ended_at = $1
         FROM {{rows}} WHERE unit.id = r.unit AND unit.state = 'waiting' AND {}
         RETURNING id, required",
        edge("failed")
    );
    let parked = tx
        .fetch_bulk(
            db::Statement::built(parked)
                .bind(now)
                .bind(Timestamp::FAR_FUTURE),
            bulk(),
        )
        .await?;
    let mut to_fold = Vec::new();
    for row in &parked {
        if row.get::<bool>("required")? {
            to_fold.push(row.get::<UnitId>("id")?);
        }
    }
    // Parked by its requirements, not by its own strikes, and all are mended: it waits again.
    let mended = format!(
        "UPDATE unit SET state = 'waiting', due_at = $1
         FROM {{rows}} WHERE unit.id = r.unit AND unit.state = 'parked'
           AND unit.strikes < {} AND NOT {} AND unit.due_at = $2",
        crate::transition::LAST_STRIKE,
        edge("failed")
    );
    tx.execute_bulk(
        db::Statement::built(mended)
            .bind(now)
            .bind(Timestamp::FAR_FUTURE),
        bulk(),
    )
    .await?;
    // Nothing open, nothing failed: it runs.
    let ready = format!(
        "UPDATE unit SET state = 'ready', due_at = CASE WHEN due_at > $1 THEN due_at ELSE $1 END
         FROM {{rows}} WHERE unit.id = r.unit AND unit.state = 'waiting' AND NOT {} AND NOT {}
         RETURNING id",
        edge("open"),
        edge("failed")
    );
    let woken = tx
        .fetch_bulk(db::Statement::built(ready).bind(now), bulk())
        .await?;
    if !woken.is_empty() {
        queue::note(tx, queue::ids(&woken)?).await?;
        tx.wake();
    }
    if !to_fold.is_empty() {
        crate::requirement::unfold(tx, to_fold).await?;
    }
    Ok(())
}
