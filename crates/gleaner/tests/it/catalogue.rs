//! Repositories and groups.

use std::process::Command;

use crate::sandbox::Sandbox;

#[test]
fn repositories_are_added_once_and_found_by_any_name() {
    let home = Sandbox::new();
    insta::assert_snapshot!(
        "added",
        home.run([
            "repo",
            "add",
            "https://github.com/Owner/Name",
            "git@github.com:owner/name.git",
            "https://gitlab.com/a/b/c",
            "--group",
            "mine",
        ])
    );
    insta::assert_snapshot!("listed", home.run(["repo", "list", "--format", "table"]));
    for name in ["1", "github.com/OWNER/name", "owner/name", "Name"] {
        let shown = home.run(["repo", "show", name, "--format", "json"]);
        assert!(shown.contains("\"id\":1,"), "{name}: {shown}");
    }
    insta::assert_snapshot!(
        "shown",
        home.run(["repo", "show", "a/b/c", "--format", "table"])
    );
    insta::assert_snapshot!("unknown", home.run(["repo", "show", "nobody/nothing"]));
    insta::assert_snapshot!(
        "no_address",
        home.run(["repo", "add", "https://github.com/"])
    );
    insta::assert_snapshot!("archived", home.run(["repo", "archive", "1"]));
    insta::assert_snapshot!(
        "archived_only",
        home.run(["repo", "list", "--archived", "--format", "csv"])
    );
    insta::assert_snapshot!("removed", home.run(["repo", "remove", "1"]));
    insta::assert_snapshot!("left", home.run(["repo", "list", "--format", "json"]));
}

#[test]
fn a_local_repository_is_one_however_its_path_is_written() {
    let home = Sandbox::new();
    home.write("plain/file", "");
    insta::assert_snapshot!("no_git", home.run(["repo", "add", "./plain"]));
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(home.path("project"))
        .status();
    assert!(made.unwrap().success());
    std::fs::create_dir(home.path("project/sub")).unwrap();
    insta::assert_snapshot!(
        "local",
        home.run(["repo", "add", "project", "./project/sub/.."])
    );
    let shown = home.run(["repo", "show", "./project", "--format", "csv"]);
    assert!(shown.starts_with("exit: 0"), "{shown}");
}

#[test]
fn an_import_with_a_wrong_line_changes_nothing() {
    let home = Sandbox::new();
    home.write(
        "list.txt",
        "# ours\nhttps://github.com/a/one\n\nhttps://github.com/a/two # the second\nftp://x/y\n",
    );
    insta::assert_snapshot!("wrong_line", home.run(["repo", "import", "list.txt"]));
    assert!(
        home.run(["repo", "list", "--format", "json"])
            .contains("\n[]\n")
    );
    home.write(
        "list.txt",
        "https://github.com/a/one\nhttps://github.com/A/ONE\ngithub.com/a/two\n",
    );
    insta::assert_snapshot!(
        "imported",
        home.run(["repo", "import", "list.txt", "--group", "a"])
    );
    let mut piped = std::process::Command::new("sh");
    piped
        .args([
            "-c",
            "echo gitlab.com/b/c | \"$GLEANER\" repo import - --group b",
        ])
        .env("GLEANER", env!("CARGO_BIN_EXE_gleaner"))
        .env("HOME", home.path(""));
    let piped = home.transcript(&mut piped);
    assert!(
        piped.stderr.ends_with("1 added, 0 there already\n"),
        "{}",
        piped.stderr
    );
    insta::assert_snapshot!("group", home.run(["group", "show", "a", "--format", "csv"]));
}

#[test]
fn groups_come_and_go_and_leave_their_repositories() {
    let home = Sandbox::new();
    home.run(["repo", "add", "github.com/a/one", "github.com/a/two"]);
    insta::assert_snapshot!("created", home.run(["group", "create", "Mine"]));
    insta::assert_snapshot!("again", home.run(["group", "create", "mine"]));
    insta::assert_snapshot!(
        "members",
        home.run(["group", "add", "mine", "1", "a/two", "1"])
    );
    insta::assert_snapshot!("groups", home.run(["group", "list", "--format", "table"]));
    insta::assert_snapshot!("out", home.run(["group", "remove", "mine", "1"]));
    insta::assert_snapshot!("gone", home.run(["group", "remove", "mine"]));
    insta::assert_snapshot!("no_group", home.run(["group", "show", "mine"]));
    insta::assert_snapshot!("bad_name", home.run(["group", "create", "a b"]));
    let list = home.run(["repo", "list", "--format", "csv"]);
    assert_eq!(list.matches("github.com/a/").count(), 2, "{list}");
}

#[test]
fn a_group_follows_owners_until_it_is_told_otherwise() {
    let home = Sandbox::new();
    insta::assert_snapshot!(
        "followed",
        home.run([
            "group",
            "add",
            "mine",
            "--from",
            "https://github.com/orgs/Owner"
        ])
    );
    insta::assert_snapshot!(
        "followed_again",
        home.run([
            "group",
            "add",
            "mine",
            "--from",
            "github.com/owner",
            "--no-forks"
        ])
    );
    let units = home.run(["unit", "list", "--format", "json"]);
    assert_eq!(units.matches("\"organisation\"").count(), 2, "{units}");
    insta::assert_snapshot!(
        "not_an_owner",
        home.run([
            "group",
            "add",
            "mine",
            "--from",
            "https://github.com/owner/name"
        ])
    );
    insta::assert_snapshot!(
        "unfollowed",
        home.run(["group", "remove", "mine", "--from", "github.com/OWNER"])
    );
    insta::assert_snapshot!(
        "not_followed",
        home.run(["group", "remove", "mine", "--from", "github.com/owner"])
    );
}

#[test]
fn what_an_owner_has_is_listed_by_the_workers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = sim::Config {
        size: sim::WorldSize {
            repositories: 0,
            organisation: 70,
        },
        ..sim::Config::default()
    };
    let server = runtime.block_on(sim::Server::start(world)).unwrap();
    let home = Sandbox::new();
    let base = server.host_url("codeberg.org").unwrap();
    let settings = format!("[upstream.\"codeberg.org\"]\nbase_url = \"{base}\"\n");
    home.write("gleaner.toml", &settings);
    home.run([
        "group",
        "add",
        "mine",
        "--from",
        "https://codeberg.org/meadow",
    ]);
    let worked = home.run(["work", "--until-idle"]);
    assert!(worked.starts_with("exit: 0"), "{worked}");
    let listed = home.run(["group", "show", "mine", "--format", "csv"]);
    assert_eq!(
        listed.matches("https://codeberg.org/meadow/").count(),
        70,
        "{listed}"
    );
    // The owner, and two pages; the rest was asked about what lies in the repositories.
    let listing = |path: &str| path.contains("/users/") || path.contains("/repos/search");
    let lists = server.journal().select(|asked| listing(&asked.path));
    assert_eq!(lists.len(), 3);
}
