//! `gleaner manifest`, which needs no database.

use crate::sandbox::Sandbox;

#[test]
fn files_in_the_order_given_and_directories_walked() {
    let home = Sandbox::new();
    home.write(
        "a/Cargo.toml",
        "[package]\nname = \"foo\"\nversion = \"1.2.0\"\n",
    );
    home.write(
        "a/web/package.json",
        "{\"name\": \"web\", \"private\": true}",
    );
    home.write("a/.git/package.json", "{\"name\": \"hidden\"}");
    home.write("b/package.json", "{ broken");
    home.write("b/notes.txt", "no manifest");
    insta::assert_snapshot!(
        "jsonl",
        home.run([
            "manifest",
            "b/package.json",
            "a",
            "b/notes.txt",
            "--format",
            "jsonl"
        ])
    );
    insta::assert_snapshot!(
        "table",
        home.run(["manifest", "a", "b", "--format", "table"])
    );
    insta::assert_snapshot!("missing", home.run(["manifest", "a/nowhere.toml"]));
    // A broken configuration is no obstacle to reading files.
    home.write("gleaner.toml", "nonsense");
    assert!(home.run(["manifest", "a"]).starts_with("exit: 0"));
}
