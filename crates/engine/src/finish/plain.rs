//! Ends of one kind that were complete and leave no body: nearly all there are.

use std::collections::{BTreeMap, HashMap};

use db::{Bulk, DbError, Dialect, Statement, Timestamp, Tx};

use super::{Attempt, Closing, FinishError, Row, keep};
use crate::{Kind, State, UnitId, queue, requirement, transition::After};

/// On SQLite, up to so many different fencing numbers get a statement each.
const FEW_FENCES: usize = 4;

/// Ends these runs, all of one kind.
pub(super) async fn end(
    tx: &mut Tx,
    kind: &Kind,
    rows: &[&Row<'_>],
    careful: bool,
    now: Timestamp,
    kept: &mut HashMap<Attempt, bool>,
) -> Result<(), FinishError> {
    // Nothing of what the unit was before bears on such an end: see `after`.
    let Some((_, _, next)) = rows.first() else {
        return Ok(());
    };
    match tx.dialect() {
        // There every returned row is stored, copied and sent to another
        // thread. If all fences held, their number says so.
        Dialect::Sqlite if rows.len() > 1 && !careful => {
            let ended = end_silently(tx, kind, rows, next, now).await?;
            if ended != rows.len() as u64 {
                return Err(FinishError::Odd);
            }
            let units = || rows.iter().map(|(closing, _, _)| &closing.unit);
            kept.extend(units().map(|unit| (unit.attempt(), false)));
            if next.state == State::Ready {
                queue::note(tx, units().map(|unit| unit.id)).await?;
            }
            let required = units().filter(|unit| unit.required);
            let required = required.map(|unit| unit.id).collect();
            requirement::unfold(tx, required).await?;
        }
        Dialect::Sqlite => {
            let text = format!(
                "{END} FROM {{rows}} WHERE unit.id = r.unit AND unit.attempt = r.fence
                   AND unit.state = 'running' RETURNING id, attempt, required, state"
            );
            let ended = tx
                .fetch_bulk(statement(kind, next, now, text), fenced(rows))
                .await?;
            keep(tx, &ended, kept).await?;
        }
        Dialect::Postgres => end_at_once(tx, kind, rows, next, now, kept).await?,
    }
    Ok(())
}

/// One statement, which returns only what is out of the ordinary.
async fn end_at_once(
    tx: &mut Tx,
    kind: &Kind,
    rows: &[&Row<'_>],
    next: &After,
    now: Timestamp,
    kept: &mut HashMap<Attempt, bool>,
) -> Result<(), DbError> {
    if let [(closing, _, _)] = rows {
        return end_one(tx, kind, closing, next, now, kept).await;
    }
    let text = format!(
        "WITH given AS MATERIALIZED (SELECT r.unit, r.fence, r.wanted FROM {{rows}}),
         ended AS ({END} FROM given
            WHERE unit.id = given.unit AND unit.attempt = given.fence AND unit.state = 'running'
            RETURNING id, attempt, required, state)
         SELECT given.unit, given.fence, ended.required, ended.state
         FROM given LEFT JOIN ended ON ended.id = given.unit AND ended.attempt = given.fence
         WHERE ended.id IS NULL OR ended.required <> given.wanted OR ended.state <> $2"
    );
    let odd = tx
        .fetch_bulk(statement(kind, next, now, text), fenced(rows))
        .await?;
    let units = rows.iter().map(|(closing, _, _)| &closing.unit);
    kept.extend(units.map(|unit| (unit.attempt(), unit.required)));
    let mut back = Vec::new();
    for row in &odd {
        let attempt: Attempt = (row.get("unit")?, row.get("fence")?);
        match row.get::<Option<bool>>("required")? {
            None => {
                kept.remove(&attempt);
            }
            Some(required) => {
                kept.insert(attempt, required);
                if row.get::<String>("state")? == "ready" {
                    back.push(attempt.0);
                }
            }
        }
    }
    if next.state == State::Ready {
        let ended = rows.iter().map(|(closing, _, _)| closing.unit.attempt());
        back = ended
            .filter(|one| kept.contains_key(one))
            .map(|(id, _)| id)
            .collect();
    }
    queue::note(tx, back).await
}

/// A lane that holds one unit ends one: without lists, whose length a planner must know, it need
/// not plan anew each time, which took twice as long as the update.
async fn end_one(
    tx: &mut Tx,
    kind: &Kind,
    closing: &Closing,
    next: &After,
    now: Timestamp,
    kept: &mut HashMap<Attempt, bool>,
) -> Result<(), DbError> {
    let text = format!(
        "{END} WHERE id = $7 AND attempt = $8 AND state = 'running'
         RETURNING id, attempt, required, state"
    );
    let (id, attempt) = closing.unit.attempt();
    let statement = statement(kind, next, now, text).bind(id).bind(attempt);
    let ended = tx.fetch_all(statement).await?;
    keep(tx, &ended, kept).await
}

/// Returns how many fences held.
///
/// Units that run for the first time share a fencing number, and then a list of
/// ids is enough: 1.9 us a unit, where a join with pairs takes 4.5.
async fn end_silently(
    tx: &mut Tx,
    kind: &Kind,
    rows: &[&Row<'_>],
    next: &After,
    now: Timestamp,
) -> Result<u64, DbError> {
    // What is rare makes the numbers differ, and is then written one by one: a unit
    // that is wanted again, or that somebody requires since it was claimed.
    const USUAL: &str = "state = 'running' AND NOT again";
    let mut fences: BTreeMap<(i64, bool), Vec<UnitId>> = BTreeMap::new();
    for (closing, _, _) in rows {
        let (id, fence) = closing.unit.attempt();
        let group = (fence, closing.unit.required);
        fences.entry(group).or_default().push(id);
    }
    if fences.len() > FEW_FENCES {
        let text = format!(
            "{END} FROM {{rows}} WHERE unit.id = r.unit AND unit.attempt = r.fence AND {USUAL}
               AND unit.required = r.wanted"
        );
        return tx
            .execute_bulk(statement(kind, next, now, text), fenced(rows))
            .await;
    }
    let mut ended = 0;
    for ((fence, required), units) in fences {
        let text = format!(
            "{END} WHERE id IN (SELECT r.unit FROM {{rows}}) AND attempt = $7 AND {USUAL}
               AND required = $8"
        );
        let statement = statement(kind, next, now, text).bind(fence).bind(required);
        ended += tx
            .execute_bulk(statement, Bulk::new().ints("unit", units))
            .await?;
    }
    Ok(ended)
}

const END: &str = "UPDATE unit SET
    state = CASE WHEN again THEN 'ready' ELSE $2 END,
    rank = CASE WHEN again THEN 2 WHEN $2 = 'done' THEN rank ELSE $3 END,
    due_at = CASE WHEN again THEN $1 WHEN $2 = 'done' THEN due_at ELSE $4 END,
    worker = NULL, strikes = 0, partials = 0, lost = 0,
    cadence = $5, version = $6, again = FALSE, ended_at = $1, succeeded_at = $1";

/// The arguments of [`END`].
fn statement(kind: &Kind, next: &After, now: Timestamp, text: String) -> Statement {
    Statement::built(text)
        .bind(now)
        .bind(next.state.as_str())
        .bind(next.rank.number())
        .bind(next.due_at)
        .bind(kind.cadence_seconds())
        .bind(kind.version)
}

fn fenced(rows: &[&Row<'_>]) -> Bulk {
    let units = || rows.iter().map(|(closing, _, _)| &closing.unit);
    Bulk::new()
        .ints("unit", units().map(|unit| unit.id))
        .ints("fence", units().map(|unit| unit.attempt))
        .bools("wanted", units().map(|unit| unit.required))
}
