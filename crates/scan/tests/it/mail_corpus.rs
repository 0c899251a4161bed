//! Mail as it really is: archives collected for this purpose, where they lie beside the checkout.
//! Without them these tests have nothing to do and pass.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its input has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use scan::mail::classify::{Mail, Rules};
use scan::mail::series::{self, PatchMail};
use scan::mail::thread::{Links, Threads};
use scan::mail::{self, Hint, ParsedMessage, mbox};

fn corpus() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .ancestors()
        .map(|dir| dir.join("../shared/corpora/mail"))
        .find(|dir| dir.is_dir())
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_none_or(|e| e != "gz" && e != "tsv") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn messages(path: &Path) -> Vec<ParsedMessage> {
    let bytes = std::fs::read(path).unwrap();
    let mut splitter = mbox::split(&bytes[..]);
    let mut found = Vec::new();
    while let Some(message) = splitter.next_message().unwrap() {
        let hint = Hint {
            envelope: message.envelope.as_ref(),
        };
        found.push(mail::parse(&message.bytes, hint));
    }
    found
}

#[test]
fn all_mail_is_parsed_and_classified() {
    let Some(corpus) = corpus() else { return };
    let mut count = 0;
    for path in files_below(&corpus) {
        let parsed = messages(&path);
        assert!(!parsed.is_empty(), "{}", path.display());
        for message in &parsed {
            assert!(!message.message_id.is_empty());
            assert!(!message.body.contains(['\r', '\0']));
            for system in ["apache", "lore", "generic"] {
                Rules::shipped(system)
                    .unwrap()
                    .classify(&Mail::from(message));
            }
        }
        count += parsed.len();
    }
    assert!(count > 900, "{count}");
}

#[test]
fn three_renderings_of_a_month_hold_the_same_messages() {
    let Some(corpus) = corpus() else { return };
    let month = |rendering: &str| -> BTreeMap<String, String> {
        messages(&corpus.join(format!(
            "ponymail-apache/maven-dev-2017-12-{rendering}.mbox"
        )))
        .into_iter()
        .map(|message| {
            let facts = format!(
                "{:?} {:?} {:?} {:?} {:?} {}",
                message.subject,
                message.sender_email,
                message.date,
                message.in_reply_to,
                message.references,
                message.has_patch,
            );
            (message.message_id, facts)
        })
        .collect()
    };
    let ponymail = month("listsao");
    assert_eq!(ponymail.len(), 221);
    assert_eq!(ponymail, month("mailarchivesao"));
    assert_eq!(ponymail, month("mboxvm"));
}

#[test]
fn examples_get_their_class() {
    let Some(corpus) = corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("classify_examples.tsv")).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let system = if row[2].contains("apache.org") {
            "apache"
        } else {
            "lore"
        };
        let mail = Mail {
            subject: row[0],
            from: row[1],
            list_id: row[2],
            ..Mail::default()
        };
        let found = Rules::shipped(system).unwrap().classify(&mail);
        let capture = |name: &str| found.captures.get(name).map_or("", String::as_str);
        if (
            found.class.as_str(),
            capture("external_key"),
            capture("repo"),
        ) != (row[3], row[4], row[5])
        {
            wrong.push(format!("{} {found:?}", row[0]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Cover letters and patches per series, oldest first.
fn shape(path: &Path) -> Vec<(usize, usize)> {
    let mails: Vec<PatchMail> = messages(path).iter().map(PatchMail::from).collect();
    let forward = series::group(&mails);
    let mut backward_mails = mails.clone();
    backward_mails.reverse();
    let shape = |series: &[series::Series]| -> Vec<(usize, usize)> {
        series
            .iter()
            .map(|s| (usize::from(s.cover.is_some()), s.patches.len()))
            .collect()
    };
    assert_eq!(
        shape(&forward),
        shape(&series::group(&backward_mails)),
        "order of arrival"
    );
    shape(&forward)
}

#[test]
fn series_are_grouped_as_their_projects_expect() {
    let Some(corpus) = corpus() else { return };
    let expected: [(&str, &[(usize, usize)]); 24] = [
        ("patchwork-series/base-cover-letter", &[(1, 2)]),
        ("patchwork-series/base-different-versions", &[(1, 4)]),
        ("patchwork-series/base-incomplete", &[(1, 1)]),
        ("patchwork-series/base-no-references-no-cover", &[(1, 2)]),
        ("patchwork-series/base-out-of-order", &[(1, 2)]),
        ("patchwork-series/bugs-mixed-versions", &[(0, 1), (0, 1)]),
        ("patchwork-series/bugs-multiple-references", &[(1, 4)]),
        ("patchwork-series/bugs-nocover", &[(0, 2), (0, 2)]),
        ("patchwork-series/bugs-unnumbered", &[(1, 1), (0, 1)]),
        ("patchwork-series/mercurial-cover-letter", &[(1, 2)]),
        ("patchwork-series/revision-basic", &[(1, 2), (1, 2)]),
        ("patchwork-series/revision-out-of-order", &[(1, 2), (1, 2)]),
        (
            "patchwork-series/revision-threaded-to-patch",
            &[(1, 2), (1, 2)],
        ),
        (
            "patchwork-series/revision-unlabeled-noreferences",
            &[(0, 2), (0, 2)],
        ),
        ("b4-samples/naked-cover-bugreport", &[(0, 1)]),
        ("b4-samples/shazam-git1-just-series", &[(1, 4)]),
        ("b4-samples/trailers-followup-already-present", &[(0, 1)]),
        ("b4-samples/trailers-followup-custody", &[(0, 1)]),
        ("b4-samples/trailers-followup-name-parens", &[(0, 1)]),
        ("b4-samples/trailers-followup-non-git-patch", &[(0, 1)]),
        (
            "b4-samples/trailers-followup-partial-reroll",
            &[(1, 2), (0, 1)],
        ),
        ("b4-samples/trailers-followup-stripped-lines", &[(0, 1)]),
        ("b4-samples/trailers-followup-with-diffstat", &[(0, 1)]),
        ("b4-samples/trailers-thread-with-followups", &[(1, 4)]),
    ];
    for (name, want) in expected {
        assert_eq!(shape(&corpus.join(format!("{name}.mbox"))), want, "{name}");
    }
}

#[test]
fn new_versions_are_chained_and_partial_ones_completed() {
    let Some(corpus) = corpus() else { return };
    for name in [
        "revision-basic",
        "revision-out-of-order",
        "revision-threaded-to-patch",
        "bugs-nocover",
    ] {
        let path = corpus.join(format!("patchwork-series/{name}.mbox"));
        let mails: Vec<PatchMail> = messages(&path).iter().map(PatchMail::from).collect();
        let series = series::group(&mails);
        assert_eq!(
            (series[1].version, series[1].previous),
            (2, Some(0)),
            "{name}"
        );
    }
    let path = corpus.join("b4-samples/trailers-followup-partial-reroll.mbox");
    let mails: Vec<PatchMail> = messages(&path).iter().map(PatchMail::from).collect();
    let series = series::group(&mails);
    assert_eq!(series[1].version, 3);
    assert!(
        series[1].is_complete(),
        "the first patch is taken from version 2"
    );
}

#[test]
fn threads_of_notmuch() {
    let Some(corpus) = corpus() else { return };
    let threads_of = |dir: &str| {
        let mut threads = Threads::default();
        for path in files_below(&corpus.join("notmuch").join(dir)) {
            for message in messages(&path) {
                threads.insert(Links {
                    id: &message.message_id,
                    references: &message.references,
                    in_reply_to: &message.reply_ids,
                    date: message.date,
                });
            }
        }
        threads.threads()
    };
    let priority = threads_of("threading/parent-priority");
    assert_eq!(priority.len(), 1);
    let parent = |id: &str| {
        let entry = priority[0].entries.iter().find(|entry| entry.id == id);
        entry.and_then(|entry| entry.parent.clone())
    };
    assert_eq!(
        parent("B01-grand-child@example.org").as_deref(),
        Some("B01-child@example.org")
    );
    assert_eq!(threads_of("broken/loop").len(), 1);
    let ids: BTreeSet<String> = threads_of("default")
        .into_iter()
        .map(|thread| thread.key)
        .collect();
    assert_eq!(ids.len(), 24);
}
