//! Ten processes read the tags of a thousand repositories, and are killed while they do: no
//! repository is ever read by two at once, and in the end every version is in the feed, once.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{sql, testing::TestDb};
use sim::git_server::{GitServer, Listening};
use store::goindex::{self, Asked};

use crate::fleet::PARTS;

const REPOSITORIES: usize = 1_000;
/// So many are enough for the gate where one process after the other writes; the long gate takes
/// all.
const FEWER: usize = 250;
const PROCESSES: usize = 10;
/// About so many processes are killed.
const KILLS: usize = 16;
/// So long every answer of the server takes: time enough to meet.
const ANSWER: Duration = Duration::from_millis(15);

#[tokio::test(flavor = "multi_thread")]
async fn heavy_go_fleet_drill_sqlite() {
    let is_long = std::env::var_os("GLEANER_LONG").is_some();
    let repositories = if is_long { REPOSITORIES } else { FEWER };
    drill(TestDb::sqlite(PARTS).await, repositories).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_go_fleet_drill_postgres() {
    drill(TestDb::postgres(PARTS).await, REPOSITORIES).await;
}

async fn drill(db: TestDb, repositories: usize) {
    let estate = Estate::new(db, repositories).await;
    let count = i64::try_from(repositories).unwrap();
    let between = i64::try_from(repositories / KILLS).unwrap();
    let mut workers: Vec<Child> = (0..PROCESSES).map(|_| estate.work(&[])).collect();
    let (mut kills, mut next_kill, mut victim) = (0, between, 0);
    let begun = Instant::now();
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    loop {
        looks.tick().await;
        let read = goindex::status(&estate.db).await.unwrap().complete;
        if read >= count {
            break;
        }
        let limit = Duration::from_mins(5);
        assert!(begun.elapsed() < limit, "stuck at {read} repositories");
        if read >= next_kill {
            next_kill = read + between;
            end(&mut workers[victim]);
            workers[victim] = estate.work(&[]);
            victim = (victim + 3) % PROCESSES;
            kills += 1;
        }
    }
    workers.iter_mut().for_each(end);
    let took = begun.elapsed();
    // The last ones may still have been in somebody's hands.
    let done = estate.work(&["--until-idle"]).wait().unwrap();
    assert!(done.success());

    eprintln!("{kills} kills, {repositories} repositories, {took:?}");
    assert!(kills >= 10, "only {kills} kills: the drill was no drill");
    assert_eq!(estate.server.most_at_once(), 1, "one at a time");
    let all = Asked {
        limit: 2 * repositories,
        ..Asked::default()
    };
    let feed = goindex::page(&estate.db, &all).await.unwrap();
    assert_eq!(feed.len(), repositories);
    let paths: BTreeSet<String> = feed.into_iter().map(|line| line.path).collect();
    let truth = (0..repositories).map(|n| format!("github.com/team/r{n}"));
    assert_eq!(paths, truth.collect());
    let struck = estate
        .db
        .fetch_one(sql!("SELECT count(*) AS n FROM unit WHERE strikes > 0"))
        .await
        .unwrap();
    assert_eq!(struck.get::<i64>("n").unwrap(), 0, "death is no strike");
}

/// A git server with one repository under every name, and a database that knows a thousand names.
struct Estate {
    db: TestDb,
    server: GitServer,
    _at: Listening,
    home: tempfile::TempDir,
}

impl Estate {
    async fn new(db: TestDb, repositories: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let source = home.path().join("source");
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("x.go"), "package x\n").unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["add", "-A"],
            &["commit", "-q", "-m", "Begin"],
            &["tag", "v1.0.0"],
            &["clone", "-q", "--bare", ".", "../served/any.git"],
        ] {
            git(&source, args);
        }
        let server = GitServer::new(&home.path().join("served"));
        server.stand_in("any.git");
        server.slow(ANSWER);
        let at = server.listen().await.unwrap();
        let settings = format!(
            "[upstream.\"github.com\"]\nbase_url = \"{}\"\n\
             [distribution]\nenabled = false\n[repo_metadata]\nenabled = false\n[license]\nenabled = false\n\
             [goindex]\nworkers = 2\n",
            at.url("").trim_end_matches('/')
        );
        std::fs::write(home.path().join("gleaner.toml"), settings).unwrap();
        let mut names = String::new();
        for n in 0..repositories {
            let _ = writeln!(names, "https://github.com/team/r{n}");
        }
        std::fs::write(home.path().join("names"), names).unwrap();
        let estate = Self {
            db,
            server,
            _at: at,
            home,
        };
        let mut add = estate.gleaner(&["go", "add", "--file", "names"]);
        assert!(add.status().unwrap().success());
        estate
    }

    fn work(&self, flags: &[&str]) -> Child {
        let mut command = self.gleaner(&["work", "--kinds", "goindex"]);
        command.args(flags).spawn().unwrap()
    }

    fn gleaner(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args(arguments)
            .arg("--quiet")
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("GLEANER_DATA", self.home.path().join("data"))
            .env("GLEANER_DATABASE", self.db.url())
            .env("GLEANER_DATABASE_MAX_CONNECTIONS", "3")
            .env("GLEANER_DATABASE_MIN_FREE", "1KiB")
            .env("GLEANER_DATABASE_TIMEOUT", "60s")
            .env("GLEANER_WORK_DEAD_AFTER", "3s")
            .env("GLEANER_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

fn git(directory: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(done.unwrap().success(), "{args:?}");
}
