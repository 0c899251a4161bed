//! `gleaner pool`: the slots for kinds of work.

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Look at pools, pause and resume them
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner pool list
  gleaner pool pause license")]
pub(crate) enum PoolCommand {
    List(ListArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
}

/// List pools with what they have to do
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pool list
  gleaner pool list --format json")]
pub(crate) struct ListArgs {}

/// Start no more units of a pool, in the whole fleet; what runs goes on
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pool pause license
  gleaner pool pause license distribution")]
pub(crate) struct PauseArgs {
    /// The pools
    #[arg(required = true, value_name = "POOL")]
    pools: Vec<String>,
}

/// Start units of a paused pool again
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pool resume license
  gleaner pool resume license distribution")]
pub(crate) struct ResumeArgs {
    /// The pools
    #[arg(required = true, value_name = "POOL")]
    pools: Vec<String>,
}

pub(crate) async fn run(session: &Session, command: PoolCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
