//! Detached subprocesses outlive a worker that is killed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use db::{Clock, Db, testing::both};
use engine::{Engine, Outcome, State, Subprocesses, Timing, Worker};
use tokio_util::sync::CancellationToken;

use crate::{
    drill::{ONCE, act, once, quick},
    eventually, kill_at_once, play,
    scanner::{Scanners, alive, output, tell},
    stay, word,
};

/// What the scanners of a worker found, and whether an earlier attempt had started them.
type Found = Arc<Mutex<Vec<(String, bool)>>>;

fn worker(engine: &Engine, scanners: Arc<Scanners>, found: Found) -> Worker {
    let handler = act(move |run| {
        let (scanners, found) = (scanners.clone(), found.clone());
        Box::pin(async move {
            let ended = run.spawn_or_adopt(scanners.spec()).await?;
            found.lock().unwrap().push(output(ended));
            Ok(run.end(Outcome::Done, ()))
        })
    });
    let timing = Timing {
        dead_after: Duration::from_millis(900),
        give_up: Duration::from_millis(700),
        ..quick()
    };
    let subprocesses = Subprocesses {
        poll: Duration::from_millis(50),
        ..Subprocesses::default()
    };
    Worker::new(engine.clone())
        .kind(ONCE, handler)
        .timing(timing)
        .subprocesses(subprocesses)
}

#[test]
#[ignore = "a role"]
fn victim() {
    let (Some(database), Some(scanners)) = (word("DATABASE"), word("SCANNERS")) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let work = async move {
        let settings = db::Settings::default();
        let db = Db::connect(&database, &settings).await.unwrap();
        let engine = Engine::new(db, Clock::system());
        let scanners = Arc::new(Scanners::at(scanners));
        worker(&engine, scanners, Found::default())
            .run(CancellationToken::new())
            .await
    };
    runtime.spawn(work);
    stay();
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn the_scan_of_a_killed_worker_is_taken_up_and_not_begun_again(db: TestDb) {
        let engine = Engine::new((*db).clone(), Clock::system());
        engine.enqueue(vec![once("tree")]).await.unwrap();
        let scanners = Arc::new(Scanners::new());
        let mut victim = play("detached::victim", &[("DATABASE", db.url()), ("SCANNERS", scanners.base().to_str().unwrap())]);
        scanners.started(&db, 1).await;
        let pid = eventually("its pid is recorded", async || engine.subprocesses(None).await.unwrap().first()?.pid).await;
        kill_at_once(&mut victim);
        let found = Found::default();
        let stop = CancellationToken::new();
        let running = tokio::spawn(worker(&engine, scanners.clone(), found.clone()).run(stop.clone()));
        eventually("another worker watches it", async || {
            let seen = engine.subprocesses(None).await.unwrap().remove(0);
            let id = seen.unit;
            (engine.unit(id).await.unwrap().unwrap().unit.attempt == 2).then_some(())
        }).await;
        assert!(alive(u32::try_from(pid).unwrap()), "it never noticed");
        tell(&scanners.places()[0], "MIT", 0).await;
        let id = engine.find("test/once:tree").await.unwrap().unwrap();
        eventually("the unit is done", async || {
            (engine.unit(id).await.unwrap().unwrap().unit.state == State::Done).then_some(())
        }).await;
        eventually("the record is cleared", async || {
            engine.subprocesses(None).await.unwrap().is_empty().then_some(())
        }).await;
        stop.cancel();
        running.await.unwrap().unwrap();
        assert_eq!(*found.lock().unwrap(), [("MIT".to_owned(), true)]);
        assert_eq!((scanners.starts(), scanners.places().len()), (1, 0));
    }
}
