//! Units stay with the host that has a subprocess for them.
//!
//! A held unit is ready but due only when the hold is over. So holding costs
//! the claim nothing: no column, no predicate, no other index; a held unit lies
//! in the part of the index that claims never reach. Its host does not wait for
//! the due time: it claims the unit by name ([`super::recovery`]). Rejected: a
//! predicate in the claim (every claim would pay for what a handful of units
//! need) and a pool per host (pauses, counts and pages would see two pools).
//!
//! Should a person make a held unit run now, another host may get it; that run
//! then finds the record, starts nothing, and gives the unit back as held.

use std::collections::BTreeMap;

use db::{Bulk, DbError, Timestamp, Tx, sql};

use super::{Recorder, record::Record};
use crate::{RunError, UnitId, finish::Closing, queue};

/// Holds those of these freed units that have a subprocess, each for its host.
pub(crate) async fn keep_for_their_hosts(
    tx: &mut Tx,
    freed: Vec<UnitId>,
    now: Timestamp,
) -> Result<(), DbError> {
    hold(tx, freed, |record| Some(now.plus(record.grace))).await
}

/// What the end of runs means for their subprocesses.
enum Settled {
    /// The run goes on elsewhere or later, with the same subprocess.
    Kept,
    /// The run has had what it wanted of it, or cannot use it.
    Over,
}

impl Recorder {
    /// Settles the records of runs that end in this transaction. Called after
    /// their ends were written.
    pub(crate) async fn settle(
        &self,
        tx: &mut Tx,
        closings: &[Closing],
        now: Timestamp,
    ) -> Result<(), DbError> {
        let ends: Vec<(UnitId, i64, Settled)> = {
            let known = self.known();
            if known.recorded.is_empty() {
                return Ok(());
            }
            closings
                .iter()
                .filter(|closing| known.recorded.contains(&closing.unit.attempt()))
                .map(|closing| (closing.unit.id, closing.unit.attempt, settled(closing)))
                .collect()
        };
        let mut kept = Vec::new();
        for (unit, attempt, settled) in ends {
            match settled {
                Settled::Kept => kept.push(unit),
                Settled::Over => {
                    // A later attempt's subprocess is not ours to settle.
                    tx.execute(sql!(
                        "UPDATE subprocess SET wanted = FALSE WHERE unit = $1 AND wanted
                           AND EXISTS (SELECT 1 FROM unit WHERE unit.id = $1
                                AND unit.attempt = $2 AND unit.state <> 'running')",
                        unit,
                        attempt
                    ))
                    .await?;
                }
            }
        }
        hold(tx, kept, |record| {
            if record.host == self.machine {
                Some(now.plus(record.grace))
            } else {
                record.held_until
            }
        })
        .await
    }

    /// After the commit: these units are out of our hands.
    pub(crate) fn settled(&self, closings: &[Closing]) {
        let mut known = self.known();
        if known.recorded.is_empty() {
            return;
        }
        for closing in closings {
            known.recorded.remove(&closing.unit.attempt());
        }
    }
}

/// Only a run that was stopped from outside goes on with its subprocess. Any end
/// of its own, be it a retry, gives it up: what it wants kept, it must commit.
fn settled(closing: &Closing) -> Settled {
    match &closing.result {
        Err(RunError::Interrupted | RunError::LeaseLost | RunError::Database(_)) => Settled::Kept,
        Ok(_) | Err(_) => Settled::Over,
    }
}

/// Makes ready units with a wanted subprocess due when the hold is over, and not before.
async fn hold(
    tx: &mut Tx,
    units: Vec<UnitId>,
    until: impl Fn(&Record) -> Option<Timestamp>,
) -> Result<(), DbError> {
    if units.is_empty() {
        return Ok(());
    }
    let text = format!(
        "SELECT {} FROM {{rows}} JOIN subprocess ON subprocess.unit = r.id WHERE subprocess.wanted",
        super::record::COLUMNS
    );
    let rows = tx
        .fetch_bulk(db::Statement::built(text), Bulk::new().ints("id", units))
        .await?;
    // In the order of ids, as everybody locks them.
    let mut holds: BTreeMap<UnitId, Timestamp> = BTreeMap::new();
    for row in &rows {
        let record = Record::read(row)?;
        if let Some(until) = until(&record) {
            holds.insert(record.unit, until);
        }
    }
    extend(tx, &holds).await
}

/// Writes holds down, in the record and as the due time of units that are ready.
pub(super) async fn extend(
    tx: &mut Tx,
    holds: &BTreeMap<UnitId, Timestamp>,
) -> Result<(), DbError> {
    if holds.is_empty() {
        return Ok(());
    }
    let rows = || {
        Bulk::new()
            .ints("unit", holds.keys().copied())
            .times("until", holds.values().copied())
    };
    tx.execute_bulk(
        sql!(
            "UPDATE subprocess SET held_until = r.until FROM {rows}
             WHERE subprocess.unit = r.unit AND subprocess.wanted"
        ),
        rows(),
    )
    .await?;
    tx.execute_bulk(
        sql!(
            "UPDATE unit SET due_at = r.until FROM {rows}
             WHERE unit.id = r.unit AND unit.state IN ('ready', '') AND unit.due_at < r.until"
        ),
        rows(),
    )
    .await?;
    queue::note(tx, holds.keys().copied()).await
}
