//! One real request to a service whose breaker's pause is over.
//!
//! Exactly one process sends it: it writes its own row of `worker` into the
//! upstream's, and that lease holds as long as the worker's row is there. So a
//! process that dies in the middle frees the probe as it frees its units, by
//! its heartbeat, and no clock is compared.

use std::{sync::Arc, time::Duration};

use db::{DbError, Timestamp, Tx, sql, transact};
use futures_util::future::{BoxFuture, join_all};

use super::{Upstreams, breaker, memory::Trial};
use crate::finish::Attempt;

/// A probe that has no answer by then has failed. Longer than any answer that
/// would be called working.
const PATIENCE: Duration = Duration::from_mins(1);

/// Sends the one request that decides whether a failing upstream is asked
/// again. Given to [`crate::Worker::probe`].
pub trait Probe: Send + Sync + 'static {
    /// Asks the upstream anything cheap. Any answer that shows that it works is
    /// a success. The result decides: an upstream that this probe does not know
    /// how to ask must be answered with `Ok`, else it is never asked again.
    fn probe<'a>(&'a self, upstream: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// What a probe has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The service works.
    Works,
    /// It does not.
    Fails(String),
    /// Nothing: it was not asked after all.
    Unknown,
}

impl Upstreams {
    /// Probes all upstreams whose pause is over and that nobody probes; returns
    /// how many were probed here.
    pub(crate) async fn probe_all(
        &self,
        worker: i64,
        probe: &Arc<dyn Probe>,
    ) -> Result<usize, DbError> {
        let rows = self
            .shared
            .db
            .fetch_all(sql!(
                "SELECT name FROM upstream WHERE open_until <= $1 AND paused_at IS NULL",
                self.shared.clock.now()
            ))
            .await?;
        let names: Vec<String> = rows
            .iter()
            .map(|row| row.get("name"))
            .collect::<Result<_, _>>()?;
        let probes = names.iter().map(|name| self.probe_one(name, worker, probe));
        let mut probed = 0;
        for result in join_all(probes).await {
            probed += usize::from(result?);
        }
        Ok(probed)
    }

    async fn probe_one(
        &self,
        upstream: &str,
        worker: i64,
        probe: &Arc<dyn Probe>,
    ) -> Result<bool, DbError> {
        if !self.begin_trial(upstream) {
            return Ok(false);
        }
        let now = self.shared.clock.now();
        let leased = transact!(self.shared.db, |tx| lease(tx, upstream, worker, now).await);
        if !matches!(leased, Ok(true)) {
            self.abandon_trial(upstream);
            return leased;
        }
        let answer = tokio::time::timeout(PATIENCE, probe.probe(upstream)).await;
        let verdict = match answer {
            Ok(Ok(())) => Verdict::Works,
            Ok(Err(why)) => Verdict::Fails(why),
            Err(_) => Verdict::Fails("no answer to the probe".to_owned()),
        };
        tracing::info!(upstream, ?verdict, "probed");
        self.end_trial(upstream, worker, verdict).await?;
        Ok(true)
    }

    /// From now on requests for this upstream are let through here; false if
    /// they are already.
    pub(crate) fn begin_trial(&self, upstream: &str) -> bool {
        let mut memory = self.memory();
        let fresh = !memory.probing.contains_key(upstream);
        if fresh {
            memory.probing.insert(upstream.to_owned(), Trial::default());
        }
        fresh
    }

    /// There was no lease or no unit after all.
    pub(crate) fn abandon_trial(&self, upstream: &str) {
        self.memory().probing.remove(upstream);
    }

    /// The run that was to decide is no longer ours. The lease is, and is taken again.
    pub(crate) fn forget_trial(&self, attempt: Attempt) {
        let mut memory = self.memory();
        memory
            .probing
            .retain(|_, trial| trial.attempt != Some(attempt));
    }

    /// The run whose end decides.
    pub(crate) fn decided_by(&self, upstream: &str, attempt: Attempt) {
        if let Some(trial) = self.memory().probing.get_mut(upstream) {
            trial.attempt = Some(attempt);
        }
    }

    /// The trial that this attempt decides, if it does.
    pub(crate) fn trial_of(&self, upstream: &str, attempt: Attempt) -> Option<Trial> {
        let memory = self.memory();
        let trial = memory.probing.get(upstream);
        trial
            .filter(|trial| trial.attempt == Some(attempt))
            .cloned()
    }

    /// Whether this process probes anything just now.
    pub(crate) fn is_probing(&self) -> bool {
        !self.memory().probing.is_empty()
    }

    /// Whether this process has the probe of that upstream in its hands.
    pub(crate) fn probes(&self, upstream: &str) -> bool {
        self.memory().probing.contains_key(upstream)
    }

    /// Writes down what the probe has shown, and ends its lease. Should that
    /// fail, the lease is still ours and is taken again.
    pub(crate) async fn end_trial(
        &self,
        upstream: &str,
        worker: i64,
        verdict: Verdict,
    ) -> Result<(), DbError> {
        self.memory().probing.remove(upstream);
        let now = self.shared.clock.now();
        let verdict = &verdict;
        transact!(self.shared.db, |tx| decide(
            tx, upstream, worker, verdict, now
        )
        .await)
    }
}

/// Takes the right to probe, if it is to be had.
pub(crate) async fn lease(
    tx: &mut Tx,
    upstream: &str,
    worker: i64,
    now: Timestamp,
) -> Result<bool, DbError> {
    let touched = tx
        .execute(sql!(
            // Ours already: we were never told that the last try had worked.
            "UPDATE upstream SET prober = $2
             WHERE name = $1 AND open_until <= $3 AND paused_at IS NULL
               AND (prober IS NULL OR prober = $2
                    OR NOT EXISTS (SELECT 1 FROM worker WHERE worker.id = upstream.prober))",
            upstream,
            worker,
            now
        ))
        .await?;
    Ok(touched > 0)
}

/// Gives that right back.
pub(crate) async fn release(tx: &mut Tx, upstream: &str, worker: i64) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE upstream SET prober = NULL WHERE name = $1 AND prober = $2",
        upstream,
        worker
    ))
    .await?;
    Ok(())
}

async fn decide(
    tx: &mut Tx,
    upstream: &str,
    worker: i64,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<(), DbError> {
    match verdict {
        Verdict::Unknown => release(tx, upstream, worker).await?,
        Verdict::Works => {
            tx.execute(sql!(
                "UPDATE upstream SET succeeded_at = $3, failures = 0, failing_since = NULL,
                    open_until = NULL, openings = 0, prober = NULL
                 WHERE name = $1 AND prober = $2",
                upstream,
                worker,
                now
            ))
            .await?;
        }
        Verdict::Fails(why) => {
            let mut breaker = breaker::lock(tx, upstream).await?;
            let ours = tx
                .execute(sql!(
                    "UPDATE upstream SET prober = NULL WHERE name = $1 AND prober = $2",
                    upstream,
                    worker
                ))
                .await?;
            if ours > 0 {
                breaker.open(now);
                breaker::store(tx, upstream, &breaker, why, now).await?;
            }
        }
    }
    // Everybody else waits for this.
    tx.wake();
    Ok(())
}
