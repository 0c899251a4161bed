//! Developer chores: `cargo xtask COMMAND`. Never shipped, and small, so that it builds in seconds.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a chore talks to the person at the terminal; it has no printer"
)]

use std::process::ExitCode;

use anyhow::{Context as _, bail};

mod ci;
#[expect(
    unreachable_pub,
    reason = "the file belongs to `db`, where these items are its public door"
)]
#[path = "../../crates/db/src/testing/cluster.rs"]
mod cluster;
mod fuzz;
mod generate;
mod go;
mod moto;
mod one_build;
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the file belongs to `db`, where tests start one; here it is only looked for"
)]
#[path = "../../crates/db/src/testing/pooler.rs"]
mod pooler;
mod postgres;
mod scancode;
mod steps;
mod test;
mod test_tool;
mod walls;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test [ARGS]         install what tests need where it is missing, run every test;
                      ARGS go to `cargo nextest run`
  ci                  the gate: formatting, clippy, walls, generated files, build, tests
  long [MINUTES]      the gate with long runs, every fuzz target for MINUTES (10), full benches
  walls               compare the dependencies between rooms with ARCHITECTURE.md
  one-build           check that tests and binary share their dependencies' artefacts
  generate [--check]  write the generated files, or only say which of them are stale
  fuzz [MINUTES]      every fuzz target for MINUTES (1)
  postgres            start a private PostgreSQL, print its address, stop it at end of input
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["test", rest @ ..] => return test::run(rest),
        ["ci"] => return ci::gate(),
        ["long"] => return ci::long(10),
        ["long", minutes] => return ci::long(parse_minutes(minutes)?),
        ["walls"] => walls::check()?,
        ["one-build"] => one_build::check()?,
        ["generate"] => generate::write_all()?,
        ["generate", "--check"] => generate::check_all()?,
        ["fuzz"] => fuzz::run_all(1)?,
        ["fuzz", minutes] => fuzz::run_all(parse_minutes(minutes)?)?,
        ["postgres"] => postgres::lend()?,
        ["help" | "--help" | "-h"] => print!("{USAGE}"),
        [] => bail!("no command\n\n{USAGE}"),
        [unknown, ..] => bail!("`{unknown}` is no command, or not with these arguments\n\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn parse_minutes(word: &str) -> anyhow::Result<u32> {
    word.parse()
        .with_context(|| format!("`{word}` is no whole number of minutes"))
}
