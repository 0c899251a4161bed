//! An upstream fails for hours: who needs it waits, nobody else does, and nobody is blamed.

use std::time::{Duration, Instant};

use db::testing::TestDb;
use sim::{Config, Fault, Rule, Token, WorldSize};

use crate::fleet::{Fleet, PARTS};

/// Ten minutes in a second.
const FACTOR: f64 = 600.0;
const BROKEN: &str = "gitlab.example.org";
const WELL: &str = "codeberg.org";
/// On each of the two.
const REPOSITORIES: usize = 40;
/// Watched while the outage lasts, on each of the two.
const LATER: usize = 15;
const OUTAGE: Duration = Duration::from_hours(3);
/// What processes take to hear of a breaker, and requests to come home, in the world's time.
const SETTLES: Duration = Duration::from_mins(10);
/// Enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

const OPEN: &str = "SELECT count(*) AS n FROM upstream WHERE name = $1 AND open_until IS NOT NULL";
const STRUCK: &str = "SELECT count(*) AS n FROM unit WHERE upstream = $1 AND strikes > 0";

#[tokio::test(flavor = "multi_thread")]
async fn heavy_outage_drill_sqlite() {
    outage(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_outage_drill_postgres() {
    outage(TestDb::postgres(PARTS).await).await;
}

async fn outage(db: TestDb) {
    let begun = Instant::now();
    // A token for each process, so that the world's request log tells them apart.
    let tokens = [BROKEN, WELL].map(|host| {
        ["first", "second"].map(|name| Token::new(host, name, &format!("secret-of-{name}")))
    });
    let world = Config {
        size: WorldSize {
            repositories: 0,
            organisation: 80,
        },
        tokens: tokens.into_iter().flatten().collect(),
        ..Config::default()
    };
    // Everybody is asked again every minute, and answers take a while: there is always something
    // to do, and what bounds it is the slots and not this machine.
    let settings = "[repo_metadata]\ncadence = \"1m\"\nworkers = 8\n";
    let fleet = Fleet::new(db, FACTOR, world, settings).await;
    let (broken, well) = (fleet.addresses(BROKEN), fleet.addresses(WELL));
    fleet.add(&broken[..REPOSITORIES]);
    fleet.add(&well[..REPOSITORIES]);
    // One that its forge never shows, whatever happens.
    let path = well[0].replace("https://codeberg.org/", "/repos/");
    let forbidden = Rule::on(WELL, Fault::status(403)).path(&format!("{path}$"));
    fleet.server.plan().add(forbidden).unwrap();

    let slow =
        [BROKEN, WELL].map(|host| fleet.server.plan().add(Rule::slow(host, 100)).unwrap())[0];

    let processes = ["first", "second"].map(|name| {
        let secret = format!("secret-of-{name}");
        fleet.work(&[(BROKEN, &secret), (WELL, &secret)])
    });
    let start = fleet.clock.now();
    let all_answered = async || {
        fleet.unanswered(BROKEN, start).await == 0 && fleet.unanswered(WELL, start).await == 1
    };
    fleet.until("a first round", PATIENCE, all_answered).await;
    let again = fleet.clock.now();
    let all_again = async || fleet.unanswered(WELL, again).await == 1;
    fleet.until("a second round", PATIENCE, all_again).await;
    let usual = rate(&fleet, Duration::from_mins(40)).await;

    let plan = fleet.server.plan();
    // The first rule that applies decides.
    assert!(plan.remove(slow));
    let fault = plan.add(Rule::on(BROKEN, Fault::status(503))).unwrap();
    let failing = fleet.clock.now();
    let opened = async || fleet.number(OPEN, BROKEN).await == 1;
    let took = fleet.until("the breaker opens", PATIENCE, opened).await;
    fleet.pass(SETTLES).await;

    let settled = fleet.clock.now();
    let meanwhile = rate(&fleet, Duration::from_hours(1)).await;
    let later = fleet.clock.now();
    fleet.add(&broken[REPOSITORIES..][..LATER]);
    fleet.add(&well[REPOSITORIES..][..LATER]);
    let first_time = async || {
        const NEW: &str =
            "SELECT count(*) AS n FROM unit WHERE upstream = $1 AND kind = 'repo-metadata'
             AND succeeded_at IS NULL";
        fleet.number(NEW, WELL).await == 1
    };
    let waited = fleet
        .until("first-time units run", PATIENCE, first_time)
        .await;
    let left = OUTAGE.saturating_sub(fleet.clock.now().since(failing));
    fleet.pass(left).await;
    assert_eq!(
        fleet.number(STRUCK, BROKEN).await,
        0,
        "strikes for an outage"
    );
    let asked = asked_since(&fleet, settled);
    assert!(
        asked.iter().all(|(_, path)| path == "/"),
        "more than probes in the outage: {asked:?}"
    );
    // After 1, 2, 4, 8, 16, 32 minutes, then every hour.
    assert!((2..=8).contains(&asked.len()), "{asked:?}");

    assert!(plan.remove(fault));
    let healed = fleet.clock.now();
    let closed = async || fleet.number(OPEN, BROKEN).await == 0;
    let closing = fleet.until("the breaker closes", PATIENCE, closed).await;
    let backlog = async || fleet.unanswered(BROKEN, healed).await == 0;
    let catching_up = fleet.until("the backlog is done", PATIENCE, backlog).await;
    let both = async || {
        let asked = asked_since(&fleet, healed);
        ["first", "second"].iter().all(|name| {
            asked
                .iter()
                .any(|(token, path)| path != "/" && token == name)
        })
    };
    fleet
        .until("both processes ask again", PATIENCE, both)
        .await;
    let asked = asked_since(&fleet, healed);
    let probes = asked.iter().filter(|(_, path)| path == "/").count();
    assert_eq!((probes, asked[0].1.as_str()), (1, "/"), "{asked:?}");
    assert_eq!(
        fleet.number(STRUCK, BROKEN).await,
        0,
        "strikes for an outage"
    );
    assert_eq!(fleet.number(STRUCK, WELL).await, 1);
    drop(processes);

    eprintln!(
        "others: {usual:.0} requests/s before, {meanwhile:.0} meanwhile; open after {took:?}, \
         first-time units within {waited:?}, closed {closing:?} after the end, backlog done \
         {catching_up:?} later; {:?} in all, {:?} of the world's time",
        begun.elapsed(),
        fleet.clock.now().since(start)
    );
    assert!(meanwhile >= usual * 0.6, "others became slower");
    assert!(
        waited < Duration::from_secs(10),
        "first-time units waited {waited:?} from {later:?}"
    );
}

/// How many answers a second of life the healthy one gives, over so much of the world's time.
async fn rate(fleet: &Fleet, span: Duration) -> f64 {
    let (before, begun) = (fleet.server.journal().counts(WELL).requests, Instant::now());
    fleet.pass(span).await;
    let requests = fleet.server.journal().counts(WELL).requests - before;
    requests as f64 / begun.elapsed().as_secs_f64()
}

/// Who asked the broken one for what.
fn asked_since(fleet: &Fleet, since: db::Timestamp) -> Vec<(String, String)> {
    let requests = fleet.server.journal().select(|request| {
        request.upstream == BROKEN && request.at.as_microsecond() >= since.as_micros()
    });
    let asked = requests.into_iter();
    asked
        .map(|request| (request.token.unwrap_or_default(), request.path))
        .collect()
}
