//! Mail is remote text: damaged, hostile, endless. Nothing panics, nothing takes more than linear
//! time, and what must not depend on the order of arrival does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its input has failed"
)]

use proptest::prelude::*;
use scan::mail::classify::{Mail, Rules};
use scan::mail::series::{self, PatchMail};
use scan::mail::thread::{Links, Threads};
use scan::mail::{self, Hint, date, header, mbox, patch, quote, subject};

/// Splits, parses and classifies, and checks what holds for every message.
fn digest(bytes: &[u8]) -> usize {
    let mut splitter = mbox::split(bytes);
    let mut mails = Vec::new();
    let mut threads = Threads::default();
    while let Some(raw) = splitter.next_message().unwrap() {
        let message = mail::parse(
            &raw.bytes,
            Hint {
                envelope: raw.envelope.as_ref(),
            },
        );
        assert!(!message.message_id.is_empty());
        assert!(!message.body.contains(['\0', '\r']));
        let covered: usize = message.spans.iter().map(|span| span.range.len()).sum();
        assert_eq!(covered, message.body.len());
        for span in &message.spans {
            assert!(message.body.get(span.range.clone()).is_some());
        }
        serde_json::to_string(&message).unwrap();
        for system in ["apache", "lore", "generic"] {
            Rules::shipped(system)
                .unwrap()
                .classify(&Mail::from(&message));
        }
        threads.insert(Links {
            id: &message.message_id,
            references: &message.references,
            in_reply_to: &message.reply_ids,
            date: message.date,
        });
        mails.push(PatchMail::from(&message));
    }
    threads.threads();
    series::group(&mails);
    mails.len()
}

/// A small generator: the same mutations in every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

const TOKENS: [&[u8]; 24] = [
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\nFrom ",
    b"\n>From ",
    b"--",
    b"\n--x--\n",
    b"=?utf-8?B?",
    b"?=",
    b"=?x?Q?=",
    b"Content-Type: multipart/mixed; boundary=x\n",
    b"Content-Type: message/rfc822\n\n",
    b"Content-Transfer-Encoding: base64\n",
    b"Content-Length: 99999999999\n",
    b"\x00",
    b"\xff\xfe",
    b"\xc3",
    b"[PATCH 1/",
    b"<",
    b">",
    b"charset=iso-2022-jp",
    b"\n@@ -1,99999 +1,99999 @@\n",
    b"Date: Mon, 99 Feb 99999 99:99:99 +9999\n",
    b"\n\t ",
];

fn mutate(bytes: &mut Vec<u8>, seeded: &mut Seeded) {
    for _ in 0..=seeded.below(6) {
        let at = seeded.below(bytes.len() + 1);
        match seeded.below(5) {
            0 if at < bytes.len() => bytes[at] = seeded.below(256) as u8,
            1 => {
                let end = (at + seeded.below(60)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => {
                let end = (at + seeded.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = seeded.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            3 => bytes.truncate(at),
            _ => {
                let token = TOKENS[seeded.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
}

#[test]
fn mutated_mail_is_survived() {
    let dir = format!("{}/testdata/mail", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    for (number, path) in names.iter().enumerate() {
        let original = std::fs::read(path).unwrap();
        let mut seeded = Seeded(number as u64);
        for _ in 0..300 {
            let mut bytes = original.clone();
            mutate(&mut bytes, &mut seeded);
            digest(&bytes);
        }
    }
}

/// Each would take minutes or overflow the stack if some part were quadratic or recursive.
#[test]
fn hostile_shapes_end_in_time() {
    let part = "Content-Type: message/rfc822\n\n";
    digest(part.repeat(20_000).as_bytes());
    let multipart = "Content-Type: multipart/mixed; boundary=b\n\n--b\n";
    digest(multipart.repeat(10_000).as_bytes());
    let never = "--b\nContent-Type: multipart/mixed; boundary=never\n\n";
    digest(
        format!(
            "Content-Type: multipart/mixed; boundary=b\n\n{}",
            never.repeat(10_000)
        )
        .as_bytes(),
    );
    digest(format!("Subject: {}\n\n", "=?".repeat(100_000)).as_bytes());
    digest(format!("Subject: {}\n\n", "=?utf-8?Q?a?= ".repeat(30_000)).as_bytes());
    digest(format!("Subject: {}\n\n", "[".repeat(200_000)).as_bytes());
    digest(format!("Subject: {}\n\n", "Re: ".repeat(100_000)).as_bytes());
    digest(format!("References: {}\n\n", "<a@b> ".repeat(50_000)).as_bytes());
    digest(format!("In-Reply-To: {}\n\n", "<".repeat(200_000)).as_bytes());
    digest(format!("From: {}\n\n", "a@b, ".repeat(50_000)).as_bytes());
    digest(format!("From: {}\n\n", "(".repeat(200_000)).as_bytes());
    digest(format!("Date: {}\n\n", "Mon, 1 ".repeat(50_000)).as_bytes());
    digest(
        format!(
            "Content-Type: text/plain; {}\n\n",
            "a*0*=x; ".repeat(20_000)
        )
        .as_bytes(),
    );
    digest("A: b\n".repeat(200_000).as_bytes());
    digest(format!("A: b\n{}", " \n".repeat(300_000)).as_bytes());
    digest(format!("A: b\n\n{}", ">".repeat(500_000)).as_bytes());
    digest(format!("A: b\n\n{}", ">From ".repeat(100_000)).as_bytes());
    digest(format!("A: b\n\n{}", "\n>From x".repeat(100_000)).as_bytes());
    digest(format!("A: b\n\n{}", "\nFrom x".repeat(100_000)).as_bytes());
    digest(format!("A: b\n\n{}", "--- a\n+++ b\n".repeat(50_000)).as_bytes());
    digest(format!("A: b\n\n{}", "diff --git a/x b/y\n".repeat(50_000)).as_bytes());
    digest(format!("A: b\n\n{}", "wrote:\n> x\n".repeat(50_000)).as_bytes());
    digest(format!("Content-Type: text/html\n\n{}", "<".repeat(500_000)).as_bytes());
    digest(format!("Content-Type: text/html\n\n{}", "<!--".repeat(100_000)).as_bytes());
    digest(
        format!(
            "Content-Type: text/enriched\n\n{}",
            "<param>".repeat(100_000)
        )
        .as_bytes(),
    );
    digest(
        format!(
            "Content-Type: text/plain; format=flowed\n\n{}",
            "a \n".repeat(200_000)
        )
        .as_bytes(),
    );
    for shape in [
        "<a ",
        "<a \"",
        "<a '",
        "<a \"'",
        "<!--",
        "<a \"<b '",
        "<script>",
        "<head>",
        "<style><",
        "&",
        "<div>",
        "</",
    ] {
        digest(format!("Content-Type: text/html\n\n{}", shape.repeat(20_000)).as_bytes());
        digest(format!("Content-Type: text/html\n\n{}>'\"", shape.repeat(20_000)).as_bytes());
    }
    let lie = "From a@b Sat Sep 30 08:58:08 2017\nA: b\nContent-Length: 900000\n\nx\n\n";
    assert_eq!(digest(lie.repeat(5_000).as_bytes()), 5_000);
}

#[test]
fn long_chains_and_big_loops_are_threaded() {
    let mut threads = Threads::default();
    let count = 50_000;
    for at in 0..count {
        threads.insert(Links {
            id: &at.to_string(),
            references: &[],
            in_reply_to: &[((at + 1) % count).to_string()],
            date: None,
        });
    }
    let found = threads.threads();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0]
            .entries
            .iter()
            .filter(|entry| entry.parent.is_none())
            .count(),
        1
    );
}

/// Messages that name each other at random, loops and repeated ids included.
fn linked() -> impl Strategy<Value = Vec<(u8, Vec<u8>, Vec<u8>, i64)>> {
    let ids = || prop::collection::vec(0_u8..12, 0..4);
    prop::collection::vec((0_u8..12, ids(), ids(), 0_i64..5), 0..14)
}

fn threads_of(mail: &[(u8, Vec<u8>, Vec<u8>, i64)]) -> Vec<mail::thread::Thread> {
    let mut threads = Threads::default();
    let names = |ids: &[u8]| ids.iter().map(|id| format!("{id}@x")).collect::<Vec<_>>();
    for (id, references, in_reply_to, second) in mail {
        threads.insert(Links {
            id: &format!("{id}@x"),
            references: &names(references),
            in_reply_to: &names(in_reply_to),
            date: jiff::Timestamp::from_second(*second).ok(),
        });
    }
    threads.threads()
}

fn patches() -> impl Strategy<Value = Vec<PatchMail>> {
    let mail = (
        0_u32..4,
        1_u32..3,
        0_usize..2,
        0_i64..2000,
        prop::collection::vec(0_usize..10, 0..3),
    );
    prop::collection::vec(mail, 0..10).prop_map(|mails| {
        mails
            .into_iter()
            .enumerate()
            .map(
                |(at, (number, version, author, second, ancestors))| PatchMail {
                    id: format!("{at}@x"),
                    author: format!("author {author}"),
                    subject: subject::parse(&format!(
                        "[PATCH v{version} {number}/3] title {number}"
                    )),
                    date: jiff::Timestamp::from_second(second).ok(),
                    ancestors: ancestors
                        .into_iter()
                        .filter(|id| *id != at)
                        .map(|id| format!("{id}@x"))
                        .collect(),
                    has_diff: number > 0,
                },
            )
            .collect()
    })
}

/// The series as sets of ids, without places in the input.
fn series_of(mails: &[PatchMail]) -> Vec<(u32, Vec<String>, Option<Vec<String>>)> {
    let found = series::group(mails);
    let ids = |series: &series::Series| {
        series
            .members()
            .map(|at| mails[at].id.clone())
            .collect::<Vec<_>>()
    };
    found
        .iter()
        .map(|one| {
            (
                one.version,
                ids(one),
                one.previous.map(|previous| ids(&found[previous])),
            )
        })
        .collect()
}

fn body_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}",
        Just(String::new()),
        Just("From here on".to_owned()),
        Just(">From there".to_owned()),
        Just("From a@b Sat Sep 30 08:58:08 2017".to_owned()),
        Just("Subject: not a header".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        digest(&bytes);
        let mut framed = b"From: a@b\nContent-Type: text/html; charset=gbk\n\n".to_vec();
        framed.extend_from_slice(&bytes);
        digest(&framed);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        subject::parse(&text);
        date::parse(&text);
        header::decode_value(text.as_bytes());
        patch::read(&text);
        quote::split(&text);
        digest(format!("Subject: {text}\nFrom: {text}\nDate: {text}\nContent-Type: {text}\n\n{text}").as_bytes());
    }

    #[test]
    fn threads_do_not_depend_on_the_order(mail in linked(), seed in any::<u64>()) {
        let expected = threads_of(&mail);
        let mut shuffled = mail;
        let mut seeded = Seeded(seed);
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, seeded.below(at + 1));
        }
        prop_assert_eq!(threads_of(&shuffled), expected);
    }

    #[test]
    fn series_do_not_depend_on_the_order(mails in patches(), seed in any::<u64>()) {
        let expected = series_of(&mails);
        let mut shuffled = mails;
        let mut seeded = Seeded(seed);
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, seeded.below(at + 1));
        }
        prop_assert_eq!(series_of(&shuffled), expected);
    }

    #[test]
    fn an_escaped_archive_gives_back_its_messages(
        bodies in prop::collection::vec(prop::collection::vec(body_line(), 0..8), 1..6),
    ) {
        let messages: Vec<String> = bodies
            .iter()
            .map(|lines| format!("Subject: x\nTo: y\n\n{}\n", lines.join("\n")))
            .collect();
        let mut archive = String::new();
        for message in &messages {
            archive.push_str("From a@b Sat Sep 30 08:58:08 2017\n");
            for line in message.lines() {
                if line.trim_start_matches('>').starts_with("From ") {
                    archive.push('>');
                }
                archive.push_str(line);
                archive.push('\n');
            }
            archive.push('\n');
        }
        let mut splitter = mbox::split(archive.as_bytes());
        let mut found = Vec::new();
        while let Some(message) = splitter.next_message().unwrap() {
            found.push(String::from_utf8(message.bytes.into_owned()).unwrap());
        }
        prop_assert_eq!(found, messages);
    }
}
