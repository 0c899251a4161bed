//! What the lanes of all processes hold.
//!
//! Somebody must be able to say which units a dead process had. An index over
//! running units says it, at the price of one entry per claim and a second
//! update of every index per end. Here each lane writes the ids of what it
//! holds into one row of `holding`, in the transaction that claims: one small
//! update per claim of up to 500 units. So an end changes no indexed column, and
//! PostgreSQL writes it as a heap-only update (measured with claims of 500:
//! 640 bytes of log a unit instead of 1,140).
//!
//! The rule that all else rests on: **a running unit is named in a row of its
//! worker**. Rows are written with claims and not with ends, so they may name
//! units that are long over; whoever reads them looks at the units too.

use std::collections::{BTreeSet, HashMap};

use db::{Bulk, Db, DbError, Tx, sql};

use crate::{MOST_ROWS, UnitId, finish::Attempt};

/// What one lane holds, and its row.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    row: Option<Place>,
    /// By attempt: a lane may get a unit again while its run of an earlier
    /// attempt, long fenced off, is not over yet.
    units: BTreeSet<Attempt>,
}

/// A row of a process: a process that was taken for dead goes on under another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    row: i64,
    worker: i64,
}

/// A holding within a transaction: what it will be if that commits.
#[derive(Debug)]
pub(crate) struct Draft {
    row: Option<Place>,
    worker: i64,
    units: BTreeSet<Attempt>,
}

impl Holding {
    /// Begins a turn that ends `over`.
    pub(crate) fn draft(&self, worker: i64, over: impl Iterator<Item = Attempt>) -> Draft {
        let mut units = self.units.clone();
        for attempt in over {
            units.remove(&attempt);
        }
        Draft {
            row: self.row.filter(|place| place.worker == worker),
            worker,
            units,
        }
    }

    /// The turn was committed.
    pub(crate) fn keep(&mut self, draft: Draft) {
        self.row = draft.row;
        self.units = draft.units;
    }

    /// It is not known whether the turn was committed. If it was, the row names
    /// units that this lane does not know of: it must not be written again.
    /// Returns the row, to be removed when nothing in it runs any more.
    pub(crate) fn abandon(&mut self) -> Option<i64> {
        self.row.take().map(|place| place.row)
    }
}

impl Draft {
    /// The process under which it claims.
    pub(crate) fn worker(&self) -> i64 {
        self.worker
    }

    /// The row that the next claim writes, and what it held before.
    pub(crate) async fn open(&mut self, tx: &mut Tx) -> Result<(i64, String), DbError> {
        if self.row.is_none() {
            self.insert(tx).await?;
        }
        let row = self.row.map_or(0, |place| place.row);
        Ok((row, text(&self.units)))
    }

    /// Adds what was claimed.
    pub(crate) fn add(&mut self, claimed: impl Iterator<Item = Attempt>) {
        self.units.extend(claimed);
    }

    /// Writes down all that is held.
    pub(crate) async fn write(&mut self, tx: &mut Tx) -> Result<(), DbError> {
        let row = self.row.map_or(0, |place| place.row);
        // Others may have taken this process for dead and removed the row.
        tx.later(sql!(
            "INSERT INTO holding (id, worker, units) VALUES ($1, $2, $3)
             ON CONFLICT (id) DO UPDATE SET units = excluded.units",
            row,
            self.worker,
            text(&self.units)
        ))
        .await
    }

    /// One more row, after others have declared the process dead and removed its
    /// row: with all that is held and these.
    pub(crate) async fn insert_with(
        &mut self,
        tx: &mut Tx,
        claimed: &mut (dyn Iterator<Item = Attempt> + Send),
    ) -> Result<(), DbError> {
        self.units.extend(claimed);
        self.insert(tx).await
    }

    /// The first row of a lane; or one more.
    pub(crate) async fn insert(&mut self, tx: &mut Tx) -> Result<(), DbError> {
        let row = tx
            .fetch_one(sql!(
                "INSERT INTO holding (worker, units) VALUES ($1, $2) RETURNING id",
                self.worker,
                text(&self.units)
            ))
            .await?;
        self.row = Some(Place {
            row: row.get("id")?,
            worker: self.worker,
        });
        Ok(())
    }
}

/// A row for one unit that was claimed beside the lanes.
pub(crate) async fn insert_one(tx: &mut Tx, worker: i64, unit: UnitId) -> Result<i64, DbError> {
    let row = tx
        .fetch_one(sql!(
            "INSERT INTO holding (worker, units) VALUES ($1, $2) RETURNING id",
            worker,
            unit.to_string()
        ))
        .await?;
    row.get("id")
}

/// A row as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub id: i64,
    pub worker: i64,
    pub text: String,
}

impl Row {
    /// The units it names, each once.
    pub(crate) fn units(&self) -> BTreeSet<UnitId> {
        self.text
            .split(' ')
            .filter_map(|id| id.parse().ok())
            .collect()
    }
}

/// Whose rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    Everybodys,
    Of(i64),
    /// Of processes that have no row.
    Orphaned,
}

/// Rows of holdings.
pub(crate) async fn rows(db: &Db, whose: Whose) -> Result<Vec<Row>, DbError> {
    let statement = match whose {
        Whose::Everybodys => sql!("SELECT id, worker, units FROM holding ORDER BY id"),
        Whose::Of(worker) => sql!(
            "SELECT id, worker, units FROM holding WHERE worker = $1 ORDER BY id",
            worker
        ),
        Whose::Orphaned => sql!(
            "SELECT id, worker, units FROM holding
             WHERE NOT EXISTS (SELECT 1 FROM worker WHERE worker.id = holding.worker) ORDER BY id"
        ),
    };
    let rows = db.fetch_all(statement).await?;
    rows.iter()
        .map(|row| {
            Ok(Row {
                id: row.get("id")?,
                worker: row.get("worker")?,
                text: row.get("units")?,
            })
        })
        .collect()
}

/// Removes the row of a process that is gone, unless it was written since it
/// was read: then it may name units that nobody has freed.
pub(crate) async fn remove(db: &Db, row: &Row) -> Result<(), DbError> {
    db.execute(sql!(
        "DELETE FROM holding WHERE id = $1 AND units = $2",
        row.id,
        &row.text
    ))
    .await?;
    Ok(())
}

/// A unit that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub attempt: i64,
    pub worker: i64,
    pub pool: String,
    /// The row that names it.
    pub holding: i64,
}

/// What really runs of that which these rows name.
pub(crate) async fn running(db: &Db, rows: &[Row]) -> Result<HashMap<UnitId, Running>, DbError> {
    let named: Vec<(UnitId, i64, i64)> = rows
        .iter()
        .flat_map(|row| {
            row.units()
                .into_iter()
                .map(|unit| (unit, row.worker, row.id))
        })
        .collect();
    let mut found = HashMap::new();
    for named in named.chunks(MOST_ROWS) {
        let units = db
            .fetch_bulk(
                sql!(
                    "SELECT unit.id AS id, unit.attempt AS attempt, unit.worker AS worker,
                        unit.pool AS pool, r.holding AS holding
                     FROM {rows} JOIN unit ON unit.id = r.unit
                     WHERE unit.worker = r.holder AND unit.state = 'running'"
                ),
                Bulk::new()
                    .ints("unit", named.iter().map(|(unit, _, _)| *unit))
                    .ints("holder", named.iter().map(|(_, worker, _)| *worker))
                    .ints("holding", named.iter().map(|(_, _, row)| *row)),
            )
            .await?;
        for unit in units {
            let running = Running {
                attempt: unit.get("attempt")?,
                worker: unit.get("worker")?,
                pool: unit.get("pool")?,
                holding: unit.get("holding")?,
            };
            found.insert(unit.get("id")?, running);
        }
    }
    Ok(found)
}

/// All that runs now, anywhere.
pub(crate) async fn running_now(db: &Db) -> Result<HashMap<UnitId, Running>, DbError> {
    running(db, &rows(db, Whose::Everybodys).await?).await
}

fn text(units: &BTreeSet<Attempt>) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(units.len() * 8);
    for (unit, _) in units {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{unit}");
    }
    text
}
