//! `gleaner serve`, `work` and `web`: the processes that stay.

use clap::Args;

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Run workers and the web
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner serve
  gleaner serve --demo --listen 127.0.0.1:8787")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) web: ListenArgs,
    #[command(flatten)]
    pub(crate) work: WorkingArgs,
    /// Work on a few generated repositories in a database that is thrown away
    #[arg(long, conflicts_with = "database")]
    pub(crate) demo: bool,
}

/// Run workers without the web
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner work
  gleaner work --until-idle --kinds distribution/manifests")]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) work: WorkingArgs,
}

/// Run the web without workers
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner web
  gleaner web --listen 0.0.0.0:8787")]
pub(crate) struct WebArgs {
    #[command(flatten)]
    pub(crate) web: ListenArgs,
}

/// What the web listens on.
#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// The address to listen on [env: `GLEANER_SERVER_LISTEN`] [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
}

/// What workers take on.
#[derive(Debug, Args)]
pub(crate) struct WorkingArgs {
    /// End when nothing is running and nothing is due now; list what is due later and why
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Only these kinds, separated by commas
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
}

pub(crate) async fn serve(session: &Session, args: ServeArgs) -> Result<Exit> {
    let _ = (session, args);
    std::future::ready(Ok(Exit::Ok)).await
}

pub(crate) async fn work(session: &Session, args: WorkArgs) -> Result<Exit> {
    let _ = (session, args);
    std::future::ready(Ok(Exit::Ok)).await
}

pub(crate) async fn web(session: &Session, args: WebArgs) -> Result<Exit> {
    let _ = (session, args);
    std::future::ready(Ok(Exit::Ok)).await
}
