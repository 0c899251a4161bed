//! `gleaner drill`: prove on your own installation that nothing is lost.
//!
//! Start a drill, kill whatever you like while it runs, then check: every unit
//! has written each of its facts exactly once.

use clap::{Args, Subcommand};
use collect::drill::{FACTS_PER_UNIT, units};
use engine::Selection;
use serde::Serialize;

use crate::{
    error::{Exit, Result},
    printer::Row,
    session::Session,
};

/// Enqueue units that write countable facts, and count them
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner drill start --units 20000
  gleaner drill check --units 20000")]
pub(crate) enum DrillCommand {
    /// Enqueue the units of a drill
    #[command(before_help = "Examples:
  gleaner drill start --units 20000
  gleaner drill start --units 20000 --name friday")]
    Start(DrillArgs),
    /// Count what a drill has written; exit code 1 while something is missing or doubled
    #[command(before_help = "Examples:
  gleaner drill check --units 20000
  gleaner drill check --units 20000 --name friday")]
    Check(DrillArgs),
    Forget(ForgetArgs),
}

/// A drill and its size.
#[derive(Debug, Args)]
pub(crate) struct DrillArgs {
    /// How many units
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    units: u32,
    /// What to call it
    #[arg(long, value_name = "NAME", default_value = "drill")]
    name: String,
}

/// Remove what a drill has left behind
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner drill forget
  gleaner drill forget --name friday")]
pub(crate) struct ForgetArgs {
    /// What it is called
    #[arg(long, value_name = "NAME", default_value = "drill")]
    name: String,
}

/// How a drill stands.
#[derive(Debug, Serialize)]
struct Standing {
    drill: String,
    units: u32,
    expected: i64,
    written: i64,
    missing: i64,
    doubled: i64,
}

impl Row for Standing {
    const COLUMNS: &'static [&'static str] = &[
        "drill", "units", "expected", "written", "missing", "doubled",
    ];
}

pub(crate) async fn run(session: &Session, command: DrillCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        DrillCommand::Start(args) => {
            let enqueued = engine
                .enqueue(units(&args.name, i64::from(args.units)))
                .await?;
            session.printer.note(&format!(
                "{} units enqueued, {} were there; any `gleaner work` runs them",
                enqueued.created, enqueued.existing
            ));
            Ok(Exit::Ok)
        }
        DrillCommand::Check(args) => {
            let count = store::drill::count(engine.db(), &args.name).await?;
            let expected = i64::from(args.units) * FACTS_PER_UNIT;
            let standing = Standing {
                units: args.units,
                expected,
                written: count.written,
                missing: expected - count.distinct,
                doubled: count.written - count.distinct,
                drill: args.name,
            };
            let sound = standing.missing == 0 && standing.doubled == 0;
            session.printer.record(&standing)?;
            Ok(if sound { Exit::Ok } else { Exit::Nothing })
        }
        DrillCommand::Forget(args) => {
            let which = Selection {
                kind: Some("drill/fact".to_owned()),
                key: Some(format!("{}/*", args.name)),
                ..Selection::default()
            };
            let cancelled = engine.cancel(&which, false).await?;
            let forgotten = db::transact!(engine.db(), |tx| {
                store::drill::forget(tx, &args.name).await
            })?;
            session.printer.note(&format!(
                "{forgotten} facts removed, {} units called off",
                cancelled.changed
            ));
            Ok(Exit::Ok)
        }
    }
}
