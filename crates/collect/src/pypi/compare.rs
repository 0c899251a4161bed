//! What a page says, held against what is known: the difference is what happened.

use std::collections::{HashMap, HashSet};

use db::Timestamp;
use scan::python::{
    FileKind as Form, Filename,
    simple::{ListedFile, MetadataFile, ProjectPage, ProjectStatus, Yanked},
};
use store::pypi::{Event, FileKind, FileWrite, KnownFile};

use super::address::IndexAddress;

/// What happened to a project since its page was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// Files to be written, and whether they are to be read.
    pub(super) writes: Vec<(FileWrite, Reading)>,
    pub(super) removed: Vec<i64>,
    pub(super) withheld: Vec<i64>,
    pub(super) events: Vec<Event>,
    /// Entries that lead nowhere.
    pub(super) unusable: usize,
}

/// What is to be done about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is new.
    First,
    /// It has other bytes than before, or was out of reach.
    Again,
    /// What was extracted still holds.
    None,
}

/// The word for what an index thinks of a project.
pub(super) fn status_word(status: &ProjectStatus) -> String {
    match status {
        ProjectStatus::Active => "active".into(),
        ProjectStatus::Archived => "archived".into(),
        ProjectStatus::Quarantined => "quarantined".into(),
        ProjectStatus::Deprecated => "deprecated".into(),
        ProjectStatus::Other(word) => word.chars().take(40).collect(),
    }
}

/// Compares the page of a project with its known files.
pub(super) fn compare(
    address: &IndexAddress,
    project: &str,
    page: &ProjectPage,
    serial: Option<i64>,
    known: &[KnownFile],
    now: Timestamp,
) -> Difference {
    let mut difference = Difference::default();
    let by_name: HashMap<&str, &KnownFile> = known
        .iter()
        .map(|file| (file.filename.as_str(), file))
        .collect();
    let mut listed = HashSet::new();
    let event = |filename: &str, what: &str, detail: Option<String>| Event {
        project: project.to_owned(),
        filename: Some(filename.to_owned()),
        what: what.to_owned(),
        detail,
        serial,
        observed_at: now,
    };
    for file in &page.files {
        // Of two entries with one name the first counts, as for installers.
        if !listed.insert(file.filename.as_str()) {
            continue;
        }
        let Some(mut write) = written(address, project, file, serial) else {
            difference.unusable += 1;
            continue;
        };
        let Some(known) = by_name.get(file.filename.as_str()) else {
            let added = event(&write.filename, "added", None);
            difference.events.push(added);
            difference.writes.push((write, Reading::First));
            continue;
        };
        write.replaced = is_replaced(known, &write);
        let mut happened = Vec::new();
        if known.removed {
            happened.push(("returned", None));
        }
        if write.replaced {
            happened.push(("replaced", known.sha256.clone()));
        }
        match (&known.yanked, &write.yanked) {
            (None, Some(reason)) => happened.push(("yanked", Some(reason.clone()))),
            (Some(_), None) => happened.push(("unyanked", None)),
            _ => {}
        }
        let same = happened.is_empty()
            && !known.quarantined
            && known.yanked == write.yanked
            && known.url == write.url
            && known.upload_time == write.upload_time
            && (write.size.is_none() || known.size == write.size)
            && (write.sha256.is_none() || known.sha256 == write.sha256)
            && (write.requires_python.is_none() || known.requires_python == write.requires_python)
            && known.metadata_sha256 == write.metadata_sha256;
        if same {
            continue;
        }
        let out_of_reach = known.removed || known.quarantined;
        let reading = if write.replaced || (out_of_reach && known.unread) {
            Reading::Again
        } else {
            Reading::None
        };
        for (what, detail) in happened {
            difference.events.push(event(&write.filename, what, detail));
        }
        difference.writes.push((write, reading));
    }
    let withheld = page.status == ProjectStatus::Quarantined;
    for file in known {
        if file.removed || listed.contains(file.filename.as_str()) {
            continue;
        }
        if withheld {
            if !file.quarantined {
                difference.withheld.push(file.id);
            }
        } else {
            difference.removed.push(file.id);
            let removed = event(&file.filename, "removed", None);
            difference.events.push(removed);
        }
    }
    difference
}

/// Other bytes under the same name. Where the index tells no hash, its time of upload must do.
fn is_replaced(known: &KnownFile, now: &FileWrite) -> bool {
    match (&known.sha256, &now.sha256) {
        (Some(was), Some(is)) => was != is,
        _ => known.upload_time.is_some() && known.upload_time != now.upload_time,
    }
}

fn written(
    address: &IndexAddress,
    project: &str,
    file: &ListedFile,
    serial: Option<i64>,
) -> Option<FileWrite> {
    let url = address.file(project, &file.url)?;
    let name = Filename::parse(&file.filename, Some(project));
    let kind = match name.as_ref().map(|name| &name.kind) {
        Some(Form::Wheel(_)) => FileKind::Wheel,
        Some(Form::Egg { .. }) => FileKind::Egg,
        Some(Form::Sdist(_)) => FileKind::Sdist,
        Some(Form::Installer(_)) => FileKind::Installer,
        None => FileKind::Other,
    };
    let sha256 = file.hashes.get("sha256");
    Some(FileWrite {
        filename: file.filename.clone(),
        tags: name.as_ref().map(tags).unwrap_or_default(),
        version: name.map(|name| name.version).unwrap_or_default(),
        kind,
        url,
        upload_time: file.upload_time.as_ref().and_then(|text| text.parse().ok()),
        size: file.size.and_then(|size| i64::try_from(size).ok()),
        sha256: sha256.filter(|digest| digest.len() == 64).cloned(),
        metadata_sha256: match &file.core_metadata {
            MetadataFile::Present { hashes } => {
                Some(hashes.get("sha256").cloned().unwrap_or_default())
            }
            MetadataFile::Unsaid | MetadataFile::Absent => None,
        },
        requires_python: file.requires_python.clone(),
        yanked: match &file.yanked {
            Yanked::No => None,
            Yanked::Yes { reason } => Some(reason.clone().unwrap_or_default()),
        },
        serial,
        replaced: false,
    })
}

/// What a file runs on, by its name.
fn tags(name: &Filename) -> Vec<String> {
    const MOST: usize = 200;
    match &name.kind {
        Form::Wheel(tags) => {
            let platforms = |python: &String, abi: &String| {
                let with = |platform: &String| format!("{python}-{abi}-{platform}");
                tags.platform.iter().map(with).collect::<Vec<_>>()
            };
            let combined = tags.python.iter().flat_map(|python| {
                let abis = tags.abi.iter();
                abis.flat_map(move |abi| platforms(python, abi))
            });
            combined.take(MOST).collect()
        }
        Form::Egg { python, platform } => {
            let word = |part: &Option<String>| part.clone().unwrap_or_else(|| "any".into());
            vec![format!("py{}-none-{}", word(python), word(platform))]
        }
        _ => Vec::new(),
    }
}
