//! ScanCode Toolkit, kept warm.
//!
//! Its start costs ten seconds of CPU and its index 1.4 GB, so a process stays and answers file by
//! file over its pipes: raw findings, without what only a whole tree could tell. A process works on
//! one file at a time. So when it dies, hangs or runs out of memory, the culprit is known at once:
//! that file gets one more try in a fresh process, and then its reason.
//!
//! ScanCode stops matching without a word after a soft deadline, the time limit divided by 2.5; what
//! took that long is marked, and not believed for longer than until the next visit.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{Attached, Attachment};
use facts::license::{Findings, ScannerIdentity};
use futures_util::future::BoxFuture;
use scan::license::tree::{Resolved, Settled};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::{Mutex, Semaphore},
    time::timeout,
};

use super::{Broken, Input, Scanned, Scanner, Settings, Settling, python_in, work_directory};

/// The program that answers; it is handed to Python as text.
const WORKER: &str = include_str!("worker.py");
/// The index is read and unpacked.
const START: Duration = Duration::from_mins(5);
/// The longest answer about one file.
const MOST_ANSWER: u64 = 64 << 20;
/// A process is replaced after so many files: memory it has taken once, it keeps.
const FILES_PER_PROCESS: usize = 5_000;
/// Beyond the scanner's own limit, until it is taken for hung. It has three limits in a row.
const PATIENCE: u32 = 4;

/// ScanCode in its private place.
#[derive(Debug)]
pub struct ScanCode {
    identity: ScannerIdentity,
    way: Arc<Way>,
    slots: Semaphore,
    idle: Mutex<Vec<Process>>,
}

#[derive(Debug)]
struct Way {
    python: PathBuf,
    directory: PathBuf,
    file_timeout: Duration,
    memory_bytes: u64,
}

/// A warm process.
#[derive(Debug)]
struct Process {
    _child: Attached,
    /// What it leaves lying about is gone with it.
    _scratch: TempDir,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    hello: Hello,
    served: usize,
}

/// What a process says of itself first.
#[derive(Clone, Debug, Deserialize)]
struct Hello {
    version: String,
    #[serde(default)]
    spdx_list: String,
    #[serde(default)]
    index: String,
}

/// Why a process is of no use any more.
#[derive(Debug)]
enum Lost {
    /// It took too long.
    Hung,
    /// It is gone, or talks nonsense.
    Dead(String),
}

impl ScanCode {
    /// Starts a first process; that is also how its version is learned.
    pub async fn open(settings: &Settings) -> Result<Self, Broken> {
        let python = python_in(&settings.venv);
        if !python.is_file() {
            return Err(Broken(format!(
                "ScanCode is not set up in {}; `gleaner license setup` does it",
                settings.venv.display()
            )));
        }
        let way = Arc::new(Way {
            python,
            directory: settings.directory.clone(),
            file_timeout: settings.file_timeout,
            memory_bytes: settings.memory_bytes,
        });
        let first = match Process::start(&way).await {
            Ok(first) => first,
            // Somebody may have killed it; what is broken is so again.
            Err(_) => Process::start(&way).await.map_err(Broken)?,
        };
        let hello = first.hello.clone();
        Ok(Self {
            identity: ScannerIdentity {
                tool: "scancode".to_owned(),
                version: hello.version,
                options: format!(
                    "spdx-{} index-{} timeout-{}",
                    hello.spdx_list,
                    hello.index,
                    settings.file_timeout.as_secs()
                ),
            },
            slots: Semaphore::new(settings.processes.max(1)),
            idle: Mutex::new(vec![first]),
            way,
        })
    }

    /// One file, with a second try in a fresh process.
    async fn one(&self, file: &Input) -> Result<Scanned, Broken> {
        let began = Instant::now();
        let _slot = self.slots.acquire().await;
        let mut why = String::new();
        for attempt in 0..2 {
            let taken = self.idle.lock().await.pop();
            let mut process = match taken {
                Some(process) if attempt == 0 && process.served < FILES_PER_PROCESS => process,
                _ => match Process::start(&self.way).await {
                    Ok(process) => process,
                    Err(_) => Process::start(&self.way).await.map_err(Broken)?,
                },
            };
            match process.scan(&self.way, file).await {
                Ok(scanned) => {
                    self.idle.lock().await.push(process);
                    return Ok(scanned);
                }
                Err(Lost::Hung) => {
                    why = format!(
                        "the scanner hung for more than {} s",
                        (self.way.file_timeout * PATIENCE).as_secs()
                    );
                    break;
                }
                Err(Lost::Dead(complaint)) => why = format!("the scanner died of it: {complaint}"),
            }
        }
        Ok(Scanned::Failed {
            why,
            elapsed: began.elapsed(),
        })
    }
}

impl Scanner for ScanCode {
    fn identity(&self) -> &ScannerIdentity {
        &self.identity
    }

    fn scan(&self, files: Vec<Input>) -> BoxFuture<'_, Result<Vec<Scanned>, Broken>> {
        Box::pin(async move {
            // As many at a time as there may be processes.
            let work = files.iter().map(|file| self.one(file));
            let all = futures_util::future::join_all(work).await;
            all.into_iter().collect()
        })
    }

    fn settle(&self, files: Vec<(String, Findings)>) -> BoxFuture<'_, Settling> {
        Box::pin(async move {
            let told = self.tree(&files).await;
            let mut settling = Settling::plain(files).await;
            match told {
                Ok(told) => told.into_settled(&settling.files, &mut settling.settled),
                // Ours stand; they are told as the scanner's only where it said so.
                Err(why) => tracing::warn!(why, "ScanCode did not put a tree together"),
            }
            settling
        })
    }
}

/// What ScanCode makes of a tree.
#[derive(Debug, Default, Deserialize)]
struct Told {
    #[serde(default)]
    files: Vec<ToldFile>,
    #[serde(default)]
    packages: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct ToldFile {
    path: String,
    spdx: Option<String>,
    #[serde(default)]
    from: Vec<String>,
}

impl Told {
    /// Where ScanCode says something else, it has the last word.
    fn into_settled(self, files: &[(String, Findings)], settled: &mut Settled) {
        let places: std::collections::HashMap<&str, usize> = files
            .iter()
            .enumerate()
            .map(|(at, (path, _))| (path.as_str(), at))
            .collect();
        settled.resolved.clear();
        for file in self.files {
            let Some(at) = places.get(file.path.as_str()) else {
                continue;
            };
            if let Some(spdx) = file.spdx
                && files[*at].1.spdx.as_deref() != Some(spdx.as_str())
            {
                settled.resolved.insert(
                    *at,
                    Resolved {
                        spdx,
                        from: file.from,
                    },
                );
            }
        }
        if !self.packages.is_empty() {
            settled.packages = self.packages.iter().filter_map(package).collect();
        }
    }
}

/// A package as ScanCode tells it.
pub(super) fn package(value: &Value) -> Option<scan::license::tree::Package> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = value
        .get("datafile_paths")
        .and_then(Value::as_array)
        .and_then(|paths| paths.first())
        .and_then(Value::as_str)?;
    Some(scan::license::tree::Package {
        purl: text("purl"),
        path: path.to_owned(),
        spdx: text("declared_license_expression_spdx"),
    })
}

impl ScanCode {
    /// Lets ScanCode's own steps run over what is known of the files, without their texts.
    async fn tree(&self, files: &[(String, Findings)]) -> Result<Told, String> {
        let _slot = self.slots.acquire().await;
        let taken = self.idle.lock().await.pop();
        let mut process = match taken {
            Some(process) => process,
            None => Process::start(&self.way).await?,
        };
        let list: Vec<Value> = files
            .iter()
            .map(|(path, findings)| {
                let mut value = serde_json::to_value(findings).unwrap_or_default();
                value["path"] = json!(path);
                value
            })
            .collect();
        let limit = Duration::from_mins(10);
        let answer = process
            .ask(&json!({"op": "tree", "files": list}), limit)
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(Lost::Hung) => return Err("it hung".to_owned()),
            Err(Lost::Dead(why)) => return Err(why),
        };
        self.idle.lock().await.push(process);
        if let Some(error) = answer.get("error").and_then(Value::as_str) {
            return Err(error.to_owned());
        }
        serde_json::from_value(answer).map_err(|error| error.to_string())
    }
}

impl Process {
    /// Starts Python and waits until the index is there.
    async fn start(way: &Way) -> Result<Self, String> {
        let base = way.directory.clone();
        let scratch = tokio::task::spawn_blocking(move || work_directory::make(&base)).await;
        let scratch = scratch
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        let mut attachment = Attachment::new(&way.python);
        let command = attachment.command();
        // `-I`: nothing of the environment or the current directory has a say.
        command
            .args(["-I", "-c", WORKER])
            .arg(way.memory_bytes.to_string())
            .arg(way.file_timeout.as_secs().to_string())
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .env("PYTHONUNBUFFERED", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SCANCODE_TEMP", scratch.path())
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for kept in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        let mut child = attachment
            .spawn()
            .await
            .map_err(|error| error.to_string())?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        let mut process = Self {
            _child: child,
            _scratch: scratch,
            stdin,
            stdout: BufReader::new(stdout),
            hello: Hello {
                version: String::new(),
                spdx_list: String::new(),
                index: String::new(),
            },
            served: 0,
        };
        let hello = process.hear(START).await.map_err(|lost| match lost {
            Lost::Hung => "it did not start in time".to_owned(),
            Lost::Dead(why) => format!("it did not start: {why}"),
        })?;
        if let Some(error) = hello.get("error").and_then(Value::as_str) {
            return Err(error.to_owned());
        }
        process.hello = serde_json::from_value(hello).map_err(|error| error.to_string())?;
        Ok(process)
    }

    /// Scans one file.
    async fn scan(&mut self, way: &Way, file: &Input) -> Result<Scanned, Lost> {
        let began = Instant::now();
        let (base, path, bytes) = (way.directory.clone(), file.path.clone(), file.bytes.clone());
        let unpacked = tokio::task::spawn_blocking(move || {
            let directory = work_directory::make(&base)?;
            let place = work_directory::write(directory.path(), &path, &bytes)?;
            Ok::<_, std::io::Error>((directory, place))
        });
        let (directory, place) = match unpacked.await {
            Ok(Ok(unpacked)) => unpacked,
            Ok(Err(error)) => {
                return Ok(failed(format!("it could not be unpacked: {error}"), began));
            }
            Err(error) => return Ok(failed(error.to_string(), began)),
        };
        let question = json!({"op": "scan", "location": text(&place)});
        let answer = self.ask(&question, way.file_timeout * PATIENCE).await;
        drop(directory);
        let answer = answer?;
        self.served += 1;
        let elapsed = began.elapsed();
        let mut findings: Findings = match serde_json::from_value(answer) {
            Ok(findings) => findings,
            Err(error) => return Err(Lost::Dead(error.to_string())),
        };
        let timed_out = findings
            .scan_errors
            .iter()
            .any(|error| error.contains("timeout"));
        if timed_out {
            let why = findings.scan_errors.join("; ");
            return Ok(failed(why, began));
        }
        // Unpacked under another name, it would tell of ours.
        for error in &mut findings.scan_errors {
            *error = error.replace(&text(&place), &file.path);
        }
        let soft = way.file_timeout.as_secs_f64() / 2.5;
        Ok(Scanned::Done {
            findings: Box::new(findings),
            elapsed,
            degraded: elapsed.as_secs_f64() >= soft.floor(),
        })
    }

    async fn ask(&mut self, question: &Value, limit: Duration) -> Result<Value, Lost> {
        let mut line = question.to_string();
        line.push('\n');
        let dead = |error: std::io::Error| Lost::Dead(error.kind().to_string());
        self.stdin.write_all(line.as_bytes()).await.map_err(dead)?;
        self.stdin.flush().await.map_err(dead)?;
        self.hear(limit).await
    }

    async fn hear(&mut self, limit: Duration) -> Result<Value, Lost> {
        let mut line = Vec::new();
        let mut from = (&mut self.stdout).take(MOST_ANSWER);
        let read = timeout(limit, from.read_until(b'\n', &mut line)).await;
        match read {
            Err(_) => Err(Lost::Hung),
            Ok(Err(error)) => Err(Lost::Dead(error.kind().to_string())),
            Ok(Ok(_)) if !line.ends_with(b"\n") => Err(Lost::Dead(
                "it ended without an answer, perhaps out of memory".to_owned(),
            )),
            Ok(Ok(_)) => {
                serde_json::from_slice(&line).map_err(|error| Lost::Dead(error.to_string()))
            }
        }
    }
}

fn failed(why: String, began: Instant) -> Scanned {
    Scanned::Failed {
        why,
        elapsed: began.elapsed(),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
