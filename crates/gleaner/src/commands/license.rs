//! `gleaner license`: licenses, copyrights and packages of files.

mod files;
mod report;
mod rescan;
mod scan;
mod setup;
mod verify;

use clap::Subcommand;

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Licenses, copyrights and packages of files
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner license scan .
  gleaner license show github.com/owner/name")]
pub(crate) enum LicenseCommand {
    Scan(scan::ScanArgs),
    Setup(setup::SetupArgs),
    Stats(report::StatsArgs),
    Show(report::ShowArgs),
    Files(files::FilesArgs),
    Rescan(rescan::RescanArgs),
    Verify(verify::VerifyArgs),
}

pub(crate) async fn run(session: &Session, command: LicenseCommand) -> Result<Exit> {
    match command {
        LicenseCommand::Scan(args) => scan::run(session, &args).await,
        LicenseCommand::Setup(args) => setup::run(session, &args).await,
        LicenseCommand::Stats(args) => report::stats(session, &args).await,
        LicenseCommand::Show(args) => report::show(session, &args).await,
        LicenseCommand::Files(args) => files::run(session, &args).await,
        LicenseCommand::Rescan(args) => rescan::run(session, &args).await,
        LicenseCommand::Verify(args) => verify::run(session, &args).await,
    }
}
