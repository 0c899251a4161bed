//! `gleaner unit`: look at work and steer it.

mod why;

use clap::{Args, Subcommand};
use engine::{Changed, Engine, Selection, State, UnitDetail, UnitFilter, UnitId, UnitView};
use serde::Serialize;

pub(super) use why::explain;

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
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
    limit: usize,
    /// Only units with a higher number than this, to go on after a list's end
    #[arg(long, value_name = "ID")]
    after: Option<UnitId>,
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
    /// Only this kind, for example `license/scan`; `license` means all its kinds
    #[arg(long)]
    kind: Option<String>,
    /// Only this state: waiting, ready, running, done, parked, cancelled
    #[arg(long)]
    state: Option<State>,
    /// Only units whose last error contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only keys that match; `*` stands for any text, `?` for one character
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

impl Row for UnitView {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "kind",
        "key",
        "state",
        "rank",
        "due_at",
        "pool",
        "upstream",
        "attempt",
        "strikes",
        "partials",
        "lost",
        "worker",
        "succeeded_at",
        "error",
    ];
    const TABLE: &'static [&'static str] = &[
        "id", "kind", "key", "state", "rank", "due_at", "strikes", "error",
    ];
}

impl Row for UnitDetail {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "kind",
        "key",
        "state",
        "rank",
        "due_at",
        "pool",
        "upstream",
        "attempt",
        "strikes",
        "partials",
        "lost",
        "worker",
        "succeeded_at",
        "error",
        "cadence_seconds",
        "version",
        "payload",
        "cursor",
        "report",
        "requirements",
        "runs",
    ];
}

/// What a command did to units.
#[derive(Serialize)]
struct Steered {
    action: &'static str,
    #[serde(flatten)]
    changed: Changed,
    dry_run: bool,
}

impl Row for Steered {
    const COLUMNS: &'static [&'static str] = &["action", "selected", "changed", "dry_run"];
}

pub(crate) async fn run(session: &Session, command: UnitCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        UnitCommand::List(args) => list(session, &engine, args).await,
        UnitCommand::Show(args) => {
            let id = find(&engine, &args.unit).await?;
            let unit = engine.unit(id).await?;
            session
                .printer
                .record(&unit.ok_or_else(|| unknown(&args.unit))?)?;
            Ok(Exit::Ok)
        }
        UnitCommand::Why(args) => why(session, &engine, &args.unit).await,
        UnitCommand::Retry(args) => {
            let (which, dry_run) = selection(&engine, args.selection).await?;
            let changed = engine.retry(&which, dry_run).await?;
            steered(session, "retry", changed, dry_run)
        }
        UnitCommand::Cancel(args) => {
            let (which, dry_run) = selection(&engine, args.selection).await?;
            let changed = engine.cancel(&which, dry_run).await?;
            steered(session, "cancel", changed, dry_run)
        }
        UnitCommand::Run(args) => {
            let (which, dry_run) = selection(&engine, args.selection).await?;
            let changed = engine.run_now(&which, dry_run).await?;
            steered(session, "run", changed, dry_run)
        }
    }
}

async fn list(session: &Session, engine: &Engine, args: ListArgs) -> Result<Exit> {
    const PAGE: usize = 1000;
    let ListArgs {
        choice,
        limit,
        after,
    } = args;
    let mut filter = UnitFilter {
        kind: choice.kind,
        state: choice.state,
        key: choice.key,
        error: choice.error,
        after: after.unwrap_or(0),
        limit: 0,
    };
    let mut left = limit;
    let mut more = false;
    let mut list = session.printer.list()?;
    while left > 0 && !more {
        filter.limit = left.min(PAGE);
        let page = engine.units(&filter).await?;
        for unit in &page {
            filter.after = unit.id;
            list.push(unit)?;
        }
        if page.len() < filter.limit {
            left = 0;
        } else {
            left -= page.len();
            more = left == 0;
        }
    }
    list.finish()?;
    if more {
        let last = filter.after;
        let note = format!("the list ends at the limit of {limit}; go on with `--after {last}`");
        session.printer.note(&note);
    }
    Ok(Exit::Ok)
}

async fn why(session: &Session, engine: &Engine, address: &str) -> Result<Exit> {
    let id = find(engine, address).await?;
    let reasons = engine.why(id).await?.ok_or_else(|| unknown(address))?;
    let rows: Vec<why::WhyNot> = reasons.iter().map(|why| explain(id, why)).collect();
    if rows.is_empty() {
        session
            .printer
            .note("nothing stands in its way: it runs as soon as a worker looks");
    }
    session.printer.rows(&rows)?;
    Ok(Exit::Ok)
}

/// What a command is about. Naming nothing must not mean everything.
async fn selection(engine: &Engine, args: SelectionArgs) -> Result<(Selection, bool)> {
    let SelectionArgs {
        units,
        choice,
        dry_run,
    } = args;
    let ChoiceArgs {
        kind,
        state,
        error,
        key,
    } = choice;
    let chosen = kind.is_some() || state.is_some() || error.is_some() || key.is_some();
    if units.is_empty() && !chosen {
        return Err(
            Failure::new(&codes::SELECTION, "the command does not say which units")
                .hint("name units, or choose them with --kind, --state, --error and --key"),
        );
    }
    let mut ids = Vec::with_capacity(units.len());
    for unit in &units {
        ids.push(find(engine, unit).await?);
    }
    let which = Selection {
        ids: (!ids.is_empty()).then_some(ids),
        kind,
        state,
        error,
        key,
    };
    Ok((which, dry_run))
}

fn steered(
    session: &Session,
    action: &'static str,
    changed: Changed,
    dry_run: bool,
) -> Result<Exit> {
    session.printer.record(&Steered {
        action,
        changed,
        dry_run,
    })?;
    Ok(if changed.selected == 0 {
        Exit::Nothing
    } else {
        Exit::Ok
    })
}

async fn find(engine: &Engine, address: &str) -> Result<UnitId> {
    if address.parse::<UnitId>().is_err() && !address.contains(':') {
        return Err(
            Failure::new(&codes::UNIT, format!("`{address}` names no unit"))
                .hint("write its number, or kind:key as in `distribution/manifests:7`"),
        );
    }
    engine.find(address).await?.ok_or_else(|| unknown(address))
}

fn unknown(address: &str) -> Failure {
    Failure::new(&codes::NOT_FOUND, format!("there is no unit `{address}`"))
        .hint("`gleaner unit list` shows what is there")
}
