//! One turn of a worker: complete what is over, claim what is next, in one
//! transaction.
//!
//! Completing first, as a statement of its own, and claiming second costs one
//! commit per turn instead of two: twice the rate at one unit per turn, 1.7
//! times at a hundred. The two must not be one statement (see [`crate::claim`]).
//!
//! What a unit costs at 500 per turn, with 2 cores: about 4 us of CPU in this
//! process beside PostgreSQL's (no-op units), 11 to 16 us in all on SQLite.
//! `bench/README.md` has the figures and where the time goes.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use db::{Clock, Conflicts, Db, DbError, Timestamp, Tx, transact};

use crate::{
    EnqueueError, Kind, Outcome, Rank, RunError, UnitId,
    claim::{self, Ask, Claimed, Pair, Taken},
    desk::Desk,
    finish::{self, Attempt, Closing, FinishError, Writer},
    holding::{self, Draft, Holding, Whose},
    process::Recorder,
    queue, requirement,
    run::Ending,
    upstream::{
        Upstreams,
        admission::{Admission, Outlook},
        probe::{self, Verdict},
    },
};

/// A pair that looked due but gave nothing (others' kinds, rows locked) rests this long.
const BARREN_RESTS: Duration = Duration::from_secs(1);

/// How often a turn looks again when others have all hints locked, and how long it
/// waits in between.
const LOOKS_BESIDE_OTHERS: usize = 20;
const OTHERS_COMMIT: Duration = Duration::from_millis(2);

/// Requirements in one transaction: each is a unit, an edge and a mark.
const STAGE: usize = crate::MOST_ROWS / 3;

/// What all workers of one process share.
#[derive(Debug)]
pub(crate) struct Process {
    pub db: Db,
    pub clock: Clock,
    /// Row of this process in `worker`; a new one after it was declared dead.
    pub worker: AtomicI64,
    pub name: String,
    pub kinds: HashMap<&'static str, Kind>,
    pub desks: HashMap<String, Desk>,
    pub upstreams: Upstreams,
    /// Rings when an upstream is to be probed. None: this process has no probe,
    /// and lets the first unit through alone.
    pub prober: Option<tokio::sync::Notify>,
    pub recorder: Arc<Recorder>,
    /// Rows of holdings that no lane writes any more.
    pub abandoned: Mutex<Vec<i64>>,
    /// The units that this process may run; none means all.
    pub only: Option<Vec<UnitId>>,
}

/// What to claim from one pair.
#[derive(Debug)]
struct Order {
    pair: Pair,
    most: usize,
    /// It decides whether the upstream works again.
    probe: bool,
}

/// What a turn brought.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    pub claimed: Vec<Claimed>,
    /// Attempts whose end was written. The others had lost their lease.
    pub kept: HashSet<Attempt>,
}

/// How a turn is written, after it could not be written otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct How {
    /// Somebody's facts were refused: everybody's get a savepoint.
    isolate: bool,
    /// Not all ends were as plain as they looked.
    careful: bool,
}

impl Process {
    /// Row of this process in `worker`.
    pub(crate) fn worker(&self) -> i64 {
        self.worker.load(Ordering::SeqCst)
    }

    /// Ends the runs in `closings` and claims up to `want` units of the pool.
    /// With `alone` it claims one unit that must run by itself, and no other.
    ///
    /// On an error nothing is known to have happened; call again with the same
    /// closings. Ends that were written after all are then found to be fenced
    /// off, which is harmless; claims that were made after all are found by
    /// [`crate::lease`] as strays.
    pub(crate) async fn turn(
        &self,
        desk: &Desk,
        holding: &mut Holding,
        closings: &mut Vec<Closing>,
        want: usize,
        alone: bool,
    ) -> Result<Turned, DbError> {
        let mut turned = Turned::default();
        self.stage_requirements(closings).await?;
        // When what looked due is gone, a fresh survey may know more. Once more is enough,
        // unless it was stale hints that looked due: those are fewer each time.
        let mut looks = 0;
        loop {
            let plan = if want == 0 {
                Vec::new()
            } else {
                self.plan(desk, want, alone).await?
            };
            if closings.is_empty() && plan.is_empty() {
                break;
            }
            let written = self.write(desk, holding, closings, &plan).await;
            if written.is_err() {
                self.abandon_probes(&plan);
            }
            let (taken, kept) = written?;
            self.book(desk, &plan, &taken);
            let stale = taken.iter().any(|taken| taken.stale);
            let contended = taken.iter().any(|taken| taken.contended);
            self.note(closings).await;
            self.recorder.settled(closings);
            closings.clear();
            turned.kept.extend(kept);
            turned
                .claimed
                .extend(taken.into_iter().flat_map(|taken| taken.units));
            looks += 1;
            if !turned.claimed.is_empty() || want == 0 {
                break;
            }
            if contended && looks < LOOKS_BESIDE_OTHERS {
                // Those who hold the locks commit within milliseconds.
                tokio::time::sleep(OTHERS_COMMIT).await;
            } else if looks >= 2 && !stale {
                break;
            }
            // What has just ended may be due again at once.
            desk.stale();
        }
        Ok(turned)
    }

    /// A run that waits for more units than one transaction may write has them
    /// enqueued beforehand, by checkpoints; its end then makes them count.
    async fn stage_requirements(&self, closings: &mut [Closing]) -> Result<(), DbError> {
        for closing in closings {
            let Ok(Ending {
                outcome: Outcome::Wait { requirements },
                ..
            }) = &mut closing.result
            else {
                continue;
            };
            let mut refused = None;
            while requirements.len() > STAGE && refused.is_none() {
                let rest = requirements.split_off(requirements.len() - STAGE);
                let (unit, rest) = (&closing.unit, &rest);
                let staged: Result<(), RunError> = transact!(self.db, |tx| {
                    crate::run::hold(tx, unit).await?;
                    requirement::stage(tx, unit.id, rest, self.clock.now())
                        .await
                        .map_err(|error| match error {
                            EnqueueError::Database(error) => RunError::from(error),
                            error => RunError::unit(error),
                        })
                });
                match staged {
                    Ok(()) => {}
                    Err(RunError::Database(error)) => {
                        // Whatever was staged is staged; the rest must not be forgotten.
                        requirements.extend(rest.iter().cloned());
                        return Err(error);
                    }
                    Err(error) => refused = Some(error),
                }
            }
            if let Some(error) = refused {
                closing.result = Err(error);
            }
        }
        Ok(())
    }

    /// What to claim from which pair.
    async fn plan(&self, desk: &Desk, want: usize, alone: bool) -> Result<Vec<Order>, DbError> {
        let monotonic = self.clock.monotonic();
        let stale = desk.lock().is_stale(self.clock.now(), monotonic);
        if stale {
            self.survey(desk).await?;
        }
        let market = desk.lock();
        let due = market.due(self.clock.now(), monotonic, alone);
        let chosen: Vec<(usize, usize)> = if alone {
            due.first().map(|_| (0, 1)).into_iter().collect()
        } else {
            market.shares.plan(&due, want)
        };
        let mut plan = Vec::with_capacity(chosen.len());
        for (index, most) in chosen {
            let pair = due[index].clone();
            let probe = market.restricted.get(&pair.upstream) == Some(&Admission::OneAsProbe);
            // One unit decides; another lane may have it already.
            if !probe || self.upstreams.begin_trial(&pair.upstream) {
                let most = if probe { 1 } else { most };
                plan.push(Order { pair, most, probe });
            }
        }
        Ok(plan)
    }

    /// The units that were to decide whether an upstream works were not claimed.
    fn abandon_probes(&self, plan: &[Order]) {
        for order in plan.iter().filter(|order| order.probe) {
            self.upstreams.abandon_trial(&order.pair.upstream);
        }
    }

    /// Whether some unit that must run alone is due and ours to run. Asked
    /// before all lanes are stopped for it.
    pub(crate) async fn has_suspect(&self, desk: &Desk) -> Result<bool, DbError> {
        for (kind, version) in &desk.kinds {
            let text = format!(
                "SELECT pool FROM {} AND pool = $1 AND rank = $2
                   AND due_at <= $3 AND kind = $4 AND version <= $5 LIMIT 1",
                queue::among(self.only.as_deref())
            );
            let statement = db::Statement::built(text)
                .bind(&desk.pool)
                .bind(Rank::Alone.number())
                .bind(self.clock.now())
                .bind(*kind)
                .bind(*version);
            let row = self.db.fetch_optional(statement).await?;
            if row.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) async fn survey(&self, desk: &Desk) -> Result<(), DbError> {
        let now = self.clock.now();
        let mut pairs = claim::survey(&self.db, &desk.pool).await?;
        let mut paused = false;
        let checked = pairs.iter().any(|pair| pair.due_at <= now);
        // An idle pool costs one query: what blocks it matters only when something is due.
        let mut outlook = Outlook::default();
        if checked {
            outlook = self.outlook(&pairs, now).await?;
            pairs.retain(|pair| {
                let admission = outlook.restricted.get(&pair.upstream);
                admission.is_none_or(|admission| admission.admits(pair.rank))
            });
            paused = self
                .db
                .fetch_optional(db::sql!(
                    "SELECT name FROM pool WHERE name = $1 AND paused_at IS NOT NULL",
                    &desk.pool
                ))
                .await?
                .is_some();
        }
        let monotonic = self.clock.monotonic();
        let mut market = desk.lock();
        market.barren.retain(|_, until| *until > monotonic);
        market.pairs = pairs;
        market.paused = paused;
        market.restricted = outlook.restricted;
        market.reopens_at = outlook.next_at;
        market.checked = checked;
        market.surveyed = Some(monotonic);
        Ok(())
    }

    /// Which upstreams of these pairs may be asked. Calls for the probe.
    async fn outlook(&self, pairs: &[Pair], now: Timestamp) -> Result<Outlook, DbError> {
        let wanted: HashSet<&str> = pairs
            .iter()
            .filter(|pair| pair.due_at <= now && !pair.upstream.is_empty())
            .map(|pair| pair.upstream.as_str())
            .collect();
        if wanted.is_empty() {
            return Ok(Outlook::default());
        }
        let outlook = self
            .upstreams
            .outlook(&wanted, self.worker(), self.prober.is_some())
            .await?;
        if let Some(prober) = &self.prober
            && outlook.to_be_probed
        {
            prober.notify_one();
        }
        Ok(outlook)
    }

    /// The transaction itself, run again on conflicts, and with more care once
    /// that turns out to be needed.
    async fn write(
        &self,
        desk: &Desk,
        holding: &mut Holding,
        closings: &mut [Closing],
        plan: &[Order],
    ) -> Result<(Vec<Taken>, HashSet<Attempt>), DbError> {
        let mut how = How::default();
        let mut conflicts = Conflicts::default();
        loop {
            let mut draft = holding.draft(
                self.worker(),
                closings.iter().map(|closing| closing.unit.attempt()),
            );
            let written = self.try_write(desk, &mut draft, closings, plan, how).await;
            let error = match written {
                Ok(done) => {
                    holding.keep(draft);
                    return Ok(done);
                }
                Err(error) => error,
            };
            match error {
                FinishError::Refused(index, error) => {
                    closings[index].result = Err(error);
                    how.isolate = true;
                }
                FinishError::Odd => how.careful = true,
                FinishError::Database(error) => {
                    if !(error.is_conflict() && conflicts.again().await) {
                        self.abandoned().extend(holding.abandon());
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn try_write(
        &self,
        desk: &Desk,
        holding: &mut Draft,
        closings: &mut [Closing],
        plan: &[Order],
        how: How,
    ) -> Result<(Vec<Taken>, HashSet<Attempt>), FinishError> {
        let mut tx = self.db.begin().await?;
        let writer = Writer {
            name: &self.name,
            kinds: &self.kinds,
            careful: how.careful,
        };
        let now = self.clock.now();
        let finished = finish::finish(&mut tx, writer, closings, how.isolate, now).await?;
        self.recorder
            .settle(&mut tx, closings, self.clock.now())
            .await?;
        let mut taken = Vec::with_capacity(plan.len());
        for order in plan {
            taken.push(self.claim(&mut tx, desk, holding, order).await?);
        }
        tx.commit().await?;
        Ok((taken, finished.kept))
    }

    async fn claim(
        &self,
        tx: &mut Tx,
        desk: &Desk,
        holding: &mut Draft,
        order: &Order,
    ) -> Result<Taken, DbError> {
        let pair = &order.pair;
        let ask = Ask {
            worker: holding.worker(),
            pool: &desk.pool,
            upstream: &pair.upstream,
            rank: pair.rank,
            most: order.most,
            kinds: &desk.kinds,
            only: self.only.as_deref(),
            now: self.clock.now(),
        };
        if order.probe && !probe::lease(tx, &pair.upstream, ask.worker, ask.now).await? {
            return Ok(Taken::default());
        }
        let mut taken = claim::claim(tx, ask, holding).await?;
        if order.probe && taken.units.is_empty() {
            probe::release(tx, &pair.upstream, ask.worker).await?;
        }
        claim::read_bodies(tx, &mut taken.units).await?;
        Ok(taken)
    }

    /// Removes abandoned rows once nothing that they name runs.
    pub(crate) async fn tidy_holdings(&self) -> Result<(), DbError> {
        let abandoned = self.abandoned().clone();
        if abandoned.is_empty() {
            return Ok(());
        }
        let mut rows = holding::rows(&self.db, Whose::Of(self.worker())).await?;
        rows.retain(|row| abandoned.contains(&row.id));
        let running = holding::running(&self.db, &rows).await?;
        let busy = |row: &holding::Row| running.values().any(|unit| unit.holding == row.id);
        for row in rows.iter().filter(|row| !busy(row)) {
            holding::remove(&self.db, row).await?;
        }
        self.abandoned()
            .retain(|id| rows.iter().any(|row| row.id == *id && busy(row)));
        Ok(())
    }

    pub(crate) fn abandoned(&self) -> std::sync::MutexGuard<'_, Vec<i64>> {
        self.abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Books what was claimed, and strikes out what is used up.
    fn book(&self, desk: &Desk, plan: &[Order], taken: &[Taken]) {
        let monotonic = self.clock.monotonic();
        let mut market = desk.lock();
        for (Order { pair, most, probe }, taken) in plan.iter().zip(taken) {
            let units = &taken.units;
            if let Some(first) = units.first() {
                market.shares.book(pair, units.len());
                if *probe {
                    self.upstreams.decided_by(&pair.upstream, first.attempt());
                    // Everything else of this upstream waits for its end.
                    market.pairs.retain(|known| known.upstream != pair.upstream);
                }
            } else if *probe {
                self.upstreams.abandon_trial(&pair.upstream);
            }
            if units.len() < *most {
                market
                    .pairs
                    .retain(|known| (&known.upstream, known.rank) != (&pair.upstream, pair.rank));
                // What is due later is not known now: look again before resting.
                market.surveyed = None;
            }
            if units.is_empty() && !taken.stale && !taken.contended {
                market
                    .barren
                    .insert((pair.upstream.clone(), pair.rank), monotonic + BARREN_RESTS);
            }
        }
    }

    /// Writes down which upstreams answered and which failed, as far as the
    /// requests have not said so themselves. Best effort: it is a hint for other
    /// units, and the next turn has the next one.
    async fn note(&self, closings: &[Closing]) {
        let mut succeeded = HashSet::new();
        for closing in closings {
            let name = closing.unit.upstream.as_str();
            if name.is_empty() {
                continue;
            }
            if let Some(trial) = self.upstreams.trial_of(name, closing.unit.attempt()) {
                self.end_trial(closing, trial.failed).await;
            } else if self.upstreams.spoke_since(name, closing.started_at) {
                // A request has said it: the end of its run is no second one.
            } else if let Err(RunError::Upstream(error)) = &closing.result {
                let why = crate::outcome::chain(error.as_ref());
                self.upstreams.note_failure(name, &why).await;
            } else if has_answer(closing) && succeeded.insert(name) {
                self.upstreams.note_success(name).await;
            }
        }
    }

    /// The one unit that was let through to a failing upstream has ended.
    async fn end_trial(&self, closing: &Closing, failed: Option<String>) {
        let name = &closing.unit.upstream;
        let verdict = match (&closing.result, failed) {
            (Err(RunError::Upstream(error)), _) => {
                Verdict::Fails(crate::outcome::chain(error.as_ref()))
            }
            (_, Some(why)) => Verdict::Fails(why),
            _ if has_answer(closing) => Verdict::Works,
            _ => Verdict::Unknown,
        };
        if let Err(error) = self.upstreams.end_trial(name, self.worker(), verdict).await {
            tracing::warn!(upstream = name, %error, "could not write down how a probe fared");
        }
    }
}

/// Whether a run has an answer of its upstream. One that waits, or was told to
/// come back later, may not have asked at all.
fn has_answer(closing: &Closing) -> bool {
    match &closing.result {
        Ok(ending) => matches!(
            ending.outcome,
            Outcome::Done | Outcome::Partial { .. } | Outcome::Gone { .. }
        ),
        Err(_) => false,
    }
}

/// Shared by the parts of a process.
pub(crate) type SharedProcess = Arc<Process>;
