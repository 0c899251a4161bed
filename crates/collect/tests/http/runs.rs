//! What a run makes of a reply.

use std::{sync::Arc, time::Duration};

use collect::http::{Ask, Http, Reply, Settings};
use db::{Clock, testing::TestDb};
use engine::{
    Ending, Engine, Enqueue, Handler, Kind, Outcome, Run, RunError, State, Timing, UnitDetail,
    Worker,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    server::{Server, Step, answer, json},
    world::{PARTS, World, body, upstream},
};

const KIND: Kind = Kind::one_off("test/ask");

/// Asks once, and ends as the reply says.
struct Asks(Http);

impl Handler for Asks {
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>> {
        Box::pin(async move {
            let session = self.0.for_run(run);
            match session.ask(&Ask::get("forge", "/a")).await {
                Reply::Found(_) => Ok(run.end(Outcome::Done, session.log())),
                Reply::Absent => Ok(run.end(
                    Outcome::Gone {
                        why: "it is not there".into(),
                    },
                    session.log(),
                )),
                Reply::Unknown(why) => why.end(run, session.log()),
            }
        })
    }
}

/// An engine with one unit, and the client that will ask for it.
async fn engine(db: &TestDb, server: &Server) -> (Engine, Http) {
    let engine = Engine::new((**db).clone(), Clock::system());
    let mut settings = Settings::new("https://gleaner.example/contact");
    settings.upstreams.insert("forge".into(), upstream(server));
    let upstreams = engine.upstreams().clone();
    let http = Http::new(&settings, (**db).clone(), engine.clock().clone(), upstreams).unwrap();
    let unit = Enqueue::new(&KIND, "a").upstream("forge");
    engine.enqueue(vec![unit]).await.unwrap();
    (engine, http)
}

async fn unit(engine: &Engine) -> UnitDetail {
    let id = engine.find("test/ask:a").await.unwrap().unwrap();
    engine.unit(id).await.unwrap().unwrap()
}

/// The unit after its first run.
async fn ran(steps: Vec<Step>) -> UnitDetail {
    let server = Server::always(steps).await;
    let db = TestDb::memory(PARTS).await;
    let (engine, http) = engine(&db, &server).await;
    Worker::new(engine.clone())
        .kind(KIND, Asks(http))
        .run_until_idle(CancellationToken::new())
        .await
        .unwrap();
    unit(&engine).await
}

#[tokio::test]
async fn the_log_is_in_the_report() {
    let detail = ran(json("[]")).await;
    assert_eq!(detail.unit.state, State::Done);
    let report = detail.report.unwrap();
    assert_eq!(report["requests"], 1);
    assert_eq!(report["last"][0]["path"], "/a");
}

#[tokio::test]
async fn a_limit_brings_the_run_back_when_told() {
    let before = Clock::system().now();
    let detail = ran(answer(429, &[("retry-after", "3600")], "")).await;
    assert_eq!((detail.unit.state, detail.unit.strikes), (State::Ready, 0));
    let wait = detail.unit.due_at.unwrap().since(before);
    assert!(wait >= Duration::from_hours(1), "{wait:?}");
    assert_eq!(
        detail.unit.error.as_deref(),
        Some("GET forge/a: 429 Too Many Requests")
    );
}

#[tokio::test]
async fn an_outage_is_no_strike_and_a_refusal_is() {
    let detail = ran(answer(500, &[], "")).await;
    assert_eq!((detail.unit.state, detail.unit.strikes), (State::Ready, 0));
    let detail = ran(answer(403, &[], "")).await;
    assert_eq!((detail.unit.state, detail.unit.strikes), (State::Ready, 1));
}

#[tokio::test]
async fn a_run_that_is_stopped_lets_go_of_its_question() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let inner = Arc::clone(&asked);
    let server = Server::start(move |_| {
        inner.notify_one();
        vec![Step::Hang]
    })
    .await;
    let db = TestDb::memory(PARTS).await;
    let (engine, http) = engine(&db, &server).await;
    let stop = CancellationToken::new();
    let worker = Worker::new(engine.clone())
        .kind(KIND, Asks(http))
        .timing(Timing {
            grace: Duration::from_millis(50),
            ..Timing::default()
        });
    let (ended, ()) = tokio::join!(worker.run(stop.clone()), async {
        asked.notified().await;
        stop.cancel();
    });
    ended.unwrap();
    let unit = unit(&engine).await.unit;
    assert_eq!((unit.state, unit.strikes), (State::Ready, 0));
}

#[tokio::test]
async fn a_dropped_question_gives_its_slot_back() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/slow" => vec![Step::Hang],
        _ => json("[]"),
    })
    .await;
    let world = World::new(&server).await;
    let ask = Ask::get("forge", "/slow");
    for _ in 0..20 {
        let waiting = world.session.ask(&ask);
        let late = tokio::time::timeout(Duration::from_millis(5), waiting).await;
        assert!(late.is_err());
    }
    assert_eq!(body(world.ask("/a").await), "[]");
}
