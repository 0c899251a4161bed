//! `gleaner upstream`: the remote services, their breakers and budgets.

use clap::{Args, Subcommand};
use engine::{BudgetView, UpstreamView};
use serde::Serialize;

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

/// One upstream in a list.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    view: UpstreamView,
    /// What is left of each budget, in one line.
    left: Option<String>,
}

impl From<UpstreamView> for Listed {
    fn from(view: UpstreamView) -> Self {
        let left: Vec<String> = view.budgets.iter().map(left).collect();
        Self {
            left: (!left.is_empty()).then(|| left.join(", ")),
            view,
        }
    }
}

fn left(budget: &BudgetView) -> String {
    let token = budget.token.as_deref().unwrap_or("anonymous");
    let number = |number: Option<i64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (remaining, limit) = (number(budget.remaining), number(budget.limit));
    format!("{token} {remaining}/{limit}")
}

impl Row for Listed {
    const COLUMNS: &'static [&'static str] = &[
        "upstream",
        "breaker",
        "open_until",
        "openings",
        "failures",
        "succeeded_at",
        "failed_at",
        "last_error",
        "held_until",
        "held_why",
        "spent_until",
        "left",
        "budgets",
    ];
    const TABLE: &'static [&'static str] = &[
        "upstream",
        "breaker",
        "open_until",
        "failures",
        "held_until",
        "spent_until",
        "left",
        "last_error",
    ];
}

pub(crate) async fn run(session: &Session, command: UpstreamCommand) -> Result<Exit> {
    let engine = session.engine().await?;
    match command {
        UpstreamCommand::List(_) => {
            let views = engine.upstream_views().await?;
            let rows: Vec<Listed> = views.into_iter().map(Listed::from).collect();
            session.printer.rows(&rows)?;
        }
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
