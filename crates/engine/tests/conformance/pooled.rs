//! The whole engine through a pooler in transaction mode with three servers:
//! several processes, from an empty database to the last fact.

use std::time::Duration;

use db::{Clock, Db, Settings, Tx, migrate, sql, testing::TestDb};
use engine::{
    Announced, Engine, Grant, Kind, Outcome, Pool, Requirement, Run, RunError, UpstreamPolicy,
    Upstreams, Worker,
};
use futures_util::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;

use crate::drill::{Act, ONCE, ROUND, act, once, quick, round, until};

const UNITS: i64 = 300;
const IDLE: Kind = {
    let mut kind = Kind::one_off("test/idle");
    kind.pool = "idle";
    kind
};
const TABLE: &str = "CREATE TABLE fact (unit BIGINT, page BIGINT)";

/// A process as another machine would have it: connected for itself.
async fn process(url: &str) -> Engine {
    let db = Db::connect(url, &Settings::default()).await.unwrap();
    migrate(&db, &[engine::PART], &Clock::system())
        .await
        .unwrap();
    Engine::new(db, Clock::system())
}

async fn count(db: &Db, text: &'static str) -> i64 {
    let row = db.fetch_one(sql!(text)).await.unwrap();
    row.get("n").unwrap()
}

fn write<'t>(tx: &'t mut Tx, fact: &'t (i64, i64)) -> BoxFuture<'t, Result<(), RunError>> {
    Box::pin(async move {
        let text = "INSERT INTO fact VALUES ($1, $2)";
        tx.execute(sql!(text, fact.0, fact.1)).await?;
        Ok(())
    })
}

/// One page with a cursor, one with the end.
fn two_pages() -> Act {
    act(|run: &Run| {
        Box::pin(async move {
            run.upstreams().succeeded("u").await;
            run.commit(&1, &(run.id(), 1), write).await?;
            Ok(run.finish(Outcome::Done, (), (run.id(), 2), write))
        })
    })
}

#[tokio::test]
async fn every_fact_is_there_once() {
    let direct = TestDb::postgres(&[]).await;
    let pooler = direct.pooler(3);
    let engines = join_all((0..4).map(|_| process(pooler.url()))).await;
    assert!(engines.iter().all(|engine| engine.db().is_pooled()));
    engines[0].db().execute(sql!(TABLE)).await.unwrap();

    let stop = CancellationToken::new();
    let [working @ .., idle] = engines.as_slice() else {
        unreachable!("four processes")
    };
    let waiting = Worker::new(idle.clone())
        .kind(IDLE, two_pages())
        .timing(quick());
    let waiting = tokio::spawn(waiting.run(stop.clone()));

    let mut units: Vec<_> = (0..UNITS)
        .map(|n| once(&n.to_string()).upstream("u"))
        .collect();
    units.push(once("parent").requires(Requirement::hard(once("0"))));
    units.push(round("again"));
    working[0].enqueue(units).await.unwrap();
    let runs = working.iter().map(|engine| {
        Worker::new(engine.clone())
            .kind(ONCE, two_pages())
            .kind(ROUND, two_pages())
            .pool(Pool::new("p", 4))
            .timing(quick())
            .run_until_idle(CancellationToken::new())
    });
    for idle in join_all(runs).await {
        idle.unwrap();
    }
    assert_eq!(
        count(&direct, "SELECT count(*) AS n FROM fact").await,
        2 * (UNITS + 2)
    );
    let distinct = "SELECT count(DISTINCT (unit, page)) AS n FROM fact";
    assert_eq!(count(&direct, distinct).await, 2 * (UNITS + 2));
    let done = "SELECT count(*) AS n FROM unit WHERE state = 'done'";
    assert_eq!(count(&direct, done).await, UNITS + 1);
    let hurt = "SELECT count(*) AS n FROM unit WHERE strikes > 0 OR lost > 0 OR state = 'running'";
    assert_eq!(count(&direct, hurt).await, 0);

    // The one that had nothing to do is alive, beats, and takes what comes without a signal.
    let alive = idle.workers().await.unwrap();
    assert_eq!(alive.len(), 1, "the others have left");
    let late = engine::Enqueue::new(&IDLE, "late");
    working[0].enqueue(vec![late]).await.unwrap();
    until(&direct, "the idle process took the late unit", async || {
        count(&direct, "SELECT count(*) AS n FROM fact").await == 2 * (UNITS + 3)
    })
    .await;
    stop.cancel();
    waiting.await.unwrap().unwrap();
    assert!(idle.workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_worker_that_falls_silent_is_relieved() {
    let direct = TestDb::postgres(&[engine::PART]).await;
    let pooler = direct.pooler(3);
    let engine = process(pooler.url()).await;
    engine.enqueue(vec![once("a"), once("b")]).await.unwrap();
    let dead = engine::steps::Hand::start(&engine, &[ONCE], Duration::from_secs(30))
        .await
        .unwrap();
    assert_eq!(crate::drill::claim(&dead, 2).await.len(), 2);
    engine.db().execute(sql!(TABLE)).await.unwrap();
    let timing = engine::Timing {
        dead_after: Duration::from_millis(900),
        give_up: Duration::from_millis(800),
        ..quick()
    };
    let stop = CancellationToken::new();
    let worker = Worker::new(process(pooler.url()).await)
        .kind(ONCE, two_pages())
        .timing(timing);
    let running = tokio::spawn(worker.run(stop.clone()));
    until(&direct, "both were taken over", async || {
        count(
            &direct,
            "SELECT count(*) AS n FROM unit WHERE state = 'done'",
        )
        .await
            == 2
    })
    .await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(
        !dead.beat().await.unwrap(),
        "it learns that it was given up"
    );
}

#[tokio::test]
async fn breakers_and_budgets_are_shared() {
    let direct = TestDb::postgres(&[engine::PART]).await;
    let pooler = direct.pooler(3);
    let (clock, time) = Clock::fake("2026-03-01T12:00:00Z".parse().unwrap());
    let join = async || {
        let db = Db::connect(pooler.url(), &Settings::default())
            .await
            .unwrap();
        let upstreams = Upstreams::new(db, clock.clone());
        let policy = UpstreamPolicy {
            reserve: 0.0,
            ..UpstreamPolicy::default()
        };
        upstreams.set_policy("u", policy);
        upstreams
    };
    let processes = [join().await, join().await];

    let mut left = 120;
    let tokens = ["one".to_owned()];
    let reset_at = clock.now().plus(Duration::from_hours(1));
    let mut refused = 0;
    for turn in 0.. {
        let upstreams = &processes[turn % 2];
        refused = match upstreams.take("u", &tokens).await.unwrap() {
            Grant::Go { .. } => {
                left -= 1;
                assert!(left >= 0, "a request beyond the limit");
                let said = Announced {
                    limit: Some(120),
                    remaining: left,
                    reset_at,
                };
                upstreams.announce("u", Some("one"), said).await;
                0
            }
            Grant::NotBefore { .. } => refused + 1,
        };
        if refused == 2 {
            break;
        }
    }
    assert_eq!(left, 0, "all that is allowed is used");

    for turn in 0..10 {
        time.advance(Duration::from_secs(4));
        processes[turn % 2].failed("v", "502").await;
    }
    for upstreams in &processes {
        let refused = upstreams.take("v", &[]).await.unwrap();
        assert!(matches!(refused, Grant::NotBefore { .. }), "{refused:?}");
    }
}
