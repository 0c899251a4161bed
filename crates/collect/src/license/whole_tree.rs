//! Whole trees, scanned by one long process each, as ScanCode does it by itself.
//!
//! A scan of a large tree may take hours, so the process is worth more than the one that started
//! it: it is detached and recorded, and whoever comes after a crash takes up its output, waits for
//! it or starts anew. Beside the tree lies a list of what it is, so that an output is never taken
//! for another commit's. Exit codes prove nothing: 1 means "crashed" and "one file timed out" alike.
//! An output counts when it is whole and tells when it ended.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use engine::{Ended, Ending, Place, RunError, Subprocess};
use facts::license::{Findings, ScannerIdentity};
use scan::license::tree::{TreeFile, settle};
use serde::{Deserialize, Serialize};
use store::license::{self, Answer, FileKey, NewFile, State};

use super::{
    Scanner, Settings,
    collector::{Done, Progress, Scan},
    gather::Tree,
    python_in,
    stop::Stop,
    tree_step::place,
    work_directory,
    written::{Batch, Report},
};
use crate::git::{Blob, Entry};

const NAME: &str = "scancode";
const LIST: &str = "gleaner-tree.json";
/// Files that are unpacked together.
const UNPACK: usize = 200;
/// The longest output.
const MOST_OUTPUT: u64 = 4 << 30;

/// What lies beside an unpacked tree.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    commit: String,
    tree: String,
    scanner: String,
    /// Path where it was unpacked, path in the repository, id.
    files: Vec<(String, String, String)>,
}

/// Whether trees are scanned whole: only ScanCode's own program does that.
pub(super) fn is_wanted(settings: &Settings, scanner: &dyn Scanner) -> bool {
    settings.whole_tree && scanner.identity().tool == "scancode"
}

/// Its answers are about files in their trees, and must not pass for others.
pub(super) fn identity(scanner: &ScannerIdentity) -> ScannerIdentity {
    ScannerIdentity {
        options: format!("{} whole-tree", scanner.options),
        ..scanner.clone()
    }
}

/// One run: takes up what an earlier attempt has left, or unpacks the tree and starts.
pub(super) async fn run(
    scan: &Scan<'_>,
    tree: &Tree,
    commit: &str,
    entries: &[Entry],
    mut report: Report,
) -> Result<Ending, Stop> {
    let cx = scan.cx;
    let ended = match cx.recovered(NAME).await? {
        engine::Recovered::Finished(ended) => {
            tracing::info!(
                repository = scan.repository.id,
                "license scan: taking up a finished output"
            );
            ended
        }
        engine::Recovered::Running(detached) => {
            tracing::info!(
                repository = scan.repository.id,
                "license scan: adopting a running scanner"
            );
            detached.ended().await?
        }
        engine::Recovered::Nothing => start(scan, tree, commit, entries).await?,
    };
    let ended = match ended {
        Ended::Well {
            output,
            place,
            recovered: true,
        } if read(&output, &place).await.is_err() => {
            // What an earlier attempt left is no good after all.
            drop(output);
            start(scan, tree, commit, entries).await?
        }
        other => other,
    };
    match ended {
        Ended::Well { output, place, .. } => {
            let (list, files) = read(&output, &place)
                .await
                .map_err(|why| RunError::unit(format!("the scanner's output is no good: {why}")))?;
            ingest(scan, list, files, &mut report).await
        }
        Ended::Badly {
            status, complaint, ..
        } => {
            tracing::warn!(
                repository = scan.repository.id,
                ?status,
                complaint,
                "license scan failed"
            );
            Err(RunError::unit(format!("the scanner ended badly ({status:?}): {complaint}")).into())
        }
    }
}

/// Unpacks the tree and starts the scanner.
async fn start(
    scan: &Scan<'_>,
    tree: &Tree,
    commit: &str,
    entries: &[Entry],
) -> Result<Ended, Stop> {
    let settings = scan.desk.settings();
    let base = settings.directory.join("trees");
    fs::create_dir_all(&base).map_err(RunError::unit)?;
    let unpacked = work_directory::make(&base).map_err(RunError::unit)?;
    let list = List {
        commit: commit.to_owned(),
        tree: tree.id(commit).await?,
        scanner: identity(scan.scanner.identity()).key(),
        files: unpack(scan, tree, entries, unpacked.path()).await?,
    };
    let text = serde_json::to_vec(&list).map_err(RunError::unit)?;
    fs::write(unpacked.path().join(LIST), text).map_err(RunError::unit)?;
    let (from, settings) = (unpacked.path().to_owned(), settings.clone());
    let spec = Subprocess::new(NAME, &base, move |place: &Place| {
        words(place, &from, &settings)
    })
    .accepts([0, 1])
    .env("LC_ALL", "C.UTF-8");
    let detached = scan.cx.spawn(spec).await?;
    Ok(detached.ended().await?)
}

/// The command, with the tree moved to the place of the subprocess: it lives as long as that.
fn words(place: &Place, unpacked: &Path, settings: &Settings) -> Vec<OsString> {
    let tree = place.directory().join("tree");
    let _ = fs::rename(unpacked.join("tree"), &tree);
    let _ = fs::rename(unpacked.join(LIST), place.directory().join(LIST));
    let program = python_in(&settings.venv).with_file_name("scancode");
    let mut words: Vec<OsString> = ["nice", "-n", "10"].iter().map(OsString::from).collect();
    words.push(program.into());
    words.extend(
        [
            "-clpi",
            "--strip-root",
            "--max-in-memory",
            "0",
            "--quiet",
            "--processes",
        ]
        .iter()
        .map(OsString::from),
    );
    words.push(settings.processes.max(1).to_string().into());
    words.push("--timeout".into());
    words.push(settings.file_timeout.as_secs().to_string().into());
    words.push("--json".into());
    words.push(place.partial().into());
    words.push(tree.into());
    words
}

async fn unpack(
    scan: &Scan<'_>,
    tree: &Tree,
    entries: &[Entry],
    below: &Path,
) -> Result<Vec<(String, String, String)>, Stop> {
    let below: PathBuf = below.join("tree");
    fs::create_dir_all(&below).map_err(RunError::unit)?;
    let mut files = Vec::new();
    for chunk in entries.chunks(UNPACK) {
        if scan.cx.cancelled().is_cancelled() {
            return Err(RunError::Interrupted.into());
        }
        let mut ids: Vec<&str> = chunk.iter().map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let blobs = tree.blobs(&ids).await?;
        let blobs: HashMap<&str, Blob> = ids.into_iter().zip(blobs).collect();
        for entry in chunk {
            let Some(Blob::Bytes(bytes)) = blobs.get(entry.id.as_str()) else {
                continue;
            };
            let written =
                work_directory::write(&below, &entry.path, bytes).map_err(RunError::unit)?;
            let inner = written.strip_prefix(&below).unwrap_or(&written);
            files.push((
                inner.to_string_lossy().into_owned(),
                entry.path.clone(),
                entry.id.clone(),
            ));
        }
    }
    Ok(files)
}

#[derive(Debug, Deserialize)]
struct Output {
    headers: Vec<Header>,
    files: Vec<OutputFile>,
}

#[derive(Debug, Deserialize)]
struct Header {
    end_timestamp: Option<String>,
}

#[derive(Debug, Deserialize)]
struct OutputFile {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    findings: Findings,
}

async fn read(output: &Path, place: &Place) -> Result<(List, Vec<OutputFile>), String> {
    let (output, list) = (output.to_owned(), place.directory().join(LIST));
    let read = tokio::task::spawn_blocking(move || {
        let list = fs::read(&list).map_err(|error| error.to_string())?;
        let list: List = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
        let size = fs::metadata(&output)
            .map_err(|error| error.to_string())?
            .len();
        if size > MOST_OUTPUT {
            return Err(format!("{size} bytes is over the limit of {MOST_OUTPUT}"));
        }
        let file = fs::File::open(&output).map_err(|error| error.to_string())?;
        let whole: Output = serde_json::from_reader(std::io::BufReader::new(file))
            .map_err(|error| error.to_string())?;
        let ended = whole
            .headers
            .first()
            .is_some_and(|header| header.end_timestamp.is_some());
        if !ended {
            return Err("it does not tell when it ended".to_owned());
        }
        Ok((list, whole.files))
    });
    read.await.map_err(|error| error.to_string())?
}

/// Writes down what the scanner says of each file in its tree.
async fn ingest(
    scan: &Scan<'_>,
    list: List,
    files: Vec<OutputFile>,
    report: &mut Report,
) -> Result<Ending, Stop> {
    let identity = identity(scan.scanner.identity());
    if list.scanner != identity.key() {
        return Err(RunError::unit("the output is of another scanner").into());
    }
    let known: HashMap<&str, (&str, &str)> = list
        .files
        .iter()
        .map(|(written, path, id)| (written.as_str(), (path.as_str(), id.as_str())))
        .collect();
    let mut found: Vec<(String, FileKey, Findings)> = Vec::new();
    for file in files {
        if file.kind != "file" || file.findings.is_empty() {
            continue;
        }
        if let Some((path, id)) = known.get(file.path.as_str()) {
            // In its tree a file's answer is its own: the path stands for the tree's part in it.
            let key = FileKey {
                blob: (*id).to_owned(),
                name_class: format!("{} {path}", list.tree),
            };
            found.push(((*path).to_owned(), key, file.findings));
        }
    }
    report.scanned = list.files.len();
    for chunk in found.chunks(400) {
        let answers = chunk.iter().map(|(_, key, findings)| Answer {
            key: key.clone(),
            state: State::Found,
            findings: findings.clone(),
            elapsed_ms: 0,
        });
        let batch = Batch {
            scanner: identity.clone(),
            answers: answers.collect(),
            other: None,
            checks: Vec::new(),
            now: scan.cx.clock().now(),
        };
        scan.cx
            .commit(&Progress {}, &batch, |tx, batch| Box::pin(batch.write(tx)))
            .await?;
    }
    let keys: Vec<FileKey> = found.iter().map(|(_, key, _)| key.clone()).collect();
    let number = license::scanner_number(scan.cx.db(), &identity).await?;
    let rows = match number {
        Some(number) => license::known(scan.cx.db(), number, &keys).await?,
        None => HashMap::new(),
    };
    let settled = {
        let list: Vec<TreeFile<'_>> = found
            .iter()
            .map(|(path, _, findings)| TreeFile { path, findings })
            .collect();
        let mut settled = settle(&list);
        // The scanner has followed references itself.
        settled.resolved.clear();
        settled
    };
    let files: Vec<NewFile> = found
        .iter()
        .map(|(path, key, findings)| NewFile {
            path: path.clone(),
            blob: key.blob.clone(),
            answer: rows.get(key).map(|row| row.id),
            spdx: None,
            spdx_from: None,
            place: place(path),
            problem: (!findings.scan_errors.is_empty())
                .then(|| ("failed", findings.scan_errors.join("; "))),
        })
        .collect();
    let done = Done {
        identity,
        mode: "whole-tree",
        commit: list.commit,
        tree: list.tree,
        found: files.len(),
        files,
        settled,
    };
    report.commit = Some(done.commit.clone());
    scan.finish(done, report.clone()).await
}
