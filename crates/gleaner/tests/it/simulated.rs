//! The simulated world as a server, and the commands that ask it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use crate::{
    sandbox::Sandbox,
    serving::{started_and_said, terminate},
};

const FORGES: [&str; 3] = ["github.com", "gitlab.example.org", "codeberg.org"];

/// A world of its own, and a home whose configuration points at it.
struct World {
    home: Sandbox,
    process: Child,
    address: String,
}

impl World {
    fn start(args: &[&str]) -> Self {
        let home = Sandbox::new();
        let mut sim = home.gleaner(["sim", "--listen", "127.0.0.1:0", "--format", "jsonl"]);
        let (mut process, address, said) = started_and_said(sim.args(args).stdout(Stdio::piped()));
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.take(10).map(Result::unwrap).collect::<Vec<_>>();
        let shown = first.join("\n").replace(&address, "[ADDRESS]");
        insta::assert_snapshot!("upstreams", shown);
        let configuration = said.lines().skip_while(|line| !line.starts_with('['));
        let configuration =
            configuration.take_while(|line| !line.ends_with(':') && !line.starts_with("for "));
        home.write(
            "gleaner.toml",
            &configuration.collect::<Vec<_>>().join("\n"),
        );
        Self {
            home,
            process,
            address,
        }
    }

    fn gleaner(&self, args: &[&str]) -> Command {
        let mut command = self.home.gleaner(args);
        command.env("GLEANER_CLOCK", format!("world:http://{}", self.address));
        command
    }

    /// Runs a command that must go well, and returns what it printed.
    fn run(&self, args: &[&str]) -> String {
        let done = self.home.transcript(&mut self.gleaner(args));
        assert_eq!(done.exit, Some(0), "{args:?}: {}", done.text());
        done.stdout
    }

    /// Steers the world.
    fn tell(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, length) = (&self.address, body.len());
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    }

    fn end(mut self) {
        terminate(&self.process);
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_simulated_world_is_followed_by_its_own_clock() {
    let world = World::start(&["--seed", "7", "--repos", "30", "--speed", "600"]);
    for forge in FORGES {
        let owner = format!("https://{forge}/meadow");
        world.run(&["group", "add", "ours", "--from", &owner]);
    }
    world.run(&["work", "--until-idle", "-q"]);
    let listed = world.run(&["group", "show", "ours", "--format", "jsonl"]);
    for forge in FORGES {
        let listed = listed.lines().filter(|line| line.contains(forge)).count();
        // Private ones are not shown to strangers.
        assert!((20..=30).contains(&listed), "{forge}: {listed}");
    }
    world.end();
}

#[test]
fn a_foundation_is_asked_for_its_projects() {
    let world = World::start(&["--seed", "7", "--repos", "30", "--speed", "600"]);
    let loaded = world.run(&["repo", "load-foundation", "--organisations"]);
    assert_eq!(loaded, "");
    let listed = world.run(&["repo", "list", "--format", "jsonl"]);
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert!(
        listed
            .lines()
            .all(|line| line.contains("github.com/meadow/"))
    );
    let groups = world.run(&["group", "list", "--format", "jsonl"]);
    assert_eq!(
        groups
            .lines()
            .filter(|line| line.contains("\"apache-"))
            .count(),
        6,
        "{groups}"
    );
    // Everything that the owner has comes with the next run.
    world.run(&["work", "--until-idle", "--kinds", "organisation", "-q"]);
    let listed = world.run(&["repo", "list", "--format", "jsonl"]);
    assert!(listed.lines().count() > 20, "{listed}");
    world.end();
}

#[test]
fn a_clock_that_is_none_is_refused() {
    let home = Sandbox::new();
    for (name, clock) in [
        ("no_clock", "yesterday"),
        ("no_world", "world:http://127.0.0.1:1"),
    ] {
        let mut command = home.gleaner(["unit", "list"]);
        let done = home.transcript(command.env("GLEANER_CLOCK", clock));
        insta::assert_snapshot!(name, done.text());
    }
    let nothing = home.run(["sim", "--speed", "0"]);
    insta::assert_snapshot!("no_speed", nothing);
}

#[test]
fn the_doctor_looks_at_upstreams_and_tokens() {
    let world = World::start(&["--seed", "7", "--repos", "6", "--speed", "1"]);
    for (upstream, limit) in [("github.com", 4000), ("gitlab.com", 300)] {
        world.tell(
            "/__sim/tokens",
            &format!(
                r#"{{"upstream": "{upstream}", "name": "ours", "secret": "s3cret",
                    "scopes": ["public_repo", "read:org"], "limit": {limit}}}"#
            ),
        );
    }
    let mut doctor = world.home.gleaner(["doctor", "--format", "table"]);
    doctor
        .env("GLEANER_TOKEN_GITHUB_COM", "s3cret,0ld")
        .env("GLEANER_TOKEN_GITLAB_COM", "s3cret")
        .env("GLEANER_TOKEN_CODEBERG_ORG", "any");
    let text = world.home.transcript(&mut doctor).text();
    insta::assert_snapshot!("doctor", of_upstreams(&text, &world.address));
    let faults = r#"{"upstream": "github.com", "fault": "status", "status": 503}"#;
    world.tell("/__sim/faults", faults);
    let text = world.home.transcript(&mut doctor).text();
    insta::assert_snapshot!("doctor_in_an_outage", of_upstreams(&text, &world.address));
    assert!(!text.contains("s3cret") && !text.contains("0ld"), "{text}");
    world.end();
}

/// The exit code, and the lines about upstreams and tokens.
fn of_upstreams(text: &str, address: &str) -> String {
    let wanted = |line: &&str| {
        ["exit:", "upstream", "token"]
            .iter()
            .any(|word| line.trim_start().starts_with(word))
    };
    let lines = text.lines().filter(wanted).map(str::trim_end);
    let lines = lines.collect::<Vec<_>>().join("\n");
    lines.replace(address, "[ADDRESS]")
}
