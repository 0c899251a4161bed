//! `gleaner mail`: mail from files and archives, read, classified, threaded and found again.

mod archive;
mod classify;
mod import;
mod lists;
mod parse;
mod project;
pub(crate) mod register;
mod search;
mod stats;
mod verify;

use clap::Subcommand;

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Read mail archives, tell what each mail is, and find it again
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner mail import dev.mbox --list dev@example.org
  gleaner mail register dev@maven.apache.org")]
pub(crate) enum MailCommand {
    Parse(parse::ParseArgs),
    Classify(classify::ClassifyArgs),
    Import(import::ImportArgs),
    Register(register::RegisterArgs),
    LoadApache(register::LoadApacheArgs),
    List(lists::ListArgs),
    Messages(lists::MessagesArgs),
    Show(lists::ShowArgs),
    Dead(lists::DeadArgs),
    Thread(search::ThreadArgs),
    Search(search::SearchArgs),
    Stats(stats::StatsArgs),
    Verify(verify::VerifyArgs),
    Project(project::ProjectArgs),
    BackfillKeys(project::BackfillArgs),
}

/// What only reads files needs no database, and no runtime.
pub(crate) fn run(session: &Session, command: MailCommand) -> Result<Exit> {
    match command {
        MailCommand::Parse(args) => parse::run(session, &args),
        MailCommand::Classify(args) => classify::run(session, &args),
        other => crate::until_interrupted(run_stored(session, other)),
    }
}

async fn run_stored(session: &Session, command: MailCommand) -> Result<Exit> {
    match command {
        MailCommand::Parse(_) | MailCommand::Classify(_) => Ok(Exit::Ok),
        MailCommand::Import(args) => import::run(session, &args).await,
        MailCommand::Register(args) => register::run(session, &args).await,
        MailCommand::LoadApache(args) => register::load_apache(session, &args).await,
        MailCommand::List(args) => lists::lists(session, &args).await,
        MailCommand::Messages(args) => lists::messages(session, &args).await,
        MailCommand::Show(args) => lists::show(session, &args).await,
        MailCommand::Dead(args) => lists::dead(session, &args).await,
        MailCommand::Thread(args) => search::thread(session, &args).await,
        MailCommand::Search(args) => search::search(session, &args).await,
        MailCommand::Stats(args) => stats::run(session, &args).await,
        MailCommand::Verify(args) => verify::run(session, &args).await,
        MailCommand::Project(args) => project::run(session, &args).await,
        MailCommand::BackfillKeys(args) => project::backfill(session, &args).await,
    }
}
