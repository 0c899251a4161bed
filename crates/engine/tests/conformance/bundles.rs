//! Hints that name many units: claimed whole, broken up, found stale and merged,
//! without anybody noticing.

use std::{collections::BTreeSet, time::Duration};

use db::{sql, testing::both};
use engine::{Ending, Outcome, RunError, Selection, State, steps::Held};

use crate::drill::{DAY, Drill, ONCE, claim, finish, once, round};

/// So many units are a bundle here.
const BUNDLE: usize = 4;

async fn with_units(drill: &Drill, units: usize) {
    engine::steps::bundle_by(BUNDLE);
    let units = (0..units).map(|n| once(&format!("k{n:02}"))).collect();
    drill.engine.enqueue(units).await.unwrap();
}

fn keys(held: &[Held]) -> Vec<&str> {
    held.iter().map(Held::key).collect()
}

/// An end of which there is nothing to say.
fn well(drill: &Drill, held: Held) -> (Held, Result<Ending, RunError>) {
    let ending = drill.hand.run(&held).end(Outcome::Done, ());
    (held, Ok(ending))
}

async fn hints(drill: &Drill) -> Vec<i64> {
    let rows = drill
        .sql("SELECT size FROM ready ORDER BY size, unit")
        .await;
    rows.iter().map(|row| row.get("size").unwrap()).collect()
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn units_that_come_together_share_hints(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, 2 * BUNDLE + 3).await;
        assert_eq!(hints(&drill).await, [3, 4, 4]);
        let claimed = drill.claim(2 * BUNDLE).await;
        assert_eq!(keys(&claimed), ["k00", "k01", "k02", "k03", "k04", "k05", "k06", "k07"]);
        assert_eq!(keys(&drill.claim(50).await), ["k08", "k09", "k10"]);
        assert!(hints(&drill).await.is_empty());
    }

    async fn a_claim_takes_exactly_what_it_wants_of_a_bundle(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, 3 * BUNDLE).await;
        assert_eq!(keys(&drill.claim(1).await), ["k00"]);
        assert_eq!(hints(&drill).await, [1, 1, 1, 4, 4], "the rest of it stands alone");
        assert_eq!(keys(&drill.claim(6).await), ["k01", "k02", "k03", "k04", "k05", "k06"]);
        assert_eq!(hints(&drill).await, [1, 4], "it took what was missing of the next");
        assert_eq!(keys(&drill.claim(50).await), ["k07", "k08", "k09", "k10", "k11"]);
        assert!(drill.claim(50).await.is_empty());
        assert!(!drill.engine.step_repair().await.unwrap());
    }

    async fn members_that_have_gone_elsewhere_are_passed_over(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, BUNDLE).await;
        let cancelled = Selection {
            ids: Some(vec![drill.id("test/once:k00").await, drill.id("test/once:k02").await]),
            ..Selection::default()
        };
        drill.engine.cancel(&cancelled, false).await.unwrap();
        drill.enqueue(once("k03").now()).await;
        let mut claimed = BTreeSet::new();
        for _ in 0..2 {
            claimed.extend(drill.claim(50).await.iter().map(|held| held.key().to_owned()));
        }
        assert_eq!(claimed.into_iter().collect::<Vec<_>>(), ["k01", "k03"]);
        assert!(hints(&drill).await.is_empty());
    }

    async fn a_bundle_and_a_hint_that_begin_alike_lose_nobody(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, BUNDLE).await;
        // Taken up by name it leaves its hint behind, and comes back to the same place.
        let first = drill.id("test/once:k00").await;
        let hand = drill.another(&[ONCE]).await.only(vec![first]);
        let [held] = claim(&hand, 50).await.try_into().unwrap();
        assert_eq!(held.key(), "k00");
        assert_eq!(hints(&drill).await, [4]);
        assert!(finish(&hand, held, Err(RunError::Interrupted)).await);
        assert_eq!(hints(&drill).await, [4]);
        assert_eq!(drill.claim(50).await.len(), BUNDLE);
    }

    async fn a_batch_of_recurring_units_comes_back_as_a_bundle(db: TestDb) {
        engine::steps::bundle_by(BUNDLE);
        let drill = Drill::new(&db).await;
        let units = (0..BUNDLE).map(|n| round(&format!("r{n}"))).collect();
        drill.engine.enqueue(units).await.unwrap();
        let held = drill.claim(BUNDLE).await;
        let ends = held
            .into_iter()
            .map(|held| well(&drill, held))
            .collect();
        drill.hand.turn("p", ends, 0, false).await.unwrap();
        assert_eq!(hints(&drill).await, [4]);
        assert!(drill.claim(50).await.is_empty(), "due in a day");
        drill.time.advance(DAY);
        assert_eq!(drill.claim(50).await.len(), BUNDLE);
    }

    async fn one_that_is_wanted_again_comes_back_alone_from_a_batch(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, BUNDLE).await;
        let held = drill.claim(BUNDLE).await;
        drill.enqueue(once("k02")).await;
        let ends = held
            .into_iter()
            .map(|held| well(&drill, held))
            .collect();
        drill.hand.turn("p", ends, 0, false).await.unwrap();
        drill.time.advance(Duration::from_secs(6));
        assert_eq!(keys(&drill.claim(50).await), ["k02"]);
        assert_eq!(drill.state("test/once:k01").await, State::Done);
    }

    async fn repair_sees_into_bundles(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, 2 * BUNDLE).await;
        assert!(!drill.engine.step_repair().await.unwrap(), "all have their place");
        db.execute(sql!("DELETE FROM ready WHERE unit = (SELECT min(unit) FROM ready)")).await.unwrap();
        drill.engine.step_repair().await.unwrap();
        assert!(drill.engine.step_repair().await.unwrap(), "half of them have lost it");
        assert_eq!(drill.claim(50).await.len(), 2 * BUNDLE);
    }

    async fn pools_count_units_and_not_hints(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, 2 * BUNDLE + 1).await;
        let pools = drill.engine.pools().await.unwrap();
        assert_eq!(pools[0].due, 2 * BUNDLE as i64 + 1);
    }

    async fn many_at_once_break_bundles_and_never_get_the_same_unit(db: TestDb) {
        let drill = Drill::new(&db).await;
        with_units(&drill, 60).await;
        let mut tasks = Vec::new();
        for most in [1, 3, 5, 6] {
            let hand = drill.another(&[ONCE]).await;
            let time = drill.time.clone();
            tasks.push(tokio::spawn(async move {
                let mut got = Vec::new();
                let mut empty = 0;
                while empty < 5 {
                    let claimed = claim(&hand, most).await;
                    assert!(claimed.len() <= most);
                    if claimed.is_empty() {
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
        assert_eq!(all.len(), 60, "each unit once");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 60);
    }
}
