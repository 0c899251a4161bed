//! A process that runs units: wiring and lifetime.
//!
//! One [`Worker`] per process. It registers itself, brings kinds up to their
//! version, and then keeps five sorts of tasks going until it is told to stop:
//! lanes that run units ([`crate::lane`]), the heart that says it lives and
//! watches the others, the resolver, housekeeping, and the ear for signals of
//! other processes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize},
    },
    time::{Duration, Instant},
};

use db::DbError;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Count, Engine, Handler, Kind, Pool, Probe, Subprocesses, UnitId,
    desk::Desk,
    heart, holding,
    lane::Lane,
    lease::Introduction,
    process::Recorder,
    queue,
    turn::{Process, SharedProcess},
};

/// The longest that folding lags behind ends in favour of runs.
const FOLDING_GIVES_WAY: Duration = Duration::from_secs(10);

/// Times that rule a worker process. The defaults are the documented ones;
/// tests shorten them.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Between two heartbeats.
    pub beat: Duration,
    /// A process that could not beat for so long stops its own runs.
    pub give_up: Duration,
    /// A process whose beat stood still for so long is dead to the others.
    pub dead_after: Duration,
    /// At shutdown, how long runs may take to finish before they are released.
    pub grace: Duration,
    /// The longest rest between two looks at an idle pool.
    pub poll: Duration,
    /// How long done and cancelled one-offs are kept.
    pub keep_done: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(5),
            give_up: Duration::from_secs(25),
            dead_after: Duration::from_secs(30),
            grace: Duration::from_secs(30),
            poll: Duration::from_secs(5),
            keep_done: Duration::from_hours(30 * 24),
        }
    }
}

impl Timing {
    /// The usual proportions around the time after which a process is dead: it
    /// beats six times as often, and gives up a sixth earlier than others give it up.
    pub fn dead_after(limit: Duration) -> Self {
        let limit = limit.max(Duration::from_millis(60));
        Self {
            beat: limit / 6,
            give_up: limit / 6 * 5,
            dead_after: limit,
            ..Self::default()
        }
    }
}

/// Runs units of the kinds it was given.
pub struct Worker {
    engine: Engine,
    kinds: BTreeMap<&'static str, (Kind, Arc<dyn Handler>)>,
    pools: BTreeMap<String, Pool>,
    timing: Timing,
    subprocesses: Subprocesses,
    release: String,
    probe: Option<Arc<dyn Probe>>,
    only: Option<Vec<UnitId>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("kinds", &self.kinds.keys())
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

/// What is left when a worker stops because nothing is due.
#[derive(Clone, Debug)]
pub struct Idle {
    /// Units by kind and state.
    pub counts: Vec<Count>,
}

impl Worker {
    /// A worker that can run nothing yet.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            kinds: BTreeMap::new(),
            pools: BTreeMap::new(),
            timing: Timing::default(),
            subprocesses: Subprocesses::default(),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            probe: None,
            only: None,
        }
    }

    /// Runs these units and no others, beside whoever works on the rest. It is idle when nothing
    /// of theirs is due or running, here or elsewhere.
    pub fn only(mut self, units: Vec<UnitId>) -> Self {
        self.only = Some(units);
        self
    }

    /// Runs units of `kind` through `handler`.
    pub fn kind(mut self, kind: Kind, handler: impl Handler) -> Self {
        self.kinds.insert(kind.name, (kind, Arc::new(handler)));
        self
    }

    /// As [`Worker::kind`], for a handler whose type is forgotten already.
    pub fn boxed_kind(mut self, kind: Kind, handler: Arc<dyn Handler>) -> Self {
        self.kinds.insert(kind.name, (kind, handler));
        self
    }

    /// Sets a pool's slots. A pool that kinds name and nobody sets has four.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pools.insert(pool.name.clone(), pool);
        self
    }

    /// Sets the times.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets how detached subprocesses are dealt with.
    pub fn subprocesses(mut self, subprocesses: Subprocesses) -> Self {
        self.subprocesses = subprocesses;
        self
    }

    /// The release that shows in the list of workers.
    pub fn release(mut self, release: impl Into<String>) -> Self {
        self.release = release.into();
        self
    }

    /// How to find out whether a failing upstream works again. Without one, the
    /// first unit that is due for it is let through alone.
    pub fn probe(mut self, probe: Arc<dyn Probe>) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Works until `shutdown` fires; then stops claiming at once, lets runs
    /// finish within the grace, and releases the rest.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), DbError> {
        self.work(shutdown, false).await.map(drop)
    }

    /// Works until nothing is running anywhere and nothing is due now.
    pub async fn run_until_idle(self, shutdown: CancellationToken) -> Result<Idle, DbError> {
        self.work(shutdown, true).await
    }

    async fn work(self, shutdown: CancellationToken, until_idle: bool) -> Result<Idle, DbError> {
        let house = self.open().await?;
        let engine = house.engine.clone();
        tracing::info!(
            worker = house.process.worker(),
            kinds = house.handlers.len(),
            "worker started"
        );
        let background = TaskTracker::new();
        let quiet = CancellationToken::new();
        for task in house.background(&quiet) {
            background.spawn(task);
        }
        let lanes = TaskTracker::new();
        for pool in house.pools.values() {
            for index in 0..pool.workers.max(1) {
                lanes.spawn(Lane::new(house.clone(), pool.clone(), index).work());
            }
        }
        lanes.close();
        if until_idle {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = house.until_idle() => {}
            }
        } else {
            shutdown.cancelled().await;
        }
        tracing::info!("worker stops claiming and finishes what runs");
        house.stop.cancel();
        let grace = tokio::time::timeout(house.timing.grace, lanes.wait());
        if grace.await.is_err() {
            tracing::warn!("grace is over, the remaining runs are released");
            house.release.cancel();
            lanes.wait().await;
        }
        quiet.cancel();
        background.close();
        background.wait().await;
        engine.upstreams().give_back().await;
        engine.leave(house.process.worker()).await?;
        Ok(Idle {
            counts: engine.counts().await?,
        })
    }

    /// Registers the process and brings its kinds up to date.
    async fn open(self) -> Result<Arc<House>, DbError> {
        let Self {
            engine,
            kinds,
            mut pools,
            timing,
            subprocesses,
            release,
            probe,
            only,
        } = self;
        for (kind, _) in kinds.values() {
            pools
                .entry(kind.pool.to_owned())
                .or_insert_with(|| Pool::new(kind.pool, 4));
        }
        // Pools that no kind of this process uses would poll for nothing.
        pools.retain(|name, _| kinds.values().any(|(kind, _)| kind.pool == *name));
        engine.db.discipline(&engine.clock).await?;
        let introduction = introduction(kinds.keys().copied().collect(), release);
        let worker = engine.register(&introduction).await?;
        for (kind, _) in kinds.values() {
            if engine.needs_upgrade(kind).await? {
                let due = engine.upgrade_once(kind).await?;
                if due > 0 {
                    tracing::info!(
                        kind = kind.name,
                        due,
                        "a new version makes older results due"
                    );
                }
                engine.upgraded(kind).await?;
            }
        }
        let desks = pools
            .keys()
            .map(|pool| {
                let known = kinds
                    .values()
                    .filter(|(kind, _)| kind.pool == *pool)
                    .map(|(kind, _)| (kind.name, kind.version))
                    .collect();
                (pool.clone(), Desk::new(pool.clone(), known))
            })
            .collect();
        let process = Arc::new(Process {
            db: engine.db.clone(),
            clock: engine.clock.clone(),
            worker: AtomicI64::new(worker),
            name: introduction.name.clone(),
            kinds: kinds
                .values()
                .map(|(kind, _)| (kind.name, kind.clone()))
                .collect(),
            desks,
            upstreams: engine.upstreams().clone(),
            prober: probe.is_some().then(tokio::sync::Notify::new),
            recorder: Arc::new(Recorder::new(subprocesses)),
            abandoned: Mutex::default(),
            only,
        });
        // Before the first claim: what this host has must not be started anew.
        process.forget_old_records().await?;
        process.recover().await?;
        Ok(Arc::new(House {
            engine,
            process,
            introduction,
            handlers: kinds
                .into_iter()
                .map(|(name, (_, handler))| (name, handler))
                .collect(),
            pools,
            timing,
            stop: CancellationToken::new(),
            release: CancellationToken::new(),
            suspended: AtomicBool::new(false),
            in_flight: Mutex::default(),
            gate: Gate::default(),
            probe,
        }))
    }
}

/// Everything that the tasks of one worker share.
pub(crate) struct House {
    pub engine: Engine,
    pub process: SharedProcess,
    pub introduction: Introduction,
    pub handlers: HashMap<&'static str, Arc<dyn Handler>>,
    pub pools: BTreeMap<String, Pool>,
    pub timing: Timing,
    /// Claim nothing more. Set once, at shutdown.
    pub stop: CancellationToken,
    /// The grace is over: give back what still runs.
    pub release: CancellationToken,
    /// The heart cannot beat: claim nothing until it can.
    pub suspended: AtomicBool,
    /// What this process runs: attempt, and how to tell the run that it lost its lease.
    pub in_flight: Mutex<HashMap<UnitId, (i64, CancellationToken)>>,
    pub gate: Gate,
    pub probe: Option<Arc<dyn Probe>>,
}

/// Lets a suspect run alone: lanes hold it shared while they run anything, and
/// the one with the suspect holds it exclusively.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub lock: Arc<tokio::sync::RwLock<()>>,
    /// How many lanes want to run a suspect; the others drain meanwhile.
    pub wanted: AtomicUsize,
}

impl House {
    pub(crate) fn flights(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<UnitId, (i64, CancellationToken)>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that go on until the last lane is through.
    fn background(
        self: &Arc<Self>,
        quiet: &CancellationToken,
    ) -> Vec<futures_util::future::BoxFuture<'static, ()>> {
        let until = |task: futures_util::future::BoxFuture<'static, ()>| {
            let quiet = quiet.clone();
            Box::pin(async move {
                tokio::select! {
                    () = quiet.cancelled() => {}
                    () = task => {}
                }
            }) as futures_util::future::BoxFuture<'static, ()>
        };
        let (ear, house) = (self.engine.db.clone(), self.clone());
        vec![
            until(Box::pin(heart::beat_for_ever(self.clone()))),
            until(Box::pin(self.clone().resolve_for_ever())),
            until(Box::pin(house.keep_house_for_ever())),
            until(Box::pin(self.clone().probe_for_ever())),
            until(Box::pin(self.clone().recover_for_ever())),
            until(Box::pin(async move { ear.listen().await })),
        ]
    }

    async fn resolve_for_ever(self: Arc<Self>) {
        let mut wakes = self.engine.db.wakes().subscribe();
        // When there was last nothing left to fold.
        let mut even = Instant::now();
        loop {
            let begun = Instant::now();
            match self.engine.fold_once().await {
                Ok(0) => {
                    let _ = tokio::time::timeout(self.timing.poll, wakes.changed()).await;
                    // Ends come in bursts: let a few gather, they fold better together.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    even = Instant::now();
                }
                // While units run, folding their ends takes a tenth of the time at most, so that
                // a big fan-in does not slow down what it waits for; but nobody waits for ever.
                Ok(_) if even.elapsed() < FOLDING_GIVES_WAY && !self.flights().is_empty() => {
                    tokio::time::sleep(begun.elapsed() * 9).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "could not fold requirements, trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Probes failing upstreams whenever a survey finds that one is due.
    async fn probe_for_ever(self: Arc<Self>) {
        let (Some(prober), Some(probe)) = (&self.process.prober, &self.probe) else {
            return;
        };
        loop {
            prober.notified().await;
            let worker = self.process.worker();
            if let Err(error) = self.process.upstreams.probe_all(worker, probe).await {
                tracing::warn!(%error, "could not probe an upstream");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }

    async fn recover_for_ever(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.process.recorder.settings.poll).await;
            if let Err(error) = self.process.recover().await {
                tracing::warn!(%error, "could not look after subprocesses, trying again later");
            }
        }
    }

    async fn keep_house_for_ever(self: Arc<Self>) {
        loop {
            if let Err(error) = self.keep_house().await {
                tracing::warn!(%error, "housekeeping failed, trying again later");
            }
            let rest = self.engine.clock.real(Duration::from_secs(30));
            tokio::time::sleep(rest.max(Duration::from_millis(50))).await;
        }
    }

    async fn keep_house(&self) -> Result<(), DbError> {
        self.engine.db.discipline(&self.engine.clock).await?;
        self.engine.keep_house(self.timing.keep_done).await?;
        for kind in self.process.kinds.values() {
            if let Some(keep) = kind.keep_runs {
                let duty = format!("runs of {}", kind.name);
                if self
                    .engine
                    .take_duty(&duty, Duration::from_hours(1))
                    .await?
                {
                    while self.engine.retire_runs_once(kind.name, keep).await? >= 5_000 {}
                }
            }
        }
        Ok(())
    }

    /// Returns when nothing runs anywhere and nothing that this process could run is due.
    async fn until_idle(&self) {
        let mut wakes = self.engine.db.wakes().subscribe();
        let mut quiet_looks = 0;
        while quiet_looks < 2 {
            match self.is_idle().await {
                Ok(true) => quiet_looks += 1,
                Ok(false) => quiet_looks = 0,
                Err(error) => tracing::warn!(%error, "could not see whether anything is due"),
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), wakes.changed()).await;
        }
    }

    async fn is_idle(&self) -> Result<bool, DbError> {
        let returning =
            |pool| self.process.is_returning(pool, true) || self.process.is_returning(pool, false);
        if !self.flights().is_empty()
            || self.process.upstreams.is_probing()
            || self.process.desks.keys().any(|pool| returning(pool))
        {
            return Ok(false);
        }
        let only = self.process.only.as_deref();
        let unfolded = db::sql!("SELECT seq FROM unfolded LIMIT 1");
        let unfolded = self.engine.db.fetch_optional(unfolded).await?;
        let running = holding::running_now(&self.engine.db).await?;
        let ours = |id| only.is_none_or(|only| only.contains(id));
        if unfolded.is_some() || running.keys().any(ours) {
            return Ok(false);
        }
        for desk in self.process.desks.values() {
            self.process.survey(desk).await?;
            if desk.anything_due(self.engine.clock.now()) && self.can_claim(desk).await? {
                return Ok(false);
            }
        }
        Ok(self.flights().is_empty())
    }

    /// Whether some due unit that may be claimed is of a kind and version that we run.
    async fn can_claim(&self, desk: &Desk) -> Result<bool, DbError> {
        let now = self.engine.clock.now();
        for pair in desk.due_pairs(now) {
            for (kind, version) in &desk.kinds {
                let text = format!(
                    "SELECT pool FROM {} AND pool = $1 AND upstream = $2
                       AND rank = $3 AND due_at <= $4 AND kind = $5 AND version <= $6 LIMIT 1",
                    queue::among(self.process.only.as_deref())
                );
                let statement = db::Statement::built(text)
                    .bind(&desk.pool)
                    .bind(&pair.upstream)
                    .bind(pair.rank.number())
                    .bind(now)
                    .bind(*kind)
                    .bind(*version);
                let row = self.engine.db.fetch_optional(statement).await?;
                if row.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

pub(crate) fn introduction(kinds: Vec<&'static str>, release: String) -> Introduction {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_else(|_| "localhost".to_owned());
    let pid = std::process::id();
    Introduction {
        name: format!("{host}:{pid}"),
        host,
        pid,
        kinds,
        release,
    }
}
