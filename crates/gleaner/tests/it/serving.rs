//! The processes that stay: one slice from end to end, and how they leave.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::sandbox::Sandbox;

/// A local repository with two manifests.
fn with_repository(home: &Sandbox) {
    home.write(
        "project/Cargo.toml",
        "[package]\nname = \"foo\"\nversion = \"1.2.0\"\n",
    );
    home.write(
        "project/web/package.json",
        "{\"name\": \"web\", \"private\": true}",
    );
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "Begin"],
    ] {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .current_dir(home.path("project"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(done.unwrap().success());
    }
}

#[test]
fn a_local_repository_is_read_and_shown() {
    let home = Sandbox::new();
    with_repository(&home);
    let added = home.run(["repo", "add", "project"]);
    assert!(added.starts_with("exit: 0"), "{added}");
    insta::assert_snapshot!("waits", home.run(["unit", "list", "--format", "table"]));
    let mut work = home.gleaner(["work", "--until-idle", "-q", "--format", "table"]);
    insta::assert_snapshot!("until_idle", home.transcript(&mut work).text());
    let shown = home.run(["repo", "show", "project", "--format", "table"]);
    insta::assert_snapshot!("facts", shown);
    let nobody = home.run(["work", "--until-idle", "--kinds", "nothing/at-all"]);
    // The list of kinds grows with every round.
    let kinds = regex::Regex::new("the kinds are .*").unwrap();
    insta::assert_snapshot!(
        "no_such_kind",
        kinds.replace(&nobody, "the kinds are [KINDS]")
    );
}

/// The address is the only change.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_on_postgresql() {
    let home = Sandbox::new();
    with_repository(&home);
    let database = db::testing::TestDb::postgres(&[engine::PART, store::PART]).await;
    let run = |args: &[&str]| {
        let mut command = home.gleaner(args);
        command
            .env("GLEANER_DATABASE", database.url())
            .env("GLEANER_DATABASE_MIN_FREE", "1KiB")
            // A machine that is busy with other tests is no reason to fail.
            .env("GLEANER_DATABASE_TIMEOUT", "60s");
        home.transcript(&mut command)
    };
    let added = run(&["repo", "add", "project", "--group", "mine"]);
    assert_eq!(added.exit, Some(0), "{}", added.stderr);
    let idle = run(&["work", "--until-idle", "-q"]);
    assert_eq!(idle.exit, Some(0), "{}", idle.stderr);
    let shown = run(&["repo", "show", "project", "--format", "table"]).text();
    insta::assert_snapshot!("facts_on_postgresql", shown);
    for args in [
        &["unit", "why", "1"][..],
        &[
            "unit",
            "run",
            "--kind",
            "distribution",
            "--key",
            "1",
            "--dry-run",
        ],
        &["pool", "pause", "distribution"],
        &["pool", "resume", "distribution"],
        &["upstream", "list"],
        &["worker", "list"],
        &["group", "show", "mine"],
        &["db", "check"],
        &["doctor"],
        &["unit", "run", "1"],
        &["unit", "cancel", "1"],
        &["unit", "retry", "distribution/manifests:1"],
        &["repo", "archive", "1"],
        &["repo", "remove", "1"],
    ] {
        let done = run(args);
        assert_eq!(done.exit, Some(0), "{args:?}: {}", done.text());
    }
}

#[test]
fn a_round_that_is_switched_off_does_not_run() {
    let home = Sandbox::new();
    with_repository(&home);
    home.run(["repo", "add", "project"]);
    home.write(
        "gleaner.toml",
        "[distribution]\nenabled = false\n[license]\nenabled = false\n",
    );
    insta::assert_snapshot!(home.run(["work", "--until-idle", "-q"]));
}

#[test]
fn a_round_that_is_switched_on_later_begins_then() {
    let home = Sandbox::new();
    with_repository(&home);
    home.write(
        "gleaner.toml",
        "[distribution]\nenabled = false\n[license]\nenabled = false\n",
    );
    let added = home.run(["repo", "add", "project"]);
    assert!(added.starts_with("exit: 0"), "{added}");
    let units = || home.run(["unit", "list", "--format", "json"]);
    assert!(units().contains("\n[]\n"), "{}", units());
    home.run(["work", "--until-idle", "-q"]);
    assert!(units().contains("\n[]\n"), "{}", units());

    home.write("gleaner.toml", "");
    let begun = home.run(["work", "--until-idle"]);
    assert!(begun.contains("which was switched off: 1"), "{begun}");
    let gaps = home.run(["distribution", "gaps", "--format", "csv"]);
    assert!(gaps.contains(",unknown,"), "{gaps}");
    // Once is enough.
    let again = home.run(["work", "--until-idle"]);
    assert!(!again.contains("which was switched off"), "{again}");
}

#[test]
fn the_web_answers_and_leaves_when_asked() {
    let home = Sandbox::new();
    let mut server = home.gleaner(["serve", "--listen", "127.0.0.1:0"]);
    let (mut server, address) = started(&mut server);
    assert_eq!(status(&address, "/healthz"), 200);
    assert_eq!(status(&address, "/readyz"), 200);
    assert_eq!(status(&address, "/api/v1/units"), 200);
    let health = home.run(["health", "--ready", "--listen", &address]);
    assert!(health.starts_with("exit: 0"), "{health}");
    let taken = home.run(["web", "--listen", &address]);
    insta::assert_snapshot!(taken.replace(&address, "[ADDRESS]"));
    terminate(&server);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn the_demo_shows_generated_repositories_and_keeps_nothing() {
    let home = Sandbox::new();
    let mut demo = home.gleaner(["serve", "--demo", "--listen", "127.0.0.1:0"]);
    demo.env("TMPDIR", home.path(""));
    let (mut server, address) = started(&mut demo);
    assert_eq!(status(&address, "/"), 200);
    // Licenses of simulated repositories, scanned by the scanner that needs nothing.
    let begun = Instant::now();
    while !(1..20).any(|id| is_licensed(&address, id)) {
        assert!(begun.elapsed() < Duration::from_mins(2), "no license");
        std::thread::yield_now();
    }
    terminate(&server);
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let left: Vec<_> = std::fs::read_dir(home.path("")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Nobody outside is asked, whatever the environment holds for them.
#[test]
fn the_demo_lists_simulated_forges_and_comes_to_an_end() {
    let home = Sandbox::new();
    let mut demo = home.gleaner(["serve", "--demo", "--until-idle", "--listen", "127.0.0.1:0"]);
    demo.args(["--format", "jsonl"])
        .env("TMPDIR", home.path(""))
        .env("GLEANER_TOKEN_GITHUB_COM", "somebody's")
        .env("https_proxy", "http://127.0.0.1:1");
    let done = home.transcript(&mut demo);
    assert_eq!(done.exit, Some(0), "{}", done.text());
    assert!(
        done.stderr.contains("5 simulated forges"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("nothing is due now"),
        "{}",
        done.stderr
    );
    // What is left is due at its next cadence, and nothing went wrong.
    for line in done.stdout.lines() {
        assert!(line.contains("\"state\":\"ready\""), "{line}");
    }
    let scans = done
        .stdout
        .lines()
        .filter(|line| line.contains("license/scan"));
    assert!(scans.count() > 5, "{}", done.stdout);
}

/// Starts a server and waits until it says where it listens.
fn started(command: &mut Command) -> (Child, String) {
    let (child, address, _) = started_and_said(command.stdout(Stdio::null()));
    (child, address)
}

/// Starts a server and waits until it says where it listens; also what it said before.
pub(crate) fn started_and_said(command: &mut Command) -> (Child, String, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    let address = loop {
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("it ended: {said}"))
            .unwrap();
        if let Some(rest) = line.strip_prefix("listening on http://") {
            break rest.trim_end_matches('/').to_owned();
        }
        said.push_str(&line);
        said.push('\n');
    };
    // Whoever writes to a pipe that nobody reads stops in the end.
    std::thread::spawn(move || lines.for_each(drop));
    (child, address, said)
}

pub(crate) fn terminate(child: &Child) {
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
}

/// Whether a repository has a license, a holder and the page that tells when it was scanned.
fn is_licensed(address: &str, id: u32) -> bool {
    let told = asked(address, &format!("/api/v1/repos/{id}/scancode-licenses"));
    if !told.contains("\"osi_approved\":true") {
        return false;
    }
    assert!(told.contains("The Meadow Authors"), "{told}");
    let page = asked(address, &format!("/repos/{id}"));
    assert!(
        page.contains("Last run: 2") && page.contains("(builtin "),
        "{page}"
    );
    let files = asked(address, &format!("/api/v1/repos/{id}/scancode-files"));
    assert!(files.contains("\"path\":\"LICENSE\""), "{files}");
    true
}

fn status(address: &str, path: &str) -> u16 {
    asked(address, path)[9..12].parse().unwrap()
}

fn asked(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
