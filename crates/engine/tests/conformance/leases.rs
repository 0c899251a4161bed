//! Processes that die, sleep, lose answers, or are killed by what they run.

use std::time::Duration;

use db::testing::{CommitFault, both};
use engine::{Outcome, Rank, RunError, Selection, State, steps::Hand};

use crate::drill::{ALMOST_DEAD, DAY, DEAD_AFTER, Drill, ONCE, claim, finish, once};

/// Lets the observer see that a process has been silent for too long.
async fn outlive(drill: &Drill, observer: &mut Hand) -> usize {
    observer.look().await.unwrap();
    drill.time.advance(DEAD_AFTER);
    observer.beat().await.unwrap();
    observer.look().await.unwrap()
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn the_units_of_a_dead_process_are_freed_in_time_and_not_before(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b"]).await;
        let dead = drill.another(&[ONCE]).await;
        let held = claim(&dead, 2).await;
        assert_eq!(drill.hand.look().await.unwrap(), 0);
        drill.time.advance(ALMOST_DEAD);
        drill.hand.beat().await.unwrap();
        assert_eq!(drill.hand.look().await.unwrap(), 0, "it might still beat");
        drill.time.advance(Duration::from_secs(1));
        assert_eq!(drill.hand.look().await.unwrap(), 2);
        let unit = drill.unit("test/once:a").await;
        assert_eq!((unit.unit.state, unit.unit.lost, unit.unit.strikes), (State::Ready, 1, 0));
        assert_eq!(unit.runs[0].outcome, "lost");
        // It was only asleep: it learns its fate, and can write nothing.
        assert!(!dead.beat().await.unwrap());
        for held in held {
            let ending = dead.run(&held).end(Outcome::Done, ());
            assert!(!finish(&dead, held, Ok(ending)).await);
        }
        assert_eq!(drill.claim(5).await.len(), 2);
    }

    async fn a_jumping_wall_clock_kills_nobody(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        let alive = drill.another(&[ONCE]).await;
        claim(&alive, 1).await;
        for jump in [86_400_000_000, -2 * 86_400_000_000] {
            drill.hand.look().await.unwrap();
            drill.time.jump(jump);
            assert_eq!(drill.hand.look().await.unwrap(), 0);
            assert!(alive.beat().await.unwrap());
        }
    }

    async fn who_beats_lives_however_long(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        let alive = drill.another(&[ONCE]).await;
        claim(&alive, 1).await;
        for _ in 0..10 {
            drill.time.advance(ALMOST_DEAD);
            assert!(alive.beat().await.unwrap());
            assert_eq!(drill.hand.look().await.unwrap(), 0);
        }
    }

    async fn a_unit_that_kills_processes_runs_alone_then_strikes_then_is_parked(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["poison"]).await;
        let mut lost = 0;
        loop {
            lost += 1;
            let victim = drill.another(&[ONCE]).await;
            let alone = lost > 3;
            if alone {
                assert!(claim(&victim, 1).await.is_empty(), "not beside others");
            }
            let (claimed, _) = victim.turn("p", Vec::new(), 1, alone).await.unwrap();
            assert_eq!(claimed.len(), 1, "lost {lost}");
            assert_eq!(claimed[0].rank() == Rank::Alone, alone);
            drop(victim);
            drill.hand.look().await.unwrap();
            drill.time.advance(DEAD_AFTER);
            drill.hand.beat().await.unwrap();
            assert_eq!(drill.hand.look().await.unwrap(), 1);
            let unit = drill.unit("test/once:poison").await.unit;
            assert_eq!((unit.lost, unit.strikes), (lost, (lost - 3).max(0)));
            if unit.state == State::Parked {
                break;
            }
            drill.time.advance(Duration::from_hours(4));
            drill.hand.beat().await.unwrap();
        }
        assert_eq!(lost, 13, "three lost runs, then ten strikes");
    }

    async fn a_suspect_that_ends_is_no_longer_suspect(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        for _ in 0..3 {
            let victim = drill.another(&[ONCE]).await;
            claim(&victim, 1).await;
            drop(victim);
            outlive(&drill, &mut drill.another(&[ONCE]).await).await;
        }
        drill.hand.beat().await.unwrap();
        let (claimed, _) = drill.hand.turn("p", Vec::new(), 1, true).await.unwrap();
        drill.fail(claimed[0].clone(), RunError::unit("no")).await;
        let unit = drill.unit("test/once:a").await.unit;
        assert_eq!((unit.lost, unit.strikes, unit.rank), (0, 1, "strike"));
    }

    async fn claims_whose_answer_was_lost_are_given_back(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a"]).await;
        db.commit_faults().push(Some(CommitFault::After));
        drill.hand.turn("p", Vec::new(), 1, false).await.unwrap_err();
        assert_eq!(drill.state("test/once:a").await, State::Running);
        drill.hand.compare(&[]).await.unwrap();
        assert_eq!(drill.state("test/once:a").await, State::Running, "it may be on its way");
        drill.hand.compare(&[]).await.unwrap();
        let unit = drill.unit("test/once:a").await.unit;
        assert_eq!((unit.state, unit.lost), (State::Ready, 0));
        let held = drill.claim_one().await;
        assert_eq!(held.attempt(), 2);
        // What it holds and knows of is nobody's stray.
        for _ in 0..3 {
            assert!(drill.hand.compare(std::slice::from_ref(&held)).await.unwrap().is_empty());
        }
    }

    async fn a_run_that_only_believes_its_lease_lost_gives_the_unit_back(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b"]).await;
        let held = drill.claim(2).await;
        for held in held {
            assert!(finish(&drill.hand, held, Err(RunError::LeaseLost)).await);
        }
        let unit = drill.unit("test/once:a").await.unit;
        assert_eq!((unit.state, unit.lost, unit.strikes), (State::Ready, 0, 0));
        assert_eq!(drill.claim(2).await.len(), 2, "and it runs again while the process lives");
        assert!(drill.hand.compare(&[]).await.unwrap().is_empty());
    }

    async fn a_process_learns_what_was_taken_from_it(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue_once(&["a", "b"]).await;
        let held = drill.claim(2).await;
        let id = drill.id("test/once:a").await;
        drill.engine.cancel(&Selection { ids: Some(vec![id]), ..Selection::default() }, false).await.unwrap();
        assert_eq!(drill.hand.compare(&held).await.unwrap(), [id]);
    }

    async fn edges_that_a_dead_run_had_staged_do_not_bind_the_next(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.enqueue(once("parent")).await;
        let dead = drill.another(&[ONCE]).await;
        let held = claim(&dead, 1).await.remove(0);
        let requirements = (0..2_000)
            .map(|n| engine::Requirement::hard(once(&format!("c{n}"))))
            .collect();
        let ending = dead.run(&held).end(Outcome::Wait { requirements }, ());
        // The checkpoint goes through, the end does not.
        db.commit_faults().push(None);
        db.commit_faults().push(Some(CommitFault::Before));
        dead.turn("p", vec![(held, Ok(ending))], 0, false).await.unwrap_err();
        assert!(drill.count("SELECT count(*) AS n FROM requirement").await > 0);
        drop(dead);
        drill.hand.look().await.unwrap();
        drill.time.advance(DEAD_AFTER);
        drill.hand.look().await.unwrap();
        assert_eq!(drill.count("SELECT count(*) AS n FROM requirement").await, 0);
        assert_eq!(drill.state("test/once:parent").await, State::Ready);
        drill.time.advance(DAY);
    }
}
