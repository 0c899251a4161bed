//! Steering by hand: pause and resume, retry, cancel, run now; one unit or many.

use std::collections::HashSet;

use db::{Bulk, DbError, Statement, Tx, sql, transact};
use futures_util::future::BoxFuture;

use crate::{Engine, MOST_ROWS, Rank, State, UnitId, queue, requirement, selection::Conditions};

/// Which units a bulk action means. All that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// These units only.
    pub ids: Option<Vec<UnitId>>,
    /// Of this kind; `license` also means `license/…`.
    pub kind: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// Whose last error contains this.
    pub error: Option<String>,
    /// Whose key fits this pattern: `*` is any text, `?` any one character.
    pub key: Option<String>,
}

/// What a bulk action did, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changed {
    /// Units that fit the selection.
    pub selected: usize,
    /// Of those, the ones that the action can change.
    pub changed: usize,
}

/// How many units an action has changed, once it is through.
type Applied<'t> = BoxFuture<'t, Result<u64, DbError>>;

/// An action on a batch of units: which states it can change, and how.
struct Action {
    /// The states it applies to, as SQL.
    applies: &'static str,
    apply: for<'t> fn(&'t mut Tx, &'t [UnitId], db::Timestamp) -> Applied<'t>,
}

impl Engine {
    /// Gives failed units another chance now: parked, cancelled, or waiting out
    /// a backoff. A unit that is parked for a requirement has its culprits retried.
    pub async fn retry(&self, which: &Selection, dry_run: bool) -> Result<Changed, DbError> {
        let action = Action {
            applies: "(unit.state IN ('parked', 'cancelled')
                OR (unit.state = 'ready' AND (unit.strikes > 0 OR unit.partials > 0 OR unit.lost > 0)))",
            apply: |tx, ids, now| Box::pin(retry(tx, ids, now)),
        };
        self.act(which, action, dry_run).await
    }

    /// Runs units as soon as there is a slot, whatever their due time; a
    /// running one runs once more.
    pub async fn run_now(&self, which: &Selection, dry_run: bool) -> Result<Changed, DbError> {
        let action = Action {
            applies: "unit.state <> 'waiting' AND NOT EXISTS (SELECT 1 FROM requirement
                WHERE requirement.parent = unit.id AND requirement.state = 'failed')",
            apply: |tx, ids, now| Box::pin(run_now(tx, ids, now)),
        };
        self.act(which, action, dry_run).await
    }

    /// Calls units off. A running one may finish talking, but can write nothing more.
    pub async fn cancel(&self, which: &Selection, dry_run: bool) -> Result<Changed, DbError> {
        let action = Action {
            applies: "unit.state IN ('waiting', 'ready', 'running', 'parked')",
            apply: |tx, ids, now| Box::pin(cancel(tx, ids, now)),
        };
        self.act(which, action, dry_run).await
    }

    /// Stops a pool from starting anything, in all processes. What runs goes on.
    pub async fn pause_pool(&self, pool: &str, why: &str) -> Result<(), DbError> {
        self.db
            .execute(sql!(
                "INSERT INTO pool (name, paused_at, paused_why) VALUES ($1, $2, $3)
                 ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at,
                    paused_why = excluded.paused_why",
                pool,
                self.clock.now(),
                why
            ))
            .await?;
        Ok(())
    }

    /// Lets a pool start again; false if it was not paused.
    pub async fn resume_pool(&self, pool: &str) -> Result<bool, DbError> {
        let mut tx = self.db.begin().await?;
        let touched = tx
            .execute(sql!(
                "UPDATE pool SET paused_at = NULL, paused_why = NULL
                 WHERE name = $1 AND paused_at IS NOT NULL",
                pool
            ))
            .await?;
        tx.wake();
        tx.commit().await?;
        Ok(touched > 0)
    }

    /// Closes an upstream's breaker, ends the silence it asked for and forgets
    /// its failures; false if it is unknown. What it said of budgets stays.
    pub async fn reset_upstream(&self, name: &str) -> Result<bool, DbError> {
        let mut tx = self.db.begin().await?;
        let touched = tx
            .execute(sql!(
                "UPDATE upstream SET failures = 0, failing_since = NULL, open_until = NULL,
                    openings = 0, prober = NULL, last_error = NULL, held_until = NULL,
                    held_why = NULL, next_request_at = NULL, paused_at = NULL, paused_why = NULL
                 WHERE name = $1",
                name
            ))
            .await?
            + tx.execute(sql!(
                "UPDATE budget SET held_until = NULL, held_why = NULL WHERE upstream = $1",
                name
            ))
            .await?;
        tx.wake();
        tx.commit().await?;
        Ok(touched > 0)
    }

    async fn act(
        &self,
        which: &Selection,
        action: Action,
        dry_run: bool,
    ) -> Result<Changed, DbError> {
        let mut total = Changed::default();
        let mut after = 0;
        loop {
            let batch = self.select(which, action.applies, after).await?;
            let Some((last, _)) = batch.last() else {
                return Ok(total);
            };
            after = *last;
            total.selected += batch.len();
            let ids: Vec<UnitId> = batch
                .iter()
                .filter(|(_, applies)| *applies)
                .map(|(id, _)| *id)
                .collect();
            if dry_run {
                total.changed += ids.len();
                continue;
            }
            let (ids, now, apply) = (&ids, self.clock.now(), action.apply);
            let changed = transact!(self.db, |tx| apply(tx, ids, now).await)?;
            total.changed += usize::try_from(changed).unwrap_or(usize::MAX);
        }
    }

    /// The next units of the selection by id, and whether the action applies.
    async fn select(
        &self,
        which: &Selection,
        applies: &str,
        after: UnitId,
    ) -> Result<Vec<(UnitId, bool)>, DbError> {
        let mut conditions = Conditions::behind(1);
        conditions.kind(which.kind.as_ref());
        conditions.state(which.state);
        conditions.error(which.error.as_ref());
        conditions.key(which.key.as_ref());
        let from = if which.ids.is_some() {
            "{rows} JOIN unit ON unit.id = r.chosen"
        } else {
            "unit"
        };
        let text = format!(
            "SELECT unit.id AS id, ({applies}) AS applies FROM {from}
             WHERE unit.id > $1{} ORDER BY unit.id LIMIT {}",
            conditions.text,
            MOST_ROWS / 2
        );
        let statement = conditions.bind(Statement::built(text).bind(after));
        let rows = match &which.ids {
            Some(ids) if ids.is_empty() => Vec::new(),
            Some(ids) => {
                self.db
                    .fetch_bulk(statement, Bulk::new().ints("chosen", ids.clone()))
                    .await?
            }
            None => self.db.fetch_all(statement).await?,
        };
        rows.iter()
            .map(|row| Ok((row.get("id")?, row.get("applies")?)))
            .collect()
    }
}

fn bulk(ids: &[UnitId]) -> Bulk {
    Bulk::new().ints("chosen", ids.iter().copied())
}

async fn retry(tx: &mut Tx, ids: &[UnitId], now: db::Timestamp) -> Result<u64, DbError> {
    // Those parked for a requirement: their culprits, or the culprits' own
    // culprits, so that they can be mended.
    let rows = tx
        .fetch_bulk(
            sql!(
                "WITH RECURSIVE suspect(id) AS (
                    SELECT r.chosen FROM {rows}
                    UNION
                    SELECT requirement.child FROM suspect
                    JOIN requirement ON requirement.parent = suspect.id
                     AND requirement.state = 'failed'
                 )
                 SELECT id, EXISTS (SELECT 1 FROM requirement WHERE requirement.parent = suspect.id
                                    AND requirement.state = 'failed') AS waits FROM suspect"
            ),
            bulk(ids),
        )
        .await?;
    let selected: HashSet<UnitId> = ids.iter().copied().collect();
    let (mut own, mut culprits, mut waits) = (Vec::new(), Vec::new(), 0);
    for row in &rows {
        let id: UnitId = row.get("id")?;
        match (selected.contains(&id), row.get::<bool>("waits")?) {
            (true, true) => waits += 1,
            (true, false) => own.push(id),
            (false, true) => {}
            (false, false) => culprits.push(id),
        }
    }
    let failed = "unit.state IN ('ready', 'parked', 'cancelled')";
    ready(tx, &culprits, failed, now).await?;
    Ok(waits + ready(tx, &own, failed, now).await?)
}

async fn run_now(tx: &mut Tx, ids: &[UnitId], now: db::Timestamp) -> Result<u64, DbError> {
    let again = tx
        .execute_bulk(
            sql!(
                "UPDATE unit SET again = TRUE FROM {rows}
                 WHERE unit.id = r.chosen AND unit.state = 'running'"
            ),
            bulk(ids),
        )
        .await?;
    let touched = ready(
        tx,
        ids,
        "unit.state IN ('ready', 'done', 'parked', 'cancelled')
         AND NOT EXISTS (SELECT 1 FROM requirement WHERE requirement.parent = unit.id
                         AND requirement.state = 'failed')",
        now,
    )
    .await?;
    Ok(again + touched)
}

async fn ready(
    tx: &mut Tx,
    ids: &[UnitId],
    condition: &str,
    now: db::Timestamp,
) -> Result<u64, DbError> {
    let text = format!(
        "UPDATE unit SET state = 'ready', rank = $1, due_at = $2, strikes = 0, partials = 0, lost = 0
         FROM {{rows}} WHERE unit.id = r.chosen AND {condition} RETURNING id"
    );
    let statement = Statement::built(text).bind(Rank::RunNow.number()).bind(now);
    let moved = tx.fetch_bulk(statement, bulk(ids)).await?;
    queue::note(tx, queue::ids(&moved)?).await?;
    tx.wake();
    Ok(moved.len() as u64)
}

async fn cancel(tx: &mut Tx, ids: &[UnitId], now: db::Timestamp) -> Result<u64, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "UPDATE unit SET state = 'cancelled', worker = NULL, due_at = $1, ended_at = $1, again = FALSE
                 FROM {rows}
                 WHERE unit.id = r.chosen AND unit.state IN ('waiting', 'ready', 'running', 'parked')
                 RETURNING id, required",
                now
            ),
            bulk(ids),
        )
        .await?;
    // What it waited for no longer matters.
    tx.execute_bulk(
        sql!("DELETE FROM requirement WHERE parent IN (SELECT r.chosen FROM {rows})"),
        bulk(ids),
    )
    .await?;
    let mut required: Vec<UnitId> = Vec::new();
    for row in &rows {
        if row.get::<bool>("required")? {
            required.push(row.get("id")?);
        }
    }
    if !required.is_empty() {
        requirement::unfold(tx, required).await?;
    }
    Ok(rows.len() as u64)
}
