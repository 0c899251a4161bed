//! Splitting archives: every kind of mbox, and what only looks like one.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its input has failed"
)]

use std::io::{self, Read};

use scan::mail::mbox;

fn split(bytes: &[u8]) -> Vec<String> {
    let mut splitter = mbox::split(bytes);
    let mut found = Vec::new();
    while let Some(message) = splitter.next_message().unwrap() {
        assert!(!message.truncated);
        found.push(String::from_utf8(message.bytes.into_owned()).unwrap());
    }
    found
}

const SEPARATOR: &str = "From jane@example.org Sat Sep 30 08:58:08 2017\n";

fn message(text: &str) -> String {
    format!("{SEPARATOR}Subject: x\nMessage-ID: <a@b>\n\n{text}\n\n")
}

#[test]
fn messages_are_separated_and_trimmed() {
    let both = split((message("one") + &message("two")).as_bytes());
    assert_eq!(
        both,
        [
            "Subject: x\nMessage-ID: <a@b>\n\none\n",
            "Subject: x\nMessage-ID: <a@b>\n\ntwo\n"
        ]
    );
    let dos = (message("one") + &message("two")).replace('\n', "\r\n");
    assert_eq!(split(dos.as_bytes()).len(), 2);
    assert_eq!(split(dos.as_bytes())[0], both[0].replace('\n', "\r\n"));
}

#[test]
fn prose_that_begins_with_from_stays_in_its_message() {
    for text in [
        "\nFrom the beginning it was clear.\n",
        "\nFrom jane@example.org Sat Sep 30 08:58:08 2017\nshe wrote to us that\n",
        "\nFrom Monday May 1 at 10:00 on: meetings\n",
        "\nFrom: Jane\nSubject: quoted\n",
        "\nFrom 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: J <j@x>\nSubject: [PATCH] x\n",
    ] {
        let archive = message(text) + &message("next");
        assert_eq!(split(archive.as_bytes()).len(), 2, "{text}");
    }
}

#[test]
fn separators_of_all_writers_are_known() {
    for line in [
        "From MAILER-DAEMON Thu Jan  1 00:00:00 1970",
        "From mboxrd@z Thu Jan  1 00:00:00 1970",
        "From jane at example.org  Tue Jan  3 01:05:34 2015",
        "From - Sat Sep 30 08:58:08 2017",
        "From jane@example.org Sat Sep 30 08:58:08 EST 2017",
        "From jane@example.org  Sat, 30 Sep 2017 08:58:08 +0200",
        "From J\u{e9}r\u{f4}me Sat Sep 30 08:58:08 2017",
    ] {
        let archive = format!("{line}\nSubject: a\n\nbody\n\n{line}\nSubject: b\nTo: c\n\nbody\n");
        assert_eq!(split(archive.as_bytes()).len(), 2, "{line}");
    }
    // Without a date the fields behind it must be those of transport.
    let undated = "From jane@example.org\nReturn-Path: <x>\nSubject: a\n\nbody\n\nFrom jane@example.org\nReturn-Path: <x>\nSubject: b\n\nbody\n";
    assert_eq!(split(undated.as_bytes()).len(), 2);
    // Without a blank line before it two fields must follow.
    let tight = format!("{SEPARATOR}Subject: a\n\nbody\n{SEPARATOR}Subject: b\nTo: c\n\nbody\n");
    assert_eq!(split(tight.as_bytes()).len(), 2);
}

#[test]
fn git_series_are_split_at_their_own_separators() {
    let magic = "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n";
    let file = format!(
        "{magic}From: A <a@x>\nSubject: [PATCH 1/2] a\n\nbody\n\n{magic}From: A <a@x>\nSubject: [PATCH 2/2] b\n\nbody\n"
    );
    assert_eq!(split(file.as_bytes()).len(), 2);
}

#[test]
fn escapes_are_taken_back_once() {
    assert!(
        split(message(">From here\n>>From there").as_bytes())[0]
            .contains("\nFrom here\n>From there\n")
    );
    assert!(split(message(">From\ttab").as_bytes())[0].contains("\nFrom\ttab"));
    // Inside a quotation of the same depth nobody added anything.
    let quoted = "> a\n>From b\n> c";
    assert!(split(message(quoted).as_bytes())[0].contains(quoted));
    assert!(split(message("x>From y").as_bytes())[0].contains("x>From y"));
}

#[test]
fn content_length_is_believed_where_it_fits() {
    let inner = format!("{SEPARATOR}Subject: inner\nTo: y\n\ninner\n");
    let body = format!("first\n\n{inner}");
    let archive = format!(
        "{SEPARATOR}Subject: outer\nContent-Length: {}\n\n{body}\n",
        body.len()
    ) + &message("next");
    let found = split(archive.as_bytes());
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("Subject: inner"));
    let lie = archive.replace(
        &format!("Length: {}", body.len()),
        &format!("Length: {}", body.len() + 7),
    );
    assert_eq!(split(lie.as_bytes()).len(), 3);
}

#[test]
fn single_messages_and_odd_files() {
    assert_eq!(split(b"Subject: x\n\nbody\n"), ["Subject: x\n\nbody\n"]);
    assert_eq!(
        split(b"\xef\xbb\xbf\n\nSubject: x\n\nbody\n"),
        ["Subject: x\n\nbody\n"]
    );
    assert_eq!(split(b"just text"), ["just text"]);
    assert!(split(b"").is_empty());
    assert!(split(b"\n\n\n").is_empty());
    assert_eq!(split(b"From \nList-Id: <a>\n\nNo date\n").len(), 1);
    assert_eq!(
        split(format!("{SEPARATOR}\n{SEPARATOR}").as_bytes()).len(),
        2
    );
}

#[test]
fn the_envelope_is_read() {
    let mut splitter =
        mbox::split(&b"From jane at example.org  Tue Jan  6 01:05:34 2015\nA: b\n\n"[..]);
    let envelope = splitter.next_message().unwrap().unwrap().envelope.unwrap();
    assert_eq!(envelope.sender, "jane@example.org");
    assert_eq!(envelope.date.unwrap().to_string(), "2015-01-06T01:05:34Z");
    let mut splitter = mbox::split(&b"From mboxrd@z Thu Jan  1 00:00:00 1970\nA: b\n\n"[..]);
    assert_eq!(
        splitter
            .next_message()
            .unwrap()
            .unwrap()
            .envelope
            .unwrap()
            .date,
        None
    );
}

/// Hands out a repeated pattern without holding it, a few bytes at a time.
struct Endless {
    unit: Vec<u8>,
    left: usize,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer
            .len()
            .min(self.left)
            .min(self.unit.len() - self.at)
            .min(997);
        buffer[..count].copy_from_slice(&self.unit[self.at..self.at + count]);
        self.at = (self.at + count) % self.unit.len();
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn long_messages_are_cut_and_the_next_is_found() {
    let head = format!("{SEPARATOR}Subject: huge\n\n");
    let lines = Endless {
        unit: b"0123456789\n".to_vec(),
        left: 3_000_000,
        at: 0,
    };
    let tail = format!("\n\n{}", message("small"));
    let reader = head.as_bytes().chain(lines).chain(tail.as_bytes());
    let mut splitter = mbox::Splitter::with_limit(reader, 100_000);
    let huge = splitter.next_message().unwrap().unwrap();
    assert!(huge.truncated);
    assert_eq!(huge.bytes.len(), 100_000);
    let small = splitter.next_message().unwrap().unwrap();
    assert!(!small.truncated && small.bytes.ends_with(b"small\n"));
    assert!(splitter.next_message().unwrap().is_none());
}

#[test]
fn chunk_borders_do_not_matter() {
    let one = message(&"some line of text\n".repeat(40)) + &message(">From x");
    let unit = one.repeat(700);
    let whole = split(unit.as_bytes());
    assert_eq!(whole.len(), 1400);
    let mut splitter = mbox::split(Endless {
        left: unit.len(),
        unit: unit.into_bytes(),
        at: 0,
    });
    for expected in &whole {
        let found = splitter.next_message().unwrap().unwrap();
        assert_eq!(found.bytes, expected.as_bytes());
    }
}

#[test]
fn an_error_of_the_reader_is_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    assert!(mbox::split(Broken).next_message().is_err());
}
