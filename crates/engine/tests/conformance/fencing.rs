//! Writes hold only for the attempt that has the unit.

use std::sync::atomic::{AtomicUsize, Ordering};

use db::{
    sql,
    testing::{CommitFault, both},
};
use engine::{Ending, Outcome, Run, RunError, Selection, State};

use crate::drill::{Drill, finish, once};

async fn facts_table(drill: &Drill) {
    drill
        .engine
        .db()
        .execute(sql!("CREATE TABLE fact (word TEXT NOT NULL UNIQUE)"))
        .await
        .unwrap();
}

fn writes(run: &Run, word: &'static str) -> Ending {
    run.finish(Outcome::Done, (), word, |tx, word| {
        Box::pin(async move {
            tx.execute(sql!("INSERT INTO fact VALUES ($1)", *word))
                .await?;
            Ok(())
        })
    })
}

async fn commit(run: &Run, cursor: i64, word: &'static str) -> Result<(), RunError> {
    run.commit(&cursor, &word, |tx, word| {
        Box::pin(async move {
            tx.execute(sql!("INSERT INTO fact VALUES ($1)", *word))
                .await?;
            Ok(())
        })
    })
    .await
}

async fn words(drill: &Drill) -> Vec<String> {
    let rows = drill.sql("SELECT word FROM fact ORDER BY word").await;
    rows.iter().map(|row| row.get("word").unwrap()).collect()
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn facts_and_cursor_commit_together_and_the_next_run_goes_on_from_there(db: TestDb) {
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue(once("a")).await;
        let held = drill.claim_one().await;
        let run = drill.hand.run(&held);
        assert_eq!(run.cursor::<i64>(), None);
        commit(&run, 1, "one").await.unwrap();
        // Refused facts leave the cursor where it was.
        let error = commit(&run, 2, "one").await.unwrap_err();
        assert!(matches!(error, RunError::Unit(_)), "{error:?}");
        drill.fail(held, RunError::Interrupted).await;
        let held = drill.claim_one().await;
        assert_eq!(drill.hand.run(&held).cursor::<i64>(), Some(1));
        assert_eq!(words(&drill).await, ["one"]);
    }

    async fn who_lost_the_lease_writes_nothing(db: TestDb) {
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue(once("a")).await;
        let old = drill.claim_one().await;
        let run = drill.hand.run(&old);
        commit(&run, 1, "before").await.unwrap();
        // Called off, brought back, and claimed by another.
        drill.engine.cancel(&Selection::default(), false).await.unwrap();
        assert!(matches!(commit(&run, 2, "cancelled").await, Err(RunError::LeaseLost)));
        drill.engine.run_now(&Selection::default(), false).await.unwrap();
        assert!(matches!(commit(&run, 2, "ready").await, Err(RunError::LeaseLost)));
        let new = drill.claim_one().await;
        assert!(matches!(commit(&run, 2, "stolen").await, Err(RunError::LeaseLost)));
        let ending = writes(&run, "the end").cursor(9);
        assert!(!finish(&drill.hand, old, Ok(ending)).await);
        assert_eq!(words(&drill).await, ["before"]);
        let unit = drill.unit("test/once:a").await;
        assert_eq!((unit.cursor, unit.unit.attempt), (Some(1.into()), new.attempt()));
        assert_eq!(unit.unit.state, State::Running);
        assert!(unit.runs.is_empty(), "an end that was not written is no history");
    }

    async fn two_attempts_in_one_batch_do_not_borrow_each_others_fence(db: TestDb) {
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue(once("a")).await;
        let old = drill.claim_one().await;
        drill.engine.cancel(&Selection::default(), false).await.unwrap();
        drill.engine.run_now(&Selection::default(), false).await.unwrap();
        let new = drill.claim_one().await;
        let ends = vec![
            (old.clone(), Ok(writes(&drill.hand.run(&old), "old"))),
            (new.clone(), Ok(writes(&drill.hand.run(&new), "new"))),
        ];
        let (_, kept) = drill.hand.turn("p", ends, 0, false).await.unwrap();
        assert_eq!(kept, [(new.id(), new.attempt())]);
        assert_eq!(words(&drill).await, ["new"]);
    }

    async fn refused_facts_and_panics_harm_only_their_own_unit(db: TestDb) {
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue_once(&["a", "b", "c", "d"]).await;
        let held = drill.claim(4).await;
        let ends = held.iter().map(|held| {
            let run = drill.hand.run(held);
            let ending = match held.key() {
                "c" => run.finish(Outcome::Done, (), (), |_, ()| Box::pin(async { panic!("oh dear") })),
                "a" | "b" => writes(&run, "a"),
                _ => writes(&run, "d"),
            };
            (held.clone(), Ok(ending))
        }).collect();
        let (_, kept) = drill.hand.turn("p", ends, 0, false).await.unwrap();
        assert_eq!(kept.len(), 4, "all ended, two of them badly");
        assert_eq!(words(&drill).await, ["a", "d"]);
        for (key, state, strikes) in [("a", State::Done, 0), ("b", State::Ready, 1), ("c", State::Ready, 1), ("d", State::Done, 0)] {
            let unit = drill.unit(&format!("test/once:{key}")).await.unit;
            assert_eq!((unit.state, unit.strikes), (state, strikes), "{key}");
        }
        let error = drill.unit("test/once:c").await.unit.error.unwrap();
        assert!(error.contains("oh dear"), "{error}");
    }

    async fn an_end_whose_answer_was_lost_is_written_once(db: TestDb) {
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue(once("a")).await;
        for (fault, kept_later) in [(CommitFault::Before, true), (CommitFault::After, false)] {
            let held = drill.claim_one().await;
            let word = if kept_later { "before" } else { "after" };
            db.commit_faults().push(Some(fault));
            let ends = vec![(held.clone(), Ok(writes(&drill.hand.run(&held), word)))];
            assert!(drill.hand.turn("p", ends, 0, false).await.unwrap_err().is_unreachable());
            // It says the same again, as it must.
            let ending = writes(&drill.hand.run(&held), word);
            assert_eq!(finish(&drill.hand, held, Ok(ending)).await, kept_later);
            drill.engine.run_now(&Selection::default(), false).await.unwrap();
        }
        assert_eq!(words(&drill).await, ["after", "before"]);
    }

    async fn writers_run_again_after_a_conflict(db: TestDb) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        if db.dialect() == db::Dialect::Sqlite {
            // One writer at a time: there are no conflicts to run again after.
            return;
        }
        let drill = Drill::new(&db).await;
        facts_table(&drill).await;
        drill.enqueue(once("a")).await;
        let held = drill.claim_one().await;
        let run = drill.hand.run(&held);
        run.commit(&1, &(), |tx, ()| Box::pin(async move {
            tx.execute(sql!("INSERT INTO fact VALUES ('once')")).await?;
            if CALLS.fetch_add(1, Ordering::SeqCst) < 2 {
                let serialisation = "DO $$ BEGIN RAISE EXCEPTION 'drill' USING ERRCODE = '40001'; END $$";
                tx.execute(sql!(serialisation)).await?;
            }
            Ok(())
        })).await.unwrap();
        assert_eq!(CALLS.load(Ordering::SeqCst), 3);
        let ending = run.finish(Outcome::Done, (), (), |tx, ()| Box::pin(async move {
            tx.execute(sql!("INSERT INTO fact VALUES ('twice')")).await?;
            if CALLS.fetch_add(1, Ordering::SeqCst) < 4 {
                let deadlock = "DO $$ BEGIN RAISE EXCEPTION 'drill' USING ERRCODE = '40P01'; END $$";
                tx.execute(sql!(deadlock)).await?;
            }
            Ok(())
        }));
        assert!(finish(&drill.hand, held, Ok(ending)).await);
        assert_eq!(words(&drill).await, ["once", "twice"]);
    }
}
