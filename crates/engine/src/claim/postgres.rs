//! A claim in one round trip: hints, units, and what the lane holds.

use db::{DbError, Row, Tx};

use super::{Ask, CLAIM, Claimed, PAST, PLACE, Round, bind, fewest_hints, known, read};
use crate::{UnitId, holding::Draft, queue::MERGE};

pub(super) async fn take(tx: &mut Tx, ask: Ask<'_>, holding: &mut Draft) -> Result<Round, DbError> {
    if ask.most == 1
        && let Some(round) = take_one(tx, ask, holding).await?
    {
        return Ok(round);
    }
    let (row, held) = holding.open(tx).await?;
    let fewest = fewest_hints(ask.most);
    let statement = bind(text(ask.kinds.len()), ask, ask.now)
        .bind(row)
        .bind(held)
        .bind(fewest);
    let rows = tx.fetch_all(statement).await?;
    let Some(first) = rows.first() else {
        return Ok(Round::default());
    };
    let taken: i64 = first.get("taken")?;
    let mut round = Round {
        hints: first.get::<i64>("named")? as usize,
        more: taken > 0 && taken == first.get::<i64>("enough")?,
        contended: taken == 0 && first.get::<i64>("enough")? > 0,
        ..Round::default()
    };
    if round.hints == ask.most {
        round.more = false;
    }
    if first.get::<i64>("broken")? > 0 {
        // Others passed over the bundle while it was locked: now they can have the rest.
        tx.wake();
    }
    if first.get::<Option<UnitId>>("id")?.is_none() {
        return Ok(round);
    }
    round.units = claimed(tx, &rows, ask, holding).await?;
    Ok(round)
}

/// The claim of lanes that hold one unit at a time, which are most: if the first hint is for one,
/// this is all there is to do, at a third of the cost. None if it is not, or if others have all
/// hints locked.
async fn take_one(
    tx: &mut Tx,
    ask: Ask<'_>,
    holding: &mut Draft,
) -> Result<Option<Round>, DbError> {
    let (row, held) = holding.open(tx).await?;
    let statement = bind(one_text(ask.kinds.len()), ask, ask.now)
        .bind(row)
        .bind(held);
    let rows = tx.fetch_all(statement).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let stale = rows[0].get::<Option<UnitId>>("id")?.is_none();
    Ok(Some(Round {
        units: if stale {
            Vec::new()
        } else {
            claimed(tx, &rows, ask, holding).await?
        },
        hints: 1,
        ..Round::default()
    }))
}

/// What the rows say was claimed.
async fn claimed(
    tx: &mut Tx,
    rows: &[Row],
    ask: Ask<'_>,
    holding: &mut Draft,
) -> Result<Vec<Claimed>, DbError> {
    let units = rows.iter().map(|row| read(row, ask));
    let units: Vec<Claimed> = units.collect::<Result<_, _>>()?;
    if rows[0].get::<Option<i64>>("holding")?.is_none() {
        // Others took this process for dead and removed its row.
        let mut with = units.iter().map(Claimed::attempt);
        holding.insert_with(tx, &mut with).await?;
    }
    Ok(units)
}

/// Its arguments: those that all claims share, the row of the holding and what it held before.
pub(crate) fn one_text(kinds: usize) -> String {
    let known = known("kind", kinds);
    let (row, held) = (7 + 2 * kinds, 8 + 2 * kinds);
    format!(
        "WITH hint AS MATERIALIZED (
            SELECT ctid, unit FROM ready WHERE {PLACE} AND due_at <= $5 AND {known}
            ORDER BY due_at, unit LIMIT $6 FOR UPDATE SKIP LOCKED),
         taken AS (
            DELETE FROM ready WHERE ctid = ANY(ARRAY(SELECT ctid FROM hint)) AND units IS NULL
            RETURNING unit),
         claimed AS (
            {CLAIM} WHERE id = ANY(ARRAY(SELECT unit FROM taken))
              AND state = 'ready' AND rank = $4 AND due_at <= $5 AND {known}
            RETURNING id, kind, key, attempt, {PAST} AS past),
         written AS (
            UPDATE holding SET units = ltrim(${held} || ' ' || (SELECT id FROM claimed))
            WHERE id = ${row} AND EXISTS (SELECT 1 FROM claimed) RETURNING id AS holding)
         SELECT claimed.*, written.holding
         FROM taken LEFT JOIN claimed ON TRUE LEFT JOIN written ON TRUE"
    )
}

/// Its arguments: those that all claims share, the row of the holding and what it
/// held before, and how many hints are enough if all are bundles. If they turn out
/// not to be, it is counted how many are: what is locked and not taken others would
/// pass over.
pub(crate) fn text(kinds: usize) -> String {
    let known = known("kind", kinds);
    let (row, held, fewest) = (7 + 2 * kinds, 8 + 2 * kinds, 9 + 2 * kinds);
    let due = format!("ready WHERE {PLACE} AND due_at <= $5 AND {known} ORDER BY due_at, unit");
    format!(
        // Arrays, so that each part runs once and is looked up by ctid and by id,
        // whatever the planner believes of the number of rows.
        "WITH enough AS MATERIALIZED (
            SELECT CASE WHEN (
                SELECT sum(size) FROM (SELECT size FROM {due} LIMIT ${fewest}::bigint) AS few) >= $6
            THEN ${fewest}::bigint ELSE (
                SELECT count(*) FROM (
                    SELECT sum(size) OVER (ORDER BY due_at, unit) - size AS before
                    FROM (SELECT due_at, unit, size FROM {due} LIMIT $6) AS first
                ) AS counted WHERE before < $6)
            END AS hints),
         locked AS MATERIALIZED (
            SELECT ctid, due_at, unit, size FROM {due} LIMIT (SELECT hints FROM enough)
            FOR UPDATE SKIP LOCKED),
         taken AS (
            DELETE FROM ready WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM (
                    SELECT ctid, sum(size) OVER (ORDER BY due_at, unit) - size AS before FROM locked
                ) AS counted WHERE before < $6))
            RETURNING due_at, unit, kind, version, COALESCE(units, unit::text) AS units),
         named AS MATERIALIZED (
            SELECT due_at, kind, version, each.id::bigint AS id,
                row_number() OVER (ORDER BY due_at, unit, each.place) AS number
            FROM taken CROSS JOIN LATERAL
                unnest(string_to_array(units, ',')) WITH ORDINALITY AS each(id, place)),
         broken AS (
            INSERT INTO ready (pool, upstream, rank, due_at, unit, kind, version, size, units)
            SELECT $2, $3, $4, due_at, min(id), kind, version, count(*),
                CASE WHEN count(*) > 1 THEN string_agg(id::text, ',' ORDER BY id) END
            FROM named
            WHERE number > $6 AND id NOT IN (SELECT id FROM named WHERE number <= $6)
            GROUP BY due_at, kind, version, CASE WHEN ${fewest} > 1 THEN 0 ELSE id END
            {MERGE} RETURNING unit),
         claimed AS (
            {CLAIM} WHERE id = ANY(ARRAY(SELECT id FROM named WHERE number <= $6))
              AND state = 'ready' AND rank = $4 AND due_at <= $5 AND {known}
            RETURNING id, kind, key, attempt, {PAST} AS past),
         written AS (
            UPDATE holding SET units =
                ltrim(${held} || ' ' || (SELECT string_agg(id::text, ' ') FROM claimed))
            WHERE id = ${row} AND EXISTS (SELECT 1 FROM claimed) RETURNING id AS holding)
         SELECT counts.*, claimed.*, written.holding FROM (SELECT
                (SELECT hints FROM enough) AS enough, (SELECT count(*) FROM taken) AS taken, (SELECT count(*) FROM broken) AS broken,
                (SELECT count(*) FROM named WHERE number <= $6) AS named) AS counts
         LEFT JOIN claimed ON TRUE LEFT JOIN written ON TRUE"
    )
}
