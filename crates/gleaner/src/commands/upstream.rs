//! `gleaner upstream`: the remote services, their breakers and budgets.

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Look at upstreams and close their breakers
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner upstream list
  gleaner upstream reset github.com")]
pub(crate) enum UpstreamCommand {
    List(ListArgs),
    Reset(ResetArgs),
}

/// List upstreams with breaker and budget
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner upstream list
  gleaner upstream list --format json")]
pub(crate) struct ListArgs {}

/// Forget the failures of an upstream, so that it is asked again at once
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner upstream reset deps.dev
  gleaner upstream reset deps.dev github.com")]
pub(crate) struct ResetArgs {
    /// The upstreams
    #[arg(required = true, value_name = "UPSTREAM")]
    upstreams: Vec<String>,
}

pub(crate) async fn run(session: &Session, command: UpstreamCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
