//! Fuzz targets on the stable compiler: libFuzzer with LLVM's coverage passes named by hand.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::steps;

/// What a fuzzing wrapper would set, less the address sanitizer, which needs a nightly compiler.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Coverflow-checks";

/// Runs every target of `fuzz/` for so many minutes, each from its seeds and what it has gathered so far.
pub(crate) fn run_all(minutes: u32) -> anyhow::Result<()> {
    let home = steps::root().join("fuzz");
    let seconds = format!("-max_total_time={}", minutes * 60);
    for target in targets(&home)? {
        eprintln!("fuzzing `{target}` for {minutes} min");
        let corpus = home.join("corpus").join(&target);
        let artifacts = home.join("artifacts").join(&target);
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&artifacts)?;

        let mut command = steps::cargo(&["run", "--release", "--target", &host()?]);
        command
            .current_dir(&home)
            .env("RUSTFLAGS", RUSTFLAGS)
            // The workspace's own artefacts are compiled with other flags.
            .env("CARGO_TARGET_DIR", target_directory(&home))
            .args(["--bin", &target, "--"])
            .args([corpus, home.join("seeds").join(&target)])
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            // Remote text is limited before it is parsed; this is about shape, not size.
            .args([
                &seconds,
                "-max_len=65536",
                "-timeout=10",
                "-rss_limit_mb=2048",
            ]);
        steps::succeed(&mut command).with_context(|| format!("fuzz target `{target}`"))?;
    }
    Ok(())
}

/// One target for each file in `fuzz_targets/`.
fn targets(home: &Path) -> anyhow::Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(home.join("fuzz_targets")).context("fuzz/fuzz_targets")? {
        let path = entry?.path();
        if let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) {
            targets.push(name.to_owned());
        }
    }
    targets.sort();
    Ok(targets)
}

/// A directory of its own below the one in use.
fn target_directory(home: &Path) -> std::path::PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => steps::root().join(directory).join("fuzz"),
        None => home.join("target"),
    }
}

/// The host's triple. Naming it keeps the flags away from build scripts and macros, which would
/// not link with them.
fn host() -> anyhow::Result<String> {
    let said = steps::stdout(Command::new("rustc").arg("-vV"))?;
    let Some(host) = said.lines().find_map(|line| line.strip_prefix("host: ")) else {
        bail!("`rustc -vV` names no host");
    };
    Ok(host.to_owned())
}
