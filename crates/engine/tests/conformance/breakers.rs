//! Breakers: when a service is left alone, and how it is found to work again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use db::{Clock, testing::both};
use engine::{
    Engine, Grant, Outcome, Probe, RunError, State, UpstreamView, Upstreams, Worker, steps::Hand,
};
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::drill::{Drill, ONCE, ROUND, act, claim, finish, once, quick, until};

const MINUTE: Duration = Duration::from_mins(1);

/// A probe whose answer the test decides.
#[derive(Default)]
struct Doctor {
    works: AtomicBool,
    asked: AtomicUsize,
    /// If set: a probe says that it began, and waits to be let go on.
    slow: AtomicBool,
    began: Notify,
    go_on: Notify,
}

impl Probe for Doctor {
    fn probe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.slow.load(Ordering::SeqCst) {
                self.began.notify_one();
                self.go_on.notified().await;
            }
            if self.works.load(Ordering::SeqCst) {
                Ok(())
            } else {
                Err("still down".to_owned())
            }
        })
    }
}

/// Ten failures in 36 s.
async fn break_it(drill: &Drill, upstreams: &Upstreams) {
    for _ in 0..10 {
        assert_ne!(view(drill).await.map(|view| view.breaker), Some("open"));
        drill.time.advance(Duration::from_secs(4));
        upstreams.failed("u", "502").await;
    }
}

async fn view(drill: &Drill) -> Option<UpstreamView> {
    let views = drill.engine.upstream_views().await.unwrap();
    views.into_iter().find(|view| view.upstream == "u")
}

/// How long it will still be left alone.
async fn pause(drill: &Drill) -> Option<Duration> {
    let open_until = view(drill).await.unwrap().open_until;
    open_until.map(|until| until.since(drill.now()))
}

async fn another(drill: &Drill) -> Hand {
    drill.another(&[ONCE, ROUND]).await
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn ten_failures_over_half_a_minute_stop_all_processes(db: TestDb) {
        let drill = Drill::new(&db).await;
        let other = another(&drill).await;
        drill.enqueue(once("a").upstream("u")).await;
        drill.enqueue(once("b").upstream("v")).await;
        let due = drill.unit("test/once:a").await.unit.due_at;
        break_it(&drill, drill.hand.upstreams()).await;
        let seen = view(&drill).await.unwrap();
        assert_eq!((seen.breaker, seen.failures, seen.openings), ("open", 10, 1));
        assert_eq!(pause(&drill).await, Some(MINUTE));
        assert_eq!(claim(&other, 10).await.iter().map(engine::steps::Held::key).collect::<Vec<_>>(), ["b"]);
        assert!(drill.claim(10).await.is_empty());
        assert_eq!(drill.unit("test/once:a").await.unit.due_at, due, "a pause never rewrites due times");
        let refused = other.upstreams().take("u", &[]).await.unwrap();
        let Grant::NotBefore { at, why } = refused else { panic!("{refused:?}") };
        assert_eq!((Some(at), why.as_str()), (seen.open_until, "u is left alone: 502"));
        assert_eq!(other.upstreams().take("v", &[]).await.unwrap(), Grant::Go { token: None });
        assert!(drill.engine.reset_upstream("u").await.unwrap());
        assert_eq!(drill.claim_one().await.key(), "a");
        assert_eq!(other.upstreams().take("u", &[]).await.unwrap(), Grant::Go { token: None });
    }

    async fn a_blip_with_32_requests_in_flight_opens_nothing(db: TestDb) {
        let drill = Drill::new(&db).await;
        let (ours, other) = (drill.hand.upstreams(), another(&drill).await);
        ours.succeeded("u").await;
        drill.time.advance(MINUTE);
        join_all((0..32).map(|n| if n % 2 == 0 { ours } else { other.upstreams() }.failed("u", "reset"))).await;
        let seen = view(&drill).await.unwrap();
        assert_eq!((seen.breaker, seen.failures), ("closed", 32), "all were counted");
        drill.time.advance(Duration::from_secs(1));
        ours.succeeded("u").await;
        assert_eq!(view(&drill).await.unwrap().failures, 0);
        drill.time.advance(MINUTE);
        for _ in 0..9 {
            ours.failed("u", "reset").await;
            drill.time.advance(MINUTE);
        }
        assert_eq!(view(&drill).await.unwrap().breaker, "closed", "nine are not ten");
    }

    async fn exactly_one_process_probes_and_success_closes(db: TestDb) {
        let drill = Drill::new(&db).await;
        let (one, two) = (another(&drill).await.with_probe(), another(&drill).await.with_probe());
        drill.enqueue(once("a").upstream("u")).await;
        break_it(&drill, one.upstreams()).await;
        let doctor = Arc::new(Doctor::default());
        let probe: Arc<dyn Probe> = doctor.clone();
        assert_eq!(one.probe(&probe).await.unwrap(), 0, "its pause is not over");
        drill.time.advance(MINUTE);
        assert_eq!(view(&drill).await.unwrap().breaker, "half-open");
        assert!(claim(&one, 10).await.is_empty() && claim(&two, 10).await.is_empty());
        doctor.works.store(true, Ordering::SeqCst);
        doctor.slow.store(true, Ordering::SeqCst);
        let meanwhile = async {
            doctor.began.notified().await;
            assert_eq!(two.probe(&probe).await.unwrap(), 0, "the other one has it");
            assert!(matches!(two.upstreams().take("u", &[]).await.unwrap(), Grant::NotBefore { .. }));
            assert_eq!(one.upstreams().take("u", &[]).await.unwrap(), Grant::Go { token: None });
            doctor.go_on.notify_one();
        };
        let (probed, ()) = tokio::join!(one.probe(&probe), meanwhile);
        assert_eq!((probed.unwrap(), doctor.asked.load(Ordering::SeqCst)), (1, 1));
        let seen = view(&drill).await.unwrap();
        assert_eq!((seen.breaker, seen.openings, seen.failures), ("closed", 0, 0));
        assert_eq!(claim(&two, 10).await.len(), 1);
    }

    async fn a_failed_probe_doubles_the_pause_and_stragglers_do_not(db: TestDb) {
        let drill = Drill::new(&db).await;
        let hand = another(&drill).await.with_probe();
        break_it(&drill, hand.upstreams()).await;
        let probe: Arc<dyn Probe> = Arc::new(Doctor::default());
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(pause(&drill).await, Some(MINUTE * minutes));
            hand.upstreams().failed("u", "a straggler").await;
            assert_eq!(pause(&drill).await, Some(MINUTE * minutes));
            drill.time.advance(MINUTE * minutes);
            hand.upstreams().failed("u", "another").await;
            assert_eq!(pause(&drill).await, Some(Duration::ZERO));
            assert_eq!(hand.probe(&probe).await.unwrap(), 1);
        }
        assert_eq!(view(&drill).await.unwrap().last_error.as_deref(), Some("still down"));
    }

    async fn a_probe_is_free_again_when_its_process_dies(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        let dies = another(&drill).await.with_probe();
        break_it(&drill, dies.upstreams()).await;
        drill.time.advance(MINUTE);
        let doctor = Arc::new(Doctor::default());
        doctor.slow.store(true, Ordering::SeqCst);
        let probe: Arc<dyn Probe> = doctor.clone();
        tokio::select! {
            _ = dies.probe(&probe) => panic!("it waits for ever"),
            () = doctor.began.notified() => {}
        }
        drop(dies);
        doctor.slow.store(false, Ordering::SeqCst);
        doctor.works.store(true, Ordering::SeqCst);
        drill.hand.look().await.unwrap();
        assert_eq!(drill.hand.probe(&probe).await.unwrap(), 0, "the other may be alive");
        drill.time.advance(Duration::from_secs(31));
        assert!(drill.hand.beat().await.unwrap());
        drill.hand.look().await.unwrap();
        assert_eq!(drill.hand.probe(&probe).await.unwrap(), 1);
        assert_eq!(view(&drill).await.unwrap().breaker, "closed");
    }

    async fn without_a_probe_one_unit_decides(db: TestDb) {
        let drill = Drill::new(&db).await;
        let other = another(&drill).await;
        for key in ["a", "b", "c"] {
            drill.enqueue(once(key).upstream("u")).await;
        }
        break_it(&drill, other.upstreams()).await;
        drill.time.advance(MINUTE);
        let first = drill.claim(10).await;
        assert_eq!(first.len(), 1);
        assert!(drill.claim(10).await.is_empty() && claim(&other, 10).await.is_empty());
        assert_eq!(drill.hand.upstreams().take("u", &[]).await.unwrap(), Grant::Go { token: None });
        drill.fail(first[0].clone(), RunError::Interrupted).await;
        assert_eq!(view(&drill).await.unwrap().openings, 1, "that says nothing");
        let second = claim(&other, 10).await;
        assert_eq!(second.len(), 1);
        finish(&other, second[0].clone(), Err(RunError::upstream("502"))).await;
        assert_eq!(pause(&drill).await, Some(MINUTE * 2));
        assert!(drill.claim(10).await.is_empty() && claim(&other, 10).await.is_empty());
        drill.time.advance(MINUTE * 2);
        drill.run_one(Outcome::Done).await;
        assert_eq!(view(&drill).await.unwrap().breaker, "closed");
        assert_eq!(claim(&other, 10).await.len(), 2);
    }

    async fn a_unit_that_decides_and_dies_frees_the_next(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        let dies = another(&drill).await;
        drill.enqueue(once("a").upstream("u")).await;
        drill.enqueue(once("b").upstream("u")).await;
        break_it(&drill, dies.upstreams()).await;
        drill.time.advance(MINUTE);
        assert_eq!(claim(&dies, 10).await.len(), 1);
        drop(dies);
        drill.hand.look().await.unwrap();
        assert!(drill.claim(10).await.is_empty());
        drill.time.advance(Duration::from_secs(31));
        assert!(drill.hand.beat().await.unwrap());
        assert_eq!(drill.hand.look().await.unwrap(), 1);
        drill.run_one(Outcome::Done).await;
        assert_eq!(drill.claim(10).await.len(), 1);
    }

    async fn requests_speak_for_themselves_and_count_once(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a").upstream("u")).await;
        let held = drill.claim_one().await;
        drill.hand.run(&held).upstreams().failed("u", "502").await;
        drill.fail(held, RunError::upstream("502")).await;
        assert_eq!(view(&drill).await.unwrap().failures, 1);
        drill.time.advance(MINUTE * 2);
        let held = drill.claim_one().await;
        drill.fail(held, RunError::upstream("502")).await;
        assert_eq!(view(&drill).await.unwrap().failures, 2, "nobody else said it");
        // Told to come back later: it may not have asked at all.
        drill.time.advance(MINUTE * 2);
        drill.run_one(Outcome::Retry { at: drill.now(), why: "budget".into() }).await;
        assert_eq!(view(&drill).await.unwrap().failures, 2);
    }

    async fn no_strike_while_it_fails_for_others_too(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a").upstream("u")).await;
        let held = drill.claim_one().await;
        drill.fail(held, RunError::upstream("502")).await;
        drill.time.advance(MINUTE * 2);
        drill.hand.upstreams().succeeded("u").await;
        let held = drill.claim_one().await;
        break_it(&drill, drill.hand.upstreams()).await;
        drill.fail(held, RunError::upstream("502")).await;
        assert_eq!(drill.unit("test/once:a").await.unit.strikes, 0);
    }

    async fn an_outage_passes_and_the_backlog_completes(db: TestDb) {
        // A minute of this world is a tenth of a second.
        let clock = || Clock::scaled("2026-03-01T12:00:00Z".parse().unwrap(), 600.0);
        let clock = clock();
        let engines = [0, 1].map(|_| Engine::new((*db).clone(), clock.clone()));
        let down = Arc::new(AtomicBool::new(true));
        let units = (0..30).map(|n| once(&format!("k{n}")).upstream("u")).collect();
        engines[0].enqueue(units).await.unwrap();
        let doctor = Arc::new(Doctor::default());
        let stop = CancellationToken::new();
        let mut running = Vec::new();
        for engine in &engines {
            let down = down.clone();
            let asks = act(move |run| {
                let down = down.clone();
                Box::pin(async move {
                    if down.load(Ordering::SeqCst) {
                        run.upstreams().failed("u", "502").await;
                        return Err(RunError::upstream("502"));
                    }
                    run.upstreams().succeeded("u").await;
                    Ok(run.end(Outcome::Done, ()))
                })
            });
            let worker = Worker::new(engine.clone()).kind(ONCE, asks).timing(quick()).probe(doctor.clone());
            running.push(tokio::spawn(worker.run(stop.clone())));
        }
        let engine = &engines[0];
        until(&db, "the breaker opened twice", || async {
            let views = engine.upstream_views().await.unwrap();
            views.iter().any(|view| view.openings >= 2)
        }).await;
        assert!(doctor.asked.load(Ordering::SeqCst) >= 1);
        down.store(false, Ordering::SeqCst);
        doctor.works.store(true, Ordering::SeqCst);
        until(&db, "all are done", || async {
            let counts = engine.counts().await.unwrap();
            counts.iter().any(|count| count.state == State::Done && count.units == 30)
        }).await;
        stop.cancel();
        for worker in running {
            worker.await.unwrap().unwrap();
        }
        let row = db.fetch_one(db::sql!("SELECT count(*) AS n FROM unit WHERE strikes > 0")).await.unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 0);
    }
}
