//! A home of its own for each test, and the transcript of a command.

use std::{
    ffi::OsStr,
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A directory that is home, working directory and everything else to one test.
pub(crate) struct Sandbox(tempfile::TempDir);

/// What a command did.
pub(crate) struct Transcript {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary, in this home, with nothing of ours in its environment.
    pub(crate) fn gleaner<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        self.at_home(&mut command);
        command.args(args);
        command
    }

    /// A shell script in which `$GLEANER` is the binary, with mounts of its own that nobody else
    /// sees and that are gone with it. `None`, loudly, where the system does not allow that.
    pub(crate) fn with_private_mounts(&self, script: &str) -> Option<Command> {
        let unshare = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-euc", script]);
            self.at_home(&mut command);
            command.env("GLEANER", env!("CARGO_BIN_EXE_gleaner"));
            command
        };
        let probe = self.path("probe");
        std::fs::create_dir(&probe).unwrap();
        let output = unshare("mount -t tmpfs -o size=64k tmpfs probe").output();
        match output {
            Ok(output) if output.status.success() => Some(unshare(script)),
            refused => {
                #[expect(clippy::print_stderr, reason = "a weaker test must not pass unseen")]
                {
                    eprintln!("MOUNTING IS NOT PERMITTED: taking a weaker way: {refused:?}");
                }
                None
            }
        }
    }

    /// Runs a command and hides what differs from run to run.
    pub(crate) fn transcript(&self, command: &mut Command) -> Transcript {
        let output = command.stdin(Stdio::null()).output().unwrap();
        self.hide(&output)
    }

    /// Runs a command that reads this from its standard input.
    pub(crate) fn transcript_of(&self, command: &mut Command, input: &[u8]) -> Transcript {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(input).unwrap();
        file.rewind().unwrap();
        let output = command.stdin(file).output().unwrap();
        self.hide(&output)
    }

    /// Runs the binary and returns what it did as one text.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.transcript(&mut self.gleaner(args)).text()
    }

    fn at_home(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            let ours = name_text.starts_with("GLEANER_") || name_text.starts_with("XDG_");
            if ours || ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"].contains(&&*name_text) {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", self.0.path())
            .current_dir(self.0.path());
    }

    fn hide(&self, output: &Output) -> Transcript {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let text = hide_path(&text, self.0.path());
            hide_times(&text)
        };
        Transcript {
            exit: output.status.code(),
            stdout: shown(&output.stdout),
            stderr: shown(&output.stderr),
        }
    }
}

impl Transcript {
    pub(crate) fn text(&self) -> String {
        let exit = self
            .exit
            .map_or("killed".to_owned(), |code| code.to_string());
        format!(
            "exit: {exit}\n----- stdout -----\n{}----- stderr -----\n{}",
            self.stdout, self.stderr
        )
    }
}

fn hide_path(text: &str, path: &Path) -> String {
    text.replace(path.to_str().unwrap(), "[HOME]")
}

/// Moments become `[TIME]`.
fn hide_times(text: &str) -> String {
    let moment = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    moment.replace_all(text, "[TIME]").into_owned()
}
