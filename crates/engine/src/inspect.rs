//! Looking at the engine: read-only, safe beside running workers.

mod upstreams;

use std::collections::{BTreeMap, HashSet};

use db::{Bulk, Db, DbError, Row, Statement, Timestamp, sql};
use serde::Serialize;
use serde_json::Value;

use crate::{Engine, Rank, State, UnitId, claim::json, holding, queue, selection::Conditions};
pub(crate) use upstreams::upstream_view;
pub use upstreams::{BudgetView, UpstreamView};

/// One unit in a list.
#[derive(Clone, Debug, Serialize)]
pub struct UnitView {
    /// Its number.
    pub id: UnitId,
    /// The sort of work.
    pub kind: String,
    /// What it is about.
    pub key: String,
    /// Where it stands.
    pub state: State,
    /// Why it is ready.
    pub rank: &'static str,
    /// Ready: runs from then on. Parked: returns then, if ever.
    pub due_at: Option<Timestamp>,
    /// Whose slots it uses.
    pub pool: String,
    /// Whom it asks; none for derived work.
    pub upstream: Option<String>,
    /// How often it was claimed.
    pub attempt: i64,
    /// Failures in a row.
    pub strikes: i64,
    /// Partial runs in a row.
    pub partials: i64,
    /// Runs in a row whose process died.
    pub lost: i64,
    /// The process that runs it.
    pub worker: Option<i64>,
    /// When a run last ended well.
    pub succeeded_at: Option<Timestamp>,
    /// Why the last run did not end well.
    pub error: Option<String>,
}

/// One unit, whole.
#[derive(Clone, Debug, Serialize)]
pub struct UnitDetail {
    /// The unit as in a list.
    #[serde(flatten)]
    pub unit: UnitView,
    /// Seconds between complete runs; none for a one-off.
    pub cadence_seconds: Option<i64>,
    /// Version of the collector that stamped it.
    pub version: i64,
    /// What it was enqueued with.
    pub payload: Option<Value>,
    /// How far it is.
    pub cursor: Option<Value>,
    /// What its last run said.
    pub report: Option<Value>,
    /// What it waits for or missed.
    pub requirements: Vec<RequirementView>,
    /// Its runs, newest first, as far as they are kept.
    pub runs: Vec<RunView>,
}

/// One edge, seen from the parent.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementView {
    /// The unit that must end.
    pub child: UnitId,
    /// Its kind.
    pub kind: String,
    /// Its key.
    pub key: String,
    /// Where it stands.
    pub child_state: State,
    /// Must succeed, or just end.
    pub hard: bool,
    /// open, failed or missed.
    pub state: String,
    /// When waiting ends.
    pub deadline: Option<Timestamp>,
}

/// One attempt.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    /// The fencing number.
    pub attempt: i64,
    /// Who ran it.
    pub worker: String,
    /// When it began, if known.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How.
    pub outcome: String,
    /// Why, if not well.
    pub error: Option<String>,
    /// What it said.
    pub report: Option<Value>,
}

/// Which units to list.
#[derive(Clone, Debug, Default)]
pub struct UnitFilter {
    /// Of this kind; a round means all its kinds.
    pub kind: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// Whose key fits this pattern.
    pub key: Option<String>,
    /// Whose last error contains this.
    pub error: Option<String>,
    /// Behind this unit: keyset paging.
    pub after: UnitId,
    /// At most this many.
    pub limit: usize,
}

/// Units of one kind in one state.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Count {
    /// The kind.
    pub kind: String,
    /// The state.
    pub state: State,
    /// How many.
    pub units: i64,
    /// Of the ready ones, how many are due.
    pub due: i64,
    /// Of the ready ones, how many come back after a partial run.
    pub partial: i64,
    /// The oldest due time of the ready ones.
    pub oldest_due_at: Option<Timestamp>,
}

/// A pool as the database knows it.
#[derive(Clone, Debug, Serialize)]
pub struct PoolView {
    /// Its name.
    pub pool: String,
    /// Units it runs now, in all processes.
    pub running: i64,
    /// Units that are due and wait for a slot.
    pub due: i64,
    /// Units that are ready but due later.
    pub later: i64,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
    /// Why.
    pub paused_why: Option<String>,
}

/// A process that runs units.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerView {
    /// Its row.
    pub worker: i64,
    /// Its name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its process id there.
    pub pid: i64,
    /// When it came.
    pub started_at: Timestamp,
    /// Its last sign of life, by its own clock.
    pub beat_at: Timestamp,
    /// Units it runs now.
    pub running: i64,
    /// What it can run.
    pub kinds: String,
    /// Its version.
    pub release: String,
}

const UNIT: &str = "unit.id AS id, unit.kind AS kind, unit.key AS key, unit.state AS state,
    unit.rank AS rank, unit.due_at AS due_at, unit.pool AS pool, unit.upstream AS upstream,
    unit.attempt AS attempt, unit.strikes AS strikes, unit.partials AS partials, unit.lost AS lost,
    unit.worker AS worker, unit.succeeded_at AS succeeded_at, unit.cadence AS cadence,
    unit.version AS version, unit_body.error AS error";

impl Engine {
    /// Units in the order of their ids.
    pub async fn units(&self, filter: &UnitFilter) -> Result<Vec<UnitView>, DbError> {
        let mut conditions = Conditions::behind(2);
        conditions.kind(filter.kind.as_ref());
        conditions.state(filter.state);
        conditions.key(filter.key.as_ref());
        conditions.error(filter.error.as_ref());
        let text = format!(
            "SELECT {UNIT} FROM unit LEFT JOIN unit_body ON unit_body.unit = unit.id
             WHERE unit.id > $1{} ORDER BY unit.id LIMIT $2",
            conditions.text
        );
        let statement = Statement::built(text)
            .bind(filter.after)
            .bind(filter.limit.clamp(1, 10_000));
        let statement = conditions.bind(statement);
        self.db
            .fetch_all(statement)
            .await?
            .iter()
            .map(view)
            .collect()
    }

    /// The unit at an address: its number, or `kind:key`.
    pub async fn find(&self, address: &str) -> Result<Option<UnitId>, DbError> {
        if let Ok(id) = address.parse::<UnitId>() {
            let row = self
                .db
                .fetch_optional(sql!("SELECT id FROM unit WHERE id = $1", id))
                .await?;
            return row.map(|row| row.get("id")).transpose();
        }
        let Some((kind, key)) = address.split_once(':') else {
            return Ok(None);
        };
        let row = self
            .db
            .fetch_optional(sql!(
                "SELECT id FROM unit WHERE kind = $1 AND key = $2",
                kind,
                key
            ))
            .await?;
        row.map(|row| row.get("id")).transpose()
    }

    /// Those of these keys that have no unit of this kind, in the order of `keys`.
    pub async fn missing(&self, kind: &str, keys: &[String]) -> Result<Vec<String>, DbError> {
        let statement = Statement::new(
            "SELECT r.key AS key FROM {rows}
             JOIN unit ON unit.kind = $1 AND unit.key = r.key",
        );
        let rows = Bulk::new().texts("key", keys.iter().cloned());
        let there = self.db.fetch_bulk(statement.bind(kind), rows).await?;
        let there = there.iter().map(|row| row.get::<String>("key"));
        let there: HashSet<String> = there.collect::<Result<_, _>>()?;
        let missing = keys.iter().filter(|key| !there.contains(*key));
        Ok(missing.cloned().collect())
    }

    /// One unit with all that is known of it.
    pub async fn unit(&self, id: UnitId) -> Result<Option<UnitDetail>, DbError> {
        let text = format!(
            "SELECT {UNIT}, unit_body.payload AS payload, unit_body.cursor AS cursor,
                unit_body.report AS report
             FROM unit LEFT JOIN unit_body ON unit_body.unit = unit.id WHERE unit.id = $1"
        );
        let Some(row) = self
            .db
            .fetch_optional(Statement::built(text).bind(id))
            .await?
        else {
            return Ok(None);
        };
        Ok(Some(UnitDetail {
            unit: view(&row)?,
            cadence_seconds: row.get("cadence")?,
            version: row.get("version")?,
            payload: json(&row, "payload")?,
            cursor: json(&row, "cursor")?,
            report: json(&row, "report")?,
            requirements: requirements(&self.db, id, 100).await?,
            runs: runs(&self.db, id).await?,
        }))
    }

    /// Units by kind and state. A scan of the whole table: callers that show it
    /// often keep the answer for a while.
    pub async fn counts(&self) -> Result<Vec<Count>, DbError> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT kind, state, count(*) AS units,
                    sum(CASE WHEN state = 'ready' AND due_at <= $1 THEN 1 ELSE 0 END) AS due,
                    sum(CASE WHEN state = 'ready' AND rank = 1 THEN 1 ELSE 0 END) AS partial,
                    min(CASE WHEN state = 'ready' AND due_at <= $1 THEN due_at END) AS oldest
                 FROM unit GROUP BY kind, state ORDER BY kind, state",
                self.clock.now()
            ))
            .await?;
        rows.iter()
            .map(|row| {
                Ok(Count {
                    kind: row.get("kind")?,
                    state: state(row)?,
                    units: row.get("units")?,
                    due: row.get("due")?,
                    partial: row.get("partial")?,
                    oldest_due_at: row.get("oldest")?,
                })
            })
            .collect()
    }

    /// All pools that have units or a word said about them.
    pub async fn pools(&self) -> Result<Vec<PoolView>, DbError> {
        let rows = self
            .db
            .fetch_all(
                Statement::built(format!(
                    "SELECT name, max(paused_at) AS paused_at, max(paused_why) AS paused_why,
                    sum(due) AS due, sum(later) AS later
                 FROM (
                    SELECT name, paused_at, paused_why, 0 AS due, 0 AS later FROM pool
                    UNION ALL
                    SELECT unit.pool, NULL, NULL,
                        CASE WHEN unit.due_at <= $1 THEN 1 ELSE 0 END,
                        CASE WHEN unit.due_at <= $1 THEN 0 ELSE 1 END
                    FROM {} JOIN unit ON unit.id = named.id AND unit.state = 'ready'
                      AND unit.rank = named.rank AND unit.due_at = named.due_at
                 ) AS every GROUP BY name ORDER BY name",
                    queue::named(self.db.dialect())
                ))
                .bind(self.clock.now()),
            )
            .await?;
        let mut running: BTreeMap<String, i64> = BTreeMap::new();
        for unit in holding::running_now(&self.db).await?.into_values() {
            *running.entry(unit.pool).or_default() += 1;
        }
        let mut pools: Vec<PoolView> = rows
            .iter()
            .map(|row| {
                let pool: String = row.get("name")?;
                Ok(PoolView {
                    running: running.remove(&pool).unwrap_or(0),
                    pool,
                    due: row.get("due")?,
                    later: row.get("later")?,
                    paused_at: row.get("paused_at")?,
                    paused_why: row.get("paused_why")?,
                })
            })
            .collect::<Result<_, DbError>>()?;
        // Pools of which all that is left runs.
        pools.extend(running.into_iter().map(|(pool, running)| PoolView {
            pool,
            running,
            due: 0,
            later: 0,
            paused_at: None,
            paused_why: None,
        }));
        pools.sort_by(|a, b| a.pool.cmp(&b.pool));
        Ok(pools)
    }

    /// All upstreams that were ever asked.
    pub async fn upstream_views(&self) -> Result<Vec<UpstreamView>, DbError> {
        upstreams::views(self, None).await
    }

    /// All processes that beat, or did a moment ago.
    pub async fn workers(&self) -> Result<Vec<WorkerView>, DbError> {
        let rows = self
            .db
            .fetch_all(sql!("SELECT * FROM worker ORDER BY id"))
            .await?;
        let mut running: BTreeMap<i64, i64> = BTreeMap::new();
        for unit in holding::running_now(&self.db).await?.into_values() {
            *running.entry(unit.worker).or_default() += 1;
        }
        rows.iter()
            .map(|row| {
                let worker: i64 = row.get("id")?;
                Ok(WorkerView {
                    worker,
                    name: row.get("name")?,
                    host: row.get("host")?,
                    pid: row.get("pid")?,
                    started_at: row.get("started_at")?,
                    beat_at: row.get("beat_at")?,
                    running: running.get(&worker).copied().unwrap_or(0),
                    kinds: row.get("kinds")?,
                    release: row.get("release")?,
                })
            })
            .collect()
    }
}

/// The edges of a unit that are still there, failed ones first.
pub(crate) async fn requirements(
    db: &Db,
    unit: UnitId,
    most: usize,
) -> Result<Vec<RequirementView>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT requirement.child AS child, unit.kind AS kind, unit.key AS key,
                unit.state AS state, requirement.hard AS hard, requirement.state AS edge,
                requirement.deadline AS deadline
             FROM requirement JOIN unit ON unit.id = requirement.child
             WHERE requirement.parent = $1 ORDER BY requirement.state, requirement.child LIMIT $2",
            unit,
            most
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RequirementView {
                child: row.get("child")?,
                kind: row.get("kind")?,
                key: row.get("key")?,
                child_state: state(row)?,
                hard: row.get("hard")?,
                state: row.get("edge")?,
                deadline: row.get("deadline")?,
            })
        })
        .collect()
}

async fn runs(db: &Db, unit: UnitId) -> Result<Vec<RunView>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT * FROM run WHERE unit = $1 ORDER BY id DESC LIMIT 50",
            unit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RunView {
                attempt: row.get("attempt")?,
                worker: row.get("worker")?,
                started_at: row.get("started_at")?,
                ended_at: row.get("ended_at")?,
                outcome: row.get("outcome")?,
                error: row.get("error")?,
                report: json(row, "report")?,
            })
        })
        .collect()
}

fn view(row: &Row) -> Result<UnitView, DbError> {
    let upstream: String = row.get("upstream")?;
    let due_at: Timestamp = row.get("due_at")?;
    Ok(UnitView {
        id: row.get("id")?,
        kind: row.get("kind")?,
        key: row.get("key")?,
        state: state(row)?,
        rank: Rank::from_number(row.get("rank")?).as_str(),
        due_at: (due_at != Timestamp::FAR_FUTURE).then_some(due_at),
        pool: row.get("pool")?,
        upstream: (!upstream.is_empty()).then_some(upstream),
        attempt: row.get("attempt")?,
        strikes: row.get("strikes")?,
        partials: row.get("partials")?,
        lost: row.get("lost")?,
        worker: row.get("worker")?,
        succeeded_at: row.get("succeeded_at")?,
        error: row.get("error")?,
    })
}

fn state(row: &Row) -> Result<State, DbError> {
    row.get::<String>("state")?
        .parse()
        .map_err(|error: crate::UnknownState| DbError::Value {
            column: "state".into(),
            why: error.to_string(),
        })
}
