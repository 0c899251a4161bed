//! Everything that goes wrong before work begins: a clear message, a hint, the documented exit code.

use db::{Db, Settings, sql};

use crate::sandbox::Sandbox;

#[test]
fn a_wrong_key_in_the_configuration() {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[distribution]\nenabled = true\nworkerz = 4\n",
    );
    insta::assert_snapshot!(home.run(["repo", "list"]));
}

#[test]
fn a_duration_without_a_unit_and_no_workers() {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[distribution]\nworkers = 0\ncadence = 180\n",
    );
    insta::assert_snapshot!(home.run(["config", "check"]));
}

#[test]
fn a_wrong_value_in_the_environment() {
    let home = Sandbox::new();
    let mut command = home.gleaner(["config", "check"]);
    command.env("GLEANER_LICENSE_WORKERS", "0");
    insta::assert_snapshot!(home.transcript(&mut command).text());
}

#[test]
fn a_configuration_that_is_not_there() {
    let home = Sandbox::new();
    insta::assert_snapshot!(home.run(["config", "check", "--config", "nowhere.toml"]));
}

#[test]
fn an_address_that_is_no_database() {
    let home = Sandbox::new();
    insta::assert_snapshot!(home.run(["repo", "list", "--database", "mysql://me:hush@h/d"]));
}

#[test]
fn a_database_that_nobody_serves() {
    // A port that was free a moment ago, so that nobody answers there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    insta::assert_snapshot!(unreachable(port));
}

#[test]
fn a_server_that_says_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    insta::assert_snapshot!(unreachable(port));
}

fn unreachable(port: u16) -> String {
    let home = Sandbox::new();
    let url = format!("postgres://me:hush@127.0.0.1:{port}/d");
    let mut command = home.gleaner(["repo", "list", "--database", &url]);
    command.env("GLEANER_DATABASE_TIMEOUT", "1s");
    let text = home.transcript(&mut command).text();
    text.replace(&port.to_string(), "[PORT]")
}

#[test]
fn a_database_in_a_directory_that_is_not_there() {
    let home = Sandbox::new();
    insta::assert_snapshot!(home.run(["repo", "list", "--database", "sqlite:nowhere/g.db"]));
}

#[test]
fn a_file_that_is_no_database() {
    let home = Sandbox::new();
    home.write("g.db", &"this is no database. ".repeat(500));
    insta::assert_snapshot!(home.run(["repo", "list", "--database", "sqlite:g.db"]));
}

#[test]
fn a_data_directory_below_a_file() {
    let home = Sandbox::new();
    home.write("file", "");
    insta::assert_snapshot!(home.run(["repo", "list", "--data", "file/data"]));
}

#[test]
fn no_home() {
    let home = Sandbox::new();
    let mut command = home.gleaner(["repo", "list"]);
    command.env_remove("HOME");
    insta::assert_snapshot!(home.transcript(&mut command).text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_newer_than_the_binary() {
    let home = Sandbox::new();
    let made = home.run(["db", "migrate", "--database", "sqlite:g.db", "-q"]);
    assert!(made.starts_with("exit: 0"), "{made}");
    let url = format!("sqlite:{}", home.path("g.db").display());
    let db = Db::connect(&url, &Settings::default()).await.unwrap();
    db.execute(sql!(
        "INSERT INTO schema_migration (part, number, name, serves, applied_at)
         SELECT 'engine', 999, 'from the future', 999, max(applied_at) FROM schema_migration"
    ))
    .await
    .unwrap();
    let newer = home.run(["repo", "list", "--database", "sqlite:g.db"]);
    // The number that this binary knows grows with every migration.
    let known = regex::Regex::new(r"this binary knows \d+").unwrap();
    insta::assert_snapshot!(known.replace(&newer, "this binary knows [N]"));
    let check = home.run([
        "db",
        "check",
        "--database",
        "sqlite:g.db",
        "--format",
        "csv",
    ]);
    assert!(
        check.starts_with("exit: 1") && check.contains("newer"),
        "{check}"
    );

    // Nothing was touched: taken back, the binary works again.
    db.execute(sql!("DELETE FROM schema_migration WHERE number = 999"))
        .await
        .unwrap();
    db.close().await;
    let again = home.run(["repo", "list", "--database", "sqlite:g.db"]);
    assert!(again.starts_with("exit: 0"), "{again}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Sandbox::new();
    let mut command = std::process::Command::new("sh");
    command.env("GLEANER", env!("CARGO_BIN_EXE_gleaner")).args([
        "-c",
        "{ \"$GLEANER\" completions bash; echo $? >&2; } | head -n 1 > /dev/null",
    ]);
    assert_eq!(home.transcript(&mut command).stderr, "0\n");
    command = std::process::Command::new("sh");
    command.env("GLEANER", env!("CARGO_BIN_EXE_gleaner")).args([
        "-c",
        "exec \"$GLEANER\" config show --format jsonl > /dev/full",
    ]);
    insta::assert_snapshot!(home.transcript(&mut command).text());
}
