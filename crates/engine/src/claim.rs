//! Claiming: exactly n ready units, never twice, at a cost that does not grow
//! with done, future or blocked rows.
//!
//! The index `unit_claim` is (pool, upstream, rank, due time, id) over ready
//! units. A claim names its pool, upstream and rank, so that it is one range
//! scan that starts at the oldest due unit and stops after n. Which (upstream,
//! rank) *pairs* have anything due is learned by a [`survey`], which hops over
//! the same index, one probe per pair, and is shared by all workers of a pool
//! for a while. Upstreams that are open, paused or out of budget are simply not
//! asked for: their rows are never touched, let alone rewritten.
//!
//! The form of the claim on PostgreSQL was chosen among these (100,000 ready
//! rows, claims of 100, idle machine):
//!
//! | form | per claim |
//! |---|---|
//! | `id = ANY(ARRAY(WITH c AS MATERIALIZED (…) …))`, generic plan: the one here | 1.4 ms |
//! | `UPDATE … FROM (SELECT … LIMIT $n …) s`, re-planned each time | 1.3 ms |
//! | the same join with a generic plan (sequential scan and hash join) | 90 ms |
//! | `id IN (SELECT … LIMIT n FOR UPDATE SKIP LOCKED)` | may claim more than n under a nested loop |
//!
//! The indexes are over `shelf`, not over `state`: a statement that finds units by
//! a list of ids and also says `state = 'running'` must not fit a partial index. One
//! over running units was once there, believed to be empty by the planner and walked
//! once per id: 266 ms in a probe of 500 ids. Now nothing fits, and an end changes no
//! indexed column (see [`crate::holding`]).
//!
//! Rejected too: completing and claiming in one statement (deadlocks: a
//! SKIP LOCKED scan on an older snapshot waits for rows that another worker is
//! completing); a ready table beside the unit table (same rate, more to keep in
//! step); a lease column per unit (a write per unit per heartbeat).

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
/// A loose index scan: each step jumps to the first row behind the last pair,
/// so the cost is the number of pairs and not the number of units.
pub(crate) async fn survey(db: &Db, pool: &str) -> Result<Vec<Pair>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "WITH RECURSIVE hop(id) AS (
                SELECT id FROM (
                    SELECT id FROM unit WHERE shelf = 'ready' AND pool = $1
                    ORDER BY upstream, rank, due_at, id LIMIT 1
                ) AS first
                UNION ALL
                SELECT (
                    SELECT behind.id FROM unit AS behind
                    WHERE behind.shelf = 'ready' AND behind.pool = $1
                      AND (behind.upstream, behind.rank) > (here.upstream, here.rank)
                    ORDER BY behind.upstream, behind.rank, behind.due_at, behind.id LIMIT 1
                ) FROM hop JOIN unit AS here ON here.id = hop.id
             )
             SELECT unit.upstream AS upstream, unit.rank AS rank, unit.due_at AS due_at
             FROM hop JOIN unit ON unit.id = hop.id",
            pool
        ))
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

/// Claims up to `ask.most` units, oldest due first, and adds them to what the lane holds.
pub(crate) async fn claim(
    tx: &mut Tx,
    ask: Ask<'_>,
    holding: &mut Draft,
) -> Result<Vec<Claimed>, DbError> {
    if ask.kinds.is_empty() || ask.most == 0 {
        return Ok(Vec::new());
    }
    let (row, held) = holding.open(tx).await?;
    let mut statement = Statement::built(text(tx.dialect(), ask.kinds.len(), ask.only))
        .bind(ask.worker)
        .bind(ask.pool)
        .bind(ask.upstream)
        .bind(ask.rank.number())
        .bind(ask.now)
        .bind(ask.most);
    for (kind, version) in ask.kinds {
        statement = statement.bind(*kind).bind(*version);
    }
    if tx.dialect() == Dialect::Postgres {
        statement = statement.bind(row).bind(held);
    }
    let rows = tx.fetch_all(statement).await?;
    let mut claimed: Vec<Claimed> = rows
        .iter()
        .map(|row| read(row, ask))
        .collect::<Result<_, _>>()?;
    holding.add(claimed.iter().map(Claimed::attempt));
    match (tx.dialect(), rows.first()) {
        (_, None) => {}
        (Dialect::Sqlite, Some(_)) => holding.write(tx).await?,
        (Dialect::Postgres, Some(first)) => {
            if first.get::<Option<i64>>("holding")?.is_none() {
                holding.insert(tx).await?;
            }
        }
    }
    // RETURNING has no order of its own. Units are completed in the order of
    // their ids, everywhere, so that two workers lock rows in the same order.
    claimed.sort_unstable_by_key(|unit| unit.id);
    Ok(claimed)
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

pub(crate) fn text(dialect: Dialect, kinds: usize, only: Option<&[UnitId]>) -> String {
    // A worker never claims a kind it does not know or a unit that was stamped
    // by a newer version; both are rare enough to be passed over row by row.
    let known: Vec<String> = (0..kinds)
        .map(|index| {
            let place = 7 + 2 * index;
            format!("(kind = ${place} AND version <= ${})", place + 1)
        })
        .collect();
    let oldest_due = format!(
        "SELECT id FROM unit
         WHERE shelf = 'ready' AND pool = $2 AND upstream = $3 AND rank = $4 AND due_at <= $5
           AND ({}){}
         ORDER BY due_at, id LIMIT $6 {}",
        known.join(" OR "),
        among(only),
        dialect.skip_locked()
    );
    let ids = match dialect {
        // Evaluated once: a plain IN could run the limited scan again per row.
        Dialect::Postgres => {
            format!("= ANY(ARRAY(WITH c AS MATERIALIZED ({oldest_due}) SELECT id FROM c))")
        }
        Dialect::Sqlite => format!("IN ({oldest_due})"),
    };
    let update = format!(
        "UPDATE unit SET state = 'running', worker = $1, attempt = attempt + 1, again = FALSE
         WHERE id {ids}
         RETURNING id, kind, key, attempt, strikes, partials, lost, body"
    );
    match dialect {
        Dialect::Sqlite => update,
        // What the lane holds is written in the same statement: one round trip less.
        Dialect::Postgres => {
            let (row, held) = (7 + 2 * kinds, 8 + 2 * kinds);
            format!(
                "WITH claimed AS ({update}), written AS (
                    UPDATE holding SET units =
                        ltrim(${held} || ' ' || (SELECT string_agg(id::text, ' ') FROM claimed))
                    WHERE id = ${row} AND EXISTS (SELECT 1 FROM claimed) RETURNING id AS holding)
                 SELECT claimed.*, written.holding FROM claimed LEFT JOIN written ON TRUE"
            )
        }
    }
}

/// The condition that a worker for some units only adds. They are few, and the text of all other
/// workers stays the same.
pub(crate) fn among(only: Option<&[UnitId]>) -> String {
    match only {
        None => String::new(),
        // No unit has this number.
        Some([]) => " AND id IN (0)".to_owned(),
        Some(some) => {
            let some: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!(" AND id IN ({})", some.join(", "))
        }
    }
}

fn read(row: &Row, ask: Ask<'_>) -> Result<Claimed, DbError> {
    Ok(Claimed {
        id: row.get("id")?,
        kind: row.get("kind")?,
        key: row.get("key")?,
        upstream: ask.upstream.to_owned(),
        attempt: row.get("attempt")?,
        rank: ask.rank,
        strikes: row.get("strikes")?,
        partials: row.get("partials")?,
        lost: row.get("lost")?,
        body: row.get("body")?,
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
