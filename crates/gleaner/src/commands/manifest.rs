//! `gleaner manifest`: what files say of themselves, without a database.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::Args;
use scan::manifest::{self, Intent, Manifest};
use serde::Serialize;

use crate::{
    error::{Exit, Failure, Result},
    printer::Row,
    session::Session,
};

/// Read manifests (Cargo.toml, package.json…) and show what they declare
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner manifest Cargo.toml web/package.json
  gleaner manifest . --format jsonl")]
pub(crate) struct ManifestArgs {
    /// Files, in the order in which they are shown; directories are walked for manifests
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct ManifestRow {
    path: String,
    manifest_type: Option<&'static str>,
    name: Option<String>,
    effective_name: Option<String>,
    version: Option<String>,
    intent: Intent,
    reason: Option<String>,
    repository: Option<String>,
    directory: Option<String>,
    uuid: Option<String>,
    outputs: Vec<String>,
    /// Why a file that is named like a manifest gave none.
    error: Option<String>,
}

impl Row for ManifestRow {
    const COLUMNS: &'static [&'static str] = &[
        "path",
        "manifest_type",
        "name",
        "effective_name",
        "version",
        "intent",
        "reason",
        "repository",
        "directory",
        "uuid",
        "outputs",
        "error",
    ];
    const TABLE: &'static [&'static str] = &[
        "path",
        "manifest_type",
        "effective_name",
        "version",
        "intent",
        "reason",
        "error",
    ];
}

pub(crate) fn run(session: &Session, args: &ManifestArgs) -> Result<Exit> {
    let mut files = Vec::new();
    for path in &args.paths {
        let metadata = std::fs::metadata(path);
        let metadata = metadata.map_err(|error| Failure::unreadable(path, &error))?;
        if metadata.is_dir() {
            walk(session, path, &mut files);
        } else {
            files.push(path.clone());
        }
    }
    // Names and versions may be inherited from another file, so all are read before any is shown.
    let read: Vec<(String, Answer)> = files.iter().map(|file| read(file)).collect::<Result<_>>()?;
    let mut found = Vec::new();
    let mut rows = Vec::with_capacity(read.len());
    for (path, answer) in read {
        match answer {
            Answer::Manifest(manifest) => {
                rows.push(None);
                found.push((path, *manifest));
            }
            Answer::Nothing(kind, error) => rows.push(Some(empty(path, kind, error))),
        }
    }
    manifest::resolve(&mut found);
    let mut found = found.into_iter();
    let mut list = session.printer.list()?;
    for row in rows {
        let row = row.or_else(|| found.next().map(|(path, manifest)| full(path, manifest)));
        if let Some(row) = row {
            list.push(&row)?;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

enum Answer {
    Manifest(Box<Manifest>),
    /// Not a manifest, or a broken one of that type.
    Nothing(Option<&'static str>, Option<String>),
}

fn read(path: &Path) -> Result<(String, Answer)> {
    let shown = path
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/");
    let Some(format) = manifest::recognise(&shown) else {
        return Ok((shown, Answer::Nothing(None, None)));
    };
    let mut bytes = Vec::new();
    // One byte over the limit is enough for the parser to see that it is too large.
    let limit = manifest::MAX_BYTES as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| Failure::unreadable(path, &error))?;
    let answer = match format.parse(&shown, &bytes) {
        Ok(manifest) => Answer::Manifest(Box::new(manifest)),
        Err(manifest::ManifestError::NotAManifest(_)) => Answer::Nothing(None, None),
        Err(error) => Answer::Nothing(Some(format.manifest_type()), Some(error.to_string())),
    };
    Ok((shown, answer))
}

/// Collects what is named like a manifest, by name within each directory. Hidden directories and
/// links are left out: the first are tools' own, the second lead to files that are met anyway.
fn walk(session: &Session, directory: &Path, files: &mut Vec<PathBuf>) {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", directory.display());
                session.printer.warning(&message);
                continue;
            }
        };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let mut inner = Vec::new();
        for entry in entries {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !hidden => inner.push(path),
                Ok(kind)
                    if kind.is_file() && manifest::recognise(&path.to_string_lossy()).is_some() =>
                {
                    files.push(path);
                }
                _ => {}
            }
        }
        open.extend(inner.into_iter().rev());
    }
}

fn full(path: String, manifest: Manifest) -> ManifestRow {
    ManifestRow {
        path,
        manifest_type: Some(manifest.manifest_type),
        name: manifest.name,
        effective_name: manifest.effective_name,
        version: manifest.version,
        intent: manifest.intent,
        reason: manifest.reason,
        repository: manifest.repository,
        directory: manifest.directory,
        uuid: manifest.uuid,
        outputs: manifest.outputs,
        error: None,
    }
}

fn empty(path: String, manifest_type: Option<&'static str>, error: Option<String>) -> ManifestRow {
    ManifestRow {
        path,
        manifest_type,
        name: None,
        effective_name: None,
        version: None,
        intent: Intent::Unknown,
        reason: None,
        repository: None,
        directory: None,
        uuid: None,
        outputs: Vec::new(),
        error,
    }
}
