//! `gleaner upstream`: the remote services, their breakers and budgets.

use clap::{Args, Subcommand};
use engine::UpstreamView;

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
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

impl Row for UpstreamView {
    const COLUMNS: &'static [&'static str] = &[
        "upstream",
        "breaker",
        "open_until",
        "failures",
        "succeeded_at",
        "failed_at",
        "last_error",
    ];
}

pub(crate) async fn run(session: &Session, command: UpstreamCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        UpstreamCommand::List(_) => session.printer.rows(&engine.upstream_views().await?)?,
        UpstreamCommand::Reset(args) => {
            for name in &args.upstreams {
                if !engine.reset_upstream(name).await? {
                    let message = format!("the upstream `{name}` was never asked");
                    return Err(Failure::new(&codes::NOT_FOUND, message)
                        .hint("`gleaner upstream list` shows those that were"));
                }
                session.printer.note(&format!("{name} is asked again"));
            }
        }
    }
    Ok(Exit::Ok)
}
