//! One git process that talks to a remote: what it is told, how far it may go, how it ends.
//!
//! **It never outlives us.** Git starts helpers of its own, so killing git is not enough, and a
//! parent-death signal is bound to the thread that spawned it. Instead the process leads a group in
//! which a small shell holds the reading end of a pipe whose only writer is this process. However
//! we end (drop, time limit, kill -9), the pipe closes and the whole group is killed.
//!
//! **Secrets** go by environment, never by arguments, which everybody on the machine can read.

use std::{
    io::PipeWriter,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{Instant, sleep, timeout},
};

use super::{
    RemoteError, Remotes,
    address::Place,
    cache::{self, RunDirectory},
    config,
    trace::{self, Exchange},
};
use crate::git::GitError;

/// `sh -c KEEPER sh COMPLAINTS KILOBYTES COMMAND…`, with the pipe's reading end where complaints
/// usually go. The shell becomes git, so its end is git's end.
const KEEPER: &str = r#"
exec 3<&2 2>"$1"
{ read -r _; kill -KILL 0; } <&3 >/dev/null 2>&1 &
ulimit -v "$2" 2>/dev/null
shift 2
exec "$@" 3<&-
"#;

/// What is read of complaints, and of the record of an exchange.
const MAX_COMPLAINT: u64 = 16 << 10;
const MAX_RECORD: u64 = 4 << 20;

/// The pause between two looks at the disk, at least.
const LOOK: Duration = Duration::from_millis(50);

/// What git is to do.
pub(super) struct Errand<'a> {
    pub(super) place: &'a Place,
    /// Where it works; none for a mere question.
    pub(super) git_dir: Option<&'a Path>,
    pub(super) words: Vec<String>,
    /// The most memory a process may reserve.
    pub(super) memory: u64,
}

/// Git at work.
pub(super) struct Running<'a> {
    remotes: &'a Remotes,
    url: String,
    child: Child,
    lifeline: PipeWriter,
    directory: RunDirectory,
    watched: Option<PathBuf>,
}

/// What came of it.
pub(super) struct Ran<T> {
    /// What the conversation came to.
    pub(super) said: Result<T, Break>,
    pub(super) status: ExitStatus,
    pub(super) complaint: String,
    pub(super) exchanges: Vec<Exchange>,
}

/// Why a conversation was broken off.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// More came than is taken.
    TooMuch,
    /// What came makes no sense, or stopped in the middle.
    Garbled(String),
    /// The server said no, in its own words.
    Refused(String),
}

impl From<std::io::Error> for Break {
    fn from(error: std::io::Error) -> Self {
        Self::Garbled(error.kind().to_string())
    }
}

impl<'a> Running<'a> {
    /// Starts git, and hands over both ends of the conversation.
    pub(super) async fn start(
        remotes: &'a Remotes,
        errand: Errand<'_>,
    ) -> Result<(Self, ChildStdin, ChildStdout), RemoteError> {
        let settings = remotes.settings();
        let pin = errand.place.pin(settings).await?;
        let directory = remotes.cache().run_directory()?;
        let no_git = |source| RemoteError::Git(GitError::NoGit(source));
        let (death, lifeline) = std::io::pipe().map_err(no_git)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER, "sh"])
            .arg(directory.path().join("complaints"))
            .arg((errand.memory >> 10).to_string())
            .arg("git")
            .args(&errand.words)
            .env_clear()
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(death)
            .process_group(0)
            .kill_on_drop(true);
        for (name, value) in config::environment(errand.place, pin, settings) {
            command.env(name, value);
        }
        command
            .env("HOME", directory.path())
            .env("GIT_TRACE_CURL", directory.path().join("record"))
            .env("GIT_DIR", errand.git_dir.unwrap_or(Path::new("/dev/null")));
        let mut child = command.spawn().map_err(no_git)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::Garbled { command: "git" }.into());
        };
        let running = Self {
            remotes,
            url: errand.place.as_str().to_owned(),
            child,
            lifeline,
            watched: errand.git_dir.map(Path::to_owned),
            directory,
        };
        Ok((running, stdin, stdout))
    }

    /// Holds the conversation and waits for the end, within the limits.
    pub(super) async fn end<T>(
        mut self,
        talk: impl Future<Output = Result<T, Break>>,
    ) -> Result<Ran<T>, RemoteError> {
        let limits = self.remotes.settings().limits;
        let watched = [self.watched.as_deref(), Some(self.directory.path())];
        let child = &mut self.child;
        let work = async {
            let said = talk.await;
            // Whoever broke off waits for nothing more.
            let status = match said {
                Ok(_) => child.wait().await,
                Err(_) => timeout(LOOK, child.wait())
                    .await
                    .unwrap_or_else(|_| Ok(ExitStatus::from_raw(9))),
            };
            (said, status)
        };
        let ended = tokio::select! {
            ended = timeout(limits.time, work) => ended.map_err(|_| RemoteError::TimedOut {
                url: self.url.clone(),
                limit: limits.time,
            }),
            () = overfull(&watched, limits.disk_bytes) => Err(RemoteError::TooMuch {
                url: self.url.clone(),
                what: "objects",
                limit: limits.disk_bytes,
            }),
        };
        // All that is left of the group goes now, and nothing of it writes any more when we return.
        drop(self.lifeline);
        let _ = timeout(Duration::from_secs(5), self.child.wait()).await;
        let (said, status) = ended?;
        let status = status.map_err(|source| GitError::Pipe {
            command: "fetch",
            source,
        })?;
        let complaint = start_of(&self.directory.path().join("complaints"), MAX_COMPLAINT).await;
        let record = start_of(&self.directory.path().join("record"), MAX_RECORD).await;
        let exchanges = trace::exchanges(&record);
        tracing::debug!(
            requests = exchanges.len(),
            status = ?status.code(),
            "asked {}",
            self.url
        );
        Ok(Ran {
            said,
            status,
            complaint: config::redacted(&complaint, self.remotes.settings()),
            exchanges,
        })
    }
}

/// Says one thing and listens to the end.
pub(super) async fn say(
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
    words: String,
    limit: usize,
) -> Result<String, Break> {
    let give = async move {
        // A git that has heard enough says so by its exit status.
        let _ = stdin.write_all(words.as_bytes()).await;
        drop(stdin);
    };
    let take = async move {
        let mut heard = Vec::new();
        let taken = (&mut stdout).take(limit as u64 + 1);
        { taken }.read_to_end(&mut heard).await?;
        if heard.len() > limit {
            return Err(Break::TooMuch);
        }
        Ok(String::from_utf8_lossy(&heard).into_owned())
    };
    tokio::join!(give, take).1
}

/// Returns once the directories hold more than this.
async fn overfull(watched: &[Option<&Path>], limit: u64) {
    let paths: Vec<PathBuf> = watched
        .iter()
        .flatten()
        .map(|path| path.to_path_buf())
        .collect();
    loop {
        let began = Instant::now();
        let paths = paths.clone();
        let used = tokio::task::spawn_blocking(move || {
            paths.iter().map(|path| cache::disk_use(path)).sum::<u64>()
        });
        if used.await.unwrap_or(0) > limit {
            return;
        }
        // A tenth of the time at most goes into looking.
        sleep(LOOK.max(began.elapsed() * 10)).await;
    }
}

async fn start_of(path: &Path, limit: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = tokio::fs::File::open(path).await {
        let _ = file.take(limit).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
