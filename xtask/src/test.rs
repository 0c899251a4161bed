//! Every test, on one private PostgreSQL cluster for the whole run.
//!
//! The last thing printed is the test runner's own closing lines.

use std::process::{Command, ExitCode};

use anyhow::bail;

use crate::{go, moto, postgres, scancode, steps, test_tool::Tool};

/// Where tests find the run's cluster; a test that is run alone starts its own.
const CLUSTER: &str = "GLEANER_TEST_POSTGRES";

/// With this set, the test against a real public-inbox fails where there is none.
const INBOX: &str = "GLEANER_NEEDS_PUBLIC_INBOX";

/// Tests that have a long version take it when this is set.
const LONG: &str = "GLEANER_LONG";

/// Property tests draw from this seed in the gate, so that a change is judged by what it changes;
/// `cargo xtask long` draws anew each time.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20170416");

/// Runs all tests, or those that the arguments for `cargo nextest run` select.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<ExitCode> {
    let seed = std::env::var_os(SEED.0).is_none().then_some(SEED);
    run_with(args, seed.as_slice())
}

/// Runs all tests, each in its long version where it has one.
pub(crate) fn run_long() -> anyhow::Result<ExitCode> {
    run_with(&[], &[(LONG, "1"), ("PROPTEST_CASES", "20000")])
}

/// Builds what [`run`] will run.
pub(crate) fn build() -> anyhow::Result<()> {
    steps::succeed(Runner::find().command(&[]).arg("--no-run"))
}

fn run_with(args: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<ExitCode> {
    if !steps::is_there("git", &["--version"]) {
        bail!(
            "tests need `git`, which is not installed\n  hint: install your system's git package"
        );
    }
    postgres::find_pooler()?;
    let inbox = postgres::find_public_inbox().then_some((INBOX, "1"));
    let cluster = match std::env::var(CLUSTER) {
        Ok(_) => None,
        Err(_) => Some(postgres::start()?),
    };
    let url = cluster.as_ref().map(|cluster| (CLUSTER, cluster.url()));
    let tools = [go::GO, moto::MOTO, scancode::SCANCODE];
    let told: Vec<_> = tools.iter().filter_map(Tool::for_tests).collect();
    let told = told.iter().map(|(name, value)| (*name, value.as_str()));
    let environment = environment.iter().copied().chain(inbox).chain(url);
    let environment: Vec<_> = environment.chain(told).collect();

    let runner = Runner::find();
    if args.is_empty() && runner == Runner::Nextest {
        steps::succeed(steps::cargo(DOC_TESTS).envs(environment.clone()))?;
    }
    let status = runner.command(args).envs(environment).status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Which program runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    /// Slower and less tidy, but always there; it runs the doc tests itself.
    Cargo,
}

const DOC_TESTS: &[&str] = &["test", "--quiet", "--profile", "ci", "--workspace", "--doc"];
const NEXTEST: &[&str] = &["nextest", "run", "--profile", "ci", "--cargo-profile", "ci"];
const CARGO_TEST: &[&str] = &["test", "--profile", "ci", "--no-fail-fast"];

impl Runner {
    fn find() -> Self {
        if steps::is_there("cargo-nextest", &["nextest", "--version"]) {
            Self::Nextest
        } else {
            Self::Cargo
        }
    }

    /// The whole workspace, unless the arguments name packages.
    fn command(self, args: &[&str]) -> Command {
        let mut command = steps::cargo(match self {
            Self::Nextest => NEXTEST,
            Self::Cargo => CARGO_TEST,
        });
        let names_package = |arg: &&str| arg.starts_with("-p") || arg.starts_with("--package");
        if !args.iter().any(names_package) {
            command.arg("--workspace");
        }
        command.args(args);
        command
    }
}
