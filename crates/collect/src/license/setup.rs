//! Setting up scanners, each in a place of its own.
//!
//! **ScanCode**: what an ordinary install brings does not work: it takes newer releases of some of its parts than
//! it can live with. So every version is written down, with the hashes of the files that may be
//! installed under it, and nothing else is taken. The index is warmed at once, since ScanCode may
//! rewrite it when it is first read under a time limit.
//!
//! **Provenant** is compiled by cargo from its registry, in one version with its own lock file.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

/// Every version with its hashes.
pub const REQUIREMENTS: &str = include_str!("scancode-requirements.txt");

/// The longest that one step may take.
const STEP: Duration = Duration::from_mins(30);
/// The longest that compiling may take.
const COMPILE: Duration = Duration::from_hours(4);
/// The version of provenant that is known to work.
const PROVENANT: &str = "1.0.16";

/// Why ScanCode could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no Python that can make one.
    #[error("`{0}` is needed, version 3.10 to 3.13, with the venv module")]
    NoPython(String),
    /// There is no cargo.
    #[error("cargo is needed to compile provenant, and it is not on the PATH")]
    NoCargo,
    /// A step failed.
    #[error("{step} failed: {complaint}")]
    Step {
        /// Which.
        step: &'static str,
        /// The end of what it said.
        complaint: String,
    },
    /// The directory cannot be written.
    #[error("cannot write {path}")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// The interpreter in a private place.
pub fn python_in(venv: &Path) -> PathBuf {
    venv.join("bin").join("python")
}

/// Where a provenant of our own is, or would be, below the round's directory.
pub fn provenant_in(directory: &Path) -> PathBuf {
    directory.join("provenant").join("bin").join("provenant")
}

/// Lets cargo compile provenant into a private place. `tell` hears what is being done.
pub async fn set_up_provenant(
    cargo: &str,
    directory: &Path,
    tell: impl Fn(&str),
) -> Result<(), SetupError> {
    tell("cargo compiles provenant; that takes half an hour of CPU and 3 GB of memory");
    let mut command = Command::new(cargo);
    command
        .args(["install", "provenant-cli", "--version", PROVENANT])
        // It asks for a newer compiler than it needs.
        .args(["--locked", "--ignore-rust-version", "--quiet", "--root"])
        .arg(directory.join("provenant"));
    run_for("cargo install provenant-cli", command, COMPILE)
        .await
        .map_err(|error| match error {
            SetupError::Step { complaint, .. } if complaint.is_empty() => SetupError::NoCargo,
            other => other,
        })
}

/// Makes a private place and installs ScanCode into it; one that is there already is brought to the
/// versions that are wanted. `tell` hears what is being done.
pub async fn set_up(python: &str, venv: &Path, tell: impl Fn(&str)) -> Result<(), SetupError> {
    let directory = |source| SetupError::Directory {
        path: venv.to_owned(),
        source,
    };
    if let Some(parent) = venv.parent() {
        std::fs::create_dir_all(parent).map_err(directory)?;
    }
    if !python_in(venv).is_file() {
        tell("making a private place for ScanCode");
        let mut command = Command::new(python);
        command.args(["-m", "venv"]).arg(venv);
        run("python -m venv", command)
            .await
            .map_err(|error| match error {
                SetupError::Step { complaint, .. } if complaint.is_empty() => {
                    SetupError::NoPython(python.to_owned())
                }
                other => other,
            })?;
    }
    let list = venv.join("gleaner-requirements.txt");
    std::fs::write(&list, REQUIREMENTS).map_err(directory)?;
    tell("installing ScanCode, about 750 MB");
    let mut command = Command::new(python_in(venv));
    command
        .args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--quiet",
        ])
        .args(["--require-hashes", "--no-deps", "-r"])
        .arg(&list);
    run("pip install", command).await?;
    tell("reading its license index for the first time");
    let mut command = Command::new(python_in(venv));
    command.args(["-I", "-c", WARM]);
    run("reading the license index", command).await
}

const WARM: &str = "from licensedcode.cache import get_index; get_index(); from packagedcode.cache import get_cache; get_cache()";

async fn run(step: &'static str, command: Command) -> Result<(), SetupError> {
    run_for(step, command, STEP).await
}

async fn run_for(
    step: &'static str,
    mut command: Command,
    longest: Duration,
) -> Result<(), SetupError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
        .env_remove("VIRTUAL_ENV")
        .kill_on_drop(true);
    let failed = |complaint: String| SetupError::Step { step, complaint };
    let output = timeout(longest, command.output()).await;
    let output = output
        .map_err(|_| {
            let minutes = longest.as_secs() / 60;
            failed(format!("it took more than {minutes} minutes"))
        })?
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => failed(String::new()),
            _ => failed(error.to_string()),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    let from = text.floor_char_boundary(text.len().saturating_sub(1_500));
    Err(failed(text[from..].to_owned()))
}
