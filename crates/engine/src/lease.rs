//! Leases by process, not by unit.
//!
//! Each process writes one heartbeat row; the units it runs point to it. An
//! observer frees a process's units after it has seen the same beat for 30 s of
//! its own monotonic time: nobody compares clocks, so a wall clock that jumps
//! kills nobody. A process that could not beat for 25 s stops its own runs
//! first; should it not notice, the fence in every write stops it.
//!
//! The cost is one small write per process every 5 s, whatever the number of
//! units.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use db::{Bulk, DbError, Timestamp, Tx, sql, transact};

use crate::{
    Engine, MOST_ROWS, Rank, UnitId,
    holding::{self, Whose},
    process, queue, requirement,
    transition::{After, Before, lost},
};

/// How a process introduces itself.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub name: String,
    pub host: String,
    pub pid: u32,
    pub kinds: Vec<&'static str>,
    pub release: String,
}

impl Engine {
    /// Registers a process; returns its row.
    pub(crate) async fn register(&self, who: &Introduction) -> Result<i64, DbError> {
        let now = self.clock.now();
        let mut tx = self.db.begin_urgent().await?;
        let row = tx
            .fetch_one(sql!(
                "INSERT INTO worker (name, host, pid, started_at, beat, beat_at, kinds, release)
                 VALUES ($1, $2, $3, $4, 0, $4, $5, $6) RETURNING id",
                &who.name,
                &who.host,
                who.pid,
                now,
                who.kinds.join(" "),
                &who.release
            ))
            .await?;
        let id = row.get("id")?;
        tx.commit().await?;
        Ok(id)
    }

    /// Says that the process lives. False: others have declared it dead, and
    /// its units are gone.
    pub(crate) async fn beat(&self, worker: i64) -> Result<bool, DbError> {
        let mut tx = self.db.begin_urgent().await?;
        let touched = tx
            .execute(sql!(
                "UPDATE worker SET beat = beat + 1, beat_at = $2 WHERE id = $1",
                worker,
                self.clock.now()
            ))
            .await?;
        tx.commit().await?;
        Ok(touched > 0)
    }

    /// Goes, after everything was finished or released.
    pub(crate) async fn leave(&self, worker: i64) -> Result<(), DbError> {
        let rows = holding::rows(&self.db, Whose::Of(worker)).await?;
        let idle = holding::running(&self.db, &rows).await?.is_empty();
        transact!(self.db, |tx| {
            tx.execute(sql!("DELETE FROM worker WHERE id = $1", worker))
                .await?;
            // What still runs by the table's account is for others to free.
            if idle {
                tx.execute(sql!("DELETE FROM holding WHERE worker = $1", worker))
                    .await?;
            }
            Ok::<_, DbError>(())
        })
    }

    /// What this process runs, as the table has it: unit and attempt.
    pub(crate) async fn held_by(&self, worker: i64) -> Result<HashMap<UnitId, i64>, DbError> {
        let rows = holding::rows(&self.db, Whose::Of(worker)).await?;
        let running = holding::running(&self.db, &rows).await?;
        Ok(running
            .into_iter()
            .map(|(id, unit)| (id, unit.attempt))
            .collect())
    }

    /// Gives back units that this process holds without knowing it: the answer
    /// to their claim was lost on the way.
    pub(crate) async fn give_back(
        &self,
        worker: i64,
        strays: &[(UnitId, i64)],
    ) -> Result<u64, DbError> {
        transact!(self.db, |tx| {
            let rows = Bulk::new()
                .ints("unit", strays.iter().map(|(id, _)| *id))
                .ints("fence", strays.iter().map(|(_, attempt)| *attempt));

            let given = tx
                .execute_bulk(
                    sql!(
                        "UPDATE unit SET state = 'ready', worker = NULL FROM {rows}
                                 WHERE unit.id = r.unit AND unit.attempt = r.fence
                                   AND unit.state = 'running' AND unit.worker = $1",
                        worker
                    ),
                    rows,
                )
                .await?;
            queue::note(tx, strays.iter().map(|(id, _)| *id)).await?;
            tx.wake();
            Ok::<_, DbError>(given)
        })
    }
}

/// Units that the table says are ours and that we know nothing of: the answer to
/// their claim was lost on the way.
#[derive(Debug, Default)]
pub(crate) struct Strays(HashMap<UnitId, i64>);

impl Strays {
    /// Compares what the table says we hold with what we know of, and returns
    /// what must go back. A claim that was committed a moment ago looks the
    /// same, so only what is seen twice, a beat apart, is a stray.
    pub(crate) fn seen_twice(
        &mut self,
        held: HashMap<UnitId, i64>,
        known: impl Fn(UnitId) -> bool,
    ) -> Vec<(UnitId, i64)> {
        let strays: HashMap<UnitId, i64> = held.into_iter().filter(|(id, _)| !known(*id)).collect();
        let twice = strays
            .iter()
            .filter(|(id, attempt)| self.0.get(id) == Some(attempt))
            .map(|(id, attempt)| (*id, *attempt))
            .collect();
        self.0 = strays;
        twice
    }
}

/// Watches the beats of all processes with its own monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    seen: HashMap<i64, (i64, Duration)>,
}

impl Observer {
    /// Looks once: declares dead whose beat stood still for `limit`, and frees
    /// all units whose process is gone. Returns how many were freed.
    pub(crate) async fn look(
        &mut self,
        engine: &Engine,
        limit: Duration,
    ) -> Result<usize, DbError> {
        let monotonic = engine.clock.monotonic();
        let rows = engine
            .db
            .fetch_all(sql!("SELECT id, beat FROM worker"))
            .await?;
        let mut alive = HashSet::new();
        for row in rows {
            let (id, beat): (i64, i64) = (row.get("id")?, row.get("beat")?);
            alive.insert(id);
            let (known, since) = *self.seen.entry(id).or_insert((beat, monotonic));
            if known != beat {
                self.seen.insert(id, (beat, monotonic));
            } else if monotonic.saturating_sub(since) >= limit {
                // Should this fail, what was seen stands, and the next look buries it.
                Self::bury(engine, id, beat).await?;
                alive.remove(&id);
            }
        }
        self.seen.retain(|id, _| alive.contains(id));
        engine.free_orphans().await
    }

    /// Removes the process's row, unless it has beaten after all. From then on
    /// its units are orphans, and its own next beat tells it so.
    async fn bury(engine: &Engine, worker: i64, beat: i64) -> Result<(), DbError> {
        let buried = engine
            .db
            .execute(sql!(
                "DELETE FROM worker WHERE id = $1 AND beat = $2",
                worker,
                beat
            ))
            .await?;
        if buried > 0 {
            tracing::warn!(
                worker,
                "a worker process stopped beating, its units are freed"
            );
        }
        Ok(())
    }
}

impl Engine {
    /// Frees running units whose process has no row, in small transactions.
    pub(crate) async fn free_orphans(&self) -> Result<usize, DbError> {
        let mut freed = 0;
        for row in holding::rows(&self.db, Whose::Orphaned).await? {
            let units: Vec<UnitId> = row.units().into_iter().collect();
            for units in units.chunks(MOST_ROWS / 2) {
                freed += transact!(self.db, |tx| free(tx, row.worker, units, self.clock.now())
                    .await)?;
            }
            holding::remove(&self.db, &row).await?;
        }
        if freed > 0 {
            metrics::counter!("gleaner_leases_rescued_total").increment(freed as u64);
        }
        Ok(freed)
    }
}

/// Frees a batch of a dead process's units.
async fn free(
    tx: &mut Tx,
    worker: i64,
    units: &[UnitId],
    now: Timestamp,
) -> Result<usize, DbError> {
    let lock = match tx.dialect() {
        db::Dialect::Sqlite => "",
        db::Dialect::Postgres => "FOR UPDATE OF unit",
    };
    let text = format!(
        "SELECT unit.id AS id, rank, attempt, strikes, partials, lost, cadence, required
         FROM {{rows}} JOIN unit ON unit.id = r.id
         WHERE unit.worker = $1 AND unit.state = 'running' ORDER BY unit.id {lock}"
    );
    let rows = tx
        .fetch_bulk(
            db::Statement::built(text).bind(worker),
            Bulk::new().ints("id", units.iter().copied()),
        )
        .await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let mut freed: Vec<(UnitId, i64, After, bool)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let before = Before {
            rank: Rank::from_number(row.get("rank")?),
            strikes: row.get("strikes")?,
            partials: row.get("partials")?,
            lost: row.get("lost")?,
        };
        let cadence = row
            .get::<Option<i64>>("cadence")?
            .map(|seconds| Duration::from_secs(seconds.unsigned_abs()));
        freed.push((
            row.get("id")?,
            row.get("attempt")?,
            lost(before, cadence, now),
            row.get("required")?,
        ));
    }
    tx.execute_bulk(
        sql!(
            "UPDATE unit SET state = r.next, rank = r.place, due_at = r.due, worker = NULL,
                strikes = r.struck, lost = r.gone, ended_at = COALESCE(r.over, ended_at)
             FROM {rows} WHERE unit.id = r.unit AND unit.state = 'running' AND unit.worker = $1",
            worker
        ),
        Bulk::new()
            .ints("unit", freed.iter().map(|(id, ..)| *id))
            .texts(
                "next",
                freed
                    .iter()
                    .map(|(_, _, after, _)| after.state.as_str().to_owned()),
            )
            .ints(
                "place",
                freed.iter().map(|(_, _, after, _)| after.rank.number()),
            )
            .times("due", freed.iter().map(|(_, _, after, _)| after.due_at))
            .ints("struck", freed.iter().map(|(_, _, after, _)| after.strikes))
            .ints("gone", freed.iter().map(|(_, _, after, _)| after.lost))
            .times("over", freed.iter().map(|(_, _, after, _)| after.ended_at)),
    )
    .await?;
    let ids = freed.iter().map(|(id, ..)| *id).collect();
    process::keep_for_their_hosts(tx, ids, now).await?;
    queue::note(tx, freed.iter().map(|(id, ..)| *id)).await?;
    requirement::unstage(tx, freed.iter().map(|(id, ..)| *id).collect()).await?;
    // A lost run is always worth a line of history: somebody will ask.
    tx.execute_bulk(
        sql!(
            "INSERT INTO run (unit, attempt, worker, started_at, ended_at, outcome, error, report)
             SELECT r.unit, r.attempt, 'worker ' || $1, NULL, $2, 'lost', 'the process died', NULL FROM {rows}",
            worker.to_string(),
            now
        ),
        Bulk::new()
            .ints("unit", freed.iter().map(|(id, ..)| *id))
            .ints("attempt", freed.iter().map(|(_, attempt, ..)| *attempt)),
    )
    .await?;
    let parked: Vec<UnitId> = freed
        .iter()
        .filter(|(_, _, after, required)| *required && after.ended_at.is_some())
        .map(|(id, ..)| *id)
        .collect();
    if !parked.is_empty() {
        requirement::unfold(tx, parked).await?;
    }
    tx.wake();
    Ok(freed.len())
}
