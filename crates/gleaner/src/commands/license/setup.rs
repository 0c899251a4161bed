//! `gleaner license setup`: installs a scanner into a place of its own.

use clap::{Args, ValueEnum};
use collect::license::{Choice, SetupError, set_up, set_up_provenant};

use super::scan::desk;
use crate::{
    error::{Exit, Failure, Result, codes},
    session::Session,
};

/// Install a scanner into a private place
///
/// ScanCode: every part is of the version that is known to work, and must have its hash. Provenant:
/// cargo compiles the version that is known to work, unless one is on the PATH.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license setup
  gleaner license setup --python python3.12
  gleaner license setup --scanner provenant")]
pub(crate) struct SetupArgs {
    /// Which scanner
    #[arg(long, value_name = "NAME", default_value = "scancode")]
    scanner: Which,
    /// The Python that makes the private place
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Scancode,
    Provenant,
}

pub(super) async fn run(session: &Session, args: &SetupArgs) -> Result<Exit> {
    let desk = desk(session)?;
    let choice = match args.scanner {
        Which::Scancode => {
            let venv = desk.settings().venv.clone();
            let tell = |text: &str| session.printer.note(text);
            set_up(&args.python, &venv, tell)
                .await
                .map_err(|error| failure(&error))?;
            Choice::ScanCode
        }
        Which::Provenant => {
            if desk.named(Choice::Provenant).await.is_err() {
                let directory = &session.settings()?.license.home;
                let tell = |text: &str| session.printer.note(text);
                set_up_provenant("cargo", directory, tell)
                    .await
                    .map_err(|error| failure(&error))?;
            }
            Choice::Provenant
        }
    };
    // What was installed just now is found by looking again.
    let scanner = self::desk(session)?.named(choice).await;
    let scanner = scanner.map_err(|broken| Failure::new(&codes::TOOL, broken.to_string()))?;
    session.printer.note(&format!(
        "{} works: a known file got its known answer",
        scanner.identity().title()
    ));
    Ok(Exit::Ok)
}

fn failure(error: &SetupError) -> Failure {
    match error {
        SetupError::NoPython(_) => Failure::new(&codes::TOOL, error.to_string())
            .hint("`--python` names another one; `--scanner builtin` needs none"),
        SetupError::NoCargo => Failure::new(&codes::TOOL, error.to_string())
            .hint("install Rust, or put a `provenant` of your own on the PATH; `--scanner builtin` needs nothing"),
        SetupError::Step { .. } => Failure::new(&codes::TOOL, error.to_string()),
        SetupError::Directory { source, .. } => {
            let source = std::io::Error::from(source.kind());
            Failure::new(&codes::NOT_WRITABLE, error.to_string()).caused_by(&source)
        }
    }
}
