//! `gleaner mail verify`: has every branch of the round brought something?

use clap::Args;
use serde::Serialize;
use store::mail::{self, Branch, Branches};

use crate::{
    error::{Exit, Result},
    printer::Row,
    session::Session,
};

/// Check that every branch of the round has brought something
///
/// PASS: there is some. EMPTY: there is none; with `*` although the registered systems can bring it.
/// DEFER: it depends on what other rounds have collected by now.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail verify
  gleaner mail verify --strict")]
pub(crate) struct VerifyArgs {
    /// Exit with 1 when a required branch is empty
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Line {
    verdict: &'static str,
    branch: String,
    count: i64,
    required: bool,
}

impl Row for Line {
    const COLUMNS: &'static [&'static str] = &["verdict", "branch", "count", "required"];
}

pub(super) async fn run(session: &Session, args: &VerifyArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let Branches { branches } = mail::branches(engine.db()).await?;
    let lines: Vec<Line> = branches.iter().map(line).collect();
    session.printer.rows(&lines)?;
    let missing = lines
        .iter()
        .any(|line| line.required && line.verdict == "EMPTY");
    Ok(if missing && args.strict {
        Exit::Nothing
    } else {
        Exit::Ok
    })
}

fn line(branch: &Branch) -> Line {
    let verdict = match branch {
        Branch { count: 1.., .. } => "PASS",
        Branch { deferred: true, .. } => "DEFER",
        _ => "EMPTY",
    };
    Line {
        verdict,
        branch: branch.name.clone(),
        count: branch.count,
        required: branch.required,
    }
}
