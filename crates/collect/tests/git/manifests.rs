//! From a real repository to manifest facts.

use crate::made::{Made, git};
use collect::{
    answer::Answer,
    distribution::manifests::{Snapshot, read_manifests},
    git::{Limits, Local},
};
use facts::manifest::{Intent, ManifestFact, Place};

async fn read(made: &Made) -> Answer<Snapshot> {
    let local = Local::open(made.path(), Limits::default()).await.unwrap();
    read_manifests(&local).await
}

async fn facts(made: &Made) -> Vec<ManifestFact> {
    match read(made).await {
        Answer::Found(snapshot) => snapshot.facts,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn manifests_are_found_wherever_they_are() {
    let made = Made::new();
    made.write(
        "package.json",
        br#"{"name": "top", "version": "1.0.0", "repository": "o/r"}"#,
    );
    made.write(
        "Cargo.toml",
        b"[workspace]\nmembers = [\"a\"]\n[workspace.package]\nversion = \"3.1.0\"\n",
    );
    made.write(
        "a/Cargo.toml",
        b"[package]\nname = \"a\"\nversion.workspace = true\n",
    );
    made.write(
        "tests/data/package.json",
        br#"{"name": "x", "version": "1.0.0"}"#,
    );
    made.write("broken/package.json", b"{ \"name\": ");
    made.write("other/package.json", b"[1, 2]");
    made.write("src/lib.rs", b"");
    made.commit("first");

    let facts = facts(&made).await;
    let paths: Vec<&str> = facts.iter().map(|fact| fact.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "Cargo.toml",
            "a/Cargo.toml",
            "broken/package.json",
            "package.json",
            "tests/data/package.json"
        ]
    );
    assert_eq!(facts[0].intent, Intent::Denied);
    assert_eq!(facts[1].effective_name.as_deref(), Some("a"));
    // Filled in from the workspace.
    assert_eq!(facts[1].version.as_deref(), Some("3.1.0"));
    assert_eq!(
        (facts[2].manifest_type.as_str(), facts[2].name.as_deref()),
        ("npm", None)
    );
    assert!(facts[2].error.as_deref().unwrap().contains("JSON"));
    assert_eq!(
        (facts[3].name.as_deref(), facts[3].intent),
        (Some("top"), Intent::Yes)
    );
    assert_eq!(facts[3].repository.as_deref(), Some("o/r"));
    assert_eq!(facts[3].blob.as_ref().map(String::len), Some(40));
    assert_eq!(facts[4].place, Place::Test);
}

#[tokio::test]
async fn a_manifest_that_is_too_large_is_a_fact_with_an_error() {
    let made = Made::new();
    let large = format!(
        r#"{{"name": "x", "d": "{}"}}"#,
        "y".repeat(scan::manifest::MAX_BYTES)
    );
    made.write("package.json", large.as_bytes());
    std::os::unix::fs::symlink("package.json", made.path().join("Cargo.toml")).unwrap();
    made.commit("first");
    let facts = facts(&made).await;
    assert_eq!(facts.len(), 1);
    assert!(
        facts[0].error.as_deref().unwrap().contains("limit"),
        "{:?}",
        facts[0].error
    );
}

#[tokio::test]
async fn nothing_there_is_knowledge_and_damage_is_not() {
    let made = Made::new();
    assert_eq!(read(&made).await, Answer::Absent);
    made.write("README", b"hello");
    made.commit("first");
    assert_eq!(facts(&made).await, []);
    git(made.path(), &["update-ref", "--no-deref", "HEAD", "HEAD"]);
    std::fs::write(
        made.path().join(".git/refs/heads/trunk"),
        "1".repeat(40) + "\n",
    )
    .unwrap();
    git(made.path(), &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    assert!(matches!(read(&made).await, Answer::Unknown(_)));
}
