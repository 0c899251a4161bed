//! A claim where nobody else writes meanwhile: what it takes is read first, and
//! then both tables are changed.
//!
//! Every value of a returned row is an allocation and every row a message to
//! another thread, so five hundred units come as one row of lists (1.1 us a unit
//! to read and 1.4 to change, where `UPDATE … RETURNING` took 3.1 and the rows as
//! much again on their way).

use std::collections::HashSet;

use db::{DbError, Row, Timestamp, Tx};

use super::{Ask, CLAIM, Claimed, PAST, PLACE, Round, bind, fewest_hints, known, unit};
use crate::{
    UnitId,
    queue::{self, Place, listed},
};

pub(super) async fn take(tx: &mut Tx, ask: Ask<'_>) -> Result<Round, DbError> {
    let Some(hints) = hints(tx, ask).await? else {
        return Ok(Round::default());
    };
    let units = claim(tx, ask, &hints).await?;
    let kinds = ask.kinds.len();
    tx.later(bind(delete_text(kinds), ask, hints.due_at).bind(hints.last))
        .await?;
    if !hints.rest.is_empty() {
        put_back(tx, ask, &hints).await?;
    }
    Ok(Round {
        hints: hints.units.len(),
        units,
        ..Round::default()
    })
}

/// The hints to take, from the first to one with this place.
struct Hints {
    due_at: Timestamp,
    last: UnitId,
    kind: String,
    version: i64,
    /// What they name, up to the number asked for.
    units: Vec<UnitId>,
    /// What the last of them names besides.
    rest: Vec<UnitId>,
}

async fn hints(tx: &mut Tx, ask: Ask<'_>) -> Result<Option<Hints>, DbError> {
    let kinds = ask.kinds.len();
    let fewest = fewest_hints(ask.most);
    let few = Ask {
        most: fewest,
        ..ask
    };
    let rows = tx.fetch_all(bind(few_text(kinds), few, ask.now)).await?;
    let mut named = Vec::with_capacity(ask.most);
    for row in &rows {
        named.extend(listed(&row.get::<String>("units")?));
        if named.len() >= ask.most {
            return split(row, named, ask.most).map(Some);
        }
    }
    match rows.last() {
        None => return Ok(None),
        Some(last) if rows.len() < fewest => return split(last, named, ask.most).map(Some),
        Some(_) => {}
    }
    // Not all are bundles: how far do as many reach as are wanted?
    let Some(last) = tx
        .fetch_optional(bind(reach_text(kinds), ask, ask.now))
        .await?
    else {
        return Ok(None);
    };
    let due_at: Timestamp = last.get("due_at")?;
    let unit: UnitId = last.get("unit")?;
    let row = tx
        .fetch_one(bind(range_text(kinds), ask, due_at).bind(unit))
        .await?;
    let own: String = last.get("units")?;
    let mut named: Vec<UnitId> =
        listed(&row.get::<Option<String>>("units")?.unwrap_or_default()).collect();
    named.extend(listed(&own));
    split(&last, named, ask.most).map(Some)
}

/// The units of the last hint stand at the end.
fn split(last: &Row, mut units: Vec<UnitId>, most: usize) -> Result<Hints, DbError> {
    let rest = units.split_off(most.min(units.len()));
    Ok(Hints {
        due_at: last.get("due_at")?,
        last: last.get("unit")?,
        kind: last.get("kind")?,
        version: last.get("version")?,
        units,
        rest,
    })
}

/// Claims those of the units that are what their hints said. One that has become
/// due later than the last of them waits for its turn.
async fn claim(tx: &mut Tx, ask: Ask<'_>, hints: &Hints) -> Result<Vec<Claimed>, DbError> {
    let kinds = ask.kinds.len();
    let named = format!("[{}]", queue::list(&hints.units));
    let row = tx
        .fetch_one(bind(read_text(kinds), ask, hints.due_at).bind(named))
        .await?;
    let Some(ids) = row.get::<Option<String>>("ids")? else {
        return Ok(Vec::new());
    };
    tx.later(bind(claim_text(kinds), ask, ask.now).bind(format!("[{ids}]")))
        .await?;
    let texts = |column| -> Result<Vec<String>, DbError> {
        let list: String = row.get(column)?;
        Ok(serde_json::from_str(&list).unwrap_or_default())
    };
    let (kinds, keys) = (texts("kinds")?, texts("keys")?);
    let (attempts, pasts): (String, String) = (row.get("attempts")?, row.get("pasts")?);
    Ok(listed(&ids)
        .zip(kinds)
        .zip(keys)
        .zip(listed(&attempts))
        .zip(pasts.split(','))
        .map(|((((id, kind), key), attempt), past)| unit(ask, id, kind, key, attempt, past))
        .collect())
}

/// What the last hint named besides.
async fn put_back(tx: &mut Tx, ask: Ask<'_>, hints: &Hints) -> Result<(), DbError> {
    let place = Place {
        pool: ask.pool,
        upstream: ask.upstream,
        rank: ask.rank,
        due_at: hints.due_at,
        kind: &hints.kind,
        version: hints.version,
    };
    let taken: HashSet<&UnitId> = hints.units.iter().collect();
    let mut rest = hints.rest.clone();
    rest.retain(|unit| !taken.contains(unit));
    queue::put_back(tx, &place, &rest, fewest_hints(ask.most) == 1).await
}

/// All statements of a claim, for tests of their plans.
pub(crate) fn texts(kinds: usize) -> Vec<String> {
    vec![
        few_text(kinds),
        reach_text(kinds),
        range_text(kinds),
        delete_text(kinds),
    ]
}

fn few_text(kinds: usize) -> String {
    format!(
        "SELECT due_at, unit, kind, version, COALESCE(units, unit || '') AS units
         FROM ready WHERE {PLACE} AND due_at <= $5 AND {} ORDER BY due_at, unit LIMIT $6",
        known("kind", kinds)
    )
}

/// The last of the hints that are needed.
fn reach_text(kinds: usize) -> String {
    format!(
        "SELECT due_at, unit, kind, version, COALESCE(units, unit || '') AS units FROM (
            SELECT due_at, unit, kind, version, units,
                row_number() OVER (ORDER BY due_at, unit) AS number,
                sum(size) OVER (ORDER BY due_at, unit) - size AS before
            FROM (SELECT due_at, unit, kind, version, size, units FROM ready
                  WHERE {PLACE} AND due_at <= $5 AND {} ORDER BY due_at, unit LIMIT $6))
         WHERE before < $6 ORDER BY number DESC LIMIT 1",
        known("kind", kinds)
    )
}

/// What all hints before that one name.
fn range_text(kinds: usize) -> String {
    let unit = 7 + 2 * kinds;
    format!(
        "SELECT group_concat(COALESCE(units, unit)) AS units FROM ready
         WHERE {PLACE} AND (due_at, unit) < ($5, ${unit}) AND {}",
        known("kind", kinds)
    )
}

fn read_text(kinds: usize) -> String {
    let named = 7 + 2 * kinds;
    format!(
        // The plus: by kind it would find every unit there is.
        "SELECT group_concat(id) AS ids, group_concat(attempt + 1) AS attempts,
            json_group_array(kind) AS kinds, json_group_array(key) AS keys,
            group_concat(COALESCE({PAST}, '')) AS pasts
         FROM unit WHERE id IN (SELECT value FROM json_each(${named}))
           AND state = 'ready' AND rank = $4 AND due_at <= $5 AND {}",
        known("+kind", kinds)
    )
}

fn claim_text(kinds: usize) -> String {
    let ids = 7 + 2 * kinds;
    format!("{CLAIM} WHERE id IN (SELECT value FROM json_each(${ids}))")
}

fn delete_text(kinds: usize) -> String {
    let unit = 7 + 2 * kinds;
    format!(
        "DELETE FROM ready WHERE {PLACE} AND (due_at, unit) <= ($5, ${unit}) AND {}",
        known("kind", kinds)
    )
}
