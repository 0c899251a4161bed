//! What a host makes of the records it finds: before its first claim, and at
//! every look afterwards.
//!
//! A process whose units were freed because it slept, a worker that died beside
//! us on the same machine, a run that was stopped for a shutdown: all leave a
//! ready unit with a record, and all are found by the same look. Records of
//! units that run are nobody's business but their run's.

use std::collections::BTreeMap;

use db::{DbError, Row, Statement, Timestamp, Tx, sql, transact};

use super::{
    hold,
    record::{self, COLUMNS, Record},
    verdict::{Verdict, blocking, count},
};
use crate::{
    Rank, State, UnitId,
    claim::{self, Claimed},
    desk::Desk,
    holding, queue,
    turn::Process,
};

/// How long records that nobody wants are kept for a host that does not come back.
const KEEP_UNWANTED: std::time::Duration = std::time::Duration::from_hours(30 * 24);

/// A unit that came back to this host.
#[derive(Clone, Debug)]
pub(super) struct Returning {
    pub unit: UnitId,
    pub pool: String,
    pub alone: bool,
}

/// A record with what bears on it of its unit.
struct Found {
    record: Record,
    state: Option<State>,
    rank: Rank,
    pool: String,
    succeeded_at: Option<Timestamp>,
}

impl Found {
    fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            record: Record::read(row)?,
            state: row
                .get::<Option<String>>("state")?
                .and_then(|word| word.parse().ok()),
            rank: Rank::from_number(row.get::<Option<i64>>("rank")?.unwrap_or_default()),
            pool: row.get::<Option<String>>("pool")?.unwrap_or_default(),
            succeeded_at: row.get("succeeded_at")?,
        })
    }

    /// Whether the output is still of use to anybody.
    fn of_use(&self) -> bool {
        let since = self.record.recorded_at;
        self.record.wanted
            && self.state == Some(State::Ready)
            && self.succeeded_at.is_none_or(|succeeded| succeeded < since)
    }
}

impl Process {
    /// One look at the records of this host. Returns the units that came back;
    /// lanes take them before anything else.
    pub(crate) async fn recover(&self) -> Result<Vec<UnitId>, DbError> {
        let (recorder, now) = (&self.recorder, self.clock.now());
        let found = self.records().await?;
        let (mut returning, mut holds) = (Vec::new(), BTreeMap::new());
        for found in found {
            if found.record.wanted && found.state == Some(State::Running) {
                continue;
            }
            let facts = recorder.settings.host.clone();
            let record = found.record.clone();
            let verdict = blocking(move || record.judge(&*facts)).await;
            if !found.of_use() {
                self.clear(&found.record, verdict).await?;
                continue;
            }
            match verdict {
                Verdict::Lost => self.let_go(&found.record, now).await?,
                Verdict::Finished | Verdict::Running => {
                    holds.insert(found.record.unit, now.plus(found.record.grace));
                    returning.push(Returning {
                        unit: found.record.unit,
                        pool: found.pool,
                        alone: found.rank == Rank::Alone,
                    });
                }
            }
        }
        let units: Vec<UnitId> = returning.iter().map(|back| back.unit).collect();
        let news = {
            let mut known = recorder.known();
            let news = units
                .iter()
                .any(|unit| known.returning.iter().all(|back| back.unit != *unit));
            known.returning = returning;
            news
        };
        if !holds.is_empty() {
            transact!(self.db, |tx| hold::extend(tx, &holds).await)?;
        }
        if news {
            self.db.wakes().ring();
        }
        Ok(units)
    }

    /// Removes records whose host has been away for very long.
    pub(crate) async fn forget_old_records(&self) -> Result<(), DbError> {
        self.db
            .execute(sql!(
                "DELETE FROM subprocess WHERE NOT wanted AND recorded_at < $1",
                self.clock.now().minus(KEEP_UNWANTED)
            ))
            .await?;
        Ok(())
    }

    async fn records(&self) -> Result<Vec<Found>, DbError> {
        let text = format!(
            "SELECT {COLUMNS}, unit.state AS state, unit.rank AS rank, unit.pool AS pool,
                unit.succeeded_at AS succeeded_at
             FROM subprocess LEFT JOIN unit ON unit.id = subprocess.unit
             WHERE subprocess.host = $1 ORDER BY subprocess.id"
        );
        let rows = self
            .db
            .fetch_all(Statement::built(text).bind(&self.recorder.machine))
            .await?;
        rows.iter().map(Found::read).collect()
    }

    /// Nobody needs it: ends it if it runs, and removes it when it does not.
    async fn clear(&self, record: &Record, verdict: Verdict) -> Result<(), DbError> {
        if record.wanted {
            // The next look sees whether that holds.
            return transact!(self.db, |tx| unwant_idle(tx, record).await).map(drop);
        }
        if verdict == Verdict::Running {
            let (facts, gone) = (self.recorder.settings.host.clone(), record.clone());
            blocking(move || gone.end(&*facts)).await;
            // It is removed by the next look, when it is certainly gone.
            return Ok(());
        }
        let place = record.place();
        if let Err(error) = blocking(move || place.remove()).await {
            tracing::warn!(directory = record.directory, %error, "could not remove what a subprocess left");
        }
        record::forget(&self.db, record.id).await
    }

    /// Nothing usable is left: the unit may run again, here or elsewhere.
    async fn let_go(&self, record: &Record, now: Timestamp) -> Result<(), DbError> {
        let lost = transact!(self.db, |tx| {
            let lost = unwant_idle(tx, record).await?;
            if lost {
                // Unless its due time has a reason of its own.
                tx.execute(sql!(
                    "UPDATE unit SET due_at = $2 WHERE id = $1 AND state = 'ready' AND due_at = $3",
                    record.unit,
                    now,
                    record.held_until
                ))
                .await?;
                queue::note(tx, [record.unit]).await?;
                tx.wake();
            }
            Ok::<_, DbError>(lost)
        })?;
        if lost {
            count("lost");
            tracing::warn!(
                unit = record.unit,
                name = record.name,
                "a subprocess was lost, its unit runs again"
            );
        }
        Ok(())
    }

    /// Claims one of the units that came back to this host, of this pool.
    pub(crate) async fn take_back(
        &self,
        desk: &Desk,
        alone: bool,
    ) -> Result<Option<Claimed>, DbError> {
        while let Some(unit) = self.next_returning(&desk.pool, alone) {
            if let Some(claimed) = self.claim_by_name(desk, unit).await? {
                tracing::info!(
                    unit,
                    kind = claimed.kind,
                    "a subprocess of this host is taken up again"
                );
                self.recorder.known().recorded.insert(claimed.attempt());
                return Ok(Some(claimed));
            }
        }
        Ok(None)
    }

    /// Whether units came back that wait for a slot of this pool, to run alone or not.
    pub(crate) fn is_returning(&self, pool: &str, alone: bool) -> bool {
        let known = self.recorder.known();
        known
            .returning
            .iter()
            .any(|back| back.pool == pool && back.alone == alone)
    }

    fn next_returning(&self, pool: &str, alone: bool) -> Option<UnitId> {
        let mut known = self.recorder.known();
        let place = known
            .returning
            .iter()
            .position(|back| back.pool == pool && back.alone == alone)?;
        Some(known.returning.remove(place).unit)
    }

    async fn claim_by_name(&self, desk: &Desk, unit: UnitId) -> Result<Option<Claimed>, DbError> {
        let (worker, kinds) = (self.worker(), &desk.kinds);
        let taken = transact!(self.db, |tx| {
            let text = format!(
                "SELECT kind, version FROM unit WHERE id = $1 AND state = 'ready'
                   AND NOT EXISTS (SELECT 1 FROM pool WHERE pool.name = unit.pool
                        AND pool.paused_at IS NOT NULL) {}",
                match tx.dialect() {
                    db::Dialect::Sqlite => "",
                    db::Dialect::Postgres => "FOR UPDATE OF unit SKIP LOCKED",
                }
            );
            let row = tx.fetch_optional(Statement::built(text).bind(unit)).await?;
            let Some(row) = row else {
                return Ok::<_, DbError>(None);
            };
            let (kind, version): (String, i64) = (row.get("kind")?, row.get("version")?);
            if !kinds
                .iter()
                .any(|(name, ours)| *name == kind && version <= *ours)
            {
                return Ok(None);
            }
            let row = tx
                .fetch_one(sql!(
                    "UPDATE unit SET state = 'running', worker = $2, attempt = attempt + 1,
                        again = FALSE
                     WHERE id = $1
                     RETURNING kind, key, upstream, attempt, rank, strikes, partials, lost, body",
                    unit,
                    worker
                ))
                .await?;
            let mut claimed = [Claimed {
                required: true,
                id: unit,
                kind: row.get("kind")?,
                key: row.get("key")?,
                upstream: row.get("upstream")?,
                attempt: row.get("attempt")?,
                rank: Rank::from_number(row.get("rank")?),
                strikes: row.get("strikes")?,
                partials: row.get("partials")?,
                lost: row.get("lost")?,
                body: row.get("body")?,
                payload: None,
                cursor: None,
                failed_at: None,
                troubled: false,
            }];
            claim::read_bodies(tx, &mut claimed).await?;
            let [claimed] = claimed;
            let row = holding::insert_one(tx, worker, unit).await?;
            Ok(Some((claimed, row)))
        })?;
        // No lane writes that row again: it goes when the unit no longer runs.
        Ok(taken.map(|(claimed, row)| {
            self.abandoned().push(row);
            claimed
        }))
    }
}

/// Nobody waits for this one, unless its unit was taken up since we looked.
async fn unwant_idle(tx: &mut Tx, record: &Record) -> Result<bool, DbError> {
    let unwanted = tx
        .execute(sql!(
            "UPDATE subprocess SET wanted = FALSE WHERE id = $1 AND wanted
               AND NOT EXISTS (SELECT 1 FROM unit WHERE unit.id = subprocess.unit
                    AND unit.state = 'running')",
            record.id
        ))
        .await?;
    Ok(unwanted > 0)
}
