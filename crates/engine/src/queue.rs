//! The queue: which units are ready, in the order in which they are claimed.
//!
//! A row of `ready` is a *hint*: "look at these units, they were ready at this
//! place". The rule that claims rest on: **a ready unit is named in a hint with
//! its rank and due time**. The reverse need not hold. A unit that was cancelled,
//! moved or taken up by name stays named; the claim that meets such a hint removes
//! it and looks at the unit's own row before it believes anything.
//!
//! Why a table of its own. An index over ready units would do, but a claim then
//! changes an indexed column, and PostgreSQL writes a new version of the row into
//! *every* index of the table, the two unique ones included: of 11 ms for a claim
//! of 500, 8 were spent on that. With the queue apart, a unit's row is only ever
//! updated in place, whatever becomes of it.
//!
//! Why hints for many. Units that come together, by one call to enqueue or by one
//! completed batch, mostly share their place, and will mostly be claimed together.
//! A [`bundle`] of a hundred is one row to insert, to lock and to delete instead of
//! a hundred: on PostgreSQL claim and end of 500 units together cost 12 us a unit
//! instead of 18, and 300 bytes of log instead of 420. A claim that needs less than
//! a bundle breaks it up into hints for one, which then are as they would have been
//! from the start; one that needs several puts the rest of the last back as it is.
//! Few units never are a bundle, since lanes that hold one unit at a time would have
//! to take turns to break it up.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use db::{Bulk, DbError, Dialect, Statement, Timestamp, Tx};

use crate::{Rank, UnitId};

static BUNDLE: AtomicUsize = AtomicUsize::new(100);

/// How many units a hint names that is not for one alone.
pub(crate) fn bundle() -> usize {
    BUNDLE.load(Ordering::Relaxed)
}

/// Fewer than this never share a hint.
fn smallest() -> usize {
    (bundle() / 4).max(2)
}

/// Smaller bundles, so that tests with a few units meet them.
pub(crate) fn bundle_by(size: usize) {
    BUNDLE.store(size.max(2), Ordering::Relaxed);
}

/// Where a unit stands in the queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place<'a> {
    pub pool: &'a str,
    pub upstream: &'a str,
    pub rank: Rank,
    pub due_at: Timestamp,
    pub kind: &'a str,
    pub version: i64,
}

const COLUMNS: &str = "pool, upstream, rank, due_at, unit, kind, version, size, units";

/// Two that begin with the same unit at the same place become one. What a list then
/// names twice is claimed once.
pub(crate) const MERGE: &str = "ON CONFLICT (pool, upstream, rank, due_at, unit) DO UPDATE SET
    version = CASE WHEN excluded.version > ready.version THEN excluded.version ELSE ready.version END,
    size = CASE WHEN ready.units IS NULL THEN excluded.size WHEN excluded.units IS NULL THEN ready.size
                ELSE ready.size + excluded.size END,
    units = CASE WHEN ready.units IS NULL THEN excluded.units WHEN excluded.units IS NULL THEN ready.units
                 ELSE ready.units || ',' || excluded.units END";

/// Gives units that the caller has just made ready their places in the queue.
pub(crate) async fn put<'a>(
    tx: &mut Tx,
    units: impl IntoIterator<Item = (Place<'a>, UnitId)>,
) -> Result<(), DbError> {
    let mut places: BTreeMap<Place<'a>, Vec<UnitId>> = BTreeMap::new();
    for (place, unit) in units {
        places.entry(place).or_default().push(unit);
    }
    let mut hints: Vec<(&Place<'a>, &[UnitId])> = Vec::new();
    for (place, units) in &mut places {
        units.sort_unstable();
        for units in units.chunks(bundle()) {
            let each = if units.len() < smallest() {
                1
            } else {
                units.len()
            };
            hints.extend(units.chunks(each).map(|units| (&*place, units)));
        }
    }
    insert(tx, &hints).await
}

/// Puts back what a claim did not need of a hint: as one, or each on its own.
pub(crate) async fn put_back(
    tx: &mut Tx,
    place: &Place<'_>,
    units: &[UnitId],
    each: bool,
) -> Result<(), DbError> {
    let size = if each { 1 } else { units.len() };
    let hints: Vec<_> = units.chunks(size).map(|units| (place, units)).collect();
    insert(tx, &hints).await
}

async fn insert(tx: &mut Tx, hints: &[(&Place<'_>, &[UnitId])]) -> Result<(), DbError> {
    let text = |text: &str| text.to_owned();
    tx.later_bulk(
        Statement::built(format!(
            "INSERT INTO ready ({COLUMNS})
             SELECT r.pool, r.upstream, r.rank, r.due_at, r.unit, r.kind, r.version, r.size, r.units
             FROM {{rows}} WHERE TRUE {MERGE}"
        )),
        Bulk::new()
            .texts("pool", hints.iter().map(|(place, _)| text(place.pool)))
            .texts(
                "upstream",
                hints.iter().map(|(place, _)| text(place.upstream)),
            )
            .ints("rank", hints.iter().map(|(place, _)| place.rank.number()))
            .times("due_at", hints.iter().map(|(place, _)| place.due_at))
            .ints("unit", hints.iter().map(|(_, units)| units[0]))
            .texts("kind", hints.iter().map(|(place, _)| text(place.kind)))
            .ints("version", hints.iter().map(|(place, _)| place.version))
            .ints("size", hints.iter().map(|(_, units)| units.len() as i64))
            .texts(
                "units",
                hints
                    .iter()
                    .map(|(_, units)| (units.len() > 1).then(|| list(units))),
            ),
    )
    .await
}

/// Gives those of these units that are ready their places in the queue, as their
/// rows have it. To be called by whoever makes units ready, or changes the rank or
/// due time of ready ones, in the same transaction.
pub(crate) async fn note(
    tx: &mut Tx,
    units: impl IntoIterator<Item = UnitId>,
) -> Result<(), DbError> {
    let units: Vec<UnitId> = units.into_iter().collect();
    let statement = if units.len() < smallest() {
        Statement::built(format!(
            "INSERT INTO ready ({COLUMNS})
             SELECT unit.pool, unit.upstream, unit.rank, unit.due_at, unit.id, unit.kind,
                unit.version, 1, NULL
             FROM {{rows}} JOIN unit ON unit.id = r.unit WHERE unit.state = 'ready' {MERGE}"
        ))
    } else {
        Statement::built(bundling_text(tx.dialect()))
            .bind(bundle())
            .bind(smallest())
    };
    tx.later_bulk(statement, Bulk::new().ints("unit", units))
        .await
}

/// Slices of equal place; those that are too small are taken apart again.
fn bundling_text(dialect: Dialect) -> String {
    const PLACE: &str = "pool, upstream, rank, due_at, kind, version";
    let all = match dialect {
        Dialect::Postgres => "string_agg(id::text, ',' ORDER BY id)",
        Dialect::Sqlite => "group_concat(id)",
    };
    format!(
        "INSERT INTO ready ({COLUMNS})
         SELECT pool, upstream, rank, due_at, min(id), kind, version, count(*),
            CASE WHEN count(*) > 1 THEN {all} END
         FROM (
            SELECT id, {PLACE}, CASE
                WHEN count(*) OVER (PARTITION BY {PLACE}, slice) >= $2 THEN slice ELSE -id END AS part
            FROM (
                SELECT unit.id AS id, {PLACE},
                    (row_number() OVER (PARTITION BY {PLACE} ORDER BY unit.id) - 1) / $1 AS slice
                FROM {{rows}} JOIN unit ON unit.id = r.unit WHERE unit.state = 'ready'
            ) AS sliced
         ) AS parted
         GROUP BY {PLACE}, part {MERGE}"
    )
}

/// What hints name, unit by unit, as a table `named` for a FROM clause: the columns
/// of the hint, and the unit as `id`.
pub(crate) fn named(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "(SELECT ready.*, each.id::bigint AS id FROM ready CROSS JOIN LATERAL
              unnest(string_to_array(COALESCE(ready.units, ready.unit::text), ',')) AS each(id)) AS named"
        }
        Dialect::Sqlite => {
            "(SELECT ready.*, each.value AS id FROM ready
              JOIN json_each('[' || COALESCE(ready.units, ready.unit) || ']') AS each) AS named"
        }
    }
}

/// Units with commas between them, as a hint names them.
pub(crate) fn list(units: &[UnitId]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(units.len() * 8);
    for unit in units {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{unit}");
    }
    text
}

/// The units in such a list.
pub(crate) fn listed(text: &str) -> impl Iterator<Item = UnitId> {
    text.split(',').filter_map(|id| id.parse().ok())
}

/// Whom a look at what is due may find: what the queue has, or ready units among
/// these few. For a FROM clause; conditions may follow.
pub(crate) fn among(only: Option<&[UnitId]>) -> String {
    match only {
        None => "ready WHERE TRUE".to_owned(),
        // No unit has the number 0.
        Some([]) => "unit WHERE id = 0".to_owned(),
        Some(some) => format!("unit WHERE id IN ({}) AND state = 'ready'", list(some)),
    }
}

/// The ids in the answer to a statement that returns them.
pub(crate) fn ids(rows: &[db::Row]) -> Result<Vec<UnitId>, DbError> {
    rows.iter().map(|row| row.get("id")).collect()
}
