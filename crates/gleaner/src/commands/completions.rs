//! `gleaner completions` and the hidden `gleaner man`: both made from the command line's own tree.

use clap::Args;
use clap_complete::Shell;

use crate::{
    cli,
    error::{Exit, Failure, Result},
    session::Session,
};

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner completions bash > ~/.local/share/bash-completion/completions/gleaner
  gleaner completions fish > ~/.config/fish/completions/gleaner.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page of a command in roff
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner man > gleaner.1
  gleaner man repo add > gleaner-repo-add.1")]
pub(crate) struct ManArgs {
    /// The command; the program itself without one
    command: Vec<String>,
}

pub(crate) fn completions(session: &Session, args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "gleaner", &mut script);
    session.printer.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}

pub(crate) fn man(session: &Session, args: &ManArgs) -> Result<Exit> {
    let command = super::help::find_command(&args.command)?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::output(&error))?;
    session.printer.text(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Ok)
}
