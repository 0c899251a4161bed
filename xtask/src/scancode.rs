//! ScanCode for the tests that compare with it, installed by the product itself.
//!
//! `gleaner license setup` makes a private place in a directory of ours in the user's cache, once;
//! what is there is taken as it is, as long as it was made from the versions that are wanted now.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::{
    steps,
    test_tool::{Tool, cache},
};

/// What tests are told of it: its private place.
pub(crate) const SCANCODE: Tool = Tool {
    there: "GLEANER_SCANCODE",
    missing: "GLEANER_NO_SCANCODE",
    loss: "no ScanCode, nothing is compared with it",
    find,
};

/// The versions and hashes that are wanted.
const REQUIREMENTS: &str = "crates/collect/src/license/scancode-requirements.txt";
/// Written when all is there, with what it was made from.
const READY: &str = "gleaner-ready";

fn find() -> anyhow::Result<PathBuf> {
    let data = cache()?.join("scancode");
    let place = data.join("license/scancode");
    let wanted = steps::root().join(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&wanted)
        .with_context(|| format!("could not read {}", wanted.display()))?;
    let ready = place.join(READY);
    if std::fs::read_to_string(&ready).is_ok_and(|made_from| made_from == wanted) {
        return Ok(place);
    }
    set_up(&data)?;
    std::fs::write(&ready, wanted)
        .with_context(|| format!("could not write {}", ready.display()))?;
    Ok(place)
}

/// As a user would. It ends well only if a known file got its known answer.
fn set_up(data: &Path) -> anyhow::Result<()> {
    eprintln!("`gleaner license setup` installs ScanCode, which tests need");
    let run = ["run", "--quiet", "--profile", "ci", "--package", "gleaner"];
    let mut command = steps::cargo(&run);
    command
        .args(["--", "license", "setup", "--data"])
        .arg(data)
        .env_remove("GLEANER_LICENSE_DIRECTORY")
        // A registry that cannot be reached is told soon, not after many tries.
        .env("PIP_RETRIES", "1")
        .env("PIP_TIMEOUT", "20")
        // Never among the results on standard output.
        .stdout(std::io::stderr());
    if let Err(error) = steps::succeed(&mut command) {
        bail!("{error}: the package registry may be out of reach");
    }
    Ok(())
}
