//! The Go index from the command line, from a local repository to the feed.

use std::process::Command;

use crate::sandbox::Sandbox;

fn git(home: &Sandbox, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(args)
        .current_dir(home.path("lib"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2024-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2024-01-02T03:04:05Z")
        .status();
    assert!(done.unwrap().success(), "{args:?}");
}

#[test]
fn a_repository_is_added_read_and_published() {
    let home = Sandbox::new();
    home.write("lib/go.mod", "module example.com/lib\n");
    home.write("lib/sub/go.mod", "module example.com/lib/sub\n");
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "Begin"],
        &["tag", "v1.0.0"],
        &["tag", "sub/v0.1.0"],
        &["tag", "v1"],
    ] {
        git(&home, args);
    }
    insta::assert_snapshot!("add", home.run(["go", "add", "lib"]));
    let work = ["work", "--until-idle", "--kinds", "goindex", "-q"];
    let done = home.run(work);
    assert!(done.starts_with("exit: 0"), "{done}");
    insta::assert_snapshot!("status", home.run(["go", "status", "--format", "table"]));
    insta::assert_snapshot!("modules", home.run(["go", "modules", "--format", "table"]));
    // The path of a local repository stands for owner and name, without the slash it begins with.
    let path = home.path("").display().to_string();
    let hidden = |text: String| text.replace(path.trim_matches('/'), "[HOME]");
    let versions = home.run(["go", "versions", "example.com/lib/sub", "--format", "csv"]);
    insta::assert_snapshot!("versions", hidden(versions));
    let rejected = home.run(["go", "rejected", "--format", "csv"]);
    insta::assert_snapshot!("rejected", hidden(rejected));

    home.write("lib/more.go", "package lib\n");
    git(&home, &["add", "-A"]);
    git(&home, &["commit", "-q", "-m", "More"]);
    git(&home, &["tag", "-f", "v1.0.0"]);
    insta::assert_snapshot!("reindex", home.run(["go", "reindex", "lib"]));
    let done = home.run(work);
    assert!(done.starts_with("exit: 0"), "{done}");
    let events = home.run(["go", "events", "--format", "jsonl"]);
    assert!(events.contains(r#""event":"moved""#), "{events}");
    insta::assert_snapshot!("no_module", home.run(["go", "versions", "example.com/x"]));
    insta::assert_snapshot!(
        "not_there",
        home.run(["go", "reindex", "--all", "--data", "other"])
    );
}

#[test]
fn what_was_added_is_taken_out_again() {
    let home = Sandbox::new();
    home.write("lib/go.mod", "module example.com/lib\n");
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "Begin"],
        &["tag", "v1.0.0"],
    ] {
        git(&home, args);
    }
    let work = [
        "work",
        "--until-idle",
        "--kinds",
        "goindex/tags,goindex/publish",
        "-q",
    ];
    let says = |args: &[&str], text: &str| {
        let said = home.run(args.iter().copied());
        assert!(said.contains(text), "{args:?}: {said}");
    };
    says(&["go", "add", "lib"], "1 added to the Go index");
    says(&work, "exit: 0");
    says(&["go", "remove", "lib"], "1 are no longer read");
    let status = home.run(["go", "status", "--format", "jsonl"]);
    assert!(status.contains(r#""repositories":0"#), "{status}");
    assert!(
        status.contains(r#""last_seq":1"#),
        "published stays published: {status}"
    );
    // It can come back, and its work with it.
    git(&home, &["tag", "v1.1.0"]);
    says(&["go", "add", "lib"], "1 added to the Go index");
    says(&work, "exit: 0");
    says(&["go", "status", "--format", "jsonl"], r#""last_seq":2"#);

    for (owner, shown) in [
        (
            "https://git.example.org/team",
            "follows team on git.example.org",
        ),
        (
            "server:git.example.org",
            "follows everything on git.example.org",
        ),
        (
            "search:github.com language:go",
            "follows what `language:go` finds on github.com",
        ),
    ] {
        says(&["go", "add", "--from", owner], shown);
        says(&["go", "remove", "--from", owner], "0 are no longer read");
        says(&["go", "remove", "--from", owner], "does not follow");
    }
    says(
        &["go", "add", "--from", "search:github.com"],
        "nothing to search for",
    );
}

#[test]
fn owners_stand_in_the_configuration_as_well() {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[goindex]\nfrom = [\"server:git.example.org\", \"https://github.com/owner\"]\n",
    );
    // Nobody is asked: the kind that would has no part in it.
    let work = ["work", "--until-idle", "--kinds", "goindex/publish"];
    let said = home.run(work);
    assert!(said.contains("follows from now on: 2"), "{said}");
    let again = home.run(work);
    assert!(!again.contains("follows from now on"), "{again}");
    let units = home.run(["unit", "list", "--format", "csv"]);
    assert_eq!(units.matches("goindex/list").count(), 2, "{units}");
    home.write("gleaner.toml", "[goindex]\nfrom = [\"nonsense\"]\n");
    let wrong = home.run(work);
    assert!(wrong.contains("`from` under `[goindex]`"), "{wrong}");
}
