//! From answers about files to a result about a tree.

use std::collections::{BTreeMap, HashMap};

use facts::license::Findings;
use scan::license::{is_generated, is_vendored, tree::Settled};
use store::license::{FileKey, NewFile};

use super::{Scanner, Settling, name_class};
use crate::git::Entry;

/// A file that has no answer, with the reason in a word and in full.
pub(super) type Problems = HashMap<String, (&'static str, String)>;

/// How many files are not simply text that people of the project wrote, by what they are.
pub(super) type ToldApart = BTreeMap<String, usize>;

/// Counts what a path tells.
pub(super) fn count_place(path: &str, told: &mut ToldApart) {
    let place = place(path);
    if place != "ordinary" {
        *told.entry(place.to_owned()).or_default() += 1;
    }
}

/// A tree put together.
pub(super) struct Together {
    pub(super) files: Vec<NewFile>,
    pub(super) settled: Settled,
    pub(super) found: usize,
}

/// The key of a file.
pub(super) fn key(entry: &Entry) -> FileKey {
    FileKey {
        blob: entry.id.clone(),
        name_class: name_class(&entry.path),
    }
}

/// Puts the files of a tree together from what is known of their contents.
pub(super) async fn put_together(
    scanner: &dyn Scanner,
    entries: &[Entry],
    answers: &HashMap<FileKey, (i64, Findings)>,
    problems: &Problems,
) -> Together {
    let mut list: Vec<(String, Findings)> = Vec::new();
    let mut rows: Vec<(&Entry, i64)> = Vec::new();
    for entry in entries {
        if let Some((id, findings)) = answers.get(&key(entry)) {
            list.push((entry.path.clone(), findings.clone()));
            rows.push((entry, *id));
        }
    }
    let Settling {
        settled,
        files: list,
    } = scanner.settle(list).await;
    let mut files: Vec<NewFile> = Vec::new();
    let mut found = 0;
    for (at, (entry, id)) in rows.into_iter().enumerate() {
        let resolved = settled.resolved.get(&at);
        let findings = list.get(at).map(|(_, findings)| findings);
        let errors = findings.map(|findings| &findings.scan_errors);
        let failed = errors
            .filter(|errors| !errors.is_empty())
            .map(|errors| ("failed", errors.join("; ")));
        found += usize::from(findings.is_some_and(|one| {
            one.spdx.is_some() || !one.copyrights.is_empty() || !one.package_data.is_empty()
        }));
        files.push(NewFile {
            path: entry.path.clone(),
            blob: entry.id.clone(),
            answer: Some(id),
            spdx: resolved.map(|one| one.spdx.clone()),
            spdx_from: resolved.and_then(|one| serde_json::to_string(&one.from).ok()),
            place: place(&entry.path),
            problem: problems.get(&entry.path).cloned().or(failed).map(short),
        });
    }
    let told: std::collections::HashSet<&str> =
        files.iter().map(|file| file.path.as_str()).collect();
    let more: Vec<NewFile> = entries
        .iter()
        .filter(|entry| !told.contains(entry.path.as_str()))
        .filter_map(|entry| {
            let problem = problems.get(&entry.path)?;
            Some(NewFile {
                path: entry.path.clone(),
                blob: entry.id.clone(),
                answer: None,
                spdx: None,
                spdx_from: None,
                place: place(&entry.path),
                problem: Some(short(problem.clone())),
            })
        })
        .collect();
    files.extend(more);
    Together {
        files,
        settled,
        found,
    }
}

pub(super) fn place(path: &str) -> &'static str {
    if is_vendored(path) {
        "vendored"
    } else if is_generated(path) {
        "generated"
    } else {
        "ordinary"
    }
}

pub(super) fn short((word, mut why): (&'static str, String)) -> (&'static str, String) {
    why.truncate(why.floor_char_boundary(1_000));
    (word, why)
}
