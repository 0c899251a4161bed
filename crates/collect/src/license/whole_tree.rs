//! Whole trees, scanned by one long process each, as ScanCode does it by itself.
//!
//! A scan of a large tree may take hours, so the process is worth more than the one that started
//! it: it is detached and recorded, and whoever comes after a crash takes up its output, waits for
//! it or starts anew. Beside the tree lies a list of what it is, so that an output is never taken
//! for another commit's. Exit codes prove nothing: 1 means "crashed" and "one file timed out" alike.
//! An output counts when it is whole and tells when it ended.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use engine::{Ended, Ending, Place, Recovered, RunError, Subprocess};
use facts::license::{Findings, ScannerIdentity};
use scan::license::{
    Sort, sort,
    tree::{TreeFile, settle},
};
use serde::{Deserialize, Serialize};
use store::license::{self, Answer, FileKey, NewFile, State};

use super::{
    Scanner, Settings,
    collector::Progress,
    gather::Tree,
    python_in,
    repository_scan::{Done, Scan},
    scancode::package,
    stock_output::StockOutput,
    stop::Stop,
    tree_step::{ToldApart, count_place, place, short},
    work_directory,
    written::{Batch, Report},
};
use crate::git::{Blob, Entry};

const NAME: &str = "scancode";
const LIST: &str = "gleaner-tree.json";
/// Files that are unpacked together.
const UNPACK: usize = 200;

/// What lies beside an unpacked tree.
#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    commit: String,
    tree: String,
    scanner: String,
    /// Path where it was unpacked, path in the repository, id.
    files: Vec<(String, String, String)>,
    /// Files that could not be unpacked: path, id, whether there is too much of it, why.
    left_out: Vec<(String, String, bool, String)>,
    bytes: u64,
    skipped: BTreeMap<String, usize>,
    told_apart: ToldApart,
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

/// Takes up what an earlier attempt has left, if it is of any use; nobody else need be asked.
pub(super) async fn take_up(scan: &Scan<'_>) -> Result<Option<Ending>, Stop> {
    let (repository, name) = (scan.repository.id, scan.repository.slug());
    let ended = match scan.cx.recovered(NAME).await? {
        Recovered::Nothing => return Ok(None),
        Recovered::Finished(ended) => {
            tracing::info!(repository, %name, "license scan: taking up a finished output");
            ended
        }
        Recovered::Running(detached) => {
            let pid = detached.pid();
            tracing::info!(repository, %name, pid, "license scan: adopting a running scanner");
            detached.ended().await?
        }
    };
    let Ended::Well { output, place, .. } = ended else {
        tracing::warn!(repository, %name, "license scan: the adopted scanner came to nothing");
        return Ok(None);
    };
    match read(&output, &place).await {
        Ok((list, _)) if list.scanner != identity(scan.scanner.identity()).key() => {
            tracing::info!(repository, %name, "license scan: the output is of another scanner");
            Ok(None)
        }
        Ok((list, whole)) => Ok(Some(ingest(scan, list, whole).await?)),
        Err(why) => {
            tracing::warn!(repository, %name, why, "license scan: the output is no good");
            Ok(None)
        }
    }
}

/// Unpacks the tree, lets the scanner run over it and writes down what it says.
pub(super) async fn run(
    scan: &Scan<'_>,
    tree: Tree,
    commit: &str,
    entries: &[Entry],
    report: Report,
) -> Result<Ending, Stop> {
    let settings = scan.desk.settings();
    let base = settings.directory.join("trees");
    fs::create_dir_all(&base).map_err(RunError::unit)?;
    let unpacked = work_directory::make(&base).map_err(RunError::unit)?;
    let mut list = unpack(scan, &tree, entries, unpacked.path()).await?;
    list.commit = commit.to_owned();
    list.tree = tree.id(commit).await?;
    list.scanner = identity(scan.scanner.identity()).key();
    list.skipped = report
        .skipped
        .iter()
        .map(|(why, count)| (why.clone().into_owned(), *count))
        .collect();
    // The scanner may take hours; nobody else need wait for the objects any longer.
    drop(tree);
    let text = serde_json::to_vec(&list).map_err(RunError::unit)?;
    fs::write(unpacked.path().join(LIST), text).map_err(RunError::unit)?;
    let (from, settings) = (unpacked.path().to_owned(), settings.clone());
    let spec = Subprocess::new(NAME, &base, move |place: &Place| {
        words(place, &from, &settings)
    })
    .accepts([0, 1])
    .env("LC_ALL", "C.UTF-8")
    .env("PYTHONDONTWRITEBYTECODE", "1");
    let detached = scan.cx.spawn(spec).await?;
    drop(unpacked);
    tracing::info!(
        repository = scan.repository.id,
        name = %scan.repository.slug(),
        pid = detached.pid(),
        "license scan: the scanner runs over the whole tree"
    );
    match detached.ended().await? {
        Ended::Well { output, place, .. } => {
            let (list, whole) = read(&output, &place)
                .await
                .map_err(|why| RunError::unit(format!("the scanner's output is no good: {why}")))?;
            ingest(scan, list, whole).await
        }
        Ended::Badly {
            status, complaint, ..
        } => {
            let status = status.map_or_else(|| "killed".to_owned(), |status| status.to_string());
            tracing::warn!(
                repository = scan.repository.id,
                status,
                complaint,
                "license scan failed"
            );
            let complaint = match complaint.as_str() {
                "" => "it said nothing",
                said => said,
            };
            Err(RunError::unit(format!("the scanner ended badly ({status}): {complaint}")).into())
        }
    }
}

/// Limits what a process may take before it becomes the scanner.
const LIMITED: &str = r#"ulimit -c 0
ulimit -v "$1" 2>/dev/null
SCANCODE_TEMP=$2 TMPDIR=$2
export SCANCODE_TEMP TMPDIR
shift 2
exec nice -n 10 "$@""#;

/// The command, with the tree moved to the place of the subprocess: it lives as long as that.
fn words(place: &Place, unpacked: &Path, settings: &Settings) -> Vec<OsString> {
    let tree = place.directory().join("tree");
    let _ = fs::rename(unpacked.join("tree"), &tree);
    let _ = fs::rename(unpacked.join(LIST), place.directory().join(LIST));
    let program = python_in(&settings.venv).with_file_name("scancode");
    let mut words: Vec<OsString> = ["sh", "-c", LIMITED, "sh"].map(OsString::from).to_vec();
    words.push(match settings.memory_bytes {
        0 => "unlimited".into(),
        bytes => (bytes / 1024).to_string().into(),
    });
    // What it leaves lying about goes with its place.
    words.push(place.directory().into());
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
) -> Result<List, Stop> {
    let below: PathBuf = below.join("tree");
    fs::create_dir_all(&below).map_err(RunError::unit)?;
    let mut list = List::default();
    for chunk in entries.chunks(UNPACK) {
        if scan.cx.cancelled().is_cancelled() {
            return Err(RunError::Interrupted.into());
        }
        let mut ids: Vec<&str> = chunk.iter().map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let blobs = tree.blobs(&ids, Some(scan.cx)).await?;
        let blobs: HashMap<&str, Blob> = ids.into_iter().zip(blobs).collect();
        for entry in chunk {
            count_place(&entry.path, &mut list.told_apart);
            let mut leave_out = |too_large: bool, why: String| {
                let (path, id) = (entry.path.clone(), entry.id.clone());
                list.left_out.push((path, id, too_large, why));
            };
            match blobs.get(entry.id.as_str()) {
                Some(Blob::Bytes(bytes)) => {
                    let written = work_directory::write(&below, &entry.path, bytes)
                        .map_err(RunError::unit)?;
                    let inner = written.strip_prefix(&below).unwrap_or(&written);
                    let inner = inner.to_string_lossy().into_owned();
                    list.files
                        .push((inner, entry.path.clone(), entry.id.clone()));
                    list.bytes += bytes.len() as u64;
                    let sort = sort(bytes);
                    if sort != Sort::Text {
                        let sort = sort.as_str().to_owned();
                        *list.told_apart.entry(sort).or_default() += 1;
                    }
                }
                Some(Blob::TooLarge { bytes }) => {
                    let limit = scan.desk.settings().max_file_bytes;
                    leave_out(true, format!("{bytes} bytes is over the limit of {limit}"));
                }
                Some(Blob::Missing) | None => {
                    leave_out(false, "the server did not hand it out".to_owned());
                }
            }
        }
    }
    Ok(list)
}

async fn read(output: &Path, place: &Place) -> Result<(List, StockOutput), String> {
    let list = fs::read(place.directory().join(LIST)).map_err(|error| error.to_string())?;
    let list: List = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
    Ok((list, StockOutput::read(output).await?))
}

/// Writes down what the scanner says of each file in its tree.
async fn ingest(scan: &Scan<'_>, list: List, whole: StockOutput) -> Result<Ending, Stop> {
    let identity = identity(scan.scanner.identity());
    let known: HashMap<&str, (&str, &str)> = list
        .files
        .iter()
        .map(|(written, path, id)| (written.as_str(), (path.as_str(), id.as_str())))
        .collect();
    let mut found: Vec<(String, FileKey, Findings)> = Vec::new();
    for (path, findings) in whole.files {
        if let Some((path, id)) = known.get(path.as_str()) {
            // In its tree a file's answer is its own: the path stands for the tree's part in it.
            let key = FileKey {
                blob: (*id).to_owned(),
                name_class: format!("{} {path}", list.tree),
            };
            found.push(((*path).to_owned(), key, findings));
        }
    }
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
        let files: Vec<TreeFile<'_>> = found
            .iter()
            .map(|(path, _, findings)| TreeFile { path, findings })
            .collect();
        let mut settled = settle(&files);
        // The scanner has followed references itself, and put packages together.
        settled.resolved.clear();
        if !whole.packages.is_empty() {
            settled.packages = whole.packages.iter().filter_map(package).collect();
        }
        settled
    };
    let mut files: Vec<NewFile> = found
        .iter()
        .map(|(path, key, findings)| NewFile {
            path: path.clone(),
            blob: key.blob.clone(),
            answer: rows.get(key).map(|row| row.id),
            spdx: None,
            spdx_from: None,
            place: place(path),
            problem: (!findings.scan_errors.is_empty())
                .then(|| short(("failed", findings.scan_errors.join("; ")))),
        })
        .collect();
    files.extend(list.left_out.iter().map(|(path, id, too_large, why)| {
        let word = if *too_large { "too-large" } else { "missing" };
        NewFile {
            path: path.clone(),
            blob: id.clone(),
            answer: None,
            spdx: None,
            spdx_from: None,
            place: place(path),
            problem: Some((word, why.clone())),
        }
    }));
    let too_large = list.left_out.iter().filter(|one| one.2).count();
    let report = Report {
        scanner: identity.title(),
        commit: Some(list.commit.clone()),
        files: list.files.len() + list.left_out.len(),
        distinct: list.files.len(),
        scanned: list.files.len(),
        bytes: list.bytes,
        too_large,
        missing: list.left_out.len() - too_large,
        skipped: list
            .skipped
            .into_iter()
            .map(|(why, count)| (why.into(), count))
            .collect(),
        ..Report::default()
    };
    let done = Done {
        identity,
        mode: "whole-tree",
        commit: list.commit,
        tree: list.tree,
        found: found.len(),
        files,
        settled,
        told_apart: list.told_apart,
    };
    scan.finish(done, report).await
}
