//! `gleaner distribution`: where repositories are published, how they declare themselves, and where
//! the two disagree. Everything but `recheck` only reads, and may run beside workers.

mod lists;
mod recheck;
mod repository;
mod stats;

use clap::{Args, Subcommand};
use facts::distribution::Grade;

pub(super) use repository::{SourceView, section, source_views};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Where repositories are published, and where that differs from what they declare
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    before_help = "Examples:
  gleaner distribution --orphans --min-grade orphan
  gleaner distribution --repo owner/name"
)]
pub(crate) struct DistributionArgs {
    #[command(flatten)]
    view: ViewArgs,
    #[command(subcommand)]
    command: Option<DistributionCommand>,
}

#[derive(Debug, Subcommand)]
enum DistributionCommand {
    Stats(StatsArgs),
    Gaps(lists::GapsArgs),
    Events(lists::EventsArgs),
    Recheck(recheck::RecheckArgs),
}

/// Count repositories: scanned, published, declared, declared and not published
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner distribution stats
  gleaner distribution stats --orphans --format csv")]
struct StatsArgs {
    #[command(flatten)]
    view: ViewArgs,
}

/// What is looked at: figures, unless one of these is given.
#[derive(Debug, Args)]
struct ViewArgs {
    /// List what manifests declare and no registry has, with the grade of each
    #[arg(long)]
    orphans: bool,
    /// With --orphans: only this grade and stronger ones (orphan, name-differs, name-conflict,
    /// undeclared, unknown)
    #[arg(long, value_name = "GRADE", value_parser = grade, requires = "orphans")]
    min_grade: Option<Grade>,
    /// Show one repository: what is published, what is declared, how every source stands
    #[arg(long, value_name = "REPO", conflicts_with = "orphans")]
    repo: Option<String>,
    /// With --orphans: the most to list
    #[arg(long, value_name = "N", requires = "orphans")]
    limit: Option<usize>,
}

pub(crate) async fn run(session: &Session, args: DistributionArgs) -> Result<Exit> {
    match args.command {
        None => view(session, args.view).await,
        Some(DistributionCommand::Stats(args)) => view(session, args.view).await,
        Some(DistributionCommand::Gaps(args)) => lists::gaps(session, args).await,
        Some(DistributionCommand::Events(args)) => lists::events(session, args).await,
        Some(DistributionCommand::Recheck(args)) => recheck::recheck(session, args).await,
    }
}

async fn view(session: &Session, view: ViewArgs) -> Result<Exit> {
    if view.orphans {
        let least = view.min_grade.unwrap_or(Grade::Unknown);
        return lists::orphans(session, least, view.limit).await;
    }
    match &view.repo {
        Some(name) => repository::show(session, name).await,
        None => stats::stats(session).await,
    }
}

/// A grade by its word.
fn grade(text: &str) -> std::result::Result<Grade, String> {
    Grade::from_word(text).ok_or_else(|| {
        let words: Vec<&str> = Grade::ALL.iter().map(|grade| grade.as_str()).collect();
        format!("the grades are {}", words.join(", "))
    })
}
