//! A worker process in slow motion.
//!
//! [`Hand`] is a process whose every step is a call: nothing happens by itself.
//! Drills use it to interleave several processes, to crash them between any two
//! steps (drop the `Hand`), and to let time pass. It uses the same functions
//! that [`crate::Worker`] runs in its loops.

use std::{collections::HashMap, sync::Arc, sync::atomic::AtomicI64, time::Duration};

use db::{DbError, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::{
    Ending, Engine, Kind, Probe, Run, RunError, Subprocesses, UnitId, Upstreams,
    claim::Claimed,
    desk::Desk,
    finish::Closing,
    holding::Holding,
    lease::{Observer, Strays},
    process::Recorder,
    turn::Process,
    worker::introduction,
};

/// A hand-driven worker process.
#[derive(Debug)]
pub struct Hand {
    engine: Engine,
    process: Process,
    holding: tokio::sync::Mutex<Holding>,
    observer: Observer,
    strays: Strays,
    dead_after: Duration,
}

/// A unit in a hand.
#[derive(Clone, Debug)]
pub struct Held {
    unit: Arc<Claimed>,
    started_at: Timestamp,
}

impl Held {
    /// The unit.
    pub fn id(&self) -> UnitId {
        self.unit.id
    }
    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.unit.kind
    }
    /// Its key.
    pub fn key(&self) -> &str {
        &self.unit.key
    }
    /// Its fencing number.
    pub fn attempt(&self) -> i64 {
        self.unit.attempt
    }
    /// Why it was ready.
    pub fn rank(&self) -> crate::Rank {
        self.unit.rank
    }
    /// Lost runs before this one.
    pub fn lost(&self) -> i64 {
        self.unit.lost
    }
}

impl Hand {
    /// One that runs these units alone.
    pub fn only(mut self, units: Vec<UnitId>) -> Self {
        self.process.only = Some(units);
        self
    }

    /// Registers a process that can run these kinds.
    pub async fn start(
        engine: &Engine,
        kinds: &[Kind],
        dead_after: Duration,
    ) -> Result<Self, DbError> {
        let introduction =
            introduction(kinds.iter().map(|kind| kind.name).collect(), "hand".into());
        let worker = engine.register(&introduction).await?;
        let mut desks: HashMap<String, Desk> = HashMap::new();
        for kind in kinds {
            let known = kinds
                .iter()
                .filter(|other| other.pool == kind.pool)
                .map(|other| (other.name, other.version))
                .collect();
            desks.insert(kind.pool.to_owned(), Desk::new(kind.pool.to_owned(), known));
        }
        Ok(Self {
            engine: engine.clone(),
            process: Process {
                db: engine.db.clone(),
                clock: engine.clock.clone(),
                worker: AtomicI64::new(worker),
                name: introduction.name,
                kinds: kinds.iter().map(|kind| (kind.name, kind.clone())).collect(),
                desks,
                // What a process remembers dies with it.
                upstreams: Upstreams::new(engine.db.clone(), engine.clock.clone()),
                prober: None,
                recorder: Arc::new(Recorder::new(Subprocesses::default())),
                abandoned: std::sync::Mutex::default(),
                only: None,
            },
            holding: tokio::sync::Mutex::default(),
            observer: Observer::default(),
            strays: Strays::default(),
            dead_after,
        })
    }

    /// Row of this process.
    pub fn worker(&self) -> i64 {
        self.process.worker()
    }

    /// Probes with requests instead of letting a unit through.
    #[must_use]
    pub fn with_probe(mut self) -> Self {
        self.process.prober = Some(tokio::sync::Notify::new());
        self
    }

    /// What this process knows of upstreams.
    pub fn upstreams(&self) -> &Upstreams {
        &self.process.upstreams
    }

    /// Probes what is to be probed; returns how many were probed here.
    pub async fn probe(&self, probe: &Arc<dyn Probe>) -> Result<usize, DbError> {
        self.process.upstreams.probe_all(self.worker(), probe).await
    }

    /// Gives back what was leased of budgets and not used within its lease.
    pub async fn give_back_expired(&self) {
        self.process.upstreams.give_back_expired().await;
    }

    /// Ends runs and claims up to `want` more, as one turn of a lane. Returns
    /// what was claimed and which ends (unit, attempt) were written.
    pub async fn turn(
        &self,
        pool: &str,
        ends: Vec<(Held, Result<Ending, RunError>)>,
        want: usize,
        alone: bool,
    ) -> Result<(Vec<Held>, Vec<(UnitId, i64)>), DbError> {
        let desk = &self.process.desks[pool];
        desk.stale();
        let mut closings = ends
            .into_iter()
            .map(|(held, result)| Closing {
                unit: held.unit,
                started_at: held.started_at,
                result,
            })
            .collect();
        let mut holding = self.holding.lock().await;
        let turned = self
            .process
            .turn(desk, &mut holding, &mut closings, want, alone)
            .await?;
        drop(holding);
        let started_at = self.engine.clock.now();
        let claimed = turned
            .claimed
            .into_iter()
            .map(|unit| Held {
                unit: Arc::new(unit),
                started_at,
            })
            .collect();
        Ok((claimed, turned.kept.into_iter().collect()))
    }

    /// The run of a held unit, as its handler would get it.
    pub fn run(&self, held: &Held) -> Run {
        Run {
            unit: held.unit.clone(),
            db: self.engine.db.clone(),
            clock: self.engine.clock.clone(),
            cancel: CancellationToken::new(),
            lease_lost: CancellationToken::new(),
            upstreams: self.process.upstreams.clone(),
            recorder: self.process.recorder.clone(),
            allowed: self.process.kinds[held.kind()].max_run,
        }
    }

    /// Moves the process to another host, or to one that lies.
    pub fn on(mut self, subprocesses: Subprocesses) -> Self {
        self.process.recorder = Arc::new(Recorder::new(subprocesses));
        self
    }

    /// One look at the subprocesses of its host; returns the units that came back to it.
    pub async fn recover(&self) -> Result<Vec<UnitId>, DbError> {
        self.process.recover().await
    }

    /// Claims one of the units that came back to its host.
    pub async fn take_back(&self, pool: &str) -> Result<Option<Held>, DbError> {
        let started_at = self.engine.clock.now();
        let claimed = self.process.take_back(&self.process.desks[pool], false);
        Ok(claimed.await?.map(|unit| Held {
            unit: Arc::new(unit),
            started_at,
        }))
    }

    /// One heartbeat; false when others have declared this process dead.
    pub async fn beat(&self) -> Result<bool, DbError> {
        self.engine.beat(self.worker()).await
    }

    /// One look at the other processes; returns how many units were freed.
    pub async fn look(&mut self) -> Result<usize, DbError> {
        self.observer.look(&self.engine, self.dead_after).await
    }

    /// Compares what it holds with what the table says; returns units that the
    /// table no longer gives it. Strays seen twice go back.
    pub async fn compare(&mut self, holds: &[Held]) -> Result<Vec<UnitId>, DbError> {
        let held = self.engine.held_by(self.worker()).await?;
        let gone = holds
            .iter()
            .filter(|unit| held.get(&unit.id()) != Some(&unit.attempt()))
            .map(Held::id)
            .collect();
        for unit in holds {
            if held.get(&unit.id()) != Some(&unit.attempt()) {
                self.process.upstreams.forget_trial(unit.unit.attempt());
            }
        }
        let twice = self
            .strays
            .seen_twice(held, |id| holds.iter().any(|unit| unit.id() == id));
        self.process.tidy_holdings().await?;
        if !twice.is_empty() {
            self.engine.give_back(self.worker(), &twice).await?;
        }
        Ok(gone)
    }
}

/// The survey as the database gets it, for tests of its plan. Its argument: the pool.
pub fn survey_text() -> String {
    crate::claim::survey_text()
}

/// The claim as the database gets it, for tests of its plan. Its arguments:
/// worker, pool, upstream, rank, now, most, then name and version of each kind;
/// on PostgreSQL then the lane's holding, by its row and its units, and for the first
/// of them the fewest hints; on SQLite then a unit.
pub fn claim_texts(dialect: db::Dialect, kinds: usize) -> Vec<String> {
    use crate::claim;
    match dialect {
        db::Dialect::Postgres => {
            vec![claim::postgres_text(kinds), claim::postgres_one_text(kinds)]
        }
        db::Dialect::Sqlite => claim::sqlite_texts(kinds),
    }
}

/// Makes hints for many units out of this many, in the whole process, so that a few
/// units are enough to meet them.
pub fn bundle_by(units: usize) {
    crate::queue::bundle_by(units);
}

/// The duties, one call each.
impl Engine {
    /// Folds one batch of ended units into their parents.
    pub async fn step_fold(&self) -> Result<usize, DbError> {
        self.fold_once().await
    }
    /// Fails edges past their deadline.
    pub async fn step_expire(&self) -> Result<usize, DbError> {
        self.expire_once().await
    }
    /// Brings back parked units whose cadence has passed.
    pub async fn step_unpark(&self) -> Result<u64, DbError> {
        self.unpark_once().await
    }
    /// Looks for what should be impossible; returns whether anything was found.
    pub async fn step_repair(&self) -> Result<bool, DbError> {
        Ok(self.repair_once().await? != crate::housekeeping::Repaired::default())
    }
    /// Removes old done units.
    pub async fn step_retire(&self, keep: Duration) -> Result<u64, DbError> {
        self.db
            .execute(db::sql!(
                "INSERT INTO duty (name, next_at, position) VALUES ('retention', $1, 0)
                 ON CONFLICT (name) DO NOTHING",
                self.clock.now()
            ))
            .await?;
        self.retire_once(keep).await
    }
    /// Makes due what an older version of the kind has left.
    pub async fn step_upgrade(&self, kind: &Kind) -> Result<u64, DbError> {
        self.upgrade_once(kind).await
    }
}
