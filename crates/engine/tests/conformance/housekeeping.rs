//! Retention, upgrades, and the look for what should be impossible.

use std::time::Duration;

use db::{sql, testing::both};
use engine::{Kind, Outcome, Requirement, Selection, State};

use crate::drill::{DAY, Drill, ONCE, ROUND, once, round};

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn done_and_cancelled_units_go_when_they_are_old_and_nobody_needs_them(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["old"]).await;
        drill.run_one(Outcome::Done).await;
        drill.enqueue_once(&["called off"]).await;
        let off = drill.id("test/once:called off").await;
        drill.engine.cancel(&Selection { ids: Some(vec![off]), ..Selection::default() }, false).await.unwrap();
        drill.enqueue(round("recurring")).await;
        drill.run_one(Outcome::Done).await;
        drill.time.advance(DAY * 2);
        drill.enqueue_once(&["young"]).await;
        drill.run_one(Outcome::Done).await;
        drill.enqueue_once(&["waiting for nobody"]).await;
        assert_eq!(drill.engine.step_retire(DAY).await.unwrap(), 2);
        for address in ["test/once:old", "test/once:called off"] {
            assert_eq!(drill.engine.find(address).await.unwrap(), None);
        }
        assert_eq!(drill.count("SELECT count(*) AS n FROM unit").await, 3);
        let orphans = "SELECT count(*) AS n FROM unit_body WHERE NOT EXISTS (SELECT 1 FROM unit WHERE unit.id = unit_body.unit)";
        assert_eq!(drill.count(orphans).await, 0);
        assert_eq!(drill.engine.step_retire(DAY).await.unwrap(), 0);
        // Gone is as if it never was.
        assert_eq!(drill.engine.enqueue(vec![once("old")]).await.unwrap().created, 1);
    }

    async fn a_done_unit_that_somebody_waits_for_stays(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["child"]).await;
        drill.run_one(Outcome::Done).await;
        drill.time.advance(DAY * 2);
        let parent = once("parent")
            .requires(Requirement::hard(once("child")))
            .requires(Requirement::hard(once("other")));
        drill.enqueue(parent).await;
        assert_eq!(drill.engine.step_retire(DAY).await.unwrap(), 0);
        drill.fold().await;
        assert_eq!(drill.engine.step_retire(DAY).await.unwrap(), 1, "the edge is met");
    }

    async fn a_new_version_makes_older_results_due(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(round("r")).await;
        drill.enqueue(once("o")).await;
        for held in drill.claim(2).await {
            drill.end(held, Outcome::Done).await;
        }
        let newer = |mut kind: Kind| { kind.version = 2; kind };
        assert_eq!(drill.engine.step_upgrade(&ROUND).await.unwrap(), 0);
        assert_eq!(drill.engine.step_upgrade(&newer(ROUND)).await.unwrap(), 1);
        assert_eq!(drill.engine.step_upgrade(&newer(ONCE)).await.unwrap(), 1);
        assert_eq!(drill.engine.step_upgrade(&newer(ONCE)).await.unwrap(), 0, "once is enough");
        assert!(drill.claim(5).await.is_empty(), "the old binary leaves them alone");
        let upgraded = drill.another(&[newer(ONCE), newer(ROUND)]).await;
        assert_eq!(crate::drill::claim(&upgraded, 5).await.len(), 2);
    }

    async fn the_repair_mends_what_a_hand_in_the_tables_broke(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("parent").requires(Requirement::hard(once("child")))).await;
        drill.fold().await;
        assert!(!drill.engine.step_repair().await.unwrap());
        db.execute(sql!("DELETE FROM unit WHERE key = 'child'")).await.unwrap();
        assert!(drill.engine.step_repair().await.unwrap());
        drill.fold().await;
        assert_eq!(drill.state("test/once:parent").await, State::Ready);
        drill.time.advance(Duration::from_secs(1));
        drill.enqueue(once("other").requires(Requirement::hard(once("kid")))).await;
        drill.fold().await;
        db.execute(sql!("DELETE FROM requirement")).await.unwrap();
        assert!(drill.engine.step_repair().await.unwrap());
        drill.fold().await;
        assert_eq!(drill.state("test/once:other").await, State::Ready);
    }

    async fn ready_units_that_lost_their_place_get_it_back(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b"]).await;
        db.execute(sql!("DELETE FROM ready")).await.unwrap();
        assert!(drill.claim(5).await.is_empty(), "nobody knows of them");
        assert!(drill.engine.step_repair().await.unwrap());
        drill.time.advance(Duration::from_secs(6));
        assert_eq!(drill.claim(5).await.len(), 2);
        assert!(!drill.engine.step_repair().await.unwrap(), "running ones have no place");
    }

    async fn stale_hints_hide_nothing_and_vanish(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b", "c"]).await;
        let cancelled = drill.id("test/once:a").await;
        let chosen = Selection { ids: Some(vec![cancelled]), ..Selection::default() };
        drill.engine.cancel(&chosen, false).await.unwrap();
        drill.time.advance(Duration::from_secs(1));
        // Moved to another rank: its former place is stale.
        drill.enqueue(once("b").now()).await;
        assert_eq!(drill.count("SELECT count(*) AS n FROM ready").await, 4);
        let mut keys = Vec::new();
        for _ in 0..2 {
            keys.extend(drill.claim(5).await.iter().map(|held| held.key().to_owned()));
        }
        assert_eq!(keys, ["b", "c"]);
        assert!(drill.claim(5).await.is_empty());
        assert_eq!(drill.count("SELECT count(*) AS n FROM ready").await, 0);
    }
}
