//! `gleaner license setup`: installs a scanner into a place of its own.

use clap::{Args, ValueEnum};
use collect::license::{Choice, SetupError, set_up};

use super::scan::desk;
use crate::{
    error::{Exit, Failure, Result, codes},
    session::Session,
};

/// Install ScanCode into a private place
///
/// Every part is of the version that is known to work, and must have its hash.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license setup
  gleaner license setup --python python3.12")]
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
        // Building it takes a newer compiler than ours and half an hour: that is the user's choice.
        Which::Provenant => Choice::Provenant,
    };
    let scanner = desk.named(choice).await.map_err(|broken| {
        let failure = Failure::new(&codes::TOOL, broken.to_string());
        if choice == Choice::Provenant {
            failure.hint("`cargo install provenant-cli --version 1.0.16 --ignore-rust-version --locked` puts it on the PATH")
        } else {
            failure
        }
    })?;
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
        SetupError::Step { .. } => Failure::new(&codes::TOOL, error.to_string()),
        SetupError::Directory { source, .. } => {
            let source = std::io::Error::from(source.kind());
            Failure::new(&codes::NOT_WRITABLE, error.to_string()).caused_by(&source)
        }
    }
}
