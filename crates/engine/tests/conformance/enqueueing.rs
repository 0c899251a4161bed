//! The truth table of enqueue x state, every cell.

use db::{testing::both, transact};
use engine::{
    EnqueueError, Enqueued, Outcome, Requirement, RunError, Selection, State, enqueue_in,
};
use serde_json::json;

use crate::drill::{Drill, once, round};

/// Brings the unit `x` into a state.
async fn bring(drill: &Drill, state: State) {
    match state {
        State::Waiting => {
            drill
                .enqueue(once("x").requires(Requirement::hard(once("child"))))
                .await;
        }
        State::Ready => {
            // With a strike, so that it has something to keep or to lose.
            drill.enqueue_once(&["x"]).await;
            let held = drill.claim_one().await;
            drill.fail(held, RunError::unit("no")).await;
        }
        State::Running => {
            drill.enqueue_once(&["x"]).await;
            drill.claim_one().await;
        }
        State::Done => {
            drill.enqueue_once(&["x"]).await;
            drill.run_one(Outcome::Done).await;
        }
        State::Parked => {
            drill.enqueue_once(&["x"]).await;
            for _ in 0..10 {
                let held = drill.claim_one().await;
                drill.fail(held, RunError::unit("no")).await;
                drill.time.advance(std::time::Duration::from_hours(4));
            }
        }
        State::Cancelled => {
            drill.enqueue_once(&["x"]).await;
            drill
                .engine
                .cancel(&Selection::default(), false)
                .await
                .unwrap();
        }
    }
    assert_eq!(drill.state("test/once:x").await, state);
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn keys_without_a_unit_are_told(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["b", "d"]).await;
        drill.enqueue(round("c")).await;
        let keys = ["d", "c", "b", "a"].map(str::to_owned);
        let missing = drill.engine.missing("test/once", &keys).await.unwrap();
        assert_eq!(missing, ["c", "a"]);
        assert!(drill.engine.missing("test/once", &[]).await.unwrap().is_empty());
    }

    async fn ensure_keeps_the_place_of_what_is_there(db: TestDb) {
        for state in State::ALL {
            let drill = Drill::new(&db).await;
            bring(&drill, state).await;
            let before = drill.unit("test/once:x").await;
            let done = drill.engine.enqueue(vec![once("x").payload(json!({"new": state}))]).await.unwrap();
            assert_eq!(done, Enqueued { created: 0, existing: 1 });
            let after = drill.unit("test/once:x").await;
            assert_eq!(after.payload, Some(json!({"new": state})), "the newest description counts");
            assert_eq!(
                (before.unit.state, before.unit.due_at, before.unit.strikes, before.unit.rank),
                (after.unit.state, after.unit.due_at, after.unit.strikes, after.unit.rank),
            );
            let again = drill.count("SELECT count(*) AS n FROM unit WHERE again AND key = 'x'").await;
            assert_eq!(again, i64::from(state == State::Running));
            clear(&drill).await;
        }
    }

    async fn run_now_overrules_everything_but_requirements(db: TestDb) {
        for state in State::ALL {
            let drill = Drill::new(&db).await;
            bring(&drill, state).await;
            let before = drill.unit("test/once:x").await.unit;
            drill.engine.enqueue(vec![once("x").now()]).await.unwrap();
            let after = drill.unit("test/once:x").await.unit;
            match state {
                State::Waiting => assert_eq!(after.state, State::Waiting),
                State::Running => {
                    assert_eq!((after.state, after.attempt), (State::Running, before.attempt));
                    assert_eq!(drill.count("SELECT count(*) AS n FROM unit WHERE again").await, 1);
                }
                _ => {
                    assert_eq!((after.state, after.rank), (State::Ready, "run-now"));
                    assert_eq!(after.due_at, Some(drill.now()));
                    assert_eq!((after.strikes, after.partials, after.lost), (0, 0, 0));
                }
            }
            clear(&drill).await;
        }
    }

    async fn run_now_does_not_overrule_a_failed_requirement(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("x").requires(Requirement::hard(once("child")))).await;
        let child = drill.id("test/once:child").await;
        let which = Selection { ids: Some(vec![child]), ..Selection::default() };
        drill.engine.cancel(&which, false).await.unwrap();
        drill.fold().await;
        assert_eq!(drill.state("test/once:x").await, State::Parked);
        drill.engine.enqueue(vec![once("x").now()]).await.unwrap();
        assert_eq!(drill.state("test/once:x").await, State::Parked);
    }

    async fn what_was_not_there_is_created(db: TestDb) {
        let drill = Drill::new(&db).await;
        let later = drill.now().plus(std::time::Duration::from_mins(5));
        let done = drill.engine.enqueue(vec![
            once("plain"), once("plain"), round("plain"),
            once("urgent").now(),
            once("later").due_at(later),
            once("waits").requires(Requirement::soft(once("plain"))),
        ]).await.unwrap();
        assert_eq!(done, Enqueued { created: 5, existing: 0 });
        assert_eq!(drill.unit("test/once:plain").await.unit.rank, "first");
        assert_eq!(drill.unit("test/once:urgent").await.unit.rank, "run-now");
        assert_eq!(drill.unit("test/once:later").await.unit.due_at, Some(later));
        assert_eq!(drill.state("test/once:waits").await, State::Waiting);
    }

    async fn a_stated_due_time_outlasts_the_requirements(db: TestDb) {
        let drill = Drill::new(&db).await;
        let later = drill.now().plus(std::time::Duration::from_mins(5));
        drill.enqueue(once("x").due_at(later).requires(Requirement::hard(once("child")))).await;
        drill.run_one(Outcome::Done).await;
        drill.fold().await;
        let unit = drill.unit("test/once:x").await.unit;
        assert_eq!((unit.state, unit.due_at), (State::Ready, Some(later)));
    }

    async fn work_commits_with_the_data_or_not_at_all(db: TestDb) {
        let drill = Drill::new(&db).await;
        let now = drill.now();
        let mut tx = db.begin().await.unwrap();
        enqueue_in(&mut tx, &[once("x")], now).await.unwrap();
        tx.rollback().await.unwrap();
        assert_eq!(drill.engine.find("test/once:x").await.unwrap(), None);
        let done: Result<Enqueued, EnqueueError> =
            transact!(db, |tx| enqueue_in(tx, &[once("x")], now).await);
        assert_eq!(done.unwrap().created, 1);
        assert!(drill.engine.find("test/once:x").await.unwrap().is_some());
    }

    async fn a_running_unit_that_is_enqueued_runs_once_more_and_no_more(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["x"]).await;
        let held = drill.claim_one().await;
        drill.enqueue_once(&["x"]).await;
        drill.enqueue_once(&["x"]).await;
        drill.end(held, Outcome::Done).await;
        drill.run_one(Outcome::Done).await;
        assert_eq!(drill.state("test/once:x").await, State::Done);
    }

    async fn a_required_unit_that_runs_just_now_does_not_run_twice(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["child"]).await;
        let held = drill.claim_one().await;
        drill.enqueue(once("x").requires(Requirement::hard(once("child")))).await;
        drill.end(held, Outcome::Done).await;
        assert_eq!(drill.state("test/once:child").await, State::Done);
        drill.fold().await;
        assert_eq!(drill.claim_one().await.key(), "x");
    }

    async fn the_same_units_from_both_sides_at_once(db: TestDb) {
        let drill = Drill::new(&db).await;
        let keys: Vec<String> = (0..200).map(|n| format!("k{n}")).collect();
        let forth = drill.engine.enqueue(keys.iter().map(|key| once(key)).collect());
        let back = drill.engine.enqueue(keys.iter().rev().map(|key| once(key)).collect());
        let (forth, back) = tokio::join!(forth, back);
        assert_eq!(forth.unwrap().created + back.unwrap().created, 200);
    }
}

async fn clear(drill: &Drill) {
    for table in [
        "DELETE FROM unit_body",
        "DELETE FROM requirement",
        "DELETE FROM unfolded",
        "DELETE FROM run",
        "DELETE FROM ready",
        "DELETE FROM unit",
    ] {
        drill.engine.db().execute(db::sql!(table)).await.unwrap();
    }
}
