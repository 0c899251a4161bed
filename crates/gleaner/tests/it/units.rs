//! Work, as it is looked at and steered by hand.

use std::time::Duration;

use db::{Clock, Db, Settings, migrate};
use engine::{Engine, Enqueue, Kind};

use crate::sandbox::Sandbox;

const FETCH: Kind = Kind::one_off("test/fetch");
const WATCH: Kind = Kind::recurring("test/watch", Duration::from_hours(24));

/// A database with a few units and nobody who works on them.
async fn with_units(home: &Sandbox) {
    let url = format!("sqlite:{}", home.path("g.db").display());
    let db = Db::connect(&url, &Settings::default()).await.unwrap();
    let clock = Clock::system();
    migrate(&db, &[engine::PART, store::PART], &clock)
        .await
        .unwrap();
    let engine = Engine::new(db.clone(), clock.clone());
    let later = clock.now().plus(Duration::from_hours(24));
    let units = vec![
        Enqueue::new(&FETCH, "github.com/a/one").upstream("github.com"),
        Enqueue::new(&FETCH, "github.com/a/two").upstream("github.com"),
        Enqueue::new(&FETCH, "gitlab.com/b/three").upstream("gitlab.com"),
        Enqueue::new(&WATCH, "7").due_at(later),
    ];
    engine.enqueue(units).await.unwrap();
    db.close().await;
}

fn run(home: &Sandbox, args: &[&str]) -> String {
    home.run([args, &["--database", "sqlite:g.db"]].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn units_are_listed_shown_and_explained() {
    let home = Sandbox::new();
    with_units(&home).await;
    insta::assert_snapshot!("list", run(&home, &["unit", "list", "--format", "table"]));
    insta::assert_snapshot!(
        "list_limited",
        run(
            &home,
            &[
                "unit", "list", "--kind", "test", "--key", "git*", "--limit", "2", "--format",
                "csv"
            ]
        )
    );
    insta::assert_snapshot!(
        "show",
        run(
            &home,
            &["unit", "show", "test/watch:7", "--format", "table"]
        )
    );
    insta::assert_snapshot!(
        "why_later",
        run(&home, &["unit", "why", "4", "--format", "jsonl"])
    );
    insta::assert_snapshot!(
        "why_nobody",
        run(
            &home,
            &[
                "unit",
                "why",
                "test/fetch:github.com/a/one",
                "--format",
                "table"
            ]
        )
    );
    insta::assert_snapshot!("unknown", run(&home, &["unit", "show", "99"]));
    insta::assert_snapshot!("no_unit", run(&home, &["unit", "show", "ninety-nine"]));
    insta::assert_snapshot!("no_state", run(&home, &["unit", "list", "--state", "busy"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn units_are_steered_one_by_one_and_in_bulk() {
    let home = Sandbox::new();
    with_units(&home).await;
    insta::assert_snapshot!("nothing_chosen", run(&home, &["unit", "cancel"]));
    insta::assert_snapshot!(
        "dry_run",
        run(
            &home,
            &[
                "unit",
                "cancel",
                "--kind",
                "test/fetch",
                "--key",
                "github*",
                "--dry-run"
            ]
        )
    );
    insta::assert_snapshot!(
        "cancelled",
        run(
            &home,
            &["unit", "cancel", "--kind", "test/fetch", "--key", "github*"]
        )
    );
    insta::assert_snapshot!(
        "retried",
        run(
            &home,
            &["unit", "retry", "1", "test/fetch:github.com/a/two"]
        )
    );
    insta::assert_snapshot!("run_now", run(&home, &["unit", "run", "test/watch:7"]));
    insta::assert_snapshot!("none", run(&home, &["unit", "retry", "--state", "parked"]));
    insta::assert_snapshot!("after", run(&home, &["unit", "list", "--format", "table"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_upstreams_and_workers() {
    let home = Sandbox::new();
    with_units(&home).await;
    insta::assert_snapshot!("pools", run(&home, &["pool", "list", "--format", "table"]));
    insta::assert_snapshot!(
        "paused",
        run(
            &home,
            &["pool", "pause", "test/fetch", "--why", "the forge moves"]
        )
    );
    insta::assert_snapshot!(
        "why_paused",
        run(&home, &["unit", "why", "1", "--format", "csv"])
    );
    insta::assert_snapshot!(
        "resumed",
        run(&home, &["pool", "resume", "test/fetch", "license"])
    );
    let no_pool = run(&home, &["pool", "pause", "licence"]);
    assert!(
        no_pool.starts_with("exit: 1") && no_pool.contains("hint: the pools are"),
        "{no_pool}"
    );
    insta::assert_snapshot!(
        "no_upstream",
        run(&home, &["upstream", "reset", "example.org"])
    );
    assert!(run(&home, &["upstream", "list"]).starts_with("exit: 0"));
    assert!(run(&home, &["worker", "list", "--format", "json"]).contains("\n[]\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_is_checked() {
    let home = Sandbox::new();
    // Migrations and their numbers grow with every release.
    let migrated = run(&home, &["db", "migrate"]);
    assert!(
        migrated.contains("\napplied engine 1 engine\n"),
        "{migrated}"
    );
    insta::assert_snapshot!("up_to_date", run(&home, &["db", "migrate"]));
    let checked = run(&home, &["db", "check", "--format", "table"]);
    let number = regex::Regex::new(r"at \d+").unwrap();
    insta::assert_snapshot!("checked", number.replace_all(&checked, "at [N]"));
}

#[test]
fn the_doctor_and_health_end_with_a_verdict() {
    let home = Sandbox::new();
    let doctor = home.run(["doctor", "--format", "jsonl"]);
    for check in [
        "configuration",
        "disk",
        "database",
        "schema",
        "clock",
        "git",
    ] {
        assert!(
            doctor.contains(&format!("{{\"check\":\"{check}\"")),
            "{doctor}"
        );
    }
    // The schema is not there yet, and the line says what to do.
    assert!(
        doctor.starts_with("exit: 1") && doctor.contains("gleaner db migrate"),
        "{doctor}"
    );
    home.run(["db", "migrate"]);
    home.write("gleaner.toml", "[database]\nmin_free = \"1KiB\"\n");
    let doctor = home.run(["doctor", "--format", "jsonl"]);
    assert!(doctor.starts_with("exit: 0"), "{doctor}");

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let health = home.run(["health", "--listen", &address]);
    assert!(health.starts_with("exit: 1"), "{health}");
}

/// A server of one answer: `health` needs no more.
#[test]
fn health_is_the_status_of_one_request() {
    use std::io::{Read as _, Write as _};

    for (answer, exit) in [("200 OK", 0), ("503 Service Unavailable", 1)] {
        let home = Sandbox::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 64];
            let read = stream.read(&mut request).unwrap();
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let health =
            home.transcript(&mut home.gleaner(["health", "--ready", "--listen", &address]));
        assert_eq!(health.exit, Some(exit), "{}", health.stderr);
        assert!(
            server
                .join()
                .unwrap()
                .starts_with("GET /readyz HTTP/1.1\r\n")
        );
    }
}
