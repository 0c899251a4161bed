//! Claiming: exactly n ready units, never twice, at a cost that does not grow
//! with done, future or blocked rows.
//!
//! The table `ready` (see [`crate::queue`]) is in the order (pool, upstream, rank,
//! due time, id). A claim names its pool, upstream and rank, so that it is one
//! range scan that starts at the oldest due hint and stops after n. Which
//! (upstream, rank) *pairs* have anything due is learned by a [`survey`], which
//! hops over the same key, a few probes per pair, and is shared by all workers of
//! a pool for a while. Upstreams that are open, paused or out of budget are simply
//! not asked for: their rows are never touched, let alone rewritten.
//!
//! Hints are taken first, under SKIP LOCKED, and the units second, by id: each
//! unit's own row says whether it is really ready, at this rank, due, and of a
//! version that this process knows. A hint that proves stale is gone with the
//! claim, which then asks for more.
//!
//! Forms that were measured on PostgreSQL (100,000 ready units, claims of 100 or
//! more, idle machine):
//!
//! | form | figure |
//! |---|---|
//! | hints for up to a hundred units in a table, units updated in place: the one here | 1.15 to 1.57 of pgmq's rate |
//! | the same with a hint for each unit | 0.76 of pgmq's rate |
//! | an index over ready units, `id = ANY(ARRAY(WITH c AS MATERIALIZED (…) …))`, generic plan | 0.60 of pgmq's rate |
//! | `UPDATE … FROM (SELECT … LIMIT $n …) s`, re-planned each time | as the one before |
//! | the same join with a generic plan (sequential scan and hash join) | 90 ms a claim |
//! | `id IN (SELECT … LIMIT n FOR UPDATE SKIP LOCKED)` | may claim more than n under a nested loop |
//!
//! Rejected too: completing and claiming in one statement (deadlocks: a
//! SKIP LOCKED scan on an older snapshot waits for rows that another worker is
//! completing); a lease column per unit (a write per unit per heartbeat).

mod by_name;
mod postgres;
mod sqlite;

use db::{Bulk, Db, DbError, Dialect, Row, Statement, Timestamp, Tx, sql};
use serde_json::Value;

use crate::{Rank, UnitId, holding::Draft, queue};

pub(crate) use self::{
    postgres::{one_text as postgres_one_text, text as postgres_text},
    sqlite::texts as sqlite_texts,
};

/// Something is ready for this upstream at this rank, the oldest since `due_at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub upstream: String,
    pub rank: Rank,
    pub due_at: Timestamp,
}

/// A unit that this process has the right to commit for.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub id: UnitId,
    pub kind: String,
    pub key: String,
    pub upstream: String,
    pub attempt: i64,
    pub rank: Rank,
    pub strikes: i64,
    pub partials: i64,
    pub lost: i64,
    pub body: bool,
    /// Somebody required it when it was claimed.
    pub required: bool,
    pub payload: Option<Value>,
    pub cursor: Option<Value>,
    /// When its last run failed, if it did and nothing has gone well since.
    pub failed_at: Option<Timestamp>,
    /// Its last run left a reason why it did not end well.
    pub troubled: bool,
}

impl Claimed {
    /// The unit under its fencing number.
    pub(crate) fn attempt(&self) -> crate::finish::Attempt {
        (self.id, self.attempt)
    }
}

/// All pairs of a pool that have a ready unit, due or not.
///
/// A loose index scan: each step jumps to the first hint behind the last pair,
/// so the cost is the number of pairs and not the number of units.
pub(crate) async fn survey(db: &Db, pool: &str) -> Result<Vec<Pair>, DbError> {
    let rows = db
        .fetch_all(Statement::built(survey_text()).bind(pool))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Pair {
                upstream: row.get("upstream")?,
                rank: Rank::from_number(row.get("rank")?),
                due_at: row.get("due_at")?,
            })
        })
        .collect()
}

/// Three columns by two probes each: SQLite has no lateral join, and a comparison
/// of rows with what a recursion yields makes it read all hints of the upstream.
pub(crate) fn survey_text() -> String {
    const ORDER: &str = "ORDER BY behind.upstream, behind.rank, behind.due_at LIMIT 1";
    let next = |column: &str| {
        format!(
            "COALESCE(
                (SELECT behind.{column} FROM ready AS behind
                 WHERE behind.pool = $1 AND behind.upstream = hop.upstream
                   AND behind.rank > hop.rank {ORDER}),
                (SELECT behind.{column} FROM ready AS behind
                 WHERE behind.pool = $1 AND behind.upstream > hop.upstream {ORDER}))"
        )
    };
    format!(
        "WITH RECURSIVE hop(upstream, rank, due_at) AS (
            SELECT upstream, rank, due_at FROM (
                SELECT upstream, rank, due_at FROM ready WHERE pool = $1
                ORDER BY upstream, rank, due_at LIMIT 1
            ) AS first
            UNION ALL
            SELECT {}, {}, {} FROM hop WHERE hop.upstream IS NOT NULL
         )
         SELECT upstream, rank, due_at FROM hop WHERE upstream IS NOT NULL",
        next("upstream"),
        next("rank"),
        next("due_at")
    )
}

/// What a claim asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub worker: i64,
    pub pool: &'a str,
    pub upstream: &'a str,
    pub rank: Rank,
    pub most: usize,
    /// The kinds this process can run, with its version of each.
    pub kinds: &'a [(&'static str, i64)],
    /// Only these units, which are few; none means all.
    pub only: Option<&'a [UnitId]>,
    pub now: Timestamp,
}

/// What a claim brought.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub units: Vec<Claimed>,
    /// It met hints that were stale: what a survey believed to be due was not.
    pub stale: bool,
    /// It came home empty because others had the hints locked. They may be breaking up
    /// a bundle, of which there is then enough for everybody.
    pub contended: bool,
}

/// Claims up to `ask.most` units, oldest due first, and adds them to what the lane holds.
pub(crate) async fn claim(
    tx: &mut Tx,
    ask: Ask<'_>,
    holding: &mut Draft,
) -> Result<Taken, DbError> {
    if ask.kinds.is_empty() {
        return Ok(Taken::default());
    }
    let mut claimed: Vec<Claimed> = Vec::new();
    let (mut stale, mut contended) = (false, false);
    while claimed.len() < ask.most {
        let ask = Ask {
            most: ask.most - claimed.len(),
            ..ask
        };
        let taken = match (ask.only, tx.dialect()) {
            (Some(_), _) => by_name::take(tx, ask).await?,
            (None, Dialect::Sqlite) => sqlite::take(tx, ask).await?,
            (None, Dialect::Postgres) => postgres::take(tx, ask, holding).await?,
        };
        holding.add(taken.units.iter().map(Claimed::attempt));
        let good = taken.units.len();
        claimed.extend(taken.units);
        stale |= taken.hints != good;
        contended = taken.contended;
        // Behind stale ones there may be more.
        if !taken.more && taken.hints == good {
            break;
        }
    }
    let written = ask.only.is_none() && tx.dialect() == Dialect::Postgres;
    if !written && !claimed.is_empty() {
        holding.open(tx).await?;
        holding.write(tx).await?;
    }
    // RETURNING has no order of its own. Units are completed in the order of
    // their ids, everywhere, so that two workers lock rows in the same order.
    claimed.sort_unstable_by_key(|unit| unit.id);
    Ok(Taken {
        contended: contended && claimed.is_empty(),
        units: claimed,
        stale,
    })
}

/// What one round of statements brought.
#[derive(Debug, Default)]
struct Round {
    units: Vec<Claimed>,
    /// Units that the hints named.
    hints: usize,
    /// It took no more hints than seemed enough, and there may be others.
    more: bool,
    /// There were hints, and others had all of them locked.
    contended: bool,
}

/// How many hints are enough if all of them are bundles.
fn fewest_hints(most: usize) -> usize {
    most.div_ceil(queue::bundle())
}

/// The arguments that all statements here share.
fn bind(text: String, ask: Ask<'_>, due_at: Timestamp) -> Statement {
    let mut statement = Statement::built(text)
        .bind(ask.worker)
        .bind(ask.pool)
        .bind(ask.upstream)
        .bind(ask.rank.number())
        .bind(due_at)
        .bind(ask.most);
    for (kind, version) in ask.kinds {
        statement = statement.bind(*kind).bind(*version);
    }
    statement
}

/// Reads the payload, cursor and last failure of those units that have any.
pub(crate) async fn read_bodies(tx: &mut Tx, claimed: &mut [Claimed]) -> Result<(), DbError> {
    let with: Vec<UnitId> = claimed
        .iter()
        .filter(|unit| unit.body)
        .map(|unit| unit.id)
        .collect();
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT unit_body.unit AS unit, payload, cursor, failed_at,
                    error IS NOT NULL AS troubled
                 FROM {rows} JOIN unit_body ON unit_body.unit = r.id"
            ),
            Bulk::new().ints("id", with),
        )
        .await?;
    for row in rows {
        let id: UnitId = row.get("unit")?;
        if let Ok(place) = claimed.binary_search_by_key(&id, |unit| unit.id) {
            claimed[place].payload = json(&row, "payload")?;
            claimed[place].cursor = json(&row, "cursor")?;
            claimed[place].failed_at = row.get("failed_at")?;
            claimed[place].troubled = row.get("troubled")?;
        }
    }
    Ok(())
}

/// A worker never claims a kind it does not know or a unit that was stamped by a
/// newer version; both are rare enough to be passed over hint by hint.
fn known(kind: &str, kinds: usize) -> String {
    let known: Vec<String> = (0..kinds)
        .map(|index| {
            let place = 7 + 2 * index;
            format!("({kind} = ${place} AND version <= ${})", place + 1)
        })
        .collect();
    format!("({})", known.join(" OR "))
}

const CLAIM: &str =
    "UPDATE unit SET state = 'running', worker = $1, attempt = attempt + 1, again = FALSE";
/// What most units have none of, as one value: five would each have to be stored,
/// sent and read. The usual cases are spelled out, since putting them together takes
/// SQLite a microsecond.
const PAST: &str = "CASE
    WHEN strikes + partials + lost > 0
    THEN strikes || ' ' || partials || ' ' || lost || CASE WHEN body THEN ' 1' ELSE ' 0' END
        || CASE WHEN required THEN ' 1' ELSE ' 0' END
    WHEN required THEN CASE WHEN body THEN '0 0 0 1 1' ELSE '0 0 0 0 1' END
    WHEN body THEN '0 0 0 1 0' END";
const PLACE: &str = "pool = $2 AND upstream = $3 AND rank = $4";

/// A claimed unit of which the database said these things.
fn unit(ask: Ask<'_>, id: UnitId, kind: String, key: String, attempt: i64, past: &str) -> Claimed {
    let mut past = past.split(' ').map(|count| count.parse().unwrap_or(0));
    let mut next = || past.next().unwrap_or(0);
    Claimed {
        id,
        kind,
        key,
        upstream: ask.upstream.to_owned(),
        attempt,
        rank: ask.rank,
        strikes: next(),
        partials: next(),
        lost: next(),
        body: next() > 0,
        required: next() > 0,
        payload: None,
        cursor: None,
        failed_at: None,
        troubled: false,
    }
}

fn read(row: &Row, ask: Ask<'_>) -> Result<Claimed, DbError> {
    let past: Option<String> = row.get("past")?;
    Ok(unit(
        ask,
        row.get("id")?,
        row.get("kind")?,
        row.get("key")?,
        row.get("attempt")?,
        past.as_deref().unwrap_or_default(),
    ))
}

/// JSON as this engine wrote it; what is not JSON is no reason to fail a claim.
pub(crate) fn json(row: &Row, column: &str) -> Result<Option<Value>, DbError> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
