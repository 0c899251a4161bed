//! Running programs one after another, with the minutes each step took.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// The timed steps of one chore.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    taken: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Runs one step under its name; a failed step ends the chore.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        eprintln!("==> {name}");
        let start = Instant::now();
        let result = step().with_context(|| format!("step `{name}` failed"));
        self.taken.push((name, start.elapsed()));
        result
    }

    /// The closing table: where the minutes went.
    pub(crate) fn print_table(&self) {
        let total = self.taken.iter().map(|(_, took)| *took).sum();
        eprintln!("{:<24} minutes", "step");
        for (name, took) in &self.taken {
            eprintln!("{name:<24} {:>7.1}", minutes(*took));
        }
        eprintln!("{:<24} {:>7.1}", "in all", minutes(total));
    }
}

fn minutes(took: Duration) -> f64 {
    took.as_secs_f64() / 60.0
}

/// The top of the source tree, as cargo says it at run time: the path known to the compiler may be
/// that of another checkout, when two share a build directory.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    here.parent().unwrap_or(&here).to_owned()
}

/// `cargo` as it was called, at the top of the source tree.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Runs a command with our own input and output; anything but success is an error.
pub(crate) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("could not start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// The standard output of a command that must succeed.
pub(crate) fn stdout(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("could not start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", shown(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} is not UTF-8", shown(command)))
}

/// Whether a program is in PATH and runs.
pub(crate) fn is_there(program: &str, probe: &[&str]) -> bool {
    let output = Command::new(program).args(probe).output();
    output.is_ok_and(|output| output.status.success())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.display().to_string()];
    words.extend(command.get_args().map(|arg| arg.display().to_string()));
    format!("`{}`", words.join(" "))
}
