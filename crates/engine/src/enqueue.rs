//! Enqueueing: in bulk, in the caller's transaction, harmless to repeat.
//!
//! A unit is its (kind, key). Enqueueing one that is there already keeps its
//! due time, strikes and cursor unless told otherwise; one that is running is
//! marked `again` and runs once more, since what it started from may be stale.
//!
//! | the unit is | `Mode::Ensure` | `Mode::RunNow` |
//! |---|---|---|
//! | not there | created, ready (waiting, with requirements) | created, ready at rank run-now |
//! | waiting | stays | stays: requirements are not overruled |
//! | ready | stays | ready now, rank run-now, strikes forgotten |
//! | running | marked again | marked again |
//! | done | stays | ready now |
//! | parked after its strikes | stays | ready now, strikes forgotten |
//! | parked for a requirement | stays | stays: requirements are not overruled |
//! | cancelled | stays | ready now |
//!
//! A payload that is given replaces the one that was there in every case: it
//! describes the subject, and the newest description is the true one.

use std::collections::HashMap;

use db::{Bulk, DbError, Dialect, Statement, Timestamp, Transact, Tx, sql, transact};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{Engine, Kind, Rank, Requirement, State, UnitId, queue, requirement, words::NOBODY};

/// The most rows that one transaction writes: a bigger one on SQLite keeps
/// other writers waiting for more than a second (20,000 rows measured).
pub const MOST_ROWS: usize = 5_000;

/// A unit to be enqueued.
#[derive(Clone, Debug)]
pub struct Enqueue {
    pub(crate) kind: &'static str,
    pub(crate) key: String,
    pub(crate) pool: &'static str,
    pub(crate) cadence: Option<i64>,
    pub(crate) version: i64,
    pub(crate) upstream: String,
    pub(crate) payload: Option<Value>,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) mode: Mode,
    pub(crate) requirements: Vec<Requirement>,
}

/// What enqueueing does to a unit that is already there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It keeps its place.
    #[default]
    Ensure,
    /// It runs as soon as it may.
    RunNow,
}

impl Enqueue {
    /// The unit `key` of `kind`, due at once, asking nobody.
    pub fn new(kind: &Kind, key: impl Into<String>) -> Self {
        Self {
            kind: kind.name,
            key: key.into(),
            pool: kind.pool,
            cadence: kind.cadence_seconds(),
            version: kind.version,
            upstream: NOBODY.to_owned(),
            payload: None,
            due_at: None,
            mode: Mode::Ensure,
            requirements: Vec::new(),
        }
    }

    /// The kind of the unit.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The key of the unit.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The one upstream it will talk to.
    pub fn upstream(mut self, name: impl Into<String>) -> Self {
        self.upstream = name.into();
        self
    }

    /// What the run is told of its subject.
    pub fn payload(mut self, payload: Value) -> Self {
        self.payload = Some(payload);
        self
    }

    /// Not before `at`.
    pub fn due_at(mut self, at: Timestamp) -> Self {
        self.due_at = Some(at);
        self
    }

    /// As soon as it may, whatever it was waiting for but requirements.
    pub fn now(mut self) -> Self {
        self.mode = Mode::RunNow;
        self
    }

    /// Waits for another unit first. Counts only when the unit is created.
    pub fn requires(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }
}

/// What enqueueing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// Units that were not there before.
    pub created: usize,
    /// Units that were.
    pub existing: usize,
}

/// Why units could not be enqueued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The requirements would wait for each other for ever.
    #[error("requirements must not form a cycle: `{0}` would wait for itself")]
    Cycle(String),
}

impl Transact for EnqueueError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_conflict())
    }
}

impl Engine {
    /// Enqueues any number of units, in transactions of at most [`MOST_ROWS`].
    pub async fn enqueue(&self, units: Vec<Enqueue>) -> Result<Enqueued, EnqueueError> {
        let mut total = Enqueued::default();
        for chunk in units.chunks(MOST_ROWS) {
            let done = transact!(self.db, |tx| enqueue_in(tx, chunk, self.clock.now()).await)?;
            total.created += done.created;
            total.existing += done.existing;
        }
        Ok(total)
    }
}

/// Enqueues in the caller's transaction: the work commits with the data or not at all.
pub async fn enqueue_in(
    tx: &mut Tx,
    units: &[Enqueue],
    now: Timestamp,
) -> Result<Enqueued, EnqueueError> {
    let placed = place(tx, units, now, Purpose::Work).await?;
    let created = placed.values().filter(|unit| unit.fresh).count();
    Ok(Enqueued {
        created,
        existing: placed.len() - created,
    })
}

/// Where an enqueued unit ended up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub id: UnitId,
    /// Created by this call.
    pub fresh: bool,
}

pub(crate) type Name = (&'static str, String);

/// What units are placed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Somebody has news of them: those that run just now run once more.
    Work,
    /// Somebody waits for them: those that run just now will do, and none may
    /// vanish before the edge to it is there.
    Requirement,
}

pub(crate) fn place<'t>(
    tx: &'t mut Tx,
    units: &'t [Enqueue],
    now: Timestamp,
    purpose: Purpose,
) -> BoxFuture<'t, Result<HashMap<Name, Placed>, EnqueueError>> {
    // Boxed because requirements enqueue units that may have requirements.
    Box::pin(async move {
        let units = once_each(units);
        let mut placed = insert(tx, &units, now).await?;
        let old = missing(&units, &placed);
        if purpose == Purpose::Work {
            mark_again(tx, &old).await?;
        }
        run_now(tx, &old, now).await?;
        find(tx, &old, purpose, &mut placed).await?;
        // Retention may have removed one after it stood in the way of the
        // insert: then it is simply new.
        let vanished = missing(&units, &placed);
        if !vanished.is_empty() {
            placed.extend(insert(tx, &vanished, now).await?);
        }
        payloads(tx, &units, &placed).await?;
        let waits: Vec<(Placed, &[Requirement])> = units
            .iter()
            .filter(|unit| !unit.requirements.is_empty())
            .filter_map(|unit| Some((*placed.get(&name(unit))?, unit.requirements.as_slice())))
            .filter(|(unit, _)| unit.fresh)
            .collect();
        requirement::add(tx, &waits, now).await?;
        if placed.values().any(|unit| unit.fresh)
            || old.iter().any(|unit| unit.mode == Mode::RunNow)
        {
            tx.wake();
        }
        Ok(placed)
    })
}

/// The same unit twice in one call is one unit; the last description counts.
fn once_each(units: &[Enqueue]) -> Vec<&Enqueue> {
    // In one order everywhere, so that two who enqueue the same units do not
    // wait for each other.
    let mut seen = HashMap::with_capacity(units.len());
    let mut once: Vec<&Enqueue> = Vec::with_capacity(units.len());
    for unit in units {
        match seen.entry((unit.kind, unit.key.as_str())) {
            std::collections::hash_map::Entry::Occupied(place) => once[*place.get()] = unit,
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(once.len());
                once.push(unit);
            }
        }
    }
    once.sort_by(|a, b| (a.kind, &a.key).cmp(&(b.kind, &b.key)));
    once
}

/// Those that have no place yet.
fn missing<'u>(units: &[&'u Enqueue], placed: &HashMap<Name, Placed>) -> Vec<&'u Enqueue> {
    units
        .iter()
        .copied()
        .filter(|unit| !placed.contains_key(&name(unit)))
        .collect()
}

fn name(unit: &Enqueue) -> Name {
    (unit.kind, unit.key.clone())
}

fn names(units: &[&Enqueue]) -> Bulk {
    Bulk::new()
        .texts("kind", units.iter().map(|unit| unit.kind.to_owned()))
        .texts("key", units.iter().map(|unit| unit.key.clone()))
}

async fn insert(
    tx: &mut Tx,
    units: &[&Enqueue],
    now: Timestamp,
) -> Result<HashMap<Name, Placed>, DbError> {
    let rows = names(units)
        .texts("pool", units.iter().map(|unit| unit.pool.to_owned()))
        .texts("upstream", units.iter().map(|unit| unit.upstream.clone()))
        .texts(
            "state",
            units.iter().map(|unit| {
                let state = if unit.requirements.is_empty() {
                    State::Ready
                } else {
                    State::Waiting
                };
                state.as_str().to_owned()
            }),
        )
        .ints("rank", units.iter().map(|unit| first_rank(unit).number()))
        .times(
            "due_at",
            units.iter().map(|unit| unit.due_at.unwrap_or(now)),
        )
        .ints("cadence", units.iter().map(|unit| unit.cadence))
        .ints("version", units.iter().map(|unit| unit.version))
        .bools("body", units.iter().map(|unit| unit.payload.is_some()));
    let insert =
        "INSERT INTO unit (kind, key, pool, upstream, state, rank, due_at, attempt, worker,
            strikes, partials, lost, cadence, version, again, required, body)
         SELECT r.kind, r.key, r.pool, r.upstream, r.state, r.rank, r.due_at, 0, NULL,
            0, 0, 0, r.cadence, r.version, FALSE, FALSE, r.body
         FROM {rows} WHERE TRUE
         ON CONFLICT (kind, key) DO NOTHING
         RETURNING id, kind, key";
    let created = tx.fetch_bulk(Statement::new(insert), rows).await?;
    let created = collect(units, created, true)?;
    let ready = units.iter().filter(|unit| unit.requirements.is_empty());
    let places = ready.filter_map(|unit| {
        let place = queue::Place {
            pool: unit.pool,
            upstream: &unit.upstream,
            rank: first_rank(unit),
            due_at: unit.due_at.unwrap_or(now),
            kind: unit.kind,
            version: unit.version,
        };
        Some((place, created.get(&name(unit))?.id))
    });
    queue::put(tx, places.collect::<Vec<_>>()).await?;
    Ok(created)
}

fn first_rank(unit: &Enqueue) -> Rank {
    match unit.mode {
        Mode::Ensure => Rank::First,
        Mode::RunNow => Rank::RunNow,
    }
}

/// Running units run once more.
async fn mark_again(tx: &mut Tx, old: &[&Enqueue]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "UPDATE unit SET again = TRUE FROM {rows}
             WHERE unit.kind = r.kind AND unit.key = r.key
               AND unit.state = 'running' AND NOT unit.again"
        ),
        names(old),
    )
    .await?;
    Ok(())
}

async fn run_now(tx: &mut Tx, old: &[&Enqueue], now: Timestamp) -> Result<(), DbError> {
    let urgent: Vec<&Enqueue> = old
        .iter()
        .copied()
        .filter(|unit| unit.mode == Mode::RunNow)
        .collect();
    let moved = tx
        .fetch_bulk(
            sql!(
                "UPDATE unit SET state = 'ready', rank = $1, due_at = $2, strikes = 0, partials = 0, lost = 0
                 FROM {rows}
                 WHERE unit.kind = r.kind AND unit.key = r.key
                   AND unit.state IN ('ready', 'done', 'parked', 'cancelled')
                   AND NOT EXISTS (SELECT 1 FROM requirement WHERE requirement.parent = unit.id
                                   AND requirement.state = 'failed')
                 RETURNING id",
                Rank::RunNow.number(),
                now
            ),
            names(&urgent),
        )
        .await?;
    queue::note(tx, queue::ids(&moved)?).await
}

async fn find(
    tx: &mut Tx,
    old: &[&Enqueue],
    purpose: Purpose,
    placed: &mut HashMap<Name, Placed>,
) -> Result<(), DbError> {
    let lock = match (purpose, tx.dialect()) {
        // Against retention, and against nobody else.
        (Purpose::Requirement, Dialect::Postgres) => "ORDER BY unit.id FOR KEY SHARE OF unit",
        _ => "",
    };
    let text = format!(
        "SELECT unit.id AS id, unit.kind AS kind, unit.key AS key
         FROM {{rows}} JOIN unit ON unit.kind = r.kind AND unit.key = r.key {lock}"
    );
    let rows = tx.fetch_bulk(Statement::built(text), names(old)).await?;
    placed.extend(collect(old, rows, false)?);
    Ok(())
}

async fn payloads(
    tx: &mut Tx,
    units: &[&Enqueue],
    placed: &HashMap<Name, Placed>,
) -> Result<(), DbError> {
    let with: Vec<(UnitId, String)> = units
        .iter()
        .filter_map(|unit| {
            let payload = unit.payload.as_ref()?.to_string();
            Some((placed.get(&name(unit))?.id, payload))
        })
        .collect();
    let rows = || {
        Bulk::new()
            .ints("unit", with.iter().map(|(id, _)| *id))
            .texts("payload", with.iter().map(|(_, payload)| payload.clone()))
    };
    tx.execute_bulk(
        sql!(
            "INSERT INTO unit_body (unit, payload) SELECT r.unit, r.payload FROM {rows} WHERE TRUE
             ON CONFLICT (unit) DO UPDATE SET payload = excluded.payload"
        ),
        rows(),
    )
    .await?;
    tx.execute_bulk(
        sql!("UPDATE unit SET body = TRUE FROM {rows} WHERE unit.id = r.unit AND NOT unit.body"),
        rows(),
    )
    .await?;
    Ok(())
}

/// Rows of (id, kind, key) by name.
fn collect(
    units: &[&Enqueue],
    rows: Vec<db::Row>,
    fresh: bool,
) -> Result<HashMap<Name, Placed>, DbError> {
    let kinds: HashMap<&str, &'static str> =
        units.iter().map(|unit| (unit.kind, unit.kind)).collect();
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let kind: String = row.get("kind")?;
        if let Some(kind) = kinds.get(kind.as_str()) {
            let placed = Placed {
                id: row.get("id")?,
                fresh,
            };
            found.insert((*kind, row.get("key")?), placed);
        }
    }
    Ok(found)
}
