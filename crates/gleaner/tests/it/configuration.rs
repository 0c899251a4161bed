//! The configuration through the front door.

use crate::sandbox::Sandbox;

#[test]
fn the_committed_example_is_what_the_binary_prints() {
    let home = Sandbox::new();
    let printed = home.transcript(&mut home.gleaner(["config", "example"]));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let committed = std::fs::read_to_string(root.join("gleaner.example.toml"));
    assert!(
        committed.unwrap_or_default() == printed.stdout,
        "gleaner.example.toml is stale: run `cargo xtask generate`"
    );
}

#[test]
fn show_tells_where_each_value_came_from_and_no_secret() {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[server]\nlisten = \"127.0.0.1:9000\"\n\n[upstream.\"github.com\"]\nbase_url = \"https://u:hush@github.example.org/api/\"\n\n[distribution]\ncadence = \"90d\"\n",
    );
    let mut command = home.gleaner([
        "config",
        "show",
        "--origin",
        "--database",
        "postgres://me:hush@db.example.org/gleaner",
    ]);
    command
        .env("GLEANER_LICENSE_WORKERS", "3")
        .env("GLEANER_TOKEN_GITHUB_COM", "hush");
    let shown = home.transcript(&mut command).text();
    assert!(!shown.contains("hush"), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn check_finds_the_file_and_unknown_variables() {
    let home = Sandbox::new();
    insta::assert_snapshot!("no_file", home.run(["config", "check"]));
    home.write("gleaner.toml", "[work]\nshutdown_grace = \"1m\"\n");
    let mut command = home.gleaner(["config", "check"]);
    command.env("GLEANER_SERVER_LISTN", "127.0.0.1:1");
    insta::assert_snapshot!("a_file", home.transcript(&mut command).text());
    home.write(".config/gleaner/gleaner.toml", "nonsense");
    assert!(
        home.run(["config", "check"]).starts_with("exit: 0"),
        "the nearer file wins"
    );
    std::fs::remove_file(home.path("gleaner.toml")).unwrap();
    insta::assert_snapshot!("platform_file", home.run(["config", "check"]));
}
