//! Parsing messages, each with both kinds of line ends.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its input has failed"
)]

use scan::mail::quote::Kind;
use scan::mail::series::{self, PatchMail};
use scan::mail::{self, DateSource, Hint, ParsedMessage, mbox, quote};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!(
        "{}/testdata/mail/{name}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap()
}

fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    bytes
        .split_inclusive(|&b| b == b'\n')
        .fold(Vec::new(), |mut all, line| {
            all.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
            all.extend_from_slice(b"\r\n");
            all
        })
}

/// The message, after making sure that CRLF changes nothing.
fn parse(name: &str) -> ParsedMessage {
    let bytes = fixture(name);
    let unix = mail::parse(&bytes, Hint::default());
    let dos = mail::parse(&with_crlf(&bytes), Hint::default());
    let json = |message: &ParsedMessage| {
        let mut value = serde_json::to_value(message).unwrap();
        for attachment in value["attachments"].as_array_mut().unwrap() {
            attachment["size"] = 0.into();
        }
        value
    };
    assert_eq!(json(&unix), json(&dos), "{name}");
    unix
}

#[test]
fn nested_parts_charsets_and_encoded_words() {
    let message = parse("nested-multipart.eml");
    assert_eq!(message.message_id, "nested-1@example.org");
    assert_eq!(
        message.subject.as_deref(),
        Some("Übersicht of nested_parts")
    );
    assert_eq!(
        message.from.as_deref(),
        Some("Jörg Müller <joerg@example.org>")
    );
    assert_eq!(message.sender_email.as_deref(), Some("joerg@example.org"));
    assert_eq!(message.sender_name.as_deref(), Some("Jörg Müller"));
    assert_eq!(message.date.unwrap().to_string(), "2017-03-14T09:11:12Z");
    assert_eq!(message.in_reply_to.as_deref(), Some("parent@example.org"));
    assert_eq!(
        message.references,
        ["root@example.org", "parent@example.org"]
    );
    assert_eq!(message.list_id.as_deref(), Some("dev.project.example.org"));
    assert_eq!(message.new_text().trim(), "Grüße, 10€ for a soft break.");
    assert!(message.body.contains("dev mailing list"));
    let types: Vec<&str> = message
        .attachments
        .iter()
        .map(|a| a.content_type.as_str())
        .collect();
    assert_eq!(types, ["application/pgp-signature", "message/rfc822"]);
}

#[test]
fn html_is_rendered_only_where_nothing_else_is() {
    let message = parse("html-only.eml");
    assert!(message.body_from_html);
    assert_eq!(message.body.trim(), "Fish & chips\ncafé");
}

#[test]
fn flowed_text_is_joined_and_split() {
    let message = parse("flowed.eml");
    assert_eq!(message.new_text().trim(), "My answer goes on as well.");
    assert!(
        quote::text_of(&message.body, &message.spans, Kind::Quoted)
            .contains("> this quoted line goes on")
    );
    assert_eq!(
        quote::text_of(&message.body, &message.spans, Kind::Signature),
        "-- \nFlow\n"
    );
}

#[test]
fn attached_patches_are_found() {
    let message = parse("patch-attached.eml");
    assert!(message.has_patch);
    assert_eq!(
        message.attachments[0].name.as_deref(),
        Some("fix-reader.patch")
    );
    assert!(message.attachments[0].is_patch);
    let patch = message.patch.unwrap();
    assert_eq!(
        (
            patch.stat.files,
            patch.stat.insertions,
            patch.stat.deletions
        ),
        (1, 2, 1)
    );
    assert!(patch.paths.contains("src/reader.c"));
}

#[test]
fn inline_patches_do_not_end_at_a_removed_dash() {
    let message = parse("patch.eml");
    let patch = message.patch.as_ref().unwrap();
    assert_eq!(
        (
            patch.stat.files,
            patch.stat.insertions,
            patch.stat.deletions
        ),
        (1, 1, 2)
    );
    assert_eq!(message.trailers.len(), 1);
    assert_eq!(
        quote::text_of(&message.body, &message.spans, Kind::Signature),
        "-- \n2.30.2\n"
    );
}

#[test]
fn raw_eight_bit_headers_and_a_broken_date() {
    let message = parse("eight-bit-headers.eml");
    assert_eq!(message.subject.as_deref(), Some("café au lait"));
    assert_eq!(message.sender_name.as_deref(), Some("Hervé D"));
    assert_eq!(message.body, "Déjà vu.\n");
    // The hop next to the sender, not the last one.
    assert_eq!(message.date.unwrap().to_string(), "2017-03-14T10:11:13Z");
    assert_eq!(message.date_source, DateSource::Received);
}

#[test]
fn dates_fall_back_to_the_envelope() {
    let archive = b"From a@b Sat Sep 30 08:58:08 2017\nSubject: x\n\nbody\n";
    let mut splitter = mbox::split(&archive[..]);
    let raw = splitter.next_message().unwrap().unwrap();
    let message = mail::parse(
        &raw.bytes,
        Hint {
            envelope: raw.envelope.as_ref(),
        },
    );
    assert_eq!(message.date.unwrap().to_string(), "2017-09-30T08:58:08Z");
    assert_eq!(message.date_source, DateSource::Envelope);
    let future = b"Date: Mon, 1 Jan 2035 00:00:00 +0000\nReceived: by x; Sat, 30 Sep 2017 08:58:08 +0000\n\nx\n";
    assert_eq!(
        mail::parse(future, Hint::default()).date_source,
        DateSource::Received
    );
}

#[test]
fn ids_are_made_kept_and_told_apart() {
    let without = mail::parse(b"From: a@b\nSubject: x\n\nbody\n", Hint::default());
    assert!(without.message_id.ends_with("@generated.gleaner"));
    let again = mail::parse(
        b"Received: by x; y\nFrom: a@b\r\nSubject: x\r\n\r\nbody\r\n",
        Hint::default(),
    );
    assert_eq!(
        without.message_id, again.message_id,
        "other archive, same message"
    );
    let other = mail::parse(b"From: a@b\nSubject: x\n\nother body\n", Hint::default());
    assert_ne!(without.message_id, other.message_id);
    assert_ne!(without.content_hash(), other.content_hash());
    let two = mail::parse(
        b"Message-ID: <a@b>\nMessage-ID: <c@z>\n\nx\n",
        Hint::default(),
    );
    assert_eq!(
        (two.message_id.as_str(), &two.other_ids[..]),
        ("a@b", &["c@z".to_owned()][..])
    );
}

#[test]
fn ancestors_are_ids_and_not_people() {
    let text = b"From: Joe <joe@example.org>\nTo: Jane <jane@example.org>\nMessage-ID: <own@x>\n\
        In-Reply-To: Message from Jane <jane@example.org> of Monday <12345678@x>\nReferences: <own@x> <y>\n\nx\n";
    let message = mail::parse(text, Hint::default());
    assert_eq!(message.reply_ids, ["12345678@x"]);
    assert!(message.references.is_empty());
}

#[test]
fn the_line_printed_for_a_message() {
    let value = serde_json::to_value(parse("jira.eml")).unwrap();
    assert_eq!(
        value["message_id"],
        "JIRA.12345.1490000000000@Atlassian.JIRA"
    );
    assert_eq!(value["date"], "2017-03-14T10:11:12.000000Z");
    assert_eq!(value["in_reply_to"], serde_json::Value::Null);
    assert_eq!(value["references"], serde_json::json!([]));
    assert_eq!(value["has_patch"], false);
    assert_eq!(value["attachments"], serde_json::json!([]));
}

#[test]
fn a_series_with_its_review() {
    let bytes = fixture("series.mbox");
    let mut splitter = mbox::split(&bytes[..]);
    let mut messages = Vec::new();
    while let Some(raw) = splitter.next_message().unwrap() {
        messages.push(mail::parse(
            &raw.bytes,
            Hint {
                envelope: raw.envelope.as_ref(),
            },
        ));
    }
    assert_eq!(messages.len(), 4, "prose is no separator");
    assert!(messages[0].body.contains("\nFrom here on"));
    let mails: Vec<PatchMail> = messages.iter().map(PatchMail::from).collect();
    let found = series::group(&mails);
    assert_eq!(found.len(), 1);
    assert!(found[0].is_complete());
    assert_eq!(found[0].title, "two things");
    let answers = vec![(mails[2].ancestors.clone(), messages[2].trailers.clone())];
    let credited = series::credit(&mails, &found, &answers);
    assert_eq!(
        credited.len(),
        2,
        "an answer to the cover letter counts for all patches"
    );
}
