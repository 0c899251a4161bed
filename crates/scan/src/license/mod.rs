//! The scanner that is always there: licenses, copyrights and packages of one file, from its bytes
//! and its name.
//!
//! It sees SPDX tags, whole license texts (every one of the SPDX list), the usual notices and
//! headers, what manifests declare, copyright lines and authors. It does **not** see licenses that
//! are on no list, texts that were rewritten, binaries and archives, dependencies, and it knows a
//! hundred phrases where ScanCode has tens of thousands of rules. What it says is meant to be true;
//! what it leaves unsaid proves nothing.
//!
//! ```
//! let found = scan::license::scan_file("a.c", b"// SPDX-License-Identifier: MIT\n");
//! assert_eq!(found.spdx.as_deref(), Some("MIT"));
//! ```
//!
//! [`tree`] puts the files of a tree together: what "see LICENSE" leads to, tallies, and the
//! license of the whole.

mod copyright;
mod declared;
pub mod expression;
mod notices;
mod sort;
mod tags;
mod texts;
pub mod tree;
mod words;

use std::borrow::Cow;

use facts::license::{Detection, Findings, Match, UNKNOWN_REFERENCE};

pub use sort::{MAX_BYTES, Sort, is_generated, is_license_file, is_vendored, language, sort};

use texts::TextMatch;
use words::Words;

/// Bumped when the answers change.
pub const VERSION: u32 = 1;

/// Matches kept for one file.
const MOST_MATCHES: usize = 200;

/// Scans one file. The name tells which manifest it may be; nothing is opened.
pub fn scan_file(path: &str, bytes: &[u8]) -> Findings {
    let sort = sort(bytes);
    let mut findings = Findings {
        size: Some(bytes.len() as u64),
        programming_language: language(path).map(str::to_owned),
        file_type: Some(sort.as_str().to_owned()),
        mime_type: Some(sort.mime_type().to_owned()),
        ..Findings::default()
    };
    match sort {
        Sort::Text => {}
        Sort::TooLarge => {
            let size = bytes.len();
            findings
                .scan_errors
                .push(format!("{size} bytes is over the limit of {MAX_BYTES}"));
            return findings;
        }
        Sort::Empty | Sort::Binary | Sort::LfsPointer => return findings,
    }
    let text = decode(bytes);
    let words = Words::new(&text);
    let declared = declared::read(path, &text);

    let mut found = licenses(&text, &words);
    if let Some(declared) = &declared {
        let line = |statement: &Option<String>| line_of(&text, statement.as_deref());
        if let Some(spdx) = &declared.spdx
            && !found.iter().any(|one| &one.license_expression_spdx == spdx)
        {
            let at = line(&declared.statement);
            found.push(matched(
                spdx,
                (at, at),
                "declared",
                "declared-license",
                100.0,
                3,
            ));
        }
        if let Some(file) = &declared.file {
            let at = line(&declared.file);
            let mut one = matched(
                UNKNOWN_REFERENCE,
                (at, at),
                "declared",
                "declared-license-file",
                100.0,
                2,
            );
            one.referenced_filenames = vec![file.clone()];
            found.push(one);
        }
    }
    found.sort_by_key(|one| (one.start_line, one.end_line));
    found.truncate(MOST_MATCHES);
    let matched_words: u64 = found.iter().map(|one| u64::from(one.matched_length)).sum();
    if !found.is_empty() && words.len() > 0 {
        let share = matched_words as f64 * 100.0 / words.len() as f64;
        findings.percentage_of_license_text = Some((share.min(100.0) * 100.0).round() / 100.0);
    }
    findings.license_detections = found.into_iter().map(detection).collect();
    findings.spdx = expression::all_of(
        findings
            .license_detections
            .iter()
            .map(|one| one.license_expression_spdx.as_str()),
    );
    findings.expression = findings.spdx.as_deref().map(expression::keys);

    let said = copyright::find(&text);
    (findings.copyrights, findings.holders, findings.authors) =
        (said.copyrights, said.holders, said.authors);
    if let Some(declared) = declared {
        for author in declared.authors {
            let at = line_of(&text, Some(&author));
            findings.authors.push(facts::license::Line {
                value: author,
                start_line: at,
                end_line: at,
            });
        }
        findings.package_data = declared.packages;
    }
    findings
}

/// All that names a license, without what only repeats it.
fn licenses(text: &str, words: &Words) -> Vec<Match> {
    let texts = texts::find(words);
    let mut found: Vec<Match> = texts
        .iter()
        .map(|one| {
            let lines = (words.line(one.from), words.line(one.to.saturating_sub(1)));
            let length = u32::try_from(one.to - one.from).unwrap_or(u32::MAX);
            let mut found = matched(one.id, lines, "text", one.id, one.score, length);
            found.match_coverage = one.coverage;
            found
        })
        .collect();
    let covers = |from: usize| texts.iter().any(|one| covers(words, one, from));
    for notice in notices::find(words) {
        if covers(notice.from) {
            continue;
        }
        let lines = (
            words.line(notice.from),
            words.line(notice.to.saturating_sub(1)),
        );
        let length = u32::try_from(notice.to - notice.from).unwrap_or(u32::MAX);
        let mut one = matched(&notice.spdx, lines, "notice", notice.rule, 100.0, length);
        one.referenced_filenames = notice.files;
        // A tag says it better, and a file need not say it twice.
        let known = found.iter().any(|other| {
            other.license_expression_spdx == one.license_expression_spdx
                && other.referenced_filenames == one.referenced_filenames
        });
        if !known {
            found.push(one);
        }
    }
    for tag in tags::find(text) {
        let inside = found.iter().any(|one| {
            one.matcher.as_deref() == Some("text")
                && (one.start_line..=one.end_line).contains(&tag.line)
        });
        let repeats = found
            .iter()
            .any(|one| one.license_expression_spdx == tag.spdx);
        if inside || repeats {
            continue;
        }
        // The words of the tag itself may look like a notice of less: `MIT OR Apache-2.0 license`.
        found.retain(|one| {
            !(one.matcher.as_deref() == Some("notice")
                && one.start_line == tag.line
                && one.referenced_filenames.is_empty())
        });
        found.push(matched(
            &tag.spdx,
            (tag.line, tag.line),
            "tag",
            tag.rule,
            100.0,
            3,
        ));
    }
    found
}

/// Whether a notice that begins here is part of a text: its title, its body, or the advice behind
/// it how to apply it.
fn covers(words: &Words, text: &TextMatch, from: usize) -> bool {
    const TITLE: usize = 24;
    const ADVICE: usize = 700;
    if (text.from.saturating_sub(TITLE)..text.to).contains(&from) {
        return true;
    }
    let behind = (text.to.saturating_sub(12))..(text.to + 16);
    let advice = behind.into_iter().any(|at| {
        words.is_at(at, &["how", "to", "apply"])
            || words.get(at) == "appendix"
            || words.is_at(at, &["end", "of", "terms"])
    });
    advice && (text.to..text.to + ADVICE).contains(&from)
}

fn matched(
    spdx: &str,
    lines: (u32, u32),
    matcher: &str,
    rule: &str,
    score: f64,
    length: u32,
) -> Match {
    Match {
        license_expression: expression::keys(spdx),
        license_expression_spdx: spdx.to_owned(),
        from_file: None,
        start_line: lines.0,
        end_line: lines.1,
        matcher: Some(matcher.to_owned()),
        score,
        matched_length: length,
        match_coverage: 100.0,
        rule_relevance: None,
        rule_identifier: rule.to_owned(),
        referenced_filenames: Vec::new(),
    }
}

fn detection(one: Match) -> Detection {
    Detection {
        license_expression: one.license_expression.clone(),
        license_expression_spdx: one.license_expression_spdx.clone(),
        identifier: None,
        matches: vec![one],
    }
}

/// The first line that has this text; 1 if none does.
fn line_of(text: &str, what: Option<&str>) -> u32 {
    let Some(what) = what.filter(|what| !what.is_empty()) else {
        return 1;
    };
    let found = text.lines().position(|line| line.contains(what));
    found.map_or(1, |at| u32::try_from(at + 1).unwrap_or(u32::MAX))
}

/// Text in whatever coding: UTF-8, UTF-16 with a mark, else the one that most old files have.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, _)) = encoding_rs::Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            encoding_rs::WINDOWS_1252
                .decode_without_bom_handling(bytes)
                .0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_its_title_is_one_license() {
        let mit = spdx::license_id("MIT").unwrap().text();
        let file = format!("The MIT License (MIT)\n\nCopyright (c) 2020 Jane Doe\n\n{mit}");
        let found = scan_file("LICENSE", file.as_bytes());
        assert_eq!(found.spdx.as_deref(), Some("MIT"));
        assert_eq!(found.expression.as_deref(), Some("mit"));
        assert_eq!(found.holders[0].value, "Jane Doe");
        let gpl = spdx::license_id("GPL-3.0-only").unwrap().text();
        let found = scan_file("COPYING", gpl.as_bytes());
        assert_eq!(found.spdx.as_deref(), Some("GPL-3.0-only"));
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        assert!(scan_file("a.bin", b"\0\0MIT License").is_empty());
        let large = scan_file("a.c", &vec![b' '; MAX_BYTES + 1]);
        assert_eq!(large.scan_errors.len(), 1);
        let old = scan_file("a.c", b"/* Copyright \xa9 2001 Andr\xe9 */");
        assert_eq!(old.copyrights[0].value, "Copyright (c) 2001 André");
    }
}
