//! A run as its handler sees it: what to do, and the only ways to write.

use std::{fmt, sync::Arc, time::Duration};

use db::{Clock, Tx, sql, transact};
use futures_util::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Outcome, Rank, RunError, UnitId, Upstreams, claim::Claimed, process::Recorder};

/// Runs units of one kind.
pub trait Handler: Send + Sync + 'static {
    /// Does the work of one unit and says how it ended. Called again after
    /// every failure or lost lease, so it starts from the cursor.
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>>;
}

/// One attempt at a unit.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) unit: Arc<Claimed>,
    pub(crate) db: db::Db,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancellationToken,
    pub(crate) lease_lost: CancellationToken,
    pub(crate) recorder: Arc<Recorder>,
    /// How long a run of this kind may take.
    pub(crate) allowed: Duration,
    pub(crate) upstreams: Upstreams,
}

impl Run {
    /// The unit.
    pub fn id(&self) -> UnitId {
        self.unit.id
    }

    /// The unit's key within its kind.
    pub fn key(&self) -> &str {
        &self.unit.key
    }

    /// The upstream this unit may ask.
    pub fn upstream(&self) -> &str {
        &self.unit.upstream
    }

    /// The fencing number of this attempt.
    pub fn attempt(&self) -> i64 {
        self.unit.attempt
    }

    /// The payload it was enqueued with. A payload that does not fit is the unit's fault.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        let value = self.unit.payload.clone().unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(RunError::unit)
    }

    /// The cursor of the last commit; `None` at the first run, or when an older
    /// version left one that no longer fits.
    pub fn cursor<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(self.unit.cursor.clone()?).ok()
    }

    /// The time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The database, for reading. Writes go through [`Run::commit`] and [`Run::finish`].
    pub fn db(&self) -> &db::Db {
        &self.db
    }

    /// The breakers and budgets of remote services. A unit that was told to run
    /// now may draw on the reserve.
    pub fn upstreams(&self) -> Upstreams {
        if self.unit.rank == Rank::RunNow {
            self.upstreams.interactive()
        } else {
            self.upstreams.clone()
        }
    }

    /// Fires when the run should stop: the process shuts down, or the lease is lost.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Writes facts and the cursor that covers them, in one transaction that
    /// holds only if this attempt still has the unit. `write` may be run more
    /// than once (deadlock, serialisation) and must not change anything else.
    pub async fn commit<T, F>(
        &self,
        cursor: &impl Serialize,
        facts: &T,
        write: F,
    ) -> Result<(), RunError>
    where
        T: Sync,
        F: for<'t> Fn(&'t mut Tx, &'t T) -> BoxFuture<'t, Result<(), RunError>> + Sync,
    {
        let cursor = serde_json::to_value(cursor)
            .map_err(RunError::unit)?
            .to_string();
        let (unit, cursor, write) = (&self.unit, &cursor, &write);
        transact!(self.db, |tx| {
            hold(tx, unit).await?;
            write(tx, facts).await?;
            tx.execute(sql!(
                "INSERT INTO unit_body (unit, cursor) VALUES ($1, $2)
                         ON CONFLICT (unit) DO UPDATE SET cursor = excluded.cursor",
                unit.id,
                cursor
            ))
            .await?;
            if !unit.body {
                tx.execute(sql!(
                    "UPDATE unit SET body = TRUE WHERE id = $1 AND NOT body",
                    unit.id
                ))
                .await?;
            }
            Ok(())
        })
        .inspect_err(|error| {
            if matches!(error, RunError::LeaseLost) {
                self.lease_lost.cancel();
            }
        })
    }

    /// The last word of a run: its outcome and report, and the facts that
    /// commit with its end in one fenced transaction. Nothing is written before
    /// the handler has returned this.
    pub fn finish<T, F>(
        &self,
        outcome: Outcome,
        report: impl Serialize,
        facts: T,
        write: F,
    ) -> Ending
    where
        T: Send + Sync + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t T) -> BoxFuture<'t, Result<(), RunError>>
            + Send
            + Sync
            + 'static,
    {
        let mut ending = self.end(outcome, report);
        ending.facts = Some(Box::new(Held { facts, write }));
        ending
    }

    /// As [`Run::finish`], for a run that found nothing to write.
    pub fn end(&self, outcome: Outcome, report: impl Serialize) -> Ending {
        Ending {
            outcome,
            report: match serde_json::to_value(report) {
                Ok(Value::Null) | Err(_) => None,
                Ok(report) => Some(report),
            },
            cursor: None,
            facts: None,
        }
    }
}

/// Fails unless this attempt still has the unit, and keeps it so until the commit.
pub(crate) async fn hold(tx: &mut Tx, unit: &Claimed) -> Result<(), RunError> {
    let text = format!(
        "SELECT id FROM unit WHERE id = $1 AND attempt = $2 AND state = 'running' {}",
        tx.dialect().for_update()
    );
    let held = tx
        .fetch_optional(db::Statement::built(text).bind(unit.id).bind(unit.attempt))
        .await?;
    held.map(drop).ok_or(RunError::LeaseLost)
}

/// How a run wants to end. Made by [`Run::finish`].
pub struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) report: Option<Value>,
    pub(crate) cursor: Option<Value>,
    pub(crate) facts: Option<Box<dyn WriteFacts>>,
}

impl Ending {
    /// The cursor for the next run, committed with the end.
    pub fn cursor(mut self, cursor: impl Serialize) -> Self {
        self.cursor = serde_json::to_value(cursor).ok();
        self
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending")
            .field("outcome", &self.outcome)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

pub(crate) trait WriteFacts: Send + Sync {
    fn write<'t>(&'t self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), RunError>>;
}

struct Held<T, F> {
    facts: T,
    write: F,
}

impl<T, F> WriteFacts for Held<T, F>
where
    T: Send + Sync,
    F: for<'t> Fn(&'t mut Tx, &'t T) -> BoxFuture<'t, Result<(), RunError>> + Send + Sync,
{
    fn write<'t>(&'t self, tx: &'t mut Tx) -> BoxFuture<'t, Result<(), RunError>> {
        (self.write)(tx, &self.facts)
    }
}
