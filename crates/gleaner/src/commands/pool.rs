//! `gleaner pool`: the slots for kinds of work.

use clap::{Args, Subcommand};
use engine::{Engine, PoolView};

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    rounds,
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
  gleaner pool pause license distribution --why upgrade")]
pub(crate) struct PauseArgs {
    /// The pools
    #[arg(required = true, value_name = "POOL")]
    pools: Vec<String>,
    /// What to tell those who wonder
    #[arg(long, value_name = "TEXT", default_value = "paused by hand")]
    why: String,
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

impl Row for PoolView {
    const COLUMNS: &'static [&'static str] =
        &["pool", "running", "due", "later", "paused_at", "paused_why"];
}

pub(crate) async fn run(session: &Session, command: PoolCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        PoolCommand::List(_) => session.printer.rows(&pools(session, &engine).await?)?,
        PoolCommand::Pause(args) => {
            known(session, &engine, &args.pools).await?;
            for pool in &args.pools {
                engine.pause_pool(pool, &args.why).await?;
                session.printer.note(&format!("{pool} is paused"));
            }
        }
        PoolCommand::Resume(args) => {
            known(session, &engine, &args.pools).await?;
            for pool in &args.pools {
                let was_paused = engine.resume_pool(pool).await?;
                session.printer.note(&if was_paused {
                    format!("{pool} goes on")
                } else {
                    format!("{pool} was not paused")
                });
            }
        }
    }
    Ok(Exit::Ok)
}

/// The pools that have or had work, those of the configuration, and those of the collectors.
async fn pools(session: &Session, engine: &Engine) -> Result<Vec<PoolView>> {
    let mut pools = engine.pools().await?;
    let set = session.settings()?.pools.keys().cloned();
    for name in set.chain(rounds::pools().map(str::to_owned)) {
        if !pools.iter().any(|pool| pool.pool == name) {
            pools.push(PoolView {
                pool: name,
                running: 0,
                due: 0,
                later: 0,
                paused_at: None,
                paused_why: None,
            });
        }
    }
    pools.sort_by(|a, b| a.pool.cmp(&b.pool));
    Ok(pools)
}

/// A misspelt name would be paused for nothing.
async fn known(session: &Session, engine: &Engine, names: &[String]) -> Result<()> {
    let pools = pools(session, engine).await?;
    for name in names {
        if !pools.iter().any(|pool| pool.pool == *name) {
            let known: Vec<&str> = pools.iter().map(|pool| pool.pool.as_str()).collect();
            return Err(
                Failure::new(&codes::NOT_FOUND, format!("there is no pool `{name}`"))
                    .hint(format!("the pools are {}", known.join(", "))),
            );
        }
    }
    Ok(())
}
