//! The truth table of requirement x child's end, every cell; mending; cycles.

use std::time::Duration;

use db::{sql, testing::both};
use engine::{Enqueue, EnqueueError, Outcome, Requirement, RunError, Selection, State, Why};

use crate::drill::{DAY, Drill, ONCE, once, partial, round};

const PARENT: &str = "test/once:parent";
const CHILD: &str = "test/round:child";

async fn parent_waits(drill: &Drill, requirement: Requirement) {
    drill.enqueue(once("parent").requires(requirement)).await;
    drill.fold().await;
}

fn only(id: i64) -> Selection {
    Selection {
        ids: Some(vec![id]),
        ..Selection::default()
    }
}

/// How the child ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Gone,
    Partial,
    Strike,
    Parked,
    Cancelled,
    Retry,
    Nothing,
}

async fn child_ends(drill: &Drill, end: End) {
    let later = drill.now().plus(Duration::from_mins(1));
    match end {
        End::Nothing => {}
        End::Done => drop(drill.run_one(Outcome::Done).await),
        End::Gone => drop(drill.run_one(Outcome::Gone { why: "404".into() }).await),
        End::Partial => drop(drill.run_one(partial()).await),
        End::Retry => drop(
            drill
                .run_one(Outcome::Retry {
                    at: later,
                    why: "429".into(),
                })
                .await,
        ),
        End::Strike => {
            let held = drill.claim_one().await;
            drill.fail(held, RunError::unit("no")).await;
        }
        End::Parked => park(drill).await,
        End::Cancelled => {
            let id = drill.id(CHILD).await;
            drill.engine.cancel(&only(id), false).await.unwrap();
        }
    }
    drill.fold().await;
}

/// Ten strikes for whatever is due.
async fn park(drill: &Drill) {
    for _ in 0..10 {
        let held = drill.claim_one().await;
        drill.fail(held, RunError::unit("broken")).await;
        drill.time.advance(Duration::from_hours(4));
    }
}

async fn edge(drill: &Drill) -> Option<String> {
    let edges = drill.unit(PARENT).await.requirements;
    edges.first().map(|edge| edge.state.clone())
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
        drill.engine.db().execute(sql!(table)).await.unwrap();
    }
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn every_end_of_a_child_by_every_sort_of_edge(db: TestDb) {
        let drill = Drill::new(&db).await;
        let table = [
            // the child's end, the parent and its edge when hard, and when soft
            (End::Done, (State::Ready, None), (State::Ready, None)),
            (End::Gone, (State::Ready, None), (State::Ready, None)),
            (End::Partial, (State::Waiting, Some("open")), (State::Ready, None)),
            (End::Strike, (State::Waiting, Some("open")), (State::Waiting, Some("open"))),
            (End::Retry, (State::Waiting, Some("open")), (State::Waiting, Some("open"))),
            (End::Nothing, (State::Waiting, Some("open")), (State::Waiting, Some("open"))),
            (End::Parked, (State::Parked, Some("failed")), (State::Ready, Some("missed"))),
            (End::Cancelled, (State::Parked, Some("failed")), (State::Ready, Some("missed"))),
        ];
        for (end, hard, soft) in table {
            for (is_hard, expected) in [(true, hard), (false, soft)] {
                // Once with the edge there before the end, once with it made after.
                for before in [true, false] {
                    let unit = round("child");
                    let one = if is_hard { Requirement::hard(unit) } else { Requirement::soft(unit) };
                    if before {
                        parent_waits(&drill, one).await;
                        child_ends(&drill, end).await;
                    } else {
                        drill.enqueue(round("child")).await;
                        child_ends(&drill, end).await;
                        parent_waits(&drill, one).await;
                    }
                    let found = (drill.state(PARENT).await, edge(&drill).await);
                    let expected = (expected.0, expected.1.map(str::to_owned));
                    assert_eq!(found, expected, "{end:?} hard {is_hard} edge first {before}");
                    clear(&drill).await;
                }
            }
        }
    }

    async fn success_must_be_late_enough(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(round("child")).await;
        drill.run_one(Outcome::Done).await;
        drill.time.advance(Duration::from_hours(1));
        let since = drill.now();
        parent_waits(&drill, Requirement::hard(round("child")).since(since)).await;
        assert_eq!(drill.state(PARENT).await, State::Waiting);
        drill.time.advance(DAY);
        drill.run_one(Outcome::Done).await;
        drill.fold().await;
        assert_eq!(drill.state(PARENT).await, State::Ready);
    }

    async fn a_one_off_that_succeeded_too_early_runs_again(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["early"]).await;
        drill.run_one(Outcome::Done).await;
        drill.time.advance(Duration::from_hours(1));
        let since = drill.now();
        parent_waits(&drill, Requirement::hard(once("early")).since(since)).await;
        assert_eq!(drill.run_one(Outcome::Done).await.key(), "early");
        drill.fold().await;
        assert_eq!(drill.state(PARENT).await, State::Ready);
    }

    async fn past_its_deadline_a_hard_edge_parks_and_a_soft_one_is_missed(db: TestDb) {
        let drill = Drill::new(&db).await;
        for hard in [true, false] {
            let deadline = drill.now().plus(Duration::from_mins(5));
            let mut one = Requirement::soft(round("child")).deadline(deadline);
            one.hard = hard;
            parent_waits(&drill, one).await;
            assert_eq!(drill.engine.step_expire().await.unwrap(), 0);
            drill.time.advance(Duration::from_mins(5));
            assert_eq!(drill.engine.step_expire().await.unwrap(), 1);
            drill.fold().await;
            let expected = if hard { (State::Parked, "failed") } else { (State::Ready, "missed") };
            assert_eq!((drill.state(PARENT).await, edge(&drill).await.as_deref()), (expected.0, Some(expected.1)));
            if hard {
                // Late is better than never.
                drill.run_one(Outcome::Done).await;
                drill.fold().await;
                assert_eq!(drill.state(PARENT).await, State::Ready);
            }
            clear(&drill).await;
        }
    }

    async fn a_parked_child_parks_the_whole_line_and_mending_frees_it(db: TestDb) {
        let drill = Drill::new(&db).await;
        let middle = once("middle").requires(Requirement::hard(once("culprit")));
        drill.enqueue(middle).await;
        drill.enqueue(once("parent").requires(Requirement::hard(once("middle")))).await;
        drill.fold().await;
        park(&drill).await;
        drill.fold().await;
        drill.fold().await;
        assert_eq!(drill.state("test/once:middle").await, State::Parked);
        assert_eq!(drill.state(PARENT).await, State::Parked);
        let id = drill.id("test/once:middle").await;
        let why = drill.engine.why(id).await.unwrap().unwrap();
        let culprits = why.iter().find_map(|why| match why {
            Why::Requirement { requirements, .. } => Some(requirements.clone()),
            _ => None,
        }).unwrap();
        assert_eq!((culprits[0].key.as_str(), culprits[0].state.as_str()), ("culprit", "failed"));

        // Retrying the parent means retrying the one at the root of it.
        let id = drill.id(PARENT).await;
        let changed = drill.engine.retry(&only(id), false).await.unwrap();
        assert_eq!((changed.selected, changed.changed), (1, 1));
        assert_eq!(drill.state("test/once:middle").await, State::Parked);
        for key in ["culprit", "middle", "parent"] {
            assert_eq!(drill.run_one(Outcome::Done).await.key(), key);
            drill.fold().await;
        }
    }

    async fn a_parked_parent_waits_until_the_last_culprit_is_mended(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(
            once("parent")
                .requires(Requirement::hard(once("a")))
                .requires(Requirement::hard(once("b"))),
        ).await;
        for key in ["test/once:a", "test/once:b"] {
            let id = drill.id(key).await;
            drill.engine.cancel(&only(id), false).await.unwrap();
        }
        drill.fold().await;
        assert_eq!(drill.state(PARENT).await, State::Parked);
        for (key, state) in [("test/once:a", State::Parked), ("test/once:b", State::Ready)] {
            let id = drill.id(key).await;
            drill.engine.retry(&only(id), false).await.unwrap();
            drill.run_one(Outcome::Done).await;
            drill.fold().await;
            assert_eq!(drill.state(PARENT).await, state);
        }
    }

    async fn a_run_may_wait_for_others_and_runs_again_after_them(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["parent"]).await;
        let requirements = (0..20).map(|n| Requirement::soft(once(&format!("c{n}")))).collect();
        drill.run_one(Outcome::Wait { requirements }).await;
        drill.fold().await;
        for _ in 0..20 {
            assert_eq!(drill.state(PARENT).await, State::Waiting);
            drill.run_one(Outcome::Done).await;
            drill.fold().await;
        }
        assert_eq!(drill.claim_one().await.key(), "parent");
    }

    async fn a_run_may_wait_for_nothing(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["parent"]).await;
        drill.run_one(Outcome::Wait { requirements: Vec::new() }).await;
        drill.fold().await;
        assert_eq!(drill.claim_one().await.attempt(), 2);
    }

    async fn a_run_may_wait_for_more_than_one_transaction_holds(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue_once(&["parent"]).await;
        let requirements = (0..4_000).map(|n| Requirement::hard(once(&format!("c{n}")))).collect();
        drill.run_one(Outcome::Wait { requirements }).await;
        assert_eq!(drill.count("SELECT count(*) AS n FROM requirement").await, 4_000);
        drill.fold().await;
        let mut done = 0;
        while done < 4_000 {
            let claimed = drill.claim(500).await;
            assert!(!claimed.is_empty());
            done += claimed.len();
            let ends = claimed.into_iter().map(|held| {
                let ending = drill.hand.run(&held).end(Outcome::Done, ());
                (held, Ok(ending))
            }).collect();
            drill.hand.turn("p", ends, 0, false).await.unwrap();
        }
        drill.fold().await;
        assert_eq!(drill.claim_one().await.key(), "parent");
    }

    async fn two_requirements_on_one_unit_are_one_and_the_stricter_counts(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(
            once("parent")
                .requires(Requirement::soft(round("child")))
                .requires(Requirement::hard(round("child"))),
        ).await;
        assert_eq!(drill.count("SELECT count(*) AS n FROM requirement WHERE hard").await, 1);
    }

    async fn cycles_are_refused_however_long(db: TestDb) {
        let drill = Drill::new(&db).await;
        let requires = |from: &str, to: &str| once(from).requires(Requirement::hard(once(to)));
        for units in [
            vec![requires("self", "self")],
            vec![requires("x", "y"), requires("y", "x")],
            vec![requires("1", "2"), requires("2", "3"), requires("3", "1")],
            vec![once("n").requires(Requirement::hard(requires("m", "n")))],
        ] {
            let error = drill.engine.enqueue(units).await.unwrap_err();
            assert!(matches!(error, EnqueueError::Cycle(_)), "{error}");
            assert_eq!(drill.count("SELECT count(*) AS n FROM unit").await, 0, "nothing is left behind");
        }
        // Closing a circle by a run's own wish is that run's fault.
        drill.enqueue(requires("a", "b")).await;
        drill.enqueue_once(&["b"]).await;
        let requirements = vec![Requirement::hard(once("a"))];
        drill.run_one(Outcome::Wait { requirements }).await;
        let unit = drill.unit("test/once:b").await.unit;
        assert_eq!((unit.state, unit.strikes), (State::Ready, 1));
        assert!(unit.error.unwrap().contains("cycle"));
    }

    async fn of_two_halves_of_a_cycle_at_once_one_is_refused(db: TestDb) {
        let drill = Drill::new(&db).await;
        for n in 0..10 {
            let (a, b) = (format!("a{n}"), format!("b{n}"));
            drill.enqueue_once(&[&a, &b]).await;
            let mut held = drill.claim(2).await;
            let (other, one) = (held.pop().unwrap(), held.pop().unwrap());
            let wait_for = |key: &str| Outcome::Wait { requirements: vec![Requirement::hard(once(key))] };
            let first = drill.end(one.clone(), wait_for(other.key()));
            let second = drill.end(other.clone(), wait_for(one.key()));
            let (first, second) = tokio::join!(first, second);
            assert!(first && second);
            let waiting = drill.count("SELECT count(*) AS n FROM unit WHERE state = 'waiting'").await;
            assert_eq!(waiting, 1, "one waits, the other was refused");
            clear(&drill).await;
        }
    }

    async fn wake_ups_are_not_lost_between_many_resolvers(db: TestDb) {
        let drill = Drill::new(&db).await;
        let parents: Vec<Enqueue> = (0..20)
            .map(|n| (0..5).fold(Enqueue::new(&ONCE, format!("parent{n}")), |unit, m| {
                unit.requires(Requirement::hard(once(&format!("c{}", (n + m) % 7))))
            }))
            .collect();
        let work = async {
            for _ in 0..60 {
                for held in drill.claim(2).await {
                    drill.end(held, Outcome::Done).await;
                }
                tokio::task::yield_now().await;
            }
        };
        let fold = || async {
            for _ in 0..60 {
                drill.engine.step_fold().await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let enqueue = async {
            for parent in parents.clone() {
                drill.engine.enqueue(vec![parent]).await.unwrap();
            }
        };
        tokio::join!(work, fold(), fold(), enqueue);
        while drill.count("SELECT count(*) AS n FROM unit WHERE state <> 'done'").await > 0 {
            drill.fold().await;
            let claimed = drill.claim(50).await;
            if claimed.is_empty() {
                drill.time.advance(Duration::from_secs(2));
            }
            for held in claimed {
                drill.end(held, Outcome::Done).await;
            }
        }
    }
}
