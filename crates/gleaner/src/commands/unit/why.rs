//! Why a unit is not running, in sentences.

use ::db::Timestamp;
use engine::{UnitId, Why};
use serde::Serialize;
use serde_json::Value;

use crate::printer::Row;

/// One reason why a unit is not running.
#[derive(Serialize)]
pub(in crate::commands) struct WhyNot {
    unit: UnitId,
    reason: String,
    /// When it ends by itself, if it does.
    until: Option<Timestamp>,
    pub(in crate::commands) text: String,
    /// The reason as the API has it.
    detail: Value,
}

impl Row for WhyNot {
    const COLUMNS: &'static [&'static str] = &["unit", "reason", "until", "text", "detail"];
    const TABLE: &'static [&'static str] = &["unit", "reason", "until", "text"];
}

/// A reason as a sentence.
pub(in crate::commands) fn explain(unit: UnitId, why: &Why) -> WhyNot {
    let mut until = None;
    let text = match why {
        Why::Running { worker } => match worker {
            Some(worker) => format!("it is running, in worker {worker}"),
            None => "it is running".to_owned(),
        },
        Why::Done => "it ended well and does not come back by itself".to_owned(),
        Why::Cancelled => "it was called off; `gleaner unit retry` brings it back".to_owned(),
        Why::Requirement { requirements, open } => {
            let names: Vec<String> = requirements
                .iter()
                .take(5)
                .map(|edge| format!("{}:{} ({})", edge.kind, edge.key, edge.child_state))
                .collect();
            let more = open - names.len() as i64;
            let tail = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("it waits for {}{tail}", names.join(", "))
        }
        Why::DueLater { due_at, rank } => {
            until = Some(*due_at);
            format!("{}; `gleaner unit run` does not wait for it", later(rank))
        }
        Why::Parked { error, returns_at } => {
            until = *returns_at;
            let error = error.as_deref().unwrap_or("an unknown error");
            format!("it was set aside after: {error}; `gleaner unit retry` gives it a fresh start")
        }
        Why::Subprocess {
            name,
            host,
            until: held_until,
            ..
        } => {
            until = Some(*held_until);
            format!("its subprocess {name} still runs on {host}, or has left its output there")
        }
        Why::PoolPaused { pool, why, .. } => match why {
            Some(why) => format!("the pool {pool} is paused: {why}"),
            None => format!("the pool {pool} is paused; `gleaner pool resume {pool}` starts it"),
        },
        Why::PoolFull {
            pool,
            running,
            ahead,
        } => format!("the pool {pool} runs {running} others, and {ahead} were due before it"),
        Why::NoWorker { kind } => format!("no worker process that is alive can run {kind}"),
        Why::BreakerOpen {
            upstream,
            until: open_until,
            error,
        } => {
            until = Some(*open_until);
            let error = error.as_deref().unwrap_or("too many failures");
            format!("{upstream} is not asked for now: {error}")
        }
        Why::UpstreamHeld {
            upstream,
            until: held_until,
            why,
        } => {
            until = Some(*held_until);
            format!("{upstream} wants silence: {why}")
        }
        Why::BudgetSpent {
            upstream,
            until: spent_until,
        } => {
            until = Some(*spent_until);
            format!("{upstream} allows no more for now: the budget is spent")
        }
        Why::UpstreamPaused { upstream, why } => match why {
            Some(why) => format!("{upstream} is paused: {why}"),
            None => format!("{upstream} is paused"),
        },
        other => format!("{other:?}"),
    };
    let detail = serde_json::to_value(why).unwrap_or(Value::Null);
    WhyNot {
        unit,
        reason: detail["reason"].as_str().unwrap_or("unknown").to_owned(),
        until,
        text,
        detail,
    }
}

/// Why a unit is due later, by its rank.
fn later(rank: &str) -> String {
    match rank {
        "cadence" => "it is complete, and its cadence has not passed".to_owned(),
        "partial" => "it comes back later for what was missing".to_owned(),
        "strike" => "it rests after a failure".to_owned(),
        _ => "its time has not come".to_owned(),
    }
}
