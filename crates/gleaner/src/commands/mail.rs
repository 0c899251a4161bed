//! `gleaner mail`: mail from files, read and classified without a database.

mod archive;
mod classify;
mod parse;

use clap::Subcommand;

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Read mail archives, and tell what each mail is
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner mail parse dev.mbox
  gleaner mail classify --system apache")]
pub(crate) enum MailCommand {
    Parse(parse::ParseArgs),
    Classify(classify::ClassifyArgs),
}

pub(crate) fn run(session: &Session, command: &MailCommand) -> Result<Exit> {
    match command {
        MailCommand::Parse(args) => parse::run(session, args),
        MailCommand::Classify(args) => classify::run(session, args),
    }
}
