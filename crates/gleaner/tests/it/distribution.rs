//! Distribution as people ask about it.

use std::process::Command;

use crate::sandbox::Sandbox;

/// A local repository with a crate, a private package and a test fixture.
fn with_repository(home: &Sandbox) {
    home.write(
        "project/Cargo.toml",
        "[package]\nname = \"foo\"\nversion = \"1.2.0\"\n",
    );
    home.write(
        "project/web/package.json",
        "{\"name\": \"web\", \"private\": true}",
    );
    home.write(
        "project/tests/data/package.json",
        "{\"name\": \"fixture\", \"version\": \"1.0.0\"}",
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

/// Columns are as wide as the home's path is long.
fn narrow(text: &str) -> String {
    let gaps = regex::Regex::new(" {2,}").unwrap();
    gaps.replace_all(text, "  ").into_owned()
}

fn judged() -> Sandbox {
    let home = Sandbox::new();
    with_repository(&home);
    let added = home.run(["repo", "add", "project"]);
    assert!(added.starts_with("exit: 0"), "{added}");
    let worked = home.run(["work", "--until-idle", "-q"]);
    assert!(worked.starts_with("exit: 0"), "{worked}");
    home
}

#[test]
fn figures_gaps_and_one_repository_are_shown() {
    let home = judged();
    let run = |args: &[&str]| home.run([&["distribution"], args].concat());
    insta::assert_snapshot!("stats", run(&["stats", "--format", "table"]));
    insta::assert_snapshot!("stats_json", run(&["--format", "json"]));
    // Nobody can be asked about a repository that lies on this machine.
    insta::assert_snapshot!("orphans", narrow(&run(&["--orphans", "--format", "table"])));
    assert_eq!(
        run(&["stats", "--orphans", "--format", "table"]),
        run(&["--orphans", "--format", "table"])
    );
    insta::assert_snapshot!(
        "gaps",
        run(&["gaps", "--repo", "project", "--format", "csv"])
    );
    let strong = run(&["--orphans", "--min-grade", "orphan", "--format", "json"]);
    assert!(strong.contains("\n[]\n"), "{strong}");
    insta::assert_snapshot!(
        "one",
        narrow(&run(&["--repo", "project", "--format", "table"]))
    );
    let json = run(&["--repo", "project", "--format", "json"]);
    assert!(json.contains("\"grade\":\"unknown\""), "{json}");
    insta::assert_snapshot!("events", run(&["events", "--format", "csv"]));
    insta::assert_snapshot!("bad_grade", run(&["gaps", "--grade", "bad"]));
    insta::assert_snapshot!("bad_time", run(&["events", "--since", "yesterday"]));
    insta::assert_snapshot!("nobody", run(&["--repo", "nobody/nothing"]));
}

#[test]
fn a_source_is_asked_again_for_all_or_for_some() {
    let home = judged();
    let run = |args: &[&str]| home.run([&["distribution", "recheck"], args].concat());
    insta::assert_snapshot!(
        "recheck_dry",
        run(&["--source", "manifests", "--dry-run", "--format", "jsonl"])
    );
    // Its manifests are there: nothing is missing.
    insta::assert_snapshot!(
        "recheck_missing",
        run(&["--source", "manifests", "--missing", "--format", "jsonl"])
    );
    insta::assert_snapshot!(
        "recheck_one",
        run(&[
            "--source",
            "manifests",
            "--repo",
            "project",
            "--format",
            "jsonl"
        ])
    );
    let units = home.run(["unit", "list", "--format", "csv"]);
    assert!(units.contains("run-now"), "{units}");
    let judged = run(&["--source", "pairing", "--format", "jsonl"]);
    assert!(judged.starts_with("exit: 0"), "{judged}");
    let wrong = run(&["--source", "rumours"]);
    let sources = regex::Regex::new("the sources are .*").unwrap();
    insta::assert_snapshot!(
        "no_such_source",
        sources.replace(&wrong, "the sources are [SOURCES]")
    );
}

#[test]
fn a_local_repository_is_inspected_without_a_store_and_without_a_network() {
    let home = Sandbox::new();
    with_repository(&home);
    let inspect = |args: &[&str]| {
        let mut command = home.gleaner(args);
        command.env("TMPDIR", home.path("tmp"));
        home.transcript(&mut command).text()
    };
    std::fs::create_dir(home.path("tmp")).unwrap();
    let sheet = inspect(&["inspect", "project", "--format", "table"]);
    insta::assert_snapshot!("sheet", narrow(&sheet));
    let json = inspect(&["inspect", "./project", "--format", "json"]);
    assert!(
        json.contains("\"not_asked\":[{\"source\":\"depsdev\""),
        "{json}"
    );
    // Nothing is left of it.
    assert_eq!(std::fs::read_dir(home.path("tmp")).unwrap().count(), 0);
    let known = home.run(["repo", "list", "--format", "json"]);
    assert!(known.contains("\n[]\n"), "{known}");
    insta::assert_snapshot!("no_subject", inspect(&["inspect", "./nowhere"]));
}

#[test]
fn a_bare_repository_and_a_plain_directory_are_inspected_alike() {
    let home = Sandbox::new();
    with_repository(&home);
    let cloned = Command::new("git")
        .args(["clone", "-q", "--bare", "project", "bare.git"])
        .current_dir(home.path("."))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(cloned.unwrap().success());
    std::fs::remove_dir_all(home.path("project/.git")).unwrap();
    let sheet = |subject: &str| -> serde_json::Value {
        let said = home.run(["inspect", subject, "--format", "jsonl"]);
        assert!(said.starts_with("exit: 0"), "{said}");
        let line = said.lines().find(|line| line.starts_with('{')).unwrap();
        serde_json::from_str(line).unwrap()
    };
    let (bare, plain) = (sheet("bare.git"), sheet("project"));
    let told = |sheet: &serde_json::Value| -> Vec<String> {
        let all = sheet["manifests"].as_array().unwrap();
        let word = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or("-").to_owned();
        all.iter()
            .map(|one| {
                format!(
                    "{} {} {}",
                    word(one, "path"),
                    word(one, "name"),
                    word(one, "intent")
                )
            })
            .collect()
    };
    assert_eq!(
        told(&plain),
        [
            "Cargo.toml foo yes",
            "tests/data/package.json fixture yes",
            "web/package.json web denied"
        ]
    );
    assert_eq!(told(&bare), told(&plain));
    assert_eq!(bare["default_branch"], "main");
    for sheet in [&bare, &plain] {
        assert_eq!(sheet["gaps"][0]["grade"], "unknown");
        assert_eq!(sheet["not_asked"].as_array().unwrap().len(), 4);
    }
    // Watching is for repositories.
    let refused = home.run(["repo", "add", "project"]);
    assert!(refused.contains("is no git repository"), "{refused}");
    // An empty directory may be a disk that is not there.
    std::fs::create_dir(home.path("empty")).unwrap();
    let empty = home.run(["inspect", "empty", "--format", "json"]);
    assert!(
        empty.starts_with("exit: 3") && empty.contains("is empty"),
        "{empty}"
    );
}

#[test]
fn in_a_store_only_the_subjects_units_run() {
    let home = Sandbox::new();
    with_repository(&home);
    home.write("other/Cargo.toml", "[package]\nname = \"other\"\n");
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(home.path("other"))
        .status();
    assert!(made.unwrap().success());
    home.run(["repo", "add", "other", "--data", "store"]);
    let done = home.run(["inspect", "project", "--data", "store", "--format", "json"]);
    assert!(done.starts_with("exit: 0"), "{done}");
    assert!(done.contains("\"grade\":\"unknown\""), "{done}");
    let units = home.run(["unit", "list", "--data", "store", "--format", "csv"]);
    let of = |key: &str| {
        let found = units.lines().find(|line| line.contains(key));
        found.unwrap_or_else(|| panic!("{units}")).to_owned()
    };
    // The attempt tells who has run.
    assert!(
        of("distribution/manifests,1,").contains(",ready,first,"),
        "{units}"
    );
    assert!(
        of("distribution/manifests,2,").contains(",ready,cadence,"),
        "{units}"
    );
    assert!(
        of("distribution/pairing,2,").contains(",ready,cadence,"),
        "{units}"
    );
}

/// A repository on a forge that cannot be reached.
#[test]
fn what_cannot_be_asked_is_told_and_is_no_answer() {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[upstream.\"forge.example\"]\nbase_url = \"http://127.0.0.1:9\"\n",
    );
    let done = home.run(["inspect", "https://forge.example/o/r", "--format", "json"]);
    assert!(done.starts_with("exit: 3"), "{done}");
    assert!(done.contains("\"not_asked\":[{"), "{done}");
}
