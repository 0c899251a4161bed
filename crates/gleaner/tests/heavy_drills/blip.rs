//! An upstream fails for a moment while 32 requests are on their way: that is no outage.

use std::time::Duration;

use db::testing::TestDb;
use sim::{Config, Fault, Rule, WorldSize};

use crate::fleet::{Fleet, PARTS};

const HOST: &str = "codeberg.org";
/// A breaker wants 30 s of failures, which are three seconds of life: more than the blip has.
const FACTOR: f64 = 10.0;
/// Each has eight requests on their way at most.
const PROCESSES: usize = 4;
const IN_FLIGHT: u64 = 32;
/// In life: longer than it takes to start the processes.
const ANSWER_MS: u64 = 2_000;

const OPENINGS: &str = "SELECT openings AS n FROM upstream WHERE name = $1";
const STRUCK: &str = "SELECT count(*) AS n FROM unit WHERE upstream = $1 AND strikes > 0";

#[tokio::test(flavor = "multi_thread")]
async fn heavy_blip_drill_sqlite() {
    blip(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_blip_drill_postgres() {
    blip(TestDb::postgres(PARTS).await).await;
}

async fn blip(db: TestDb) {
    let world = Config {
        size: WorldSize {
            repositories: 0,
            organisation: 80,
        },
        ..Config::default()
    };
    let fleet = Fleet::new(db, FACTOR, world, "[repo_metadata]\nworkers = 8\n").await;
    fleet.add(&fleet.addresses(HOST)[..60]);
    let fails = Rule {
        delay_ms: ANSWER_MS,
        ..Rule::on(HOST, Fault::status(503))
    };
    fleet
        .server
        .plan()
        .add(fails.requests(1..=IN_FLIGHT))
        .unwrap();
    let start = fleet.clock.now();
    let processes: Vec<_> = (0..PROCESSES).map(|_| fleet.work(&[])).collect();
    let answered = async || fleet.unanswered(HOST, start).await == 0;
    let took = fleet
        .until("every unit is done", Duration::from_secs(50), answered)
        .await;
    drop(processes);

    let counts = fleet.server.journal().counts(HOST);
    eprintln!("{} in flight at most; {took:?}", counts.most_in_flight);
    assert_eq!(u64::from(counts.most_in_flight), IN_FLIGHT);
    assert_eq!(counts.faults.get("status"), Some(&IN_FLIGHT));
    // Each failure was asked again once, and nothing was probed.
    assert_eq!(counts.requests, 60 + IN_FLIGHT);
    assert_eq!(fleet.number(OPENINGS, HOST).await, 0);
    assert_eq!(fleet.number(STRUCK, HOST).await, 0);
}
