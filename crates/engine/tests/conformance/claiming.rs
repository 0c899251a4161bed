//! Claims: exactly n, never twice, the oldest due first, and only what may run.

use std::{collections::HashSet, time::Duration};

use db::{sql, testing::both};
use engine::{Enqueue, Kind, Rank};

use crate::drill::{DAY, Drill, ONCE, ROUND, claim, finish, once, partial, round};

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn a_claim_gets_exactly_what_it_asks_for(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.engine.enqueue((0..10).map(|n| once(&format!("k{n}"))).collect()).await.unwrap();
        assert_eq!(drill.claim(4).await.len(), 4);
        assert_eq!(drill.claim(0).await.len(), 0);
        assert_eq!(drill.claim(100).await.len(), 6);
        assert_eq!(drill.claim(100).await.len(), 0);
    }

    async fn many_at_once_never_get_the_same_unit(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.engine.enqueue((0..300).map(|n| once(&format!("k{n}"))).collect()).await.unwrap();
        let mut tasks = Vec::new();
        for _ in 0..6 {
            let hand = drill.another(&[ONCE]).await;
            let time = drill.time.clone();
            tasks.push(tokio::spawn(async move {
                let mut got = Vec::new();
                let mut empty = 0;
                while empty < 5 {
                    let claimed = claim(&hand, 7).await;
                    assert!(claimed.len() <= 7);
                    if claimed.is_empty() {
                        // Rows that others were taking look like nothing; the
                        // pair rests for a second.
                        time.advance(Duration::from_secs(2));
                        empty += 1;
                    }
                    got.extend(claimed.iter().map(|held| (held.id(), held.attempt())));
                }
                got
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        assert_eq!(all.len(), 300, "each unit once");
        assert_eq!(all.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), 300);
        assert!(all.iter().all(|(_, attempt)| *attempt == 1));
    }

    async fn the_oldest_due_comes_first_and_the_future_not_at_all(db: TestDb) {
        let drill = Drill::new(&db).await;
        let now = drill.now();
        for (key, minutes) in [("late", 1), ("first", 9), ("second", 5)] {
            let due = now.minus(Duration::from_mins(minutes));
            drill.enqueue(once(key).due_at(due)).await;
        }
        drill.enqueue(once("future").due_at(now.plus(Duration::from_secs(1)))).await;
        for key in ["first", "second", "late"] {
            assert_eq!(drill.claim_one().await.key(), key);
        }
        assert!(drill.claim(5).await.is_empty());
        drill.time.advance(Duration::from_secs(1));
        assert_eq!(drill.claim_one().await.key(), "future");
    }

    async fn unknown_kinds_and_newer_versions_are_left_alone(db: TestDb) {
        let drill = Drill::with(&db, &[ONCE]).await;
        let mut newer = ONCE;
        newer.version = 2;
        let now = drill.now();
        drill.enqueue(round("other kind")).await;
        drill.enqueue(Enqueue::new(&newer, "newer")).await;
        drill.enqueue(once("mine").due_at(now)).await;
        let claimed = drill.claim(10).await;
        assert_eq!(claimed.iter().map(engine::steps::Held::key).collect::<Vec<_>>(), ["mine"]);
        let upgraded = drill.another(&[newer, ROUND]).await;
        assert_eq!(claim(&upgraded, 10).await.len(), 2);
    }

    async fn paused_pools_and_blocked_upstreams_are_not_asked_for(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a").upstream("down.example")).await;
        drill.enqueue(once("b").upstream("up.example")).await;
        db.execute(sql!(
            "INSERT INTO upstream (name, failures, openings, open_until) VALUES ('down.example', 0, 0, $1)",
            drill.now().plus(Duration::from_mins(5))
        )).await.unwrap();
        drill.engine.pause_pool("p", "maintenance").await.unwrap();
        assert!(drill.claim(10).await.is_empty(), "the pool is paused");
        assert!(drill.engine.resume_pool("p").await.unwrap());
        assert!(!drill.engine.resume_pool("p").await.unwrap());
        assert_eq!(drill.claim_one().await.key(), "b");
        assert!(drill.claim(10).await.is_empty(), "the breaker is open");
        let due = drill.unit("test/once:a").await.unit.due_at;
        assert_eq!(due, Some(drill.now()), "a pause never rewrites due times");
        drill.time.advance(Duration::from_mins(5));
        assert_eq!(drill.claim_one().await.key(), "a");
    }

    async fn what_becomes_due_in_a_paused_pool_waits_for_its_resumption(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("soon").due_at(drill.now().plus(Duration::from_millis(300)))).await;
        drill.engine.pause_pool("p", "maintenance").await.unwrap();
        assert!(drill.claim(1).await.is_empty());
        drill.time.advance(Duration::from_millis(400));
        assert!(drill.claim(1).await.is_empty());
        drill.engine.resume_pool("p").await.unwrap();
        assert_eq!(drill.claim(1).await.len(), 1);
    }

    async fn ranks_share_and_nobody_starves(db: TestDb) {
        let drill = Drill::new(&db).await;
        // One that failed, one that was partial, and no end of new ones.
        drill.enqueue_once(&["struck"]).await;
        let held = drill.claim_one().await;
        drill.fail(held, engine::RunError::unit("no")).await;
        drill.enqueue_once(&["partial"]).await;
        drill.run_one(partial()).await;
        drill.time.advance(Duration::from_mins(10));
        let mut order = Vec::new();
        for n in 0..60 {
            let new = format!("new{n}");
            drill.enqueue_once(&[&new, &format!("{new}b")]).await;
            let held = drill.claim_one().await;
            order.push(held.key().to_owned());
            drill.end(held, engine::Outcome::Done).await;
        }
        let place = |key: &str| order.iter().position(|it| it == key).unwrap();
        assert!(place("partial") <= 2, "{order:?}");
        assert!(place("struck") <= 21, "{order:?}");
    }

    async fn run_now_goes_before_all(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b", "c"]).await;
        drill.enqueue(once("urgent").now()).await;
        let held = drill.claim_one().await;
        assert_eq!((held.key(), held.rank()), ("urgent", Rank::RunNow));
    }

    async fn a_turn_ends_and_claims_at_once_and_what_runs_again_is_found(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        let held = drill.claim_one().await;
        drill.enqueue_once(&["a"]).await;
        let ending = drill.hand.run(&held).end(engine::Outcome::Done, ());
        let (next, kept) = drill.hand.turn("p", vec![(held.clone(), Ok(ending))], 1, false).await.unwrap();
        assert_eq!(kept, [(held.id(), 1)]);
        assert_eq!((next[0].id(), next[0].attempt()), (held.id(), 2));
        assert!(!finish(&drill.hand, held, Err(engine::RunError::unit("late"))).await);
    }

    async fn a_pools_kinds_share_it_and_other_pools_are_apart(db: TestDb) {
        const ELSEWHERE: Kind = Kind::recurring("test/elsewhere", DAY);
        let drill = Drill::with(&db, &[ONCE, ROUND, ELSEWHERE]).await;
        drill.enqueue(once("a")).await;
        drill.enqueue(round("a")).await;
        drill.enqueue(Enqueue::new(&ELSEWHERE, "a")).await;
        assert_eq!(drill.claim(10).await.len(), 2);
        let (claimed, _) = drill.hand.turn("test/elsewhere", Vec::new(), 5, false).await.unwrap();
        assert_eq!(claimed.len(), 1);
    }
}
