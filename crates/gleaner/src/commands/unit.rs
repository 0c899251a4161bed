//! `gleaner unit`: look at work and steer it.

use clap::{Args, Subcommand};

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Look at units of work and steer them
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner unit list --state parked
  gleaner unit retry --kind distribution/manifests --dry-run")]
pub(crate) enum UnitCommand {
    List(ListArgs),
    Show(ShowArgs),
    Why(WhyArgs),
    Retry(RetryArgs),
    Cancel(CancelArgs),
    Run(RunArgs),
}

/// List units
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit list
  gleaner unit list --kind license/scan --state parked --limit 50")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Only units with a higher number than this, to go on after a list's end
    #[arg(long, value_name = "ID")]
    after: Option<i64>,
}

/// Show everything about one unit
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit show 42
  gleaner unit show distribution/manifests:7")]
pub(crate) struct ShowArgs {
    /// The unit's number, or kind:key
    unit: String,
}

/// Tell why a unit is not running
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit why 42
  gleaner unit why distribution/manifests:7")]
pub(crate) struct WhyArgs {
    /// The unit's number, or kind:key
    unit: String,
}

/// Give parked, cancelled or struck units a fresh start
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit retry 42
  gleaner unit retry --state parked --error timeout --dry-run")]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Call units off; one that is running is stopped
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit cancel 42
  gleaner unit cancel --kind license/scan --key 'github.com/*' --dry-run")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Run units now, before all others
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner unit run distribution/manifests:7
  gleaner unit run --kind distribution/manifests --dry-run")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// Which units a list or a bulk command is about.
#[derive(Debug, Args)]
struct ChoiceArgs {
    /// Only this kind, for example `license/scan`
    #[arg(long)]
    kind: Option<String>,
    /// Only this state: waiting, ready, running, done, parked, cancelled
    #[arg(long)]
    state: Option<String>,
    /// Only units whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only keys that match; `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    key: Option<String>,
}

/// Units by name, or chosen in bulk.
#[derive(Debug, Args)]
struct SelectionArgs {
    /// Units, by number or kind:key
    #[arg(value_name = "UNIT", conflicts_with_all = ["kind", "state", "error", "key"])]
    units: Vec<String>,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Count the units and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(session: &Session, command: UnitCommand) -> Result<Exit> {
    let _ = (session, command);
    std::future::ready(Ok(Exit::Ok)).await
}
