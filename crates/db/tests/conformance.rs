//! What both databases must do alike.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use db::{
    Bulk, Clock, Db, DbError, Migration, Part, Settings, Timestamp, migrate, schema_state, sql,
    testing::{CommitFault, both},
    transact,
};

const PART: Part = Part {
    name: "test",
    migrations: &[Migration {
        number: 1,
        name: "things",
        sql: "CREATE TABLE thing (
                id {id}, whole {int}, part {real}, flag {bool}, word {text}, raw {bytes}, at {time}
              ){strict};
              CREATE TABLE once (word {text} PRIMARY KEY NOT NULL){strict};",
        serves: 1,
    }],
};

both! {
    const PARTS: &[Part] = &[PART];

    async fn every_type_comes_back_as_it_went_in(db: TestDb) {
        let at: Timestamp = "2026-11-15T22:07:00.123456Z".parse().unwrap();
        db.execute(sql!(
            "INSERT INTO thing (whole, part, flag, word, raw, at) VALUES ($1, $2, $3, $4, $5, $6)",
            i64::MAX, 0.5, true, "ünï\0code", vec![0_u8, 255], at
        )).await.unwrap();
        db.execute(sql!(
            "INSERT INTO thing (whole, part, flag, word, raw, at) VALUES ($1, $2, $3, $4, $5, $6)",
            None::<i64>, None::<f64>, None::<bool>, None::<String>, None::<Vec<u8>>, None::<Timestamp>
        )).await.unwrap();
        let rows = db.fetch_all(sql!("SELECT * FROM thing ORDER BY id")).await.unwrap();
        assert_eq!(rows[0].get::<i64>("whole").unwrap(), i64::MAX);
        assert_eq!(rows[0].get::<Option<f64>>("part").unwrap(), Some(0.5));
        assert!(rows[0].get::<bool>("flag").unwrap());
        assert_eq!(rows[0].get::<String>("word").unwrap(), "ünï\u{fffd}code");
        assert_eq!(rows[0].get::<Vec<u8>>("raw").unwrap(), [0, 255]);
        assert_eq!(rows[0].get::<Timestamp>("at").unwrap(), at);
        assert_eq!(rows[1].get::<Option<i64>>("whole").unwrap(), None);
        assert_eq!(rows[1].get::<Option<Timestamp>>("at").unwrap(), None);
        assert!(matches!(rows[1].get::<i64>("whole"), Err(DbError::Value { .. })));
    }

    async fn bulk_rows_carry_all_types_and_nulls(db: TestDb) {
        let at = Timestamp::from_micros(1_700_000_000_000_001);
        let rows = Bulk::new()
            .ints("whole", [Some(1), None])
            .reals("part", [Some(1.25), None])
            .bools("flag", [Some(false), None])
            .texts("word", [Some("a\"b,{}\n".to_owned()), None])
            .bytes("raw", [Some(vec![1, 2]), None])
            .times("at", [Some(at), None]);
        let mut tx = db.begin().await.unwrap();
        let inserted = tx.fetch_bulk(
            sql!("INSERT INTO thing (whole, part, flag, word, raw, at)
                  SELECT r.whole + $1, r.part, r.flag, r.word, r.raw, r.at FROM {rows}
                  RETURNING id", 10),
            rows,
        ).await.unwrap();
        assert_eq!(inserted.len(), 2);
        tx.commit().await.unwrap();
        let rows = db.fetch_all(sql!("SELECT * FROM thing ORDER BY id")).await.unwrap();
        assert_eq!(rows[0].get::<i64>("whole").unwrap(), 11);
        assert!(!rows[0].get::<bool>("flag").unwrap());
        assert_eq!(rows[0].get::<String>("word").unwrap(), "a\"b,{}\n");
        assert_eq!(rows[0].get::<Vec<u8>>("raw").unwrap(), [1, 2]);
        assert_eq!(rows[0].get::<Timestamp>("at").unwrap(), at);
        assert_eq!(rows[1].get::<Option<String>>("word").unwrap(), None);
    }

    async fn text_sorts_by_bytes(db: TestDb) {
        let mut tx = db.begin().await.unwrap();
        let words = ["b", "B", "ä", "a"].map(str::to_owned);
        tx.execute_bulk(sql!("INSERT INTO once (word) SELECT r.word FROM {rows}"),
            Bulk::new().texts("word", words)).await.unwrap();
        tx.commit().await.unwrap();
        let rows = db.fetch_all(sql!("SELECT word FROM once ORDER BY word")).await.unwrap();
        let words: Vec<String> = rows.iter().map(|row| row.get("word").unwrap()).collect();
        assert_eq!(words, ["B", "a", "b", "ä"]);
    }

    async fn one_bad_write_does_not_spoil_the_batch(db: TestDb) {
        let mut tx = db.begin().await.unwrap();
        for word in ["a", "a", "b"] {
            tx.savepoint().await.unwrap();
            match tx.execute(sql!("INSERT INTO once (word) VALUES ($1)", word)).await {
                Ok(_) => tx.keep().await.unwrap(),
                Err(error) => {
                    assert!(matches!(error, DbError::Constraint(_)), "{error:?}");
                    tx.undo().await.unwrap();
                }
            }
        }
        tx.commit().await.unwrap();
        assert_eq!(count(&db, "once").await, 2);
    }

    async fn a_dropped_transaction_never_happened(db: TestDb) {
        let mut tx = db.begin().await.unwrap();
        tx.execute(sql!("INSERT INTO once (word) VALUES ('x')")).await.unwrap();
        drop(tx);
        assert_eq!(count(&db, "once").await, 0);
    }

    async fn what_nobody_waits_for_is_written_in_its_place(db: TestDb) {
        let mut tx = db.begin().await.unwrap();
        tx.later(sql!("INSERT INTO thing (whole, word) VALUES ($2, $1)", "a", 1)).await.unwrap();
        tx.later(sql!("INSERT INTO thing (whole, word) VALUES ($1, $2)", 2, "b")).await.unwrap();
        // The count and the rows are those of the statement that is waited for.
        let touched = tx.execute(sql!("UPDATE thing SET whole = $1 WHERE word = $2", 3, "b")).await;
        assert_eq!(touched.unwrap(), 1);
        tx.later(sql!("DELETE FROM thing WHERE whole = $1", 1)).await.unwrap();
        let rows = tx.fetch_all(sql!("SELECT word FROM thing WHERE whole < $1", 9)).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].get::<String>("word").unwrap(), "b");
        tx.later(sql!("INSERT INTO once (word) VALUES ('last')")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((count(&db, "thing").await, count(&db, "once").await), (1, 1));
    }

    async fn nothing_is_left_of_a_transaction_that_fails_or_is_given_up(db: TestDb) {
        db.execute(sql!("INSERT INTO once (word) VALUES ('there')")).await.unwrap();
        // What was said first is refused: at once, or with what it is sent with.
        let mut tx = db.begin().await.unwrap();
        let refused = tx.later(sql!("INSERT INTO once (word) VALUES ('there')")).await;
        let refused = match refused {
            Ok(()) => {
                tx.later(sql!("INSERT INTO once (word) VALUES ('here')")).await.unwrap();
                tx.commit().await
            }
            refused => {
                drop(tx);
                refused
            }
        };
        assert!(matches!(refused, Err(DbError::Constraint(_))), "{refused:?}");
        // Nobody waits for the end of it, and the next one begins all the same.
        for _ in 0..3 {
            let mut tx = db.begin().await.unwrap();
            tx.execute(sql!("INSERT INTO once (word) VALUES ('here')")).await.unwrap();
        }
        db.begin().await.unwrap().commit().await.unwrap();
        let mut tx = db.begin().await.unwrap();
        tx.execute(sql!("DELETE FROM once")).await.unwrap();
        tx.rollback().await.unwrap();
        assert_eq!(count(&db, "once").await, 1);
    }

    async fn an_injected_fault_tells_before_from_after(db: TestDb) {
        db.commit_faults().push(Some(CommitFault::Before));
        db.commit_faults().push(Some(CommitFault::After));
        for word in ["before", "after"] {
            let error = db.execute(sql!("INSERT INTO once (word) VALUES ($1)", word)).await.unwrap_err();
            assert!(error.is_unreachable());
        }
        let row = db.fetch_one(sql!("SELECT word FROM once")).await.unwrap();
        assert_eq!(row.get::<String>("word").unwrap(), "after");
    }

    async fn a_conflict_is_run_again(db: TestDb) {
        let mut runs = 0;
        transact!(db, |tx| {
            runs += 1;
            if runs == 1 {
                // What a deadlock looks like to the caller.
                Err(DbError::Conflict(busy()))
            } else {
                tx.execute(sql!("INSERT INTO once (word) VALUES ('again')")).await
            }
        }).unwrap();
        assert_eq!(runs, 2);
        assert_eq!(count(&db, "once").await, 1);
    }

    async fn a_commit_rings_the_bell_of_waiting_workers(db: TestDb) {
        let other = Db::connect(db.url(), &Settings::default()).await.unwrap();
        let mut here = db.wakes().subscribe();
        let mut there = other.wakes().subscribe();
        let listening = other.clone();
        let listener = tokio::spawn(async move { listening.listen().await });
        // Until the listener is up nothing is heard, so ring until it is.
        let heard = async {
            loop {
                let mut tx = db.begin().await.unwrap();
                tx.wake();
                tx.commit().await.unwrap();
                tokio::time::timeout(Duration::from_secs(1), here.changed()).await.unwrap().unwrap();
                if db.dialect() == db::Dialect::Sqlite {
                    break;
                }
                if tokio::time::timeout(Duration::from_millis(50), there.changed()).await.is_ok() {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap();
        listener.abort();
    }

    async fn a_schema_newer_than_the_binary_is_refused_unless_it_serves_it(db: TestDb) {
        let clock = Clock::system();
        // Migrating again changes nothing.
        assert!(migrate(&db, PARTS, &clock).await.unwrap().is_empty());
        // A newer binary adds a step that still serves ours.
        step(&db, 2, 1).await;
        assert!(migrate(&db, PARTS, &clock).await.unwrap().is_empty());
        schema_state(&db, PARTS).await.unwrap()[0].check().unwrap();
        // And one that does not.
        step(&db, 3, 3).await;
        let error = migrate(&db, PARTS, &clock).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the database's schema is newer than this binary: test is at 3, this binary knows 1"
        );
    }

    async fn the_schema_can_be_told_as_text(db: TestDb) {
        let text = db::dump_schema(&db).await.unwrap();
        assert!(text.contains("CREATE TABLE thing"), "{text}");
        assert!(text.contains("schema_migration"));
    }
}

const PARTS: &[Part] = &[PART];

async fn step(db: &Db, number: i64, serves: i64) {
    db.execute(sql!(
        "INSERT INTO schema_migration (part, number, name, serves, applied_at) VALUES ('test', $1, 'later', $2, $3)",
        number, serves, Timestamp::EPOCH
    ))
    .await
    .unwrap();
}

async fn count(db: &Db, table: &'static str) -> i64 {
    let statement = db::Statement::built(format!("SELECT count(*) AS n FROM {table}"));
    db.fetch_one(statement).await.unwrap().get("n").unwrap()
}

fn busy() -> sqlx::Error {
    sqlx::Error::PoolTimedOut
}
