//! `gleaner group`: named sets of repositories.

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Make and look at groups of repositories
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner group create mine
  gleaner group add mine github.com/owner/name")]
pub(crate) enum GroupCommand {
    Create(CreateArgs),
    List(ListArgs),
    Show(ShowArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
}

/// Make a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group create mine
  gleaner group create apache")]
pub(crate) struct CreateArgs {
    /// Its name
    name: String,
}

/// List groups
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group list
  gleaner group list --format json")]
pub(crate) struct ListArgs {}

/// List the repositories of a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group show mine
  gleaner group show mine --format csv")]
pub(crate) struct ShowArgs {
    /// Its name
    name: String,
}

/// Put repositories into a group
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group add mine github.com/owner/name
  gleaner group add mine 7 8")]
pub(crate) struct AddArgs {
    /// The group
    name: String,
    /// Addresses, paths or numbers of repositories that are watched already
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
}

/// Take repositories out of a group, or remove the group itself
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner group remove mine github.com/owner/name
  gleaner group remove mine")]
pub(crate) struct RemoveArgs {
    /// The group
    name: String,
    /// Repositories to take out; without any, the group is removed and its repositories stay
    #[arg(value_name = "REPO")]
    repositories: Vec<String>,
}

pub(crate) async fn run(session: &Session, command: GroupCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
