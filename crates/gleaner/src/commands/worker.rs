//! `gleaner worker`: the processes that work.

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Look at worker processes
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner worker list
  gleaner worker list --format json")]
pub(crate) enum WorkerCommand {
    List(ListArgs),
}

/// List worker processes with their last heartbeat
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner worker list
  gleaner worker list --format jsonl")]
pub(crate) struct ListArgs {}

pub(crate) async fn run(session: &Session, command: WorkerCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
