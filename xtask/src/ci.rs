//! The gate, short and long.
//!
//! Everything is compiled once for clippy and once in the profile `ci`, which tests, generators and
//! the shipped binary share. Tests come last, so that their closing lines end the output.

use std::process::ExitCode;

use crate::steps::{self, Steps};
use crate::{fuzz, generate, one_build, scancode, test, walls};

const FORMATTING: &[&str] = &["fmt", "--all", "--check"];
const FUZZ_FORMATTING: &[&str] = &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
const CLIPPY: &[&str] = &[
    "clippy",
    "--profile",
    "ci",
    "--workspace",
    "--all-targets",
    "--",
    "-D",
    "warnings",
];
const BINARIES: &[&str] = &["build", "--profile", "ci", "--workspace", "--bins"];

/// The benches at full size, as arguments of `bench`. To add one, add a line.
const BENCHES: &[&[&str]] = &[
    &["engine"],
    &["engine-scale"],
    &["engine-fanin"],
    &["manifests"],
    &["distribution"],
    &["goindex"],
    &["license"],
    &["mail"],
    &["pypi"],
    &["pypi-datasets"],
];

pub(crate) fn gate() -> anyhow::Result<ExitCode> {
    let mut steps = Steps::default();
    let prepared = prepare(&mut steps);
    steps.print_table();
    prepared?;
    test::run(&[])
}

/// The gate with the tests' long runs, then the fuzz targets and the benches at full size.
pub(crate) fn long(fuzz_minutes: u32) -> anyhow::Result<ExitCode> {
    let mut steps = Steps::default();
    let mut tested = ExitCode::FAILURE;
    let all = prepare(&mut steps).and_then(|()| {
        steps.run("long tests", || {
            tested = test::run_long()?;
            Ok(())
        })?;
        steps.run("fuzz", || fuzz::run_all(fuzz_minutes))?;
        steps.run("benches", run_benches)
    });
    steps.print_table();
    all.map(|()| tested)
}

/// Every step before the tests, the compiling of the tests included.
fn prepare(steps: &mut Steps) -> anyhow::Result<()> {
    steps.run("formatting", || {
        steps::succeed(&mut steps::cargo(FORMATTING))?;
        steps::succeed(&mut steps::cargo(FUZZ_FORMATTING))
    })?;
    steps.run("walls", walls::check)?;
    steps.run("one build", one_build::check)?;
    steps.run("clippy", || steps::succeed(&mut steps::cargo(CLIPPY)))?;
    steps.run("build binaries", || {
        steps::succeed(&mut steps::cargo(BINARIES))
    })?;
    steps.run("generated files", generate::check_all)?;
    steps.run("build tests", test::build)
}

/// Benches are measured in the profile that is shipped, without debug assertions.
fn run_benches() -> anyhow::Result<()> {
    for bench in BENCHES {
        let mut command = steps::cargo(&["run", "--release", "--package", "bench", "--"]);
        command.args(*bench);
        if *bench == ["license"] {
            command.envs(scancode::SCANCODE.for_tests());
        }
        steps::succeed(&mut command)?;
    }
    Ok(())
}
