//! One worker slot: claims, runs, completes, claims again.
//!
//! An ordinary lane holds one unit at a time. A lane of a pool with a batch
//! holds up to that many, runs them side by side, and completes whatever is
//! over in one transaction with the next claim. How many it asks for follows
//! how long units take, so that a crash loses about a second of work.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use db::{Timestamp, sql, transact};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::OwnedRwLockReadGuard;
use tokio_util::sync::CancellationToken;

use crate::{
    Pool, RunError, UnitId,
    claim::Claimed,
    desk::Desk,
    finish::Closing,
    holding::Holding,
    outcome::{Outcome, panic_text},
    run::Run,
    worker::House,
};

/// The work that a lane with a batch tries to hold.
const HOLD: Duration = Duration::from_secs(1);
/// How long the first of a batch to end waits for others to end with it.
const LINGER: Duration = Duration::from_millis(5);
/// The first rest of a lane that finds nothing; each is twice as long as the one before.
const SHORTEST_REST: Duration = Duration::from_millis(50);
/// After `cancel`, how long a run may take to notice before it is dropped.
const NOTICE: Duration = Duration::from_secs(2);

pub(crate) struct Lane {
    house: Arc<House>,
    pool: Pool,
    index: usize,
    running: FuturesUnordered<BoxFuture<'static, Closing>>,
    /// The units above and those in `closings`, as the table knows of them.
    holding: Holding,
    /// Over, not yet written down.
    closings: Vec<Closing>,
    /// Mean time of a run, for the size of the next claim.
    mean: Option<Duration>,
    /// Rest between two looks when there is nothing.
    rest: Duration,
}

impl Lane {
    pub(crate) fn new(house: Arc<House>, pool: Pool, index: usize) -> Self {
        Self {
            house,
            pool,
            index,
            running: FuturesUnordered::new(),
            holding: Holding::default(),
            closings: Vec::new(),
            mean: None,
            rest: SHORTEST_REST,
        }
    }

    pub(crate) async fn work(mut self) {
        let house = self.house.clone();
        stagger(&house, &self.pool, self.index).await;
        let process = house.process.clone();
        let Some(desk) = process.desks.get(&self.pool.name) else {
            return;
        };
        let mut wakes = house.engine.db().wakes().subscribe();
        let mut pass: Option<OwnedRwLockReadGuard<()>> = None;
        loop {
            let idle = self.running.is_empty() && self.closings.is_empty();
            if house.stop.is_cancelled() && idle {
                return;
            }
            if idle {
                drop(pass.take());
                let suspect = process.is_returning(&desk.pool, true)
                    || (desk.suspect_due(house.engine.clock().now())
                        && process.has_suspect(desk).await.unwrap_or(false));
                if suspect && !house.stop.is_cancelled() {
                    self.run_suspect(desk).await;
                }
            }
            if pass.is_none() {
                // Waits here while a suspect runs alone.
                pass = Some(house.gate.lock.clone().read_owned().await);
            }
            wakes.mark_unchanged();
            let want = self.want();
            match self.turn(desk, want, false).await {
                Ok(claimed) => {
                    let got = claimed.len();
                    self.start(claimed);
                    if self.running.is_empty() {
                        // At rest it must not keep a suspect from running.
                        drop(pass.take());
                    }
                    self.pause(desk, &mut wakes, want > got).await;
                }
                Err(error) => {
                    tracing::warn!(pool = %self.pool.name, %error, "the database failed, trying again");
                    desk.stale();
                    let rest = self.rest;
                    self.rest = (self.rest * 2).min(self.house.timing.poll);
                    tokio::select! {
                        () = tokio::time::sleep(rest) => {}
                        () = house.release.cancelled() => {
                            // The database is gone and so is our time: the
                            // lease runs out and others take over.
                            self.closings.clear();
                        }
                    }
                }
            }
        }
    }

    /// How many units to claim now.
    fn want(&self) -> usize {
        let house = &self.house;
        if house.stop.is_cancelled()
            || house.suspended.load(Ordering::SeqCst)
            || house.gate.wanted.load(Ordering::SeqCst) > 0
        {
            return 0;
        }
        let hold = match self.mean {
            Some(mean) if self.pool.batch > 1 => {
                let fits = HOLD.as_secs_f64() / mean.as_secs_f64().max(1e-9);
                (fits as usize).clamp(1, self.pool.batch)
            }
            _ => self.pool.batch,
        };
        hold.saturating_sub(self.running.len())
    }

    /// Writes down what is over and claims what is next.
    async fn turn(
        &mut self,
        desk: &Desk,
        want: usize,
        alone: bool,
    ) -> Result<Vec<Claimed>, db::DbError> {
        if want == 0 && self.closings.is_empty() {
            return Ok(Vec::new());
        }
        let ends: Vec<(UnitId, i64, String, &'static str)> = self
            .closings
            .iter()
            .map(|closing| {
                let unit = &closing.unit;
                (unit.id, unit.attempt, unit.kind.clone(), word(closing))
            })
            .collect();
        let begun = Instant::now();
        let process = self.house.process.clone();
        // What came back to this host goes first; nobody else may run it.
        let back = match want {
            0 => None,
            _ => process.take_back(desk, alone).await?,
        };
        let want = want - usize::from(back.is_some());
        let mut turned = process
            .turn(desk, &mut self.holding, &mut self.closings, want, alone)
            .await?;
        turned.claimed.extend(back);
        metrics::histogram!("gleaner_claim_duration_seconds").record(begun.elapsed());
        let mut flights = self.house.flights();
        let mut tally: HashMap<(String, &'static str), u64> = HashMap::new();
        if !ends.is_empty() || !turned.claimed.is_empty() {
            self.rest = SHORTEST_REST;
        }
        for (id, attempt, kind, outcome) in ends {
            // Another lane may have the unit already, under its next attempt.
            if flights
                .get(&id)
                .is_some_and(|(flying, _)| *flying == attempt)
            {
                flights.remove(&id);
            }
            let outcome = if turned.kept.contains(&(id, attempt)) {
                outcome
            } else {
                "lease-lost"
            };
            *tally.entry((kind, outcome)).or_default() += 1;
        }
        for unit in &turned.claimed {
            flights.insert(unit.id, (unit.attempt, CancellationToken::new()));
        }
        drop(flights);
        for ((kind, outcome), count) in tally {
            metrics::counter!("gleaner_units_finished_total", "kind" => kind, "outcome" => outcome)
                .increment(count);
        }
        Ok(turned.claimed)
    }

    fn start(&mut self, claimed: Vec<Claimed>) {
        let cheap = self.pool.batch > 1;
        let flights = self.house.flights();
        for unit in claimed {
            let lost = flights
                .get(&unit.id)
                .map(|(_, lost)| lost.clone())
                .unwrap_or_default();
            self.running
                .push(Box::pin(attempt(self.house.clone(), unit, lost, cheap)));
        }
    }

    /// Waits until there is something to do: a run that ended, or work for a free place.
    async fn pause(
        &mut self,
        desk: &Desk,
        wakes: &mut tokio::sync::watch::Receiver<u64>,
        hungry: bool,
    ) {
        if self.running.is_empty() {
            if self.closings.is_empty() {
                self.rest_until_work(desk, wakes).await;
            }
            return;
        }
        let first = tokio::select! {
            biased;
            closing = self.running.next() => closing,
            _ = wakes.changed(), if hungry => { desk.stale(); None }
            () = tokio::time::sleep(self.house.timing.poll), if hungry => None,
        };
        let Some(first) = first else { return };
        self.over(first);
        // Others that are over already, or will be in a moment, end with it.
        let deadline = tokio::time::Instant::now() + LINGER;
        while !self.running.is_empty() {
            match self.running.next().now_or_never() {
                Some(Some(closing)) => self.over(closing),
                Some(None) => break,
                None if self.pool.batch == 1 => break,
                None => match tokio::time::timeout_at(deadline, self.running.next()).await {
                    Ok(Some(closing)) => self.over(closing),
                    _ => break,
                },
            }
        }
    }

    /// Nothing runs here: rest until a signal, the next due time, or the poll.
    async fn rest_until_work(
        &mut self,
        desk: &Desk,
        wakes: &mut tokio::sync::watch::Receiver<u64>,
    ) {
        let house = self.house.clone();
        let clock = house.engine.clock();
        let now = clock.now();
        let due = desk
            .next_due(now)
            .map_or(house.timing.poll, |due| clock.real(due.since(now)));
        // Lanes of one pool share a survey; only the first of them looks often.
        let poll = house.timing.poll;
        self.rest = if self.index == 0 {
            (self.rest * 2).min(poll)
        } else {
            poll
        };
        let rest = due.min(self.rest).max(Duration::from_millis(1));
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            _ = wakes.changed() => desk.stale(),
            () = house.stop.cancelled() => {}
        }
    }

    /// Runs one suspect while nothing else runs in this process.
    async fn run_suspect(&mut self, desk: &Desk) {
        let house = self.house.clone();
        house.gate.wanted.fetch_add(1, Ordering::SeqCst);
        let alone = house.gate.lock.clone().write_owned().await;
        match self.turn(desk, 1, true).await {
            Ok(claimed) => {
                self.start(claimed);
                while let Some(closing) = self.running.next().await {
                    self.over(closing);
                }
                while !self.closings.is_empty() && !house.release.is_cancelled() {
                    if let Err(error) = self.turn(desk, 0, true).await {
                        tracing::warn!(%error, "could not write down a run's end, trying again");
                        tokio::time::sleep(self.rest).await;
                    }
                }
                desk.stale();
            }
            Err(error) => tracing::warn!(%error, "could not claim a suspect"),
        }
        house.gate.wanted.fetch_sub(1, Ordering::SeqCst);
        drop(alone);
    }

    fn over(&mut self, closing: Closing) {
        let took = self.house.engine.clock().now().since(closing.started_at);
        self.mean = Some(self.mean.map_or(took, |mean| (mean * 7 + took) / 8));
        self.closings.push(closing);
    }
}

/// While a pool first fills up after a start, starts are spread over the fleet.
async fn stagger(house: &House, pool: &Pool, index: usize) {
    let gap = pool.min_start_gap;
    if gap.is_zero() {
        return;
    }
    let clock = house.engine.clock();
    let name = pool.name.clone();
    let now = clock.now();
    let slot: Result<Timestamp, db::DbError> = transact!(house.engine.db(), |tx| {
        let name = name.clone();

        tx.execute(sql!(
            "INSERT INTO pool (name, next_start_at) VALUES ($1, $2)
                     ON CONFLICT (name) DO UPDATE SET next_start_at =
                        CASE WHEN pool.next_start_at > $2 THEN pool.next_start_at ELSE $2 END",
            &name,
            now
        ))
        .await?;
        let row = tx
            .fetch_one(sql!(
                "SELECT next_start_at FROM pool WHERE name = $1",
                &name
            ))
            .await?;
        let slot: Timestamp = row.get("next_start_at")?;
        tx.execute(sql!(
            "UPDATE pool SET next_start_at = $2 WHERE name = $1",
            &name,
            slot.plus(gap)
        ))
        .await?;
        Ok(slot)
    });
    let wait = slot.map_or_else(|_| gap * index as u32, |slot| slot.since(now));
    tokio::select! {
        () = tokio::time::sleep(clock.real(wait)) => {}
        () = house.stop.cancelled() => {}
    }
}

/// One attempt, from claim to closing. Never fails, never panics, always ends:
/// by itself, at its deadline, when its lease is lost, or when the grace is over.
async fn attempt(
    house: Arc<House>,
    unit: Claimed,
    lost: CancellationToken,
    cheap: bool,
) -> Closing {
    let unit = Arc::new(unit);
    let started_at = house.engine.clock().now();
    let result = supervise(&house, &unit, lost, cheap).await;
    if let Err(error) = &result {
        log_failure(&unit, error);
    }
    Closing {
        unit,
        started_at,
        result,
    }
}

async fn supervise(
    house: &Arc<House>,
    unit: &Arc<Claimed>,
    lost: CancellationToken,
    cheap: bool,
) -> Result<crate::Ending, RunError> {
    let (Some(handler), Some(kind)) = (
        house.handlers.get(unit.kind.as_str()).cloned(),
        house.process.kinds.get(unit.kind.as_str()),
    ) else {
        return Err(RunError::Interrupted);
    };
    let cancel = CancellationToken::new();
    let run = Run {
        unit: unit.clone(),
        db: house.engine.db.clone(),
        clock: house.engine.clock.clone(),
        cancel: cancel.clone(),
        lease_lost: lost.clone(),
        recorder: house.process.recorder.clone(),
        allowed: kind.max_run,
        upstreams: house.engine.upstreams().clone(),
    };
    let mut running: BoxFuture<'static, _> =
        Box::pin(async move { AssertUnwindSafe(handler.run(&run)).catch_unwind().await });
    // Runs of a pool with a batch take microseconds: most are over when they
    // are first looked at, and a task each would cost more than the run.
    if cheap && let Some(ended) = (&mut running).now_or_never() {
        return ended.unwrap_or_else(|panic| Err(RunError::unit(panic_text(panic.as_ref()))));
    }
    // A task of its own: a run that panics or never yields harms only itself.
    let mut task = tokio::spawn(running);
    let ended = tokio::select! {
        biased;
        ended = &mut task => Some(ended),
        () = lost.cancelled() => None,
        () = house.release.cancelled() => None,
        () = tokio::time::sleep(kind.max_run) => None,
    };
    let (ended, stopped) = if let Some(ended) = ended {
        (ended, None)
    } else {
        let why = if lost.is_cancelled() {
            RunError::LeaseLost
        } else if house.release.is_cancelled() {
            RunError::Interrupted
        } else {
            RunError::unit(format!("ran longer than {:?}", kind.max_run))
        };
        cancel.cancel();
        if let Ok(ended) = tokio::time::timeout(NOTICE, &mut task).await {
            (ended, Some(why))
        } else {
            task.abort();
            return Err(why);
        }
    };
    match (ended, stopped) {
        // It finished while it was being stopped for shutdown: let that count.
        (Ok(Ok(Ok(ending))), None | Some(RunError::Interrupted)) => Ok(ending),
        (_, Some(why)) => Err(why),
        (Ok(Ok(result)), None) => result,
        (Ok(Err(panic)), None) => Err(RunError::unit(panic_text(panic.as_ref()))),
        (Err(_), None) => Err(RunError::unit("the run was aborted")),
    }
}

fn log_failure(unit: &Claimed, error: &RunError) {
    let text = crate::outcome::chain(error);
    match error {
        RunError::Unit(_) | RunError::Upstream(_) => {
            tracing::warn!(unit.id, unit.kind, unit.key, error = %text, "run failed");
        }
        RunError::LeaseLost | RunError::Interrupted | RunError::Database(_) => {
            tracing::info!(unit.id, unit.kind, unit.key, error = %text, "run stopped");
        }
    }
}

/// The word for metrics.
fn word(closing: &Closing) -> &'static str {
    match &closing.result {
        Ok(ending) => match ending.outcome {
            Outcome::Done => "done",
            Outcome::Partial { .. } => "partial",
            Outcome::Retry { .. } => "retry",
            Outcome::Gone { .. } => "gone",
            Outcome::Wait { .. } => "wait",
        },
        Err(RunError::Unit(_)) => "strike",
        Err(RunError::Upstream(_)) => "upstream-failed",
        Err(RunError::LeaseLost) => "lease-lost",
        Err(RunError::Interrupted) => "released",
        Err(RunError::Database(_)) => "database-failed",
    }
}
