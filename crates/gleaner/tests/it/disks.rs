//! Disks that cannot be written, or not any more. Root ignores permissions, so these use mounts.

use crate::sandbox::Sandbox;

#[test]
fn a_data_directory_on_a_read_only_disk() {
    let home = Sandbox::new();
    std::fs::create_dir(home.path("data")).unwrap();
    let script = "mount -t tmpfs -o ro tmpfs data; exec \"$GLEANER\" repo list --data data";
    if let Some(mut command) = home.with_private_mounts(script) {
        insta::assert_snapshot!(home.transcript(&mut command).text());
        return;
    }
    home.write("file", "");
    let text = home.run(["repo", "list", "--data", "file/data"]);
    assert!(text.starts_with("exit: 5"), "{text}");
}

/// The disk fills up under a database that is in use: the command says so, what was committed
/// before is there afterwards, and with room the same command works.
#[test]
fn a_disk_that_fills_up() {
    let home = Sandbox::new();
    std::fs::create_dir(home.path("data")).unwrap();
    let lines = (0..20_000).map(|n| format!("https://github.com/owner/name-{n}"));
    home.write("many.txt", &lines.collect::<Vec<_>>().join("\n"));
    let steps = "
        \"$GLEANER\" repo add https://github.com/owner/first --data data -q
        head -c 100000000 /dev/zero > data/filler 2> head.txt || true
        set +e
        \"$GLEANER\" repo import many.txt --data data -q
        full=$?
        rm data/filler
        set -e
        \"$GLEANER\" repo list --data data --format csv > list.csv
        grep -c owner/first list.csv
        \"$GLEANER\" db check --data data -q > /dev/null
        \"$GLEANER\" repo add https://github.com/owner/after --data data -q
        exit $full";
    let script = format!("mount -t tmpfs -o size=4m tmpfs data\n{steps}");
    if let Some(mut command) = home.with_private_mounts(&script) {
        let text = home.transcript(&mut command).text();
        // Which of its files SQLite cannot write first depends on how full the last page was.
        let cause = regex::Regex::new("caused by: .*").unwrap();
        insta::assert_snapshot!(cause.replace(&text, "caused by: [CAUSE]"));
        return;
    }
    // A limit on the size of files stops the database in the same way, though with another error.
    let mut command = std::process::Command::new("sh");
    let limited = steps.replace(
        "\"$GLEANER\" repo import",
        "(trap '' XFSZ; ulimit -f 600; exec \"$GLEANER\" repo import many.txt --data data -q) #",
    );
    command
        .args(["-euc", &limited])
        .env("GLEANER", env!("CARGO_BIN_EXE_gleaner"))
        .env("HOME", home.path(""))
        .current_dir(home.path(""));
    let text = home.transcript(&mut command).text();
    assert!(
        !text.starts_with("exit: 0") && text.contains("hint:"),
        "{text}"
    );
}

/// The disk fills up in the middle of a long command: whole batches are there, no half one, and
/// with more room the same command ends well.
#[test]
fn a_disk_that_fills_up_on_the_way() {
    let home = Sandbox::new();
    std::fs::create_dir(home.path("data")).unwrap();
    let lines = (0..6_000).map(|n| format!("https://github.com/owner/name-{n}"));
    home.write("many.txt", &lines.collect::<Vec<_>>().join("\n"));
    let script = "
        mount -t tmpfs -o size=2m tmpfs data
        set +e
        \"$GLEANER\" repo import many.txt --data data -q
        full=$?
        set -e
        mount -o remount,size=64m data
        \"$GLEANER\" repo list --data data --format jsonl > some.jsonl
        \"$GLEANER\" repo import many.txt --data data
        \"$GLEANER\" repo list --data data --format jsonl > all.jsonl
        \"$GLEANER\" db check --data data -q > /dev/null
        exit $full";
    let Some(mut command) = home.with_private_mounts(script) else {
        return;
    };
    let ended = home.transcript(&mut command);
    assert_eq!(ended.exit, Some(5), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("error[E-LOCAL-FULL]"),
        "{}",
        ended.stderr
    );
    let count = |name: &str| {
        let text = std::fs::read_to_string(home.path(name)).unwrap();
        text.lines().count()
    };
    let some = count("some.jsonl");
    assert!(some < 6_000 && some.is_multiple_of(500), "{some}");
    assert_eq!(count("all.jsonl"), 6_000);
}

#[cfg(unix)]
#[test]
fn what_is_made_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Sandbox::new();
    let listed = home.run(["repo", "list", "--format", "json"]);
    assert!(
        listed.starts_with("exit: 0\n----- stdout -----\n[]\n"),
        "{listed}"
    );
    let mode = |name: &str| {
        let metadata = std::fs::metadata(home.path(name)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(".local/share/gleaner"), 0o700);
    assert_eq!(mode(".local/share/gleaner/gleaner.db"), 0o600);
}
