//! A run's view of its detached subprocess: take up what is there, or start anew.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::Stdio,
    sync::OnceLock,
};

use tokio::process::{Child, Command};

use super::{
    HostFacts, Place,
    place::SCRIPT,
    record::{self, Record},
    verdict::{Verdict, blocking, count},
    watch::Detached,
};
use crate::{Run, RunError};

/// What is kept of a complaint.
const MOST_COMPLAINT: u64 = 2_000;

/// Of our environment, what a subprocess gets. Tokens do not go along.
const ENVIRONMENT: [&str; 5] = ["PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SYSTEMROOT"];

/// A detached subprocess to be started.
pub struct Subprocess<'a> {
    name: String,
    base: PathBuf,
    accepts: Vec<i32>,
    environment: Vec<(OsString, OsString)>,
    words: Words<'a>,
}

/// Makes the program and its arguments, once it has a place.
type Words<'a> = Box<dyn FnOnce(&Place) -> Vec<OsString> + Send + 'a>;

impl std::fmt::Debug for Subprocess<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subprocess")
            .field("name", &self.name)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl<'a> Subprocess<'a> {
    /// One called `name`, in a directory of its own below `base`. `words` are
    /// the program and its arguments; the program writes its result to
    /// [`Place::partial`].
    pub fn new<W: Into<OsString>, C: IntoIterator<Item = W>>(
        name: impl Into<String>,
        base: impl Into<PathBuf>,
        words: impl FnOnce(&Place) -> C + Send + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            base: base.into(),
            accepts: vec![0],
            environment: Vec::new(),
            words: Box::new(|place| words(place).into_iter().map(Into::into).collect()),
        }
    }

    /// Exit codes that go with a good output; only 0 unless told.
    pub fn accepts(mut self, codes: impl IntoIterator<Item = i32>) -> Self {
        self.accepts = codes.into_iter().collect();
        self
    }

    /// Adds to its environment, which has little else.
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }
}

/// What an earlier attempt has left.
#[derive(Debug)]
pub enum Recovered {
    /// Nothing, or nothing usable.
    Nothing,
    /// It is over, and its output is whole.
    Finished(Ended),
    /// It still runs: wait for it.
    Running(Box<Detached>),
}

/// How a subprocess ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// With an accepted status and an output.
    Well {
        /// The output, whole.
        output: PathBuf,
        /// Its directory.
        place: Place,
        /// An earlier attempt had started it. If the output is no good after
        /// all, [`Run::spawn`] starts another.
        recovered: bool,
    },
    /// With another status, without an output, or without a trace.
    Badly {
        /// The status, as a shell counts; none if it was killed.
        status: Option<i32>,
        /// The end of what it wrote to its standard error.
        complaint: String,
        /// Its directory.
        place: Place,
    },
}

impl Run {
    /// The whole life of a subprocess: takes up the one that an earlier attempt
    /// has left on this host, or starts one, and waits for its end. A run that
    /// is cancelled meanwhile leaves it running and recorded, for the next attempt.
    pub async fn spawn_or_adopt(&self, spec: Subprocess<'_>) -> Result<Ended, RunError> {
        match self.recovered(&spec.name).await? {
            Recovered::Finished(ended) => Ok(ended),
            Recovered::Running(detached) => detached.ended().await,
            Recovered::Nothing => self.spawn(spec).await?.ended().await,
        }
    }

    /// What an earlier attempt has left of the subprocess `name`. Fails with
    /// [`RunError::Interrupted`], to be passed on, while the unit is kept for
    /// another host that has one.
    pub async fn recovered(&self, name: &str) -> Result<Recovered, RunError> {
        let Some(mut record) = self.record().await? else {
            return Ok(Recovered::Nothing);
        };
        if record.host != self.recorder.machine || record.name != name {
            return Ok(Recovered::Nothing);
        }
        let facts = self.recorder.settings.host.clone();
        let (judged, verdict) = blocking(move || {
            complete(&mut record, &*facts);
            let verdict = record.judge(&*facts);
            (record, verdict)
        })
        .await;
        if let Some(pid) = judged.pid {
            record::fill(&self.db, judged.id, pid, judged.started.as_deref()).await?;
        }
        Ok(match verdict {
            Verdict::Lost => Recovered::Nothing,
            Verdict::Finished => {
                count("finished");
                Recovered::Finished(ended(&judged, Verdict::Finished, true).await)
            }
            Verdict::Running => {
                count("adopted");
                Recovered::Running(Box::new(Detached::adopted(self, judged)))
            }
        })
    }

    /// Starts a subprocess that outlives this process, and records it. What the
    /// unit had before is no longer wanted: its host ends and removes it.
    pub async fn spawn(&self, spec: Subprocess<'_>) -> Result<Detached, RunError> {
        self.record().await?;
        let Subprocess {
            name,
            base,
            accepts,
            environment,
            words,
        } = spec;
        let (unit, attempt, below) = (self.id(), self.attempt(), base.clone());
        let (place, stdout, stderr) = blocking(move || Place::make(&below, unit, attempt))
            .await
            .map_err(|error| local("no directory for the subprocess", &base, &error))?;
        let words = words(&place);
        let accepts: Vec<String> = accepts.iter().map(ToString::to_string).collect();
        let mut record = Record {
            id: 0,
            unit,
            name,
            host: self.recorder.machine.clone(),
            boot: self.recorder.settings.host.boot(),
            pid: None,
            started: None,
            directory: text(place.directory())?,
            accepts: accepts.join(" "),
            grace: self.recorder.settings.grace,
            held_until: None,
            wanted: true,
            recorded_at: self.clock.now(),
        };
        self.is_recorded();
        let host_name = self.recorder.settings.host.name();
        match record::intend(&self.db, &self.unit, &record, &host_name).await {
            Ok(id) => record.id = id,
            Err(error) => {
                // Should it have been written after all, it has nothing to show and is cleared.
                let _ = blocking(move || place.remove()).await;
                return Err(error);
            }
        }
        let child = start(&record, &environment, &words, stdout, stderr)
            .map_err(|error| local("could not start", Path::new(&record.name), &error))?;
        count("started");
        record.pid = child.id();
        if let Some(pid) = record.pid {
            let facts = self.recorder.settings.host.clone();
            record.started = blocking(move || facts.started(pid)).await;
            record::fill(&self.db, record.id, pid, record.started.as_deref()).await?;
        }
        Ok(Detached::child(self, record, child))
    }

    /// The unit's record, unless the unit is kept for another host.
    async fn record(&self) -> Result<Option<Record>, RunError> {
        let Some(record) = record::of_unit(&self.db, self.id()).await? else {
            return Ok(None);
        };
        self.is_recorded();
        let kept = record
            .held_until
            .is_some_and(|until| until > self.clock.now());
        if record.host != self.recorder.machine && kept {
            return Err(RunError::Interrupted);
        }
        Ok(Some(record))
    }

    /// The end of this run must settle the record.
    fn is_recorded(&self) {
        self.recorder.known().recorded.insert(self.unit.attempt());
    }
}

/// Fills in what nobody lived to write down.
fn complete(record: &mut Record, facts: &dyn HostFacts) {
    if record.pid.is_none()
        && let Some((pid, started)) = record.place().pid()
    {
        record.pid = Some(pid);
        // Without word from the kernel: while the log is locked, the pid is still its own.
        record.started = started.or_else(|| {
            let started = facts.started(pid);
            started.filter(|_| record.place().is_locked())
        });
    }
}

pub(super) async fn ended(record: &Record, verdict: Verdict, recovered: bool) -> Ended {
    let place = record.place();
    if verdict == Verdict::Finished {
        return Ended::Well {
            output: place.output(),
            place,
            recovered,
        };
    }
    blocking(move || Ended::Badly {
        status: place.status(),
        complaint: tail(&place.stderr()).unwrap_or_default(),
        place,
    })
    .await
}

fn start(
    record: &Record,
    environment: &[(OsString, OsString)],
    words: &[OsString],
    stdout: File,
    stderr: File,
) -> io::Result<Child> {
    // A session of its own: no terminal can hang it up. Where there is no such
    // program, a group of its own must do.
    let mut command = if has_setsid() {
        let mut command = Command::new("setsid");
        command.arg("sh");
        command
    } else {
        let mut command = Command::new("sh");
        command.process_group(0);
        command
    };
    command.env_clear();
    for kept in ENVIRONMENT {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .args(["-c", SCRIPT, "sh"])
        .args([&record.directory, &record.accepts])
        .args(words)
        .current_dir(&record.directory)
        .stdin(Stdio::null())
        // Our copy of the locked log is closed with the command.
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
}

fn has_setsid() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        std::process::Command::new("setsid")
            .arg("true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

fn text(path: &Path) -> Result<String, RunError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| RunError::unit(format!("{} is not UTF-8", path.display())))
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_COMPLAINT)))?;
    let mut bytes = Vec::new();
    file.take(MOST_COMPLAINT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn local(what: &str, whom: &Path, error: &io::Error) -> RunError {
    RunError::unit(format!("{what} ({}): {error}", whom.display()))
}
