//! `gleaner mail`: what reads files without a database, and what takes them into one.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::sandbox::Sandbox;

const ONE: &str = "From: =?utf-8?q?J=C3=B6rg?= <joerg@example.org>\nSubject: [PATCH v2 1/2] Fix it\nMessage-ID: <one@example.org>\nDate: Sun, 12 Nov 2017 16:15:07 +0100\nList-Id: Developers <dev.example.org>\n\nFrom here on:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
const TWO: &str = "From: Ann <ann@example.org>\nSubject: Re: [PATCH v2 1/2] Fix it\nIn-Reply-To: <one@example.org>\nReferences: <zero@example.org> <one@example.org>\n\n>From what I see, it is good\n";

fn mbox() -> String {
    format!(
        "From joerg@example.org Sun Nov 12 15:15:09 2017\n{ONE}\nFrom ann@example.org Sun Nov 12 16:00:00 2017\n{TWO}\n"
    )
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The lines of a run that ended well.
fn lines(home: &Sandbox, args: &[&str]) -> Vec<Value> {
    let output = home.gleaner(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_archive_gives_one_line_per_message() {
    let home = Sandbox::new();
    home.write("dev.mbox", &mbox());
    let found = lines(&home, &["mail", "parse", "dev.mbox", "--format", "jsonl"]);
    let [one, two] = found.as_slice() else {
        panic!("{found:#?}");
    };
    assert_eq!(one["file"], "dev.mbox");
    assert_eq!((&one["index"], &two["index"]), (&0.into(), &1.into()));
    assert_eq!(one["message_id"], "one@example.org");
    assert_eq!(one["from"], "Jörg <joerg@example.org>");
    assert_eq!(one["sender_email"], "joerg@example.org");
    assert_eq!(one["date"], "2017-11-12T15:15:07.000000Z");
    assert_eq!(one["in_reply_to"], Value::Null);
    assert_eq!(one["references"], Value::Array(Vec::new()));
    assert_eq!(one["list_id"], "dev.example.org");
    assert_eq!(one["has_patch"], true);
    assert_eq!(one["attachments"], Value::Array(Vec::new()));
    assert_eq!(one["truncated"], false);
    let id = two["message_id"].as_str().unwrap();
    assert!(id.ends_with("@generated.gleaner"), "{id}");
    assert_eq!(two["in_reply_to"], "one@example.org");
    assert_eq!(two["references"][1], "one@example.org");
    assert_eq!(two["list_id"], Value::Null);
    assert_eq!(two["body"], "From what I see, it is good\n");
    insta::assert_snapshot!(
        "table",
        home.run(["mail", "parse", "dev.mbox", "--format", "table"])
    );
}

#[test]
fn every_container_gives_the_same_messages() {
    let home = Sandbox::new();
    home.write("dev.mbox", &mbox());
    std::fs::write(home.path("dev.mbox.gz"), gzip(&mbox())).unwrap();
    // Two compressed files, one behind the other, are one file.
    let text = mbox();
    let (first, second) = text.split_at(300);
    let parts = [gzip(first), gzip(second)].concat();
    std::fs::write(home.path("joined"), parts).unwrap();
    home.write("one.eml", ONE);
    home.write("two.eml", &TWO.replace(">From", "From"));
    home.write("box/cur/1:2,S", ONE);
    home.write("box/new/2", &TWO.replace(">From", "From"));
    home.write("box/tmp/3", ONE);
    home.write("box/.hidden", "secret: yes\n");
    home.write("box/dovecot-uidlist", "3 V1 N1\n");
    let ids = |args: &[&str]| -> Vec<(Value, Value)> {
        let args = [&["mail", "parse"], args].concat();
        let found = lines(&home, &args);
        let facts = found
            .into_iter()
            .map(|line| (line["message_id"].clone(), line["body"].clone()));
        facts.collect()
    };
    let wanted = ids(&["dev.mbox"]);
    assert_eq!(wanted.len(), 2);
    assert_eq!(ids(&["dev.mbox.gz"]), wanted);
    assert_eq!(ids(&["joined"]), wanted);
    assert_eq!(ids(&["one.eml", "two.eml"]), wanted);
    assert_eq!(ids(&["box"]), wanted);
    let piped = home.transcript_of(&mut home.gleaner(["mail", "parse", "-"]), mbox().as_bytes());
    assert_eq!(piped.stdout.lines().count(), 2, "{}", piped.text());
}

#[test]
fn a_bad_file_does_not_hide_the_others() {
    let home = Sandbox::new();
    home.write("dev.mbox", &mbox());
    let mut torn = gzip(&mbox().repeat(200));
    torn.truncate(torn.len() / 2);
    std::fs::write(home.path("torn.gz"), torn).unwrap();
    let told = home.transcript(
        &mut home.gleaner(["mail", "parse", "torn.gz", "dev.mbox", "--format", "jsonl"]),
    );
    assert_eq!(told.exit, Some(4), "{}", told.stderr);
    assert!(
        told.stderr.contains("error[E-INPUT-DAMAGED]"),
        "{}",
        told.stderr
    );
    assert!(told.stdout.lines().count() >= 2);
    assert!(told.stdout.lines().last().unwrap().contains("dev.mbox"));
    insta::assert_snapshot!("missing", {
        let told = home.transcript(&mut home.gleaner(["mail", "parse", "nowhere", "dev.mbox"]));
        assert_eq!(told.stdout.lines().count(), 2);
        format!("exit: {:?}\n{}", told.exit, told.stderr)
    });
}

#[test]
fn lines_are_classified_and_bad_ones_are_told() {
    let home = Sandbox::new();
    let input = concat!(
        r#"{"subject":"[jira] [Created] (KAFKA-1) Broker hangs","from":"\"Ann (Jira)\" <jira@apache.org>","list_id":"<jira.kafka.apache.org>"}"#,
        "\n",
        "not json\n",
        "\n",
        r#"{"subject":null,"headers":{"X-One":"a","X-Many":["b","c"],"X-None":null},"body":"hello"}"#,
        "\n",
        r#"{"subject":7}"#,
        "\n",
        r#"{"subject":"[VOTE] Release 1.0","headers":[["X-One","a"]],"more":{}}"#,
    );
    let mut command = home.gleaner(["mail", "classify", "--system", "apache"]);
    insta::assert_snapshot!(home.transcript_of(&mut command, input.as_bytes()).text());
}

#[test]
fn what_parse_prints_can_be_classified() {
    let home = Sandbox::new();
    home.write("dev.mbox", &mbox());
    let parsed = home
        .gleaner(["mail", "parse", "dev.mbox"])
        .output()
        .unwrap();
    let mut command = home.gleaner(["mail", "classify", "--system", "lore"]);
    let told = home.transcript_of(&mut command, &parsed.stdout);
    assert_eq!(told.exit, Some(0), "{}", told.stderr);
    let classes: Vec<Value> = told
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["class"].clone())
        .collect();
    assert_eq!(classes, ["patch_submission", "review"]);
    let refused = home.run(["mail", "classify", "--system", "usenet"]);
    assert!(refused.starts_with("exit: 2"), "{refused}");
}

/// Archives collected for this purpose, where they lie beside the checkout.
fn corpus() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .ancestors()
        .map(|directory| directory.join("../shared/corpora/mail"))
        .find(|directory| directory.is_dir())
}

#[test]
fn three_renderings_of_a_month_hold_the_same_messages() {
    let Some(corpus) = corpus() else { return };
    let home = Sandbox::new();
    let mut months = BTreeMap::new();
    for rendering in ["listsao", "mailarchivesao", "mboxvm"] {
        let file = format!("ponymail-apache/maven-dev-2017-12-{rendering}.mbox");
        let file = corpus.join(file);
        let found = lines(&home, &["mail", "parse", file.to_str().unwrap()]);
        let facts = found.into_iter().map(|line| {
            let names = [
                "message_id",
                "subject",
                "sender_email",
                "in_reply_to",
                "body",
            ];
            names.map(|name| line[name].to_string())
        });
        let facts: BTreeSet<_> = facts.collect();
        months.insert(rendering, facts);
    }
    assert_eq!(months["listsao"].len(), 221);
    assert_eq!(months["listsao"], months["mailarchivesao"]);
    assert_eq!(months["listsao"], months["mboxvm"]);
}

#[test]
fn a_whole_collection_is_read() {
    let Some(corpus) = corpus() else { return };
    let home = Sandbox::new();
    for part in [
        "notmuch",
        "patchwork-series",
        "b4-samples",
        "mail-parser-eml",
    ] {
        let part = corpus.join(part);
        let found = lines(&home, &["mail", "parse", part.to_str().unwrap(), "-q"]);
        assert!(found.len() > 30, "{}: {}", part.display(), found.len());
    }
}

#[test]
fn files_become_messages_that_are_found_again() {
    let home = Sandbox::new();
    home.write("dev.mbox", &mbox());
    let import = [
        "mail",
        "import",
        "dev.mbox",
        "--list",
        "dev@example.org",
        "--system",
        "lore",
        "--format",
        "jsonl",
    ];
    let found = lines(&home, &import);
    assert_eq!(
        (&found[0]["mails"], &found[0]["new"]),
        (&2.into(), &2.into())
    );
    let again = lines(&home, &import);
    assert_eq!(
        (&again[0]["mails"], &again[0]["new"]),
        (&2.into(), &0.into())
    );
    let stats = lines(&home, &["mail", "stats", "--format", "jsonl"]);
    assert_eq!(stats[0]["email_messages"], 2);
    assert_eq!(stats[0]["threads"], 1);
    assert_eq!(stats[0]["series"], 1);
    assert_eq!(
        (&stats[0]["shadows"], &stats[0]["dead_letters"]),
        (&0.into(), &0.into())
    );
    let hits = lines(
        &home,
        &["mail", "search", "see", "good", "--format", "jsonl"],
    );
    assert_eq!(hits.len(), 1);
    assert_eq!(
        (&hits[0]["class"], &hits[0]["thread"]),
        (&"review".into(), &"zero@example.org".into())
    );
    let thread = lines(
        &home,
        &["mail", "thread", "<one@example.org>", "--format", "jsonl"],
    );
    let told: Vec<(&Value, &Value)> = thread
        .iter()
        .map(|entry| (&entry["depth"], &entry["seen"]))
        .collect();
    assert_eq!(
        told,
        [
            (&0.into(), &false.into()),
            (&1.into(), &true.into()),
            (&2.into(), &true.into())
        ]
    );
    let shown = lines(
        &home,
        &["mail", "show", "one@example.org", "--format", "jsonl"],
    );
    assert_eq!(shown[0]["lists"][0], "dev@example.org");
    let listed = lines(&home, &["mail", "list", "--format", "jsonl"]);
    assert_eq!(
        (&listed[0]["messages"], &listed[0]["staged"]),
        (&2.into(), &0.into())
    );
    let verified = lines(&home, &["mail", "verify", "--format", "jsonl"]);
    let of = |branch: &str| {
        verified
            .iter()
            .find(|line| line["branch"] == branch)
            .unwrap()["verdict"]
            .clone()
    };
    assert_eq!(
        (of("class review"), of("class vote"), of("mirror linked")),
        ("PASS".into(), "EMPTY".into(), "DEFER".into())
    );
    assert_eq!(of("route mailing_list_only"), "PASS");
    // An Apache list without any tracker's mail is told of; nothing else is missing.
    let strict = home
        .gleaner(["mail", "verify", "--strict"])
        .output()
        .unwrap();
    assert_eq!(
        strict.status.code(),
        Some(1),
        "a list of one patch and one review has no talk"
    );
}

/// The messages of a store with their threads and classes, without our own numbers.
fn picture(home: &Sandbox) -> Vec<String> {
    let messages = lines(
        home,
        &[
            "mail",
            "messages",
            "dev@example.org",
            "--limit",
            "100000",
            "--format",
            "jsonl",
        ],
    );
    let line = |one: &Value| {
        format!(
            "{} {} {} {}",
            one["message_id"], one["class"], one["thread"], one["sent_at"]
        )
    };
    let mut seen: Vec<String> = messages.iter().map(line).collect();
    seen.sort();
    seen
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the moment of the kill is what is tried"
)]
fn heavy_a_killed_import_ends_as_an_undisturbed_one() {
    use std::fmt::Write as _;
    let mut archive = String::new();
    for number in 0..1_500 {
        let root = number - number % 7;
        let reply = if number == root {
            String::new()
        } else {
            format!("In-Reply-To: <{root}@x>\n")
        };
        let minute = number % 60;
        let _ = write!(
            archive,
            "From a@b Sun Nov 12 15:15:09 2017\nFrom: P{p} <p{p}@example.org>\nSubject: about {root}\nMessage-ID: <{number}@x>\nDate: Sun, 12 Nov 2017 {hour:02}:{minute:02}:07 +0000\n{reply}\nWords of {number}.\n\n",
            p = number % 40,
            hour = number / 60 % 24,
        );
    }
    let import = ["mail", "import", "dev.mbox", "--list", "dev@example.org"];
    let calm = Sandbox::new();
    calm.write("dev.mbox", &archive);
    assert!(calm.gleaner(import).output().unwrap().status.success());
    let expected = picture(&calm);
    assert_eq!(expected.len(), 1_500);

    let killed = Sandbox::new();
    killed.write("dev.mbox", &archive);
    let start = || {
        let mut command = killed.gleaner(import);
        command.env("GLEANER_WORK_DEAD_AFTER", "1s");
        command
    };
    for step in 1..=6_u64 {
        let mut child = start().spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150 * step));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = start().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(picture(&killed), expected);
    let stats = lines(&killed, &["mail", "stats", "--format", "jsonl"]);
    assert_eq!(
        (&stats[0]["dead_letters"], &stats[0]["email_messages"]),
        (&0.into(), &1_500.into())
    );
}
