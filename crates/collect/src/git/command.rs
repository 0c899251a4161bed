//! Running git in an environment that nobody outside can shape.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
    time::timeout,
};

use super::GitError;

/// What is kept of git's complaints.
const MAX_COMPLAINT: u64 = 8 << 10;

/// What a short command may answer.
const MAX_SHORT: usize = 1 << 20;

/// One git process about to be started.
pub(super) struct Git {
    name: &'static str,
    command: Command,
    limit: Duration,
}

/// What a short command said.
pub(super) struct Said {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) complaint: String,
}

impl Git {
    /// A subcommand on a git directory. Nothing of the caller's environment goes along but the
    /// search path.
    pub(super) fn new(git_dir: &Path, name: &'static str, limit: Duration) -> Self {
        let mut command = Command::new("git");
        command.env_clear();
        for kept in ["PATH", "SYSTEMROOT", "TMPDIR"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // Objects as they are named, and none fetched: a promisor remote in the repository's
            // own configuration could name any program as its transport.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            // Overrides every `protocol.*.allow` of the repository, which the option below does not.
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_DIR", git_dir)
            .args(["--no-pager", "-c", "protocol.allow=never"])
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            // Whose files these are does not matter to a reader that runs nothing.
            .args(["-c", "safe.directory=*"])
            .arg(name)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self {
            name,
            command,
            limit,
        }
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub(super) fn with_input(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    pub(super) fn start(&mut self) -> Result<Child, GitError> {
        self.command.spawn().map_err(GitError::NoGit)
    }

    /// Runs a command with a short answer to its end.
    pub(super) async fn say(mut self) -> Result<Said, GitError> {
        let name = self.name;
        let child = self.start()?;
        let said = async {
            let (mut child, complaint) = complaints(child);
            let stdout = read_all(name, child.stdout.take(), MAX_SHORT).await?;
            let (status, complaint) = finish(name, child, complaint).await?;
            Ok(Said {
                status,
                stdout: String::from_utf8_lossy(&stdout).trim_end().to_owned(),
                complaint,
            })
        };
        within(name, self.limit, said).await
    }

    /// Asks questions, one a line, and returns all answers.
    pub(super) async fn ask(self, questions: String, limit: usize) -> Result<String, GitError> {
        let mut git = self.with_input();
        let (name, limit_of_time) = (git.name, git.limit);
        let asked = async {
            let (mut child, complaint) = complaints(git.start()?);
            let stdin = child.stdin.take();
            let give = async move {
                if let Some(mut stdin) = stdin {
                    // A broken pipe here shows as a missing answer there.
                    let _ = stdin.write_all(questions.as_bytes()).await;
                }
            };
            let ((), said) = tokio::join!(give, read_all(name, child.stdout.take(), limit));
            let said = said?;
            let (status, complaint) = finish(name, child, complaint).await?;
            if !status.success() {
                return Err(failed(name, &complaint));
            }
            String::from_utf8(said).map_err(|_| GitError::Garbled { command: name })
        };
        within(name, limit_of_time, asked).await
    }

    /// The same as [`Git::say`], and a failure is an error.
    pub(super) async fn tell(self) -> Result<String, GitError> {
        let name = self.name;
        let said = self.say().await?;
        if said.status.success() {
            Ok(said.stdout)
        } else {
            Err(failed(name, &said.complaint))
        }
    }
}

/// A reader of complaints, beside the reader of answers: neither may block the other.
pub(super) type Complaints = tokio::task::JoinHandle<String>;

pub(super) fn complaints(mut child: Child) -> (Child, Complaints) {
    let stderr = child.stderr.take();
    let read = tokio::spawn(async move {
        let mut kept = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = (&mut stderr)
                .take(MAX_COMPLAINT)
                .read_to_end(&mut kept)
                .await;
            // Read on, so that git is not stopped by a full pipe.
            let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&kept).into_owned()
    });
    (child, read)
}

/// Waits for the end.
pub(super) async fn finish(
    command: &'static str,
    mut child: Child,
    complaints: Complaints,
) -> Result<(ExitStatus, String), GitError> {
    let status = child.wait().await.map_err(|source| pipe(command, source))?;
    Ok((status, complaints.await.unwrap_or_default()))
}

/// Stops waiting at the limit; the process dies with the future.
pub(super) async fn within<T>(
    command: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, GitError>>,
) -> Result<T, GitError> {
    timeout(limit, work)
        .await
        .unwrap_or(Err(GitError::TimedOut { command, limit }))
}

pub(super) fn pipe(command: &'static str, source: io::Error) -> GitError {
    GitError::Pipe { command, source }
}

pub(super) fn failed(command: &'static str, complaint: &str) -> GitError {
    let line = complaint.lines().next().unwrap_or("it did not say why");
    GitError::Failed {
        command,
        message: line.chars().take(300).collect(),
    }
}

async fn read_all(
    command: &'static str,
    from: Option<impl AsyncRead + Unpin>,
    limit: usize,
) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .await
            .map_err(|source| pipe(command, source))?;
    }
    if bytes.len() > limit {
        return Err(GitError::TooMuch { command, limit });
    }
    Ok(bytes)
}
