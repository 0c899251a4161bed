//! The world and its books: what the simulation knows without asking the engine.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use db::{Clock, Db, DbError, Dialect, FakeClock, Timestamp, sql, testing::CommitFault};
use engine::{
    Engine, Enqueue, Kind, State, UnitId,
    steps::{Hand, Held},
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A process is dead to the others after this.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(30);
pub(crate) const CADENCE: Duration = Duration::from_hours(24);

const fn kept(mut kind: Kind, pool: &'static str) -> Kind {
    kind.pool = pool;
    kind.keep_runs = Some(Duration::from_hours(24 * 1_000));
    kind
}

pub(crate) const ONCE: Kind = kept(Kind::one_off("sim/once"), "main");
pub(crate) const ROUND: Kind = kept(Kind::recurring("sim/round", CADENCE), "main");
pub(crate) const PATIENT: Kind = {
    let mut kind = kept(Kind::recurring("sim/patient", CADENCE), "side");
    kind.immediate_partial_retry = false;
    kind
};
pub(crate) const KINDS: [Kind; 3] = [ONCE, ROUND, PATIENT];
pub(crate) const POOLS: [&str; 2] = ["main", "side"];
pub(crate) const UPSTREAMS: [&str; 3] = ["", "u1", "u2"];

/// What happened so far, for the reader of a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    pub(crate) fn tail(&self, most: usize) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines[lines.len().saturating_sub(most)..].to_vec()
    }
}

/// A unit as the table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub id: UnitId,
    pub kind: String,
    pub key: String,
    pub pool: String,
    pub upstream: String,
    pub state: State,
    pub rank: i64,
    pub due_at: Timestamp,
    pub attempt: i64,
    pub worker: Option<i64>,
    pub strikes: i64,
    pub partials: i64,
    pub lost: i64,
    pub again: bool,
    pub ended_at: Option<Timestamp>,
    pub succeeded_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub cursor: i64,
}

impl Row {
    pub(crate) fn is_doomed(&self) -> bool {
        self.key.starts_with("doomed")
    }
    pub(crate) fn is_poison(&self) -> bool {
        self.key.starts_with("poison")
    }
    pub(crate) fn kind(&self) -> &'static Kind {
        KINDS_BY_NAME
            .iter()
            .find(|kind| kind.name == self.kind)
            .unwrap()
    }
}

static KINDS_BY_NAME: [Kind; 3] = KINDS;

pub(crate) type Table = HashMap<UnitId, Row>;

/// An edge that some parent waits for, as the simulation made it.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub child: UnitId,
    pub hard: bool,
    pub since: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
    /// The child was seen set aside since.
    pub fell: bool,
    /// The deadline was seen to pass.
    pub late: bool,
}

/// A requirement that is still to be made.
#[derive(Clone)]
pub(crate) struct Wish {
    pub kind: Kind,
    pub key: String,
    pub hard: bool,
    pub since: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
}

impl std::fmt::Debug for Wish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hard = if self.hard { "hard" } else { "soft" };
        write!(
            f,
            "{hard} {} since {:?} until {:?}",
            self.key, self.since, self.deadline
        )
    }
}

/// How a run means to end.
#[derive(Clone, Debug)]
pub(crate) enum Intent {
    Done,
    Gone,
    Partial(Option<Timestamp>),
    Retry(Timestamp),
    Wait(Vec<Wish>),
    /// The facts of its end are refused.
    Refused,
    UnitError,
    UpstreamError,
    DatabaseError,
    Interrupted,
}

/// A unit in a process.
#[derive(Debug)]
pub(crate) struct Job {
    pub held: Held,
    /// The cursor as this run knows it.
    pub cursor: i64,
    /// How it will end, once that is decided.
    pub intent: Option<Intent>,
}

#[derive(Debug)]
pub(crate) struct Process {
    pub hand: Hand,
    pub jobs: Vec<Job>,
    /// Monotonic time of its last beat that surely arrived.
    pub last_beat: Duration,
    /// When it first looked after the crash of a worker.
    pub looks: HashMap<i64, Duration>,
}

pub(crate) struct World {
    pub db: Db,
    pub engine: Engine,
    pub clock: Clock,
    pub fake: FakeClock,
    pub rng: ChaCha8Rng,
    pub log: Log,
    pub processes: Vec<Process>,
    /// Workers that crashed, with the monotonic time.
    pub crashed: HashMap<i64, Duration>,
    /// The table after the last step.
    pub table: Table,
    pub edges: HashMap<UnitId, Vec<Edge>>,
    /// The latest success and end of each unit that was ever seen.
    pub succeeded: HashMap<UnitId, Timestamp>,
    pub ended: HashMap<UnitId, Timestamp>,
    pub paused: HashSet<&'static str>,
    pub blocked: HashSet<&'static str>,
    /// Upstreams whose breaker is not closed, and until when it is open.
    pub broken: HashMap<String, Timestamp>,
    /// Upstreams that fail for everybody.
    pub down: HashSet<&'static str>,
    /// The fault that hits this step, if any.
    pub fault: Option<CommitFault>,
    pub names: Vec<(Kind, String)>,
}

impl World {
    pub(crate) async fn create(db: &Db, seed: u64, log: Log) -> Self {
        let (clock, fake) = Clock::fake("2026-01-01T00:00:00Z".parse().unwrap());
        let mut tx = db.begin().await.unwrap();
        if tx.dialect() == Dialect::Postgres {
            tx.script(
                "TRUNCATE unit, unit_body, run, requirement, unfolded, worker, pool, upstream, duty,
                    budget, budget_slice
                    RESTART IDENTITY;
                 DROP TABLE IF EXISTS fact, mark"
                    .into(),
            )
            .await
            .unwrap();
        }
        // Facts by page, and a mark for each end that wrote any. No unique
        // constraint: duplicates are to be found, not prevented.
        tx.script(
            "CREATE TABLE fact (unit BIGINT, page BIGINT, attempt BIGINT);
             CREATE TABLE mark (unit BIGINT, attempt BIGINT)"
                .into(),
        )
        .await
        .unwrap();
        tx.commit().await.unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut names: Vec<(Kind, String)> = Vec::new();
        names.extend((0..10).map(|n| (ONCE, format!("o{n}"))));
        names.extend((0..4).map(|n| (ROUND, format!("r{n}"))));
        names.extend((0..3).map(|n| (PATIENT, format!("p{n}"))));
        if rng.random_bool(0.3) {
            names.push((ONCE, "doomed".into()));
        }
        if rng.random_bool(0.2) {
            names.push((ONCE, "poison".into()));
        }
        let mut world = Self {
            engine: Engine::new(db.clone(), clock.clone()),
            db: db.clone(),
            clock,
            fake,
            rng,
            log,
            processes: Vec::new(),
            crashed: HashMap::new(),
            table: Table::new(),
            edges: HashMap::new(),
            succeeded: HashMap::new(),
            ended: HashMap::new(),
            paused: HashSet::new(),
            blocked: HashSet::new(),
            broken: HashMap::new(),
            down: HashSet::new(),
            fault: None,
            names,
        };
        for _ in 0..3 {
            world.start_process().await;
        }
        world
    }

    pub(crate) async fn start_process(&mut self) {
        let hand = Hand::start(&self.engine, &KINDS, DEAD_AFTER).await.unwrap();
        self.log.push(format!("process {} starts", hand.worker()));
        self.processes.push(Process {
            hand,
            jobs: Vec::new(),
            last_beat: self.clock.monotonic(),
            looks: HashMap::new(),
        });
    }

    pub(crate) fn crash(&mut self, index: usize) {
        let process = self.processes.remove(index);
        let worker = process.hand.worker();
        self.log.push(format!("process {worker} crashes"));
        self.crashed.insert(worker, self.clock.monotonic());
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.rng.random_range(0..from.len())].clone()
    }

    /// The unit of this name, asking the upstream that goes with its key.
    pub(crate) fn unit(kind: &Kind, key: &str) -> Enqueue {
        let last = usize::from(*key.as_bytes().last().unwrap());
        Enqueue::new(kind, key).upstream(UPSTREAMS[last % UPSTREAMS.len()])
    }

    /// An error is fine only if this step was hit by a fault.
    pub(crate) fn settle<T>(&self, result: Result<T, DbError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(
                    self.fault.is_some() && error.is_unreachable(),
                    "unexpected error: {error:?}"
                );
                None
            }
        }
    }

    /// Reads the table. The one look per step at what really happened.
    pub(crate) async fn read_table(&self) -> Table {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT unit.*, unit_body.cursor AS cursor, unit_body.failed_at AS failed_at
                 FROM unit LEFT JOIN unit_body ON unit_body.unit = unit.id"
            ))
            .await
            .unwrap();
        rows.iter()
            .map(|row| {
                let cursor: Option<String> = row.get("cursor").unwrap();
                let row = Row {
                    id: row.get("id").unwrap(),
                    kind: row.get("kind").unwrap(),
                    key: row.get("key").unwrap(),
                    pool: row.get("pool").unwrap(),
                    upstream: row.get("upstream").unwrap(),
                    state: row.get::<String>("state").unwrap().parse().unwrap(),
                    rank: row.get("rank").unwrap(),
                    due_at: row.get("due_at").unwrap(),
                    attempt: row.get("attempt").unwrap(),
                    worker: row.get("worker").unwrap(),
                    strikes: row.get("strikes").unwrap(),
                    partials: row.get("partials").unwrap(),
                    lost: row.get("lost").unwrap(),
                    again: row.get("again").unwrap(),
                    ended_at: row.get("ended_at").unwrap(),
                    succeeded_at: row.get("succeeded_at").unwrap(),
                    failed_at: row.get("failed_at").unwrap(),
                    cursor: cursor.map_or(0, |text| text.parse().unwrap()),
                };
                (row.id, row)
            })
            .collect()
    }

    pub(crate) fn find<'t>(table: &'t Table, kind: &Kind, key: &str) -> Option<&'t Row> {
        table
            .values()
            .find(|row| row.kind == kind.name && row.key == key)
    }
}
