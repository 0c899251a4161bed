//! Whole workers: pools, batches, deadlines, shutdown, take-over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use db::{Clock, sql, testing::both};
use engine::{
    Engine, Enqueue, Kind, Outcome, Pool, Requirement, RunError, Selection, State, Timing, Worker,
    steps::Hand,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::drill::{ONCE, ROUND, act, once, quick, round, until};

fn engine(db: &db::testing::TestDb) -> Engine {
    Engine::new((**db).clone(), Clock::system())
}

async fn count(engine: &Engine, state: State) -> usize {
    let counts = engine.counts().await.unwrap();
    counts
        .iter()
        .filter(|count| count.state == state)
        .map(|count| count.units as usize)
        .sum()
}

async fn state(engine: &Engine, key: &str) -> State {
    let id = engine
        .find(&format!("test/once:{key}"))
        .await
        .unwrap()
        .unwrap();
    engine.unit(id).await.unwrap().unwrap().unit.state
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn until_idle_runs_all_that_is_due_and_tells_what_is_not(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue(vec![
            once("parent").requires(Requirement::hard(once("a"))).requires(Requirement::soft(once("b"))),
            round("r"),
            once("later").due_at(engine.clock().now().plus(Duration::from_hours(1))),
        ]).await.unwrap();
        let done = act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
        let again = act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
        let worker = Worker::new(engine.clone()).kind(ONCE, done).kind(ROUND, again).timing(quick());
        let idle = worker.run_until_idle(CancellationToken::new()).await.unwrap();
        let of = |state| idle.counts.iter().filter(|count| count.state == state).map(|count| count.units).sum::<i64>();
        assert_eq!((of(State::Done), of(State::Ready), of(State::Waiting)), (3, 2, 0));
        assert!(engine.workers().await.unwrap().is_empty(), "it has left");
    }

    async fn a_worker_for_some_units_leaves_the_others_alone(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue(vec![
            once("ours").requires(Requirement::hard(once("first"))),
            once("theirs"),
            once("waits").requires(Requirement::hard(once("theirs"))),
        ]).await.unwrap();
        let mut ours = Vec::new();
        for key in ["ours", "first"] {
            ours.extend(engine.find(&format!("test/once:{key}")).await.unwrap());
        }
        let work = async |ours| {
            let done = act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
            let worker = Worker::new(engine.clone()).kind(ONCE, done).timing(quick()).only(ours);
            worker.run_until_idle(CancellationToken::new()).await.unwrap();
        };
        // Somebody else has a run that does not end: that is not waited for.
        let other = Hand::start(&engine, &[ROUND], Duration::from_secs(30)).await.unwrap();
        engine.enqueue(vec![round("elsewhere")]).await.unwrap();
        let (held, _) = other.turn(ROUND.pool, Vec::new(), 1, false).await.unwrap();
        assert_eq!(held.len(), 1);
        work(Vec::new()).await;
        assert_eq!(state(&engine, "first").await, State::Ready);
        work(ours).await;
        assert_eq!(state(&engine, "ours").await, State::Done);
        assert_eq!(state(&engine, "first").await, State::Done);
        assert_eq!(state(&engine, "theirs").await, State::Ready);
        assert_eq!(state(&engine, "waits").await, State::Waiting);
    }

    async fn a_batch_pool_completes_by_the_hundred(db: TestDb) {
        let engine = engine(&db);
        db.execute(sql!("CREATE TABLE fact (unit BIGINT)")).await.unwrap();
        engine.enqueue((0..2_000).map(|n| once(&format!("k{n}"))).collect()).await.unwrap();
        let writes = act(|run| Box::pin(async move {
            Ok(run.finish(Outcome::Done, (), run.id(), |tx, id| Box::pin(async move {
                tx.execute(sql!("INSERT INTO fact VALUES ($1)", *id)).await?;
                Ok(())
            })))
        }));
        let pool = Pool { batch: 200, ..Pool::new("p", 2) };
        let before = db.statements();
        let worker = Worker::new(engine.clone()).kind(ONCE, writes).pool(pool).timing(quick());
        worker.run_until_idle(CancellationToken::new()).await.unwrap();
        assert_eq!(count(&engine, State::Done).await, 2_000);
        let row = db.fetch_one(sql!("SELECT count(*) AS n, count(DISTINCT unit) AS m FROM fact")).await.unwrap();
        assert_eq!((row.get::<i64>("n").unwrap(), row.get::<i64>("m").unwrap()), (2_000, 2_000));
        let statements = db.statements() - before;
        assert!(statements < 2_000 * 2, "{statements} statements for 2,000 units with a fact each");
    }

    async fn panics_and_hangs_are_strikes(db: TestDb) {
        const HANGS: Kind = {
            let mut kind = Kind::one_off("test/hangs");
            kind.max_run = Duration::from_millis(50);
            kind
        };
        let engine = engine(&db);
        engine.enqueue(vec![once("panics"), Enqueue::new(&HANGS, "x")]).await.unwrap();
        let panics = act(|_| Box::pin(async { panic!("oh dear") }));
        let hangs = act(|run| Box::pin(async move {
            run.cancelled().cancelled().await;
            Err(RunError::Interrupted)
        }));
        let worker = Worker::new(engine.clone()).kind(ONCE, panics).kind(HANGS, hangs).timing(quick());
        worker.run_until_idle(CancellationToken::new()).await.unwrap();
        for (address, error) in [("test/once:panics", "oh dear"), ("test/hangs:x", "ran longer than")] {
            let id = engine.find(address).await.unwrap().unwrap();
            let unit = engine.unit(id).await.unwrap().unwrap().unit;
            assert_eq!((unit.state, unit.strikes), (State::Ready, 1));
            assert!(unit.error.unwrap().contains(error));
        }
    }

    async fn shutdown_lets_runs_finish_and_releases_the_rest(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue(vec![once("quick"), once("stubborn"), once("unstarted")]).await.unwrap();
        let started = Arc::new(Semaphore::new(0));
        let (sign, stop) = (started.clone(), CancellationToken::new());
        let stopping = stop.clone();
        let handler = act(move |run| {
            let (sign, stopping) = (sign.clone(), stopping.clone());
            Box::pin(async move {
                sign.add_permits(1);
                stopping.cancelled().await;
                if run.key() == "stubborn" {
                    std::future::pending::<()>().await;
                }
                Ok(run.end(Outcome::Done, ()))
            })
        });
        let worker = Worker::new(engine.clone()).kind(ONCE, handler).pool(Pool::new("p", 2)).timing(quick());
        let running = tokio::spawn(worker.run(stop.clone()));
        started.acquire_many(2).await.unwrap().forget();
        stop.cancel();
        running.await.unwrap().unwrap();
        assert_eq!(state(&engine, "quick").await, State::Done);
        let id = engine.find("test/once:stubborn").await.unwrap().unwrap();
        let unit = engine.unit(id).await.unwrap().unwrap().unit;
        assert_eq!((unit.state, unit.strikes, unit.lost), (State::Ready, 0, 0), "given back as it was");
        assert_eq!(state(&engine, "unstarted").await, State::Ready);
        assert!(engine.workers().await.unwrap().is_empty());
    }

    async fn a_worker_takes_over_from_a_dead_one(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue(vec![once("a"), once("b")]).await.unwrap();
        let dead = Hand::start(&engine, &[ONCE], Duration::from_secs(30)).await.unwrap();
        assert_eq!(crate::drill::claim(&dead, 2).await.len(), 2);
        let done = act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
        let timing = Timing { dead_after: Duration::from_millis(600), give_up: Duration::from_millis(500), ..quick() };
        let stop = CancellationToken::new();
        let worker = Worker::new(engine.clone()).kind(ONCE, done).timing(timing);
        let running = tokio::spawn(worker.run(stop.clone()));
        until(&db, "both units are done", || async { count(&engine, State::Done).await == 2 }).await;
        stop.cancel();
        running.await.unwrap().unwrap();
        assert!(!dead.beat().await.unwrap());
    }

    async fn cancelling_stops_a_run_in_its_worker(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue(vec![once("a")]).await.unwrap();
        let (started, stopped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (start, end) = (started.clone(), stopped.clone());
        let handler = act(move |run| {
            let (start, end) = (start.clone(), end.clone());
            Box::pin(async move {
                start.add_permits(1);
                run.cancelled().cancelled().await;
                end.add_permits(1);
                Ok(run.end(Outcome::Done, ()))
            })
        });
        let stop = CancellationToken::new();
        let worker = Worker::new(engine.clone()).kind(ONCE, handler).timing(quick());
        let running = tokio::spawn(worker.run(stop.clone()));
        started.acquire().await.unwrap().forget();
        engine.cancel(&Selection::default(), false).await.unwrap();
        let told = tokio::time::timeout(Duration::from_secs(30), stopped.acquire()).await;
        told.expect("the run is told at the next beat").unwrap().forget();
        stop.cancel();
        running.await.unwrap().unwrap();
        assert_eq!(state(&engine, "a").await, State::Cancelled);
    }

    async fn a_suspect_runs_alone_in_its_process(db: TestDb) {
        let engine = engine(&db);
        let units: Vec<Enqueue> = (0..40).map(|n| once(&format!("k{n}"))).collect();
        engine.enqueue(units).await.unwrap();
        db.execute(sql!("UPDATE unit SET rank = 5, lost = 3 WHERE key IN ('k7', 'k23')")).await.unwrap();
        db.execute(sql!("UPDATE ready SET rank = 5 WHERE unit IN (SELECT id FROM unit WHERE rank = 5)")).await.unwrap();
        let (now, crowd) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let most = crowd.clone();
        let handler = act(move |run| {
            let (now, most) = (now.clone(), most.clone());
            Box::pin(async move {
                let beside = now.fetch_add(1, Ordering::SeqCst);
                if matches!(run.key(), "k7" | "k23") {
                    most.fetch_max(beside, Ordering::SeqCst);
                }
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                if matches!(run.key(), "k7" | "k23") {
                    most.fetch_max(now.load(Ordering::SeqCst) - 1, Ordering::SeqCst);
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(run.end(Outcome::Done, ()))
            })
        });
        let worker = Worker::new(engine.clone()).kind(ONCE, handler).pool(Pool::new("p", 4)).timing(quick());
        worker.run_until_idle(CancellationToken::new()).await.unwrap();
        assert_eq!(count(&engine, State::Done).await, 40);
        assert_eq!(crowd.load(Ordering::SeqCst), 0, "nobody ran beside a suspect");
    }

    async fn the_first_filling_of_a_pool_is_staggered_over_the_fleet(db: TestDb) {
        let engine = engine(&db);
        engine.enqueue((0..4).map(|n| once(&format!("k{n}"))).collect()).await.unwrap();
        let gap = Duration::from_millis(150);
        let starts = Arc::new(std::sync::Mutex::new(Vec::new()));
        let workers: Vec<_> = (0..2).map(|_| {
            let starts = starts.clone();
            let handler = act(move |run| {
                starts.lock().unwrap().push(Instant::now());
                Box::pin(async move { Ok(run.end(Outcome::Done, ())) })
            });
            let pool = Pool { min_start_gap: gap, ..Pool::new("p", 2) };
            let mut slow = ONCE;
            slow.max_run = Duration::from_mins(1);
            Worker::new(engine.clone()).kind(slow, handler).pool(pool).timing(quick())
        }).collect();
        let begun = engine.clock().now();
        let runs = workers.into_iter().map(|worker| worker.run_until_idle(CancellationToken::new()));
        for result in futures_util::future::join_all(runs).await {
            result.unwrap();
        }
        let row = db.fetch_one(sql!("SELECT next_start_at FROM pool WHERE name = 'p'")).await.unwrap();
        let next: db::Timestamp = row.get("next_start_at").unwrap();
        assert!(next.since(begun) >= gap * 4, "four slots in two processes took turns");
        assert_eq!(starts.lock().unwrap().len(), 4);
    }

    async fn an_idle_worker_costs_next_to_nothing(db: TestDb) {
        let engine = engine(&db);
        let later = engine.clock().now().plus(Duration::from_hours(1));
        engine.enqueue(vec![once("later").due_at(later), round("later").due_at(later)]).await.unwrap();
        let other = { let mut kind = ROUND; kind.pool = "q"; kind };
        let done = || act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
        let stop = CancellationToken::new();
        let worker = Worker::new(engine.clone())
            .kind(ONCE, done()).kind(other, done())
            .pool(Pool::new("p", 8)).pool(Pool::new("q", 8));
        let running = tokio::spawn(worker.run(stop.clone()));
        // Let it come to rest: the first surveys, the first round of duties.
        let (mut last, mut quiet) = (0, 0);
        until(&db, "the worker is at rest", || {
            let count = db.statements();
            quiet = if last > 20 && count == last { quiet + 1 } else { 0 };
            last = count;
            let rests = quiet > 20;
            async move { rests }
        }).await;
        // The one test that must let real time pass: it measures a rate.
        let before = db.statements();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let spent = db.statements() - before;
        // Per 5 s: a survey per pool, a look at the notes, a beat and its looks.
        assert!(spent <= 10, "{spent} statements in 2 s with nothing to do");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}
