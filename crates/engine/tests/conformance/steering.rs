//! Steering in bulk, and the reasons why a unit does not run.

use std::time::Duration;

use db::{sql, testing::both};
use engine::{Changed, Outcome, Requirement, RunError, Selection, State, UnitFilter, Why};

use crate::drill::{Drill, ONCE, once, round};

fn changed(selected: usize, changed: usize) -> Changed {
    Changed { selected, changed }
}

/// The names of the reasons, as the API has them.
async fn why(drill: &Drill, address: &str) -> Vec<String> {
    let id = drill.id(address).await;
    let reasons = drill.engine.why(id).await.unwrap().unwrap();
    reasons
        .iter()
        .map(|why| {
            serde_json::to_value(why).unwrap()["reason"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn bulk_actions_count_first_and_change_only_what_was_meant(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["github.com/a", "github.com/b", "gitlab.com/a", "Github.com/c"]).await;
        drill.enqueue(round("github.com/a")).await;
        for held in drill.claim(10).await {
            let error = if held.key().ends_with('a') { "timeout 100%" } else { "refused" };
            drill.fail(held, RunError::unit(error)).await;
        }
        let github = Selection {
            kind: Some("test/once".into()),
            key: Some("github.com/*".into()),
            ..Selection::default()
        };
        let timeout = Selection { error: Some("100%".into()), ..Selection::default() };
        let round = Selection { kind: Some("test".into()), state: Some(State::Ready), ..Selection::default() };
        for (which, count) in [(&github, 2), (&timeout, 3), (&round, 5)] {
            assert_eq!(drill.engine.retry(which, true).await.unwrap(), changed(count, count));
        }
        assert_eq!(drill.count("SELECT count(*) AS n FROM unit WHERE strikes = 1").await, 5, "nothing was done yet");
        assert_eq!(drill.engine.retry(&github, false).await.unwrap(), changed(2, 2));
        assert_eq!(drill.count("SELECT count(*) AS n FROM unit WHERE strikes = 1").await, 3);
        assert_eq!(drill.engine.retry(&github, false).await.unwrap(), changed(2, 0), "nothing left to forgive");
        assert_eq!(drill.engine.cancel(&timeout, false).await.unwrap(), changed(3, 3));
        assert_eq!(drill.engine.cancel(&timeout, true).await.unwrap(), changed(3, 0));
        let cancelled = Selection { state: Some(State::Cancelled), ..Selection::default() };
        assert_eq!(drill.engine.run_now(&cancelled, false).await.unwrap(), changed(3, 3));
        assert_eq!(drill.engine.run_now(&Selection { ids: Some(vec![]), ..Selection::default() }, false).await.unwrap(), changed(0, 0));
        let filter = UnitFilter { key: Some("*/a".into()), error: Some("100%".into()), limit: 10, ..UnitFilter::default() };
        assert_eq!(drill.engine.units(&filter).await.unwrap().len(), 3);
    }

    async fn cancelling_a_running_unit_stops_its_writes(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        let held = drill.claim_one().await;
        assert_eq!(drill.engine.cancel(&Selection::default(), false).await.unwrap(), changed(1, 1));
        assert!(!drill.end(held, Outcome::Done).await);
        assert_eq!(drill.state("test/once:a").await, State::Cancelled);
        assert_eq!(why(&drill, "test/once:a").await, ["cancelled"]);
    }

    async fn run_now_means_now_or_once_more(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("later").due_at(drill.now().plus(Duration::from_hours(1)))).await;
        drill.enqueue(once("parent").requires(Requirement::hard(once("child")))).await;
        let held = drill.claim_one().await;
        assert_eq!(held.key(), "child");
        assert_eq!(drill.engine.run_now(&Selection::default(), true).await.unwrap(), changed(3, 2));
        assert_eq!(drill.engine.run_now(&Selection::default(), false).await.unwrap(), changed(3, 2));
        assert_eq!(drill.claim_one().await.key(), "later");
        assert_eq!(drill.state("test/once:parent").await, State::Waiting);
        drill.end(held, Outcome::Done).await;
        assert_eq!(drill.claim_one().await.key(), "child", "once more");
    }

    async fn every_reason_why_a_unit_does_not_run(db: TestDb) {
        let drill = Drill::new(&db).await;
        assert!(drill.engine.why(12_345).await.unwrap().is_none());

        drill.enqueue(once("done")).await;
        drill.run_one(Outcome::Done).await;
        assert_eq!(why(&drill, "test/once:done").await, ["done"]);

        drill.enqueue(once("running")).await;
        drill.claim_one().await;
        assert_eq!(why(&drill, "test/once:running").await, ["running"]);

        drill.enqueue(once("later").due_at(drill.now().plus(Duration::from_hours(1)))).await;
        assert_eq!(why(&drill, "test/once:later").await, ["due-later"]);

        drill.enqueue(once("parent").requires(Requirement::hard(once("asks").upstream("u")))).await;
        let id = drill.id("test/once:parent").await;
        match &drill.engine.why(id).await.unwrap().unwrap()[..] {
            [Why::Requirement { requirements, open: 1 }] => assert_eq!(requirements[0].key, "asks"),
            other => panic!("{other:?}"),
        }

        assert_eq!(why(&drill, "test/once:asks").await, ["pool-full"]);
        db.execute(sql!(
            "INSERT INTO upstream (name, failures, openings, open_until, last_error) VALUES ('u', 10, 1, $1, '502')",
            drill.now().plus(Duration::from_mins(1))
        )).await.unwrap();
        assert_eq!(why(&drill, "test/once:asks").await, ["breaker-open"]);
        db.execute(sql!("UPDATE upstream SET paused_at = $1, paused_why = 'asked to'", drill.now())).await.unwrap();
        drill.engine.pause_pool("p", "maintenance").await.unwrap();
        assert_eq!(why(&drill, "test/once:asks").await, ["upstream-paused", "breaker-open", "pool-paused"]);
        assert!(drill.engine.reset_upstream("u").await.unwrap());
        assert!(!drill.engine.reset_upstream("nobody").await.unwrap());
        assert_eq!(why(&drill, "test/once:asks").await, ["pool-paused"]);
        drill.engine.resume_pool("p").await.unwrap();

        let other = engine::Kind::one_off("test/unknown");
        drill.enqueue(engine::Enqueue::new(&other, "x")).await;
        assert_eq!(why(&drill, "test/unknown:x").await, ["no-worker"]);

        for _ in 0..10 {
            let held = drill.claim(10).await.into_iter().find(|held| held.key() == "asks");
            drill.fail(held.unwrap(), RunError::unit("broken")).await;
            drill.time.advance(Duration::from_hours(4));
        }
        drill.fold().await;
        assert_eq!(why(&drill, "test/once:asks").await, ["parked"]);
        assert_eq!(why(&drill, "test/once:parent").await, ["parked", "requirement"]);
    }

    async fn the_lists_tell_what_is(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b"]).await;
        drill.enqueue(round("later").due_at(drill.now().plus(Duration::from_hours(1)))).await;
        drill.claim(1).await;
        let pools = drill.engine.pools().await.unwrap();
        assert_eq!((pools[0].pool.as_str(), pools[0].running, pools[0].due, pools[0].later), ("p", 1, 1, 1));
        let workers = drill.engine.workers().await.unwrap();
        assert_eq!((workers.len(), workers[0].running, workers[0].worker), (1, 1, drill.hand.worker()));
        let counts = drill.engine.counts().await.unwrap();
        let ready = counts.iter().find(|count| count.kind == ONCE.name && count.state == State::Ready).unwrap();
        assert_eq!((ready.units, ready.due, ready.oldest_due_at), (1, 1, Some(drill.now())));
    }
}
