//! How runs end, and what becomes of their units.

use std::time::Duration;

use db::testing::both;
use engine::{Kind, Outcome, RunError, State};
use serde_json::json;

use crate::drill::{DAY, Drill, ONCE, ROUND, finish, once, partial, round};

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn done_waits_for_the_cadence_or_for_ever(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(round("r")).await;
        drill.run_one(Outcome::Done).await;
        let unit = drill.unit("test/round:r").await;
        assert_eq!((unit.unit.state, unit.unit.rank), (State::Ready, "cadence"));
        assert_eq!(drill.due_in("test/round:r").await, DAY);
        assert_eq!(unit.report, Some(json!("said")));
        assert_eq!(unit.runs[0].outcome, "done");
        drill.enqueue(once("o")).await;
        drill.run_one(Outcome::Gone { why: "404".into() }).await;
        let unit = drill.unit("test/once:o").await.unit;
        assert_eq!((unit.state, unit.error.as_deref()), (State::Done, Some("404")));
        assert!(unit.succeeded_at.is_some(), "gone is knowledge");
    }

    async fn strikes_follow_the_square_law_and_the_tenth_parks(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(round("r")).await;
        for strike in 1..=10_u64 {
            let held = drill.claim_one().await;
            assert!(drill.fail(held, RunError::unit("broken")).await);
            let unit = drill.unit("test/round:r").await.unit;
            assert_eq!(unit.strikes, strike as i64);
            assert_eq!(unit.error.as_deref(), Some("broken"));
            let due_in = drill.due_in("test/round:r").await;
            if strike < 10 {
                assert_eq!((unit.state, unit.rank), (State::Ready, "strike"));
                assert_eq!(due_in, Duration::from_secs(120 * strike * strike));
            } else {
                assert_eq!((unit.state, due_in), (State::Parked, DAY));
            }
            drill.time.advance(due_in);
        }
        assert_eq!(drill.engine.step_unpark().await.unwrap(), 1);
        let unit = drill.unit("test/round:r").await.unit;
        assert_eq!((unit.state, unit.strikes), (State::Ready, 0));
        drill.run_one(Outcome::Done).await;
        assert_eq!(drill.unit("test/round:r").await.unit.error, None);
    }

    async fn a_parked_one_off_stays_until_somebody_retries_it(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("o")).await;
        for _ in 0..10 {
            let held = drill.claim_one().await;
            drill.fail(held, RunError::unit("broken")).await;
            drill.time.advance(Duration::from_hours(4));
        }
        drill.time.advance(DAY * 10_000);
        assert_eq!(drill.engine.step_unpark().await.unwrap(), 0);
        let unit = drill.unit("test/once:o").await.unit;
        assert_eq!((unit.state, unit.due_at), (State::Parked, None));
        drill.engine.retry(&engine::Selection::default(), false).await.unwrap();
        drill.run_one(Outcome::Done).await;
    }

    async fn partials_have_their_own_count_and_errors_are_forgotten_when_mended(db: TestDb) {
        const PATIENT: Kind = {
            let mut kind = Kind::recurring("test/patient", DAY);
            kind.pool = "p";
            kind.immediate_partial_retry = false;
            kind
        };
        let drill = Drill::with(&db, &[ONCE, ROUND, PATIENT]).await;
        drill.enqueue(round("r")).await;
        for count in 1..=3_u64 {
            drill.run_one(partial()).await;
            let unit = drill.unit("test/round:r").await.unit;
            assert_eq!((unit.partials, unit.strikes, unit.rank), (count as i64, 0, "partial"));
            assert_eq!(unit.error.as_deref(), Some("capped"));
            assert_eq!(drill.due_in("test/round:r").await, Duration::from_secs(120 * count * count));
            drill.time.advance(Duration::from_hours(1));
        }
        // Without a word to say, and still the old reason goes.
        let held = drill.claim_one().await;
        let ending = drill.hand.run(&held).end(Outcome::Done, ());
        assert!(finish(&drill.hand, held, Ok(ending)).await);
        let unit = drill.unit("test/round:r").await.unit;
        assert_eq!((unit.partials, unit.error), (0, None));

        drill.enqueue(engine::Enqueue::new(&PATIENT, "x")).await;
        drill.run_one(partial()).await;
        assert_eq!(drill.due_in("test/patient:x").await, DAY);
    }

    async fn what_the_other_side_says_wins(db: TestDb) {
        let drill = Drill::new(&db).await;
        let at = drill.now().plus(Duration::from_secs(77));
        drill.enqueue(once("a")).await;
        drill.run_one(Outcome::Retry { at, why: "429".into() }).await;
        let unit = drill.unit("test/once:a").await.unit;
        assert_eq!((unit.due_at, unit.strikes, unit.rank), (Some(at), 0, "first"));
        drill.enqueue(once("b")).await;
        drill.run_one(Outcome::Partial { why: "half".into(), retry_at: Some(at) }).await;
        assert_eq!(drill.unit("test/once:b").await.unit.due_at, Some(at));
    }

    async fn an_upstreams_fault_is_a_strike_only_if_it_served_others(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a").upstream("u")).await;
        for _ in 0..3 {
            let held = drill.claim_one().await;
            drill.fail(held, RunError::upstream("502")).await;
            let unit = drill.unit("test/once:a").await.unit;
            assert_eq!((unit.strikes, unit.state), (0, State::Ready), "it is down for everybody");
            assert_eq!(drill.due_in("test/once:a").await, Duration::from_mins(2));
            drill.time.advance(Duration::from_mins(2));
        }
        drill.enqueue(once("b").upstream("u").now()).await;
        drill.run_one(Outcome::Done).await;
        let held = drill.claim_one().await;
        drill.fail(held, RunError::upstream("502")).await;
        assert_eq!(drill.unit("test/once:a").await.unit.strikes, 1, "it served another meanwhile");
        let upstreams = drill.engine.upstream_views().await.unwrap();
        assert_eq!((upstreams[0].upstream.as_str(), upstreams[0].failures), ("u", 1));
        assert_eq!(upstreams[0].last_error.as_deref(), Some("502"));
    }

    async fn our_own_database_and_shutdown_are_nobodys_fault(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a")).await;
        let held = drill.claim_one().await;
        drill.fail(held, RunError::Interrupted).await;
        let unit = drill.unit("test/once:a").await.unit;
        assert_eq!((unit.state, unit.strikes, unit.error), (State::Ready, 0, None));
        assert_eq!(drill.due_in("test/once:a").await, Duration::ZERO);
        let held = drill.claim_one().await;
        let gone = db::DbError::Value { column: "c".into(), why: "w".into() };
        drill.fail(held, RunError::Database(gone)).await;
        assert_eq!(drill.unit("test/once:a").await.unit.strikes, 0);
        assert_eq!(drill.due_in("test/once:a").await, Duration::from_secs(5));
    }
}
