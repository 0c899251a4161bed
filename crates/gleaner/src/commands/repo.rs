//! `gleaner repo`: the repositories that are watched.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Add, list and look at repositories
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner repo add https://github.com/owner/name
  gleaner repo show github.com/owner/name")]
pub(crate) enum RepoCommand {
    Add(AddArgs),
    Import(ImportArgs),
    List(ListArgs),
    Show(ShowArgs),
    Remove(RemoveArgs),
    Archive(ArchiveArgs),
}

/// Watch repositories from now on
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo add https://github.com/owner/name
  gleaner repo add ./my-checkout --group mine")]
pub(crate) struct AddArgs {
    /// Addresses, or paths of local git repositories
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
    /// Also put them into this group
    #[arg(long)]
    group: Option<String>,
}

/// Watch all repositories of a file: one address per line, `#` begins a comment
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo import repositories.txt
  gleaner repo import - --group mine")]
pub(crate) struct ImportArgs {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Also put them into this group
    #[arg(long)]
    group: Option<String>,
}

/// List repositories
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo list
  gleaner repo list --group mine --format csv")]
pub(crate) struct ListArgs {
    /// Only those of this group
    #[arg(long)]
    group: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Show everything that is known about a repository
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo show github.com/owner/name
  gleaner repo show 7 --format json")]
pub(crate) struct ShowArgs {
    /// Its address, path or number
    #[arg(value_name = "REPO")]
    repository: String,
}

/// Stop watching repositories and forget what was found
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo remove github.com/owner/name
  gleaner repo remove 7 8")]
pub(crate) struct RemoveArgs {
    /// Addresses, paths or numbers
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
}

/// Mark repositories as archived: they are kept and no longer scanned
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner repo archive github.com/owner/name
  gleaner repo archive 7 --undo")]
pub(crate) struct ArchiveArgs {
    /// Addresses, paths or numbers
    #[arg(required = true, value_name = "REPO")]
    repositories: Vec<String>,
    /// Scan them again
    #[arg(long)]
    undo: bool,
}

pub(crate) async fn run(session: &Session, command: RepoCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
