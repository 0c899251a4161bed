//! A process is killed while it writes a large answer down, again and again: no evidence is lost,
//! nothing is removed that is there, and in the end everything stands there once.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{Db, sql, testing::TestDb};

use crate::fleet::PARTS;

/// Enough for several transactions.
const MANIFESTS: i64 = 10_000;
const KILLS: usize = 2;

#[tokio::test]
async fn heavy_kill_in_the_middle_of_a_commit_sqlite() {
    drill(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test]
async fn heavy_kill_in_the_middle_of_a_commit_postgres() {
    drill(TestDb::postgres(PARTS).await).await;
}

async fn drill(db: TestDb) {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    plant(&project, 40);
    run(&db, home.path(), &["repo", "add", "project"]);
    run(&db, home.path(), &["work", "--until-idle", "-q"]);
    assert_eq!(count(&db, "SELECT count(*) AS n FROM manifest").await, 40);

    plant(&project, MANIFESTS);
    let again = ["distribution", "recheck", "--source", "manifests"];
    run(&db, home.path(), &again);
    let (mut kills, mut written) = (0, 40);
    let begun = Instant::now();
    while kills < KILLS {
        let mut worker = work(&db, home.path());
        // Until one more piece is there, and not all of them.
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        loop {
            tick.tick().await;
            let now = count(&db, "SELECT count(*) AS n FROM manifest").await;
            assert!(begun.elapsed() < Duration::from_mins(3), "stuck at {now}");
            assert!(now < MANIFESTS, "it was done before it could be killed");
            if now > written {
                written = now;
                break;
            }
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        kills += 1;
        assert_eq!(gone(&db).await, 0, "half an answer ends nothing");
        let whole = "SELECT count(*) AS n FROM source_state
            WHERE source = 'manifests' AND complete AND last_answered = last_asked";
        assert_eq!(count(&db, whole).await, 0, "half an answer is not whole");
    }
    // Whoever comes next finds the process dead, and ends what it began.
    let begun = Instant::now();
    while count(&db, "SELECT count(*) AS n FROM manifest").await < MANIFESTS {
        assert!(begun.elapsed() < Duration::from_mins(3), "not done");
        run(&db, home.path(), &["work", "--until-idle", "-q"]);
    }
    run(&db, home.path(), &["work", "--until-idle", "-q"]);
    assert_eq!(
        count(&db, "SELECT count(*) AS n FROM manifest").await,
        MANIFESTS
    );
    assert_eq!(gone(&db).await, 0);
    let states = "SELECT count(*) AS n FROM source_state WHERE source = 'manifests' AND complete";
    assert_eq!(count(&db, states).await, 1);
}

async fn gone(db: &Db) -> i64 {
    let manifests = count(
        db,
        "SELECT count(*) AS n FROM manifest WHERE gone_at IS NOT NULL",
    );
    manifests.await
}

async fn count(db: &Db, text: &'static str) -> i64 {
    let row = db.fetch_one(sql!(text)).await.unwrap();
    row.get("n").unwrap()
}

/// A repository with so many packages, none of them to be published.
fn plant(project: &Path, manifests: i64) {
    for nth in 0..manifests {
        let directory = project.join(format!("p{:03}/q{nth:05}", nth / 100));
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("{{\"name\": \"n{nth}\", \"private\": true}}");
        std::fs::write(directory.join("package.json"), text).unwrap();
    }
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "More"],
    ] {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .current_dir(project)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(done.unwrap().success(), "git {args:?}");
    }
}

fn gleaner(db: &TestDb, home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command
        .args(args)
        .current_dir(home)
        .env("HOME", home)
        .env("GLEANER_DATA", home.join("data"))
        .env("GLEANER_DATABASE", db.url())
        .env("GLEANER_DATABASE_TIMEOUT", "60s")
        .env("GLEANER_WORK_DEAD_AFTER", "1500ms")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn run(db: &TestDb, home: &Path, args: &[&str]) {
    let done = gleaner(db, home, args).status().unwrap();
    assert!(done.success(), "{args:?}");
}

fn work(db: &TestDb, home: &Path) -> Child {
    gleaner(db, home, &["work"]).spawn().unwrap()
}
