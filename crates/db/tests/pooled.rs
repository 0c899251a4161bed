//! PostgreSQL through a pooler in transaction mode: a session's leavings are somebody else's.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use db::{
    Bulk, Clock, Db, DbError, Migration, Part, Settings, Timestamp, migrate, sql, testing::TestDb,
};
use futures_util::future::join_all;

const PART: Part = Part {
    name: "test",
    migrations: &[Migration {
        number: 1,
        name: "things",
        sql: "CREATE TABLE thing (id {id}, whole {int}, word {text}, at {time}){strict};",
        serves: 1,
    }],
};

async fn connect(url: &str, settings: &Settings) -> Db {
    Db::connect(url, settings).await.unwrap()
}

#[tokio::test]
async fn a_pooler_is_noticed_and_a_server_is_not_taken_for_one() {
    let db = TestDb::postgres(&[PART]).await;
    assert!(!db.is_pooled());
    let pooler = db.pooler(1);
    let through = connect(pooler.url(), &Settings::default()).await;
    assert!(through.is_pooled());
    let by_word = Settings {
        statement_cache: false,
        ..Settings::default()
    };
    assert!(connect(db.url(), &by_word).await.is_pooled());
    // Neither way may a forgotten transaction stay for ever.
    for db in [&db, &through] {
        let mut tx = db.begin().await.unwrap();
        let shown = tx
            .fetch_one(sql!("SHOW idle_in_transaction_session_timeout"))
            .await
            .unwrap();
        let shown: String = shown.get("idle_in_transaction_session_timeout").unwrap();
        assert_eq!(shown, "1min");
    }
}

#[tokio::test]
async fn what_is_wrong_behind_the_pooler_is_told_as_it_is() {
    let db = TestDb::postgres(&[PART]).await;
    let pooler = db.pooler(1);
    let nowhere = pooler.url().replace("/t_", "/no_");
    let error = Db::connect(&nowhere, &Settings::default())
        .await
        .unwrap_err();
    let DbError::Unreachable(source) = error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("does not exist"), "{source}");
}

#[tokio::test]
async fn many_tasks_share_three_servers_and_each_gets_its_own_answers() {
    let db = TestDb::postgres(&[PART]).await;
    let pooler = db.pooler(3);
    let through = connect(pooler.url(), &Settings::default()).await;
    let at: Timestamp = "2026-11-15T22:07:00.123456Z".parse().unwrap();
    // Statements that differ in text and agree in their arguments' types: taken for one another
    // they would not fail, only lie.
    let ask = async |task: i64| {
        for round in 0..20 {
            let text = format!("SELECT $1 + {} AS n, $2 AS at", 1_000 * task + round);
            let statement = db::Statement::built(text).bind(round).bind(at);
            let row = through.fetch_one(statement).await.unwrap();
            assert_eq!(row.get::<i64>("n").unwrap(), 1_000 * task + 2 * round);
            assert_eq!(row.get::<Timestamp>("at").unwrap(), at);

            let rows = Bulk::new()
                .ints("whole", [task, task])
                .texts("word", [Some(format!("{task}/{round}")), None])
                .times("at", [Some(at), None]);
            let mut tx = through.begin().await.unwrap();
            let text = "INSERT INTO thing (whole, word, at) SELECT whole, word, at FROM {rows}";
            assert_eq!(tx.execute_bulk(sql!(text), rows).await.unwrap(), 2);
            tx.savepoint().await.unwrap();
            let failed = tx
                .execute(sql!("INSERT INTO thing (id) VALUES (NULL)"))
                .await;
            assert!(matches!(failed, Err(DbError::Constraint(_))), "{failed:?}");
            tx.undo().await.unwrap();
            tx.wake();
            tx.commit().await.unwrap();
            drop(through.begin().await.unwrap());
        }
    };
    join_all((0..12).map(ask)).await;
    let text = "SELECT count(*) AS n, count(DISTINCT word) AS words FROM thing WHERE at = $1 OR at IS NULL";
    let row = db.fetch_one(sql!(text, at)).await.unwrap();
    assert_eq!(row.get::<i64>("n").unwrap(), 480);
    assert_eq!(row.get::<i64>("words").unwrap(), 240);
}

#[tokio::test]
async fn of_many_that_migrate_at_once_one_does() {
    let db = TestDb::postgres(&[]).await;
    let pooler = db.pooler(3);
    let settings = Settings::default();
    let starts = (0..6).map(async |_| {
        let process = connect(pooler.url(), &settings).await;
        migrate(&process, &[PART], &Clock::system()).await.unwrap()
    });
    let applied = join_all(starts).await.concat();
    assert_eq!(applied, ["test 1 things"]);
}

#[tokio::test]
async fn nobody_listens_through_a_pooler_and_nobody_complains() {
    let db = TestDb::postgres(&[PART]).await;
    let pooler = db.pooler(1);
    let through = connect(pooler.url(), &Settings::default()).await;
    let mut own = through.wakes().subscribe();
    let listening = tokio::spawn({
        let through = through.clone();
        async move { through.listen().await }
    });
    let mut tx = through.begin().await.unwrap();
    tx.wake();
    tx.commit().await.unwrap();
    assert!(own.has_changed().unwrap(), "the own process hears itself");
    own.mark_unchanged();
    let mut tx = db.begin().await.unwrap();
    tx.wake();
    tx.commit().await.unwrap();
    // One server only: had anybody listened, it would be on this one.
    let channels = sql!("SELECT count(*) AS n FROM pg_listening_channels()");
    let row = through.fetch_one(channels).await.unwrap();
    assert_eq!(row.get::<i64>("n").unwrap(), 0);
    assert!(!own.has_changed().unwrap());
    assert!(!listening.is_finished());
    listening.abort();
}

#[tokio::test]
async fn a_lost_prepared_statement_is_blamed_on_a_pooler() {
    let db = TestDb::postgres(&[PART]).await;
    let one = Settings {
        max_connections: 1,
        ..Settings::default()
    };
    let alone = connect(db.url(), &one).await;
    let ask = || sql!("SELECT count(*) AS n FROM thing");
    alone.fetch_one(ask()).await.unwrap();
    // What a pooler does by giving us another server.
    let mut tx = alone.begin().await.unwrap();
    tx.script("DEALLOCATE ALL".into()).await.unwrap();
    tx.commit().await.unwrap();
    let error = alone.fetch_one(ask()).await.unwrap_err();
    assert!(matches!(error, DbError::Pooler(_)), "{error:?}");
}
