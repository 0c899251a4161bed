//! `gleaner worker`: the processes that work.

use clap::{Args, Subcommand};
use engine::WorkerView;

use crate::{
    error::{Exit, Result},
    printer::Row,
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

impl Row for WorkerView {
    const COLUMNS: &'static [&'static str] = &[
        "worker",
        "name",
        "host",
        "pid",
        "started_at",
        "beat_at",
        "running",
        "kinds",
        "release",
    ];
    const TABLE: &'static [&'static str] = &[
        "worker",
        "name",
        "started_at",
        "beat_at",
        "running",
        "release",
    ];
}

pub(crate) async fn run(session: &Session, command: WorkerCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        WorkerCommand::List(_) => session.printer.rows(&engine.workers().await?)?,
    }
    Ok(Exit::Ok)
}
