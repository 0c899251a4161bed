//! A server that speaks S3, for the tests of object stores.
//!
//! The Python package `moto` has one. It goes into a directory of ours in the user's cache, once,
//! as the go toolchain does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::{go, steps};

/// Names the directory of its packages to tests.
const MOTO: &str = "GLEANER_MOTO";
/// Tells tests why there is none.
const NO_MOTO: &str = "GLEANER_NO_MOTO";

/// What it takes to serve S3 and nothing else.
const PACKAGES: [&str; 4] = ["moto>=5.2,<6", "flask", "flask-cors", "pyyaml"];

/// What tests are told: where it is, or why there is none. Nothing, if somebody has told already.
pub(crate) fn for_tests() -> Option<(&'static str, String)> {
    if std::env::var_os(MOTO).is_some() {
        return None;
    }
    match find() {
        Ok(place) => Some((MOTO, place.display().to_string())),
        Err(error) => {
            let why = format!("{error:#}");
            eprintln!(
                "warning: no server that speaks S3, objects are tested in directories only: {why}"
            );
            Some((NO_MOTO, why))
        }
    }
}

fn find() -> anyhow::Result<PathBuf> {
    let place = go::cache()?.join("moto");
    if !runs(&place) {
        install(&place)?;
    }
    if !runs(&place) {
        bail!("the server in {} does not start", place.display());
    }
    Ok(place)
}

/// Beside its place and then at it, so that what is there is whole.
fn install(place: &Path) -> anyhow::Result<()> {
    if !steps::is_there("python3", &["-m", "pip", "--version"]) {
        bail!("there is no Python with pip\n  hint: install your system's python3-pip package");
    }
    eprintln!("installing {}, which tests need", PACKAGES[0]);
    let beside = place.with_extension(std::process::id().to_string());
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args([
            "--disable-pip-version-check",
            "--no-compile",
            "--only-binary",
            ":all:",
        ])
        .args(["--retries", "1", "--timeout", "20", "--target"])
        .arg(&beside)
        .args(PACKAGES)
        .env("PIP_ROOT_USER_ACTION", "ignore")
        // Never among the results on standard output.
        .stdout(std::io::stderr())
        .status();
    let installed = match status {
        Ok(status) if status.success() => put(&beside, place),
        Ok(status) => Err(anyhow::anyhow!(
            "pip could not install it ({status}): the package registry may be out of reach"
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
        Err(_) if runs(place) => Ok(()),
        moved => moved.with_context(|| format!("could not write {}", place.display())),
    }
}

fn runs(place: &Path) -> bool {
    let loads = Command::new("python3")
        .args(["-c", "import moto.server, moto.s3, flask_cors"])
        .env("PYTHONPATH", place)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    place.is_dir() && loads.is_ok_and(|status| status.success())
}
