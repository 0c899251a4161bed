//! Provenant: a process that is fed batches.
//!
//! It exits with 0 whether files timed out or the directory was not there at all, so only its output
//! counts: JSON that is whole, tells when it ended, and has all the files.

use std::{
    collections::HashMap,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use engine::Attachment;
use facts::license::{Findings, ScannerIdentity};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use tokio::{sync::Semaphore, time::timeout};

use super::{
    Broken, Input, Scanned, Scanner, Settings,
    batch::{Ran, RunBatch, isolate},
    work_directory,
};

/// The longest output of a batch.
const MOST_OUTPUT: u64 = 512 << 20;
/// Beside what its files may take.
const START: Duration = Duration::from_mins(3);

/// Provenant, by name or path.
#[derive(Debug)]
pub struct Provenant {
    identity: ScannerIdentity,
    program: PathBuf,
    directory: PathBuf,
    file_timeout: Duration,
    memory_bytes: u64,
    slots: Semaphore,
}

impl Provenant {
    /// Asks for its version.
    pub async fn open(settings: &Settings) -> Result<Self, Broken> {
        let program = settings.provenant.clone();
        let mut attachment = Attachment::new(&program);
        attachment
            .command()
            .arg("--version")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child = attachment.spawn().await;
        let mut child = child.map_err(|error| Broken(error.to_string()))?;
        let mut said = String::new();
        let heard = async {
            if let Some(mut stdout) = child.stdout.take() {
                use tokio::io::AsyncReadExt as _;
                let _ = (&mut stdout).take(4_096).read_to_string(&mut said).await;
            }
            child.wait().await
        };
        let status = timeout(Duration::from_secs(30), heard).await;
        // What follows the program's name; a number, in any case.
        let version = said
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .map(str::to_owned);
        let (Ok(Ok(_)), Some(version)) = (status, version) else {
            return Err(Broken(format!("{} is not there", program.display())));
        };
        Ok(Self {
            identity: ScannerIdentity {
                tool: "provenant".to_owned(),
                version,
                options: format!("timeout-{}", settings.file_timeout.as_secs()),
            },
            program,
            directory: settings.directory.clone(),
            file_timeout: settings.file_timeout,
            memory_bytes: settings.memory_bytes,
            slots: Semaphore::new(settings.processes.max(1)),
        })
    }
}

impl Scanner for Provenant {
    fn identity(&self) -> &ScannerIdentity {
        &self.identity
    }

    fn scan(&self, files: Vec<Input>) -> BoxFuture<'_, Result<Vec<Scanned>, Broken>> {
        Box::pin(async move {
            let _slot = self.slots.acquire().await;
            isolate(self, &files).await
        })
    }
}

impl RunBatch for Provenant {
    fn run<'a>(&'a self, files: &'a [Input]) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let began = Instant::now();
            let lost = |why: String| Ran::Lost {
                why,
                elapsed: began.elapsed(),
            };
            let (base, owned) = (self.directory.clone(), files.to_vec());
            let unpacked = tokio::task::spawn_blocking(move || unpack(&base, &owned)).await;
            let directory = match unpacked {
                Ok(Ok(directory)) => directory,
                Ok(Err(error)) => return Ran::Broken(format!("nothing can be unpacked: {error}")),
                Err(error) => return Ran::Broken(error.to_string()),
            };
            let output = directory.path().join("output.json");
            let limit =
                START + Duration::from_secs(2) * u32::try_from(files.len()).unwrap_or(u32::MAX);
            let limit = limit + self.file_timeout;
            // The shell only sets the limits and becomes the scanner.
            let mut attachment = Attachment::new("sh");
            attachment
                .command()
                .args([
                    "-c",
                    "ulimit -v \"$1\" 2>/dev/null; shift; exec nice -n 10 \"$@\"",
                    "sh",
                ])
                .arg((self.memory_bytes >> 10).to_string())
                .arg(&self.program)
                .args([
                    "scan",
                    "-clpi",
                    "--strip-root",
                    "--no-assemble",
                    "-n",
                    "1",
                    "--quiet",
                ])
                .arg("--timeout")
                .arg(self.file_timeout.as_secs().to_string())
                .arg("--json")
                .arg(&output)
                .arg(directory.path().join("files"))
                .current_dir(directory.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = match attachment.spawn().await {
                Ok(child) => child,
                Err(error) => return Ran::Broken(error.to_string()),
            };
            if timeout(limit, child.wait()).await.is_err() {
                return lost(format!(
                    "the scanner hung for more than {} s",
                    limit.as_secs()
                ));
            }
            let read = tokio::task::spawn_blocking(move || {
                let size = std::fs::metadata(&output).map_or(0, |about| about.len());
                if size > MOST_OUTPUT {
                    return Err("the scanner wrote too much".to_owned());
                }
                std::fs::read(&output).map_err(|_| "the scanner died of it".to_owned())
            });
            let bytes = match read.await {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(why)) => return lost(why),
                Err(error) => return lost(error.to_string()),
            };
            match answers(&bytes, files, began.elapsed(), self.file_timeout) {
                Ok(answers) => Ran::Whole(answers),
                Err(why) => lost(why),
            }
        })
    }
}

/// Every file in a directory of its own: no license of one may be taken for another's.
fn unpack(base: &std::path::Path, files: &[Input]) -> std::io::Result<tempfile::TempDir> {
    let directory = work_directory::make(base)?;
    let below = directory.path().join("files");
    std::fs::create_dir(&below)?;
    for (number, file) in files.iter().enumerate() {
        work_directory::write(&below, &format!("{number}/{}", file.path), &file.bytes)?;
    }
    Ok(directory)
}

#[derive(Deserialize)]
struct Output {
    headers: Vec<Header>,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct Header {
    end_timestamp: Option<String>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    findings: Findings,
}

/// The files' answers, each in its place.
fn answers(
    bytes: &[u8],
    files: &[Input],
    elapsed: Duration,
    limit: Duration,
) -> Result<Vec<Scanned>, String> {
    let output: Output = serde_json::from_slice(bytes)
        .map_err(|error| format!("the scanner wrote nonsense: {error}"))?;
    let ended = output
        .headers
        .first()
        .is_some_and(|header| header.end_timestamp.is_some());
    if !ended {
        return Err("the scanner did not come to its end".to_owned());
    }
    let mut by_number: HashMap<usize, Findings> = HashMap::new();
    for file in output.files {
        if file.kind != "file" {
            continue;
        }
        let mut parts = file.path.trim_start_matches("files/").splitn(2, '/');
        if let Some(number) = parts.next().and_then(|part| part.parse().ok()) {
            by_number.insert(number, file.findings);
        }
    }
    let each = elapsed / u32::try_from(files.len().max(1)).unwrap_or(u32::MAX);
    files
        .iter()
        .enumerate()
        .map(|(number, file)| {
            let Some(findings) = by_number.remove(&number) else {
                return Err(format!("the scanner left out {}", file.path));
            };
            let findings = own(findings);
            let timed_out = findings
                .scan_errors
                .iter()
                .any(|error| error.to_lowercase().contains("timeout"));
            Ok(if timed_out {
                Scanned::Failed {
                    why: findings.scan_errors.join("; "),
                    elapsed: limit,
                }
            } else {
                Scanned::Done {
                    findings: Box::new(findings),
                    elapsed: each,
                    degraded: false,
                }
            })
        })
        .collect()
}

/// Only what the file itself says: matches of other files are the tree's affair.
fn own(mut findings: Findings) -> Findings {
    let before: usize = findings
        .license_detections
        .iter()
        .map(|one| one.matches.len())
        .sum();
    let path_of = |from: &Option<String>| from.clone().unwrap_or_default();
    for detection in &mut findings.license_detections {
        let first = detection.matches.first().map(|one| path_of(&one.from_file));
        detection
            .matches
            .retain(|one| Some(path_of(&one.from_file)) == first);
        for one in &mut detection.matches {
            one.from_file = None;
        }
    }
    let after: usize = findings
        .license_detections
        .iter()
        .map(|one| one.matches.len())
        .sum();
    if before != after {
        let parts = findings
            .license_detections
            .iter()
            .flat_map(|one| &one.matches)
            .map(|one| one.license_expression_spdx.as_str());
        findings.spdx = scan::license::expression::all_of(parts);
    }
    findings
}
