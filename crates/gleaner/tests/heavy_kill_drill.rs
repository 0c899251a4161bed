//! Real processes, really killed: three `gleaner work` on one database, kill -9
//! at random until 20,000 units are done. Every fact must be there exactly
//! once, and a dead process's units must run again within the heartbeat limit.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#![expect(
    clippy::print_stderr,
    reason = "the figures are worth a line in the log"
)]

use std::{
    collections::HashSet,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{Db, sql, testing::TestDb};

const UNITS: i64 = 20_000;
const PROCESSES: usize = 3;
/// A process is killed each time so many more facts are there.
const FACTS_BETWEEN_KILLS: std::ops::Range<u64> = 300..1_500;
const DEAD_AFTER: Duration = Duration::from_millis(1_500);
/// What a loaded machine may add to the limit: one beat until somebody looks,
/// and the wait for a turn to write.
const SLACK: Duration = Duration::from_millis(2_500);

const PARTS: &[db::Part] = &[engine::PART, store::PART];

#[tokio::test]
async fn heavy_kill_drill_sqlite() {
    drill(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test]
async fn heavy_kill_drill_postgres() {
    drill(TestDb::postgres(PARTS).await).await;
}

async fn drill(db: TestDb) {
    let units = UNITS.to_string();
    assert!(
        gleaner(&db, &["drill", "start", "--units", &units])
            .status()
            .unwrap()
            .success()
    );

    let mut dice = Dice(20_261_115);
    let mut workers: Vec<Child> = (0..PROCESSES).map(|_| worker(&db)).collect();
    let mut graves: Vec<Grave> = Vec::new();
    let mut longest = Duration::ZERO;
    let mut kills = 0;
    let mut next_kill = dice.between(FACTS_BETWEEN_KILLS);
    let begun = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    loop {
        tick.tick().await;
        let facts = count(&db, "SELECT count(*) AS n FROM drill_fact").await;
        longest = longest.max(visit(&db, &mut graves).await);
        if facts >= 2 * UNITS && graves.is_empty() {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_mins(8),
            "stuck at {facts} facts"
        );
        if facts.unsigned_abs() >= next_kill && facts < 2 * UNITS {
            next_kill = facts.unsigned_abs() + dice.between(FACTS_BETWEEN_KILLS);
            let victim = dice.between(0..PROCESSES as u64) as usize;
            let pid = workers[victim].id();
            workers[victim].kill().unwrap();
            workers[victim].wait().unwrap();
            kills += 1;
            graves.push(Grave::dig(&db, pid).await);
            workers[victim] = worker(&db);
        }
    }
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    eprintln!(
        "{kills} kills, {UNITS} units, {:?}; the longest wait for a dead process's units was {longest:?}",
        begun.elapsed()
    );
    assert!(kills >= 10, "only {kills} kills: the drill was no drill");
    assert!(
        longest <= DEAD_AFTER + SLACK,
        "units of a dead process waited {longest:?}"
    );

    // The last units may still have been in somebody's hands: end them properly.
    assert!(
        gleaner(&db, &["work", "--until-idle"])
            .status()
            .unwrap()
            .success()
    );
    let check = gleaner(
        &db,
        &["drill", "check", "--units", &units, "--format", "jsonl"],
    )
    .stdout(Stdio::piped())
    .output()
    .unwrap();
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success(), "{text}");
    assert!(text.contains("\"missing\":0,\"doubled\":0"), "{text}");
    let unfinished = count(&db, "SELECT count(*) AS n FROM unit WHERE state <> 'done'").await;
    assert_eq!(unfinished, 0);
}

/// What a killed process left running, and since when.
struct Grave {
    worker: i64,
    units: HashSet<i64>,
    since: Instant,
}

impl Grave {
    async fn dig(db: &Db, pid: u32) -> Self {
        let since = Instant::now();
        let rows = db
            .fetch_all(sql!(
                "SELECT unit.id AS id, worker.id AS worker FROM worker
                 LEFT JOIN unit ON unit.worker = worker.id AND unit.state = 'running'
                 WHERE worker.pid = $1",
                pid
            ))
            .await
            .unwrap();
        Self {
            worker: rows.first().map_or(0, |row| row.get("worker").unwrap()),
            units: rows
                .iter()
                .filter_map(|row| row.get::<Option<i64>>("id").unwrap())
                .collect(),
            since,
        }
    }
}

/// Looks which dead processes' units are free; returns the longest wait of those.
async fn visit(db: &Db, graves: &mut Vec<Grave>) -> Duration {
    let mut longest = Duration::ZERO;
    let mut kept = Vec::new();
    for grave in graves.drain(..) {
        let held = db
            .fetch_all(sql!(
                "SELECT id FROM unit WHERE state = 'running' AND worker = $1",
                grave.worker
            ))
            .await
            .unwrap();
        let held: HashSet<i64> = held.iter().map(|row| row.get("id").unwrap()).collect();
        if grave.units.is_disjoint(&held) {
            if !grave.units.is_empty() {
                longest = longest.max(grave.since.elapsed());
            }
        } else {
            kept.push(grave);
        }
    }
    *graves = kept;
    longest
}

fn worker(db: &TestDb) -> Child {
    gleaner(db, &["work"]).spawn().unwrap()
}

fn gleaner(db: &TestDb, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command
        .args(arguments)
        .arg("--quiet")
        .env("GLEANER_DATABASE", db.url())
        .env(
            "GLEANER_WORK_DEAD_AFTER",
            format!("{}ms", DEAD_AFTER.as_millis()),
        )
        .env("RUST_LOG", "error")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

async fn count(db: &Db, text: &'static str) -> i64 {
    db.fetch_one(sql!(text)).await.unwrap().get("n").unwrap()
}

/// Enough chance to be unfair to processes.
struct Dice(u64);

impl Dice {
    fn between(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        range.start + self.0 % (range.end - range.start)
    }
}
