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
//! | hints in a table, units updated in place: the one here | 0.76 of pgmq's rate |
//! | an index over ready units, `id = ANY(ARRAY(WITH c AS MATERIALIZED (…) …))`, generic plan | 0.60 of pgmq's rate |
//! | `UPDATE … FROM (SELECT … LIMIT $n …) s`, re-planned each time | as the one before |
//! | the same join with a generic plan (sequential scan and hash join) | 90 ms a claim |
//! | `id IN (SELECT … LIMIT n FOR UPDATE SKIP LOCKED)` | may claim more than n under a nested loop |
//!
//! Rejected too: completing and claiming in one statement (deadlocks: a
//! SKIP LOCKED scan on an older snapshot waits for rows that another worker is
//! completing); a lease column per unit (a write per unit per heartbeat).

use db::{Bulk, Db, DbError, Dialect, Row, Statement, Timestamp, Tx, sql};
use serde_json::Value;

use crate::{Rank, UnitId, holding::Draft};

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
    /// Only these units; none means all.
    pub only: Option<&'a [UnitId]>,
    pub now: Timestamp,
}

/// What a claim brought.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub units: Vec<Claimed>,
    /// It met hints that were stale: what a survey believed to be due was not.
    pub stale: bool,
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
    let mut stale = false;
    while claimed.len() < ask.most {
        let most = ask.most - claimed.len();
        let (units, hints) = match tx.dialect() {
            Dialect::Sqlite => take_on_sqlite(tx, Ask { most, ..ask }).await?,
            Dialect::Postgres => take_on_postgres(tx, Ask { most, ..ask }, holding).await?,
        };
        holding.add(units.iter().map(Claimed::attempt));
        let good = units.len();
        claimed.extend(units);
        if hints == good {
            break;
        }
        // Behind stale ones there may be more.
        stale = true;
    }
    if tx.dialect() == Dialect::Sqlite && !claimed.is_empty() {
        holding.open(tx).await?;
        holding.write(tx).await?;
    }
    // RETURNING has no order of its own. Units are completed in the order of
    // their ids, everywhere, so that two workers lock rows in the same order.
    claimed.sort_unstable_by_key(|unit| unit.id);
    Ok(Taken {
        units: claimed,
        stale,
    })
}

/// Takes hints and units, and writes what the lane holds: one round trip.
/// Returns the units and the number of hints.
async fn take_on_postgres(
    tx: &mut Tx,
    ask: Ask<'_>,
    holding: &mut Draft,
) -> Result<(Vec<Claimed>, usize), DbError> {
    let (row, held) = holding.open(tx).await?;
    let statement = bind(postgres_text(ask.kinds.len(), ask.only), ask, ask.now)
        .bind(row)
        .bind(held);
    let rows = tx.fetch_all(statement).await?;
    let Some(first) = rows.first() else {
        return Ok((Vec::new(), 0));
    };
    let hints: i64 = first.get("hints")?;
    if first.get::<Option<UnitId>>("id")?.is_none() {
        return Ok((Vec::new(), hints as usize));
    }
    let units: Vec<Claimed> = rows
        .iter()
        .map(|row| read(row, ask))
        .collect::<Result<_, _>>()?;
    if first.get::<Option<i64>>("holding")?.is_none() {
        // Others took this process for dead and removed its row.
        let mut with = units.iter().map(Claimed::attempt);
        holding.insert_with(tx, &mut with).await?;
    }
    Ok((units, hints as usize))
}

/// Nobody else writes meanwhile: the place of the last hint is found first, and
/// then both tables are changed up to there.
async fn take_on_sqlite(tx: &mut Tx, ask: Ask<'_>) -> Result<(Vec<Claimed>, usize), DbError> {
    let kinds = ask.kinds.len();
    let last = tx
        .fetch_optional(bind(sqlite_last_text(kinds, ask.only), ask, ask.now))
        .await?;
    // Fewer hints than asked for: all that are due.
    let (due_at, unit) = match last {
        Some(row) => (row.get("due_at")?, row.get("unit")?),
        None => (ask.now, i64::MAX),
    };
    let rows = tx
        .fetch_all(bind(sqlite_claim_text(kinds, ask.only), ask, due_at).bind(unit))
        .await?;
    let hints = tx
        .execute(bind(sqlite_delete_text(kinds, ask.only), ask, due_at).bind(unit))
        .await?;
    let units = rows
        .iter()
        .map(|row| read(row, ask))
        .collect::<Result<_, _>>()?;
    Ok((units, hints as usize))
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
/// What most units have none of travels as one null: on SQLite every value of a
/// row is an allocation.
const CLAIMED: &str = "id, kind, key, attempt,
    CASE WHEN strikes + partials + lost > 0 OR body
         THEN strikes || ' ' || partials || ' ' || lost || CASE WHEN body THEN ' 1' ELSE ' 0' END
    END AS past";
const PLACE: &str = "pool = $2 AND upstream = $3 AND rank = $4";

pub(crate) fn postgres_text(kinds: usize, only: Option<&[UnitId]>) -> String {
    let (known, among) = (known("kind", kinds), among(only));
    let (row, held) = (7 + 2 * kinds, 8 + 2 * kinds);
    format!(
        // Arrays, so that each part runs once and is looked up by ctid and by id,
        // whatever the planner believes of the number of rows.
        "WITH taken AS (
            DELETE FROM ready WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM ready WHERE {PLACE} AND due_at <= $5 AND {known}{among}
                ORDER BY due_at, unit LIMIT $6 FOR UPDATE SKIP LOCKED))
            RETURNING unit),
         claimed AS (
            {CLAIM} WHERE id = ANY(ARRAY(SELECT unit FROM taken))
              AND state = 'ready' AND rank = $4 AND due_at <= $5 AND {known}
            RETURNING {CLAIMED}),
         written AS (
            UPDATE holding SET units =
                ltrim(${held} || ' ' || (SELECT string_agg(id::text, ' ') FROM claimed))
            WHERE id = ${row} AND EXISTS (SELECT 1 FROM claimed) RETURNING id AS holding)
         SELECT hints, claimed.*, written.holding FROM (SELECT count(*) AS hints FROM taken) AS all_taken
         LEFT JOIN claimed ON TRUE LEFT JOIN written ON TRUE"
    )
}

pub(crate) fn sqlite_last_text(kinds: usize, only: Option<&[UnitId]>) -> String {
    format!(
        "SELECT due_at, unit FROM ready WHERE {PLACE} AND due_at <= $5 AND {}{}
         ORDER BY due_at, unit LIMIT 1 OFFSET $6 - 1",
        known("kind", kinds),
        among(only)
    )
}

pub(crate) fn sqlite_claim_text(kinds: usize, only: Option<&[UnitId]>) -> String {
    let (hinted, among, unit) = (known("kind", kinds), among(only), 7 + 2 * kinds);
    // The plus: by kind it would find every unit there is.
    let known = known("+kind", kinds);
    format!(
        "{CLAIM} WHERE id IN (SELECT unit FROM ready
            WHERE {PLACE} AND (due_at, unit) <= ($5, ${unit}) AND {hinted}{among})
           AND state = 'ready' AND rank = $4 AND due_at <= $5 AND {known}
         RETURNING {CLAIMED}"
    )
}

pub(crate) fn sqlite_delete_text(kinds: usize, only: Option<&[UnitId]>) -> String {
    let (known, among, unit) = (known("kind", kinds), among(only), 7 + 2 * kinds);
    format!(
        "DELETE FROM ready WHERE {PLACE} AND (due_at, unit) <= ($5, ${unit}) AND {known}{among}"
    )
}

/// The condition that a worker for some units only adds. They are few, and the text of all other
/// workers stays the same.
pub(crate) fn among(only: Option<&[UnitId]>) -> String {
    match only {
        None => String::new(),
        // No unit has this number.
        Some([]) => " AND unit IN (0)".to_owned(),
        Some(some) => {
            let some: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!(" AND unit IN ({})", some.join(", "))
        }
    }
}

fn read(row: &Row, ask: Ask<'_>) -> Result<Claimed, DbError> {
    let past: Option<String> = row.get("past")?;
    let mut past = past
        .iter()
        .flat_map(|past| past.split(' '))
        .map(|count| count.parse().unwrap_or(0));
    Ok(Claimed {
        id: row.get("id")?,
        kind: row.get("kind")?,
        key: row.get("key")?,
        upstream: ask.upstream.to_owned(),
        attempt: row.get("attempt")?,
        rank: ask.rank,
        strikes: past.next().unwrap_or(0),
        partials: past.next().unwrap_or(0),
        lost: past.next().unwrap_or(0),
        body: past.next().unwrap_or(0) > 0,
        payload: None,
        cursor: None,
        failed_at: None,
        troubled: false,
    })
}

/// JSON as this engine wrote it; what is not JSON is no reason to fail a claim.
pub(crate) fn json(row: &Row, column: &str) -> Result<Option<Value>, DbError> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
