//! Upstreams with their breakers and budgets, for people.

use std::collections::HashMap;

use db::{DbError, Row, Timestamp, sql};
use serde::Serialize;

use crate::{
    Engine,
    upstream::{Hold, Ledger, hold, ledger},
};

/// An upstream as the database knows it.
#[derive(Clone, Debug, Serialize)]
pub struct UpstreamView {
    /// Its name.
    pub upstream: String,
    /// closed, open, half-open (its pause is over, a probe decides) or paused.
    pub breaker: &'static str,
    /// Until when nobody asks it; past, when a probe decides.
    pub open_until: Option<Timestamp>,
    /// How often in a row it opened.
    pub openings: i64,
    /// Failures in a row.
    pub failures: i64,
    /// The first of those.
    pub failing_since: Option<Timestamp>,
    /// When it last answered.
    pub succeeded_at: Option<Timestamp>,
    /// When it last failed.
    pub failed_at: Option<Timestamp>,
    /// How.
    pub last_error: Option<String>,
    /// Until when it wants silence.
    pub held_until: Option<Timestamp>,
    /// What it said.
    pub held_why: Option<String>,
    /// Until when no token has anything left.
    pub spent_until: Option<Timestamp>,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
    /// Why.
    pub paused_why: Option<String>,
    /// What it allows, by token.
    pub budgets: Vec<BudgetView>,
}

/// What an upstream allows one token.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetView {
    /// The name of the token; none: anonymous.
    pub token: Option<String>,
    /// Requests in a whole window.
    pub limit: Option<i64>,
    /// What is left of this one and not leased to a process, as far as is known.
    pub remaining: Option<i64>,
    /// When the next window begins.
    pub reset_at: Option<Timestamp>,
    /// Whether the service said so; else it is configured or guessed.
    pub announced: bool,
    /// Until when the service wants silence for this token.
    pub held_until: Option<Timestamp>,
    /// What it said.
    pub held_why: Option<String>,
}

/// One upstream; none if it was never asked.
pub(crate) async fn upstream_view(
    engine: &Engine,
    name: &str,
) -> Result<Option<UpstreamView>, DbError> {
    Ok(views(engine, Some(name)).await?.pop())
}

/// All upstreams that have a row anywhere, or the one of this name.
pub(super) async fn views(
    engine: &Engine,
    name: Option<&str>,
) -> Result<Vec<UpstreamView>, DbError> {
    let now = engine.clock.now();
    let mut budgets = budgets(engine, name).await?;
    let rows = engine
        .db
        .fetch_all(sql!(
            "SELECT names.name AS name, succeeded_at, failed_at, failures, failing_since, last_error,
                open_until, openings, held_until, held_why, paused_at, paused_why FROM (
                SELECT name FROM upstream UNION SELECT upstream FROM budget
             ) AS names LEFT JOIN upstream ON upstream.name = names.name
             WHERE $1 IS NULL OR names.name = $1 ORDER BY names.name",
            name
        ))
        .await?;
    rows.iter()
        .map(|row| view(row, &mut budgets, now))
        .collect()
}

fn view(
    row: &Row,
    budgets: &mut HashMap<String, Vec<Budget>>,
    now: Timestamp,
) -> Result<UpstreamView, DbError> {
    let upstream: String = row.get("name")?;
    let open_until: Option<Timestamp> = row.get("open_until")?;
    let paused_at: Option<Timestamp> = row.get("paused_at")?;
    let held_until = row
        .get::<Option<Timestamp>>("held_until")?
        .filter(|until| *until > now);
    let budgets = budgets.remove(&upstream).unwrap_or_default();
    Ok(UpstreamView {
        breaker: match (paused_at, open_until) {
            (Some(_), _) => "paused",
            (None, Some(until)) if until > now => "open",
            (None, Some(_)) => "half-open",
            (None, None) => "closed",
        },
        open_until,
        openings: row.get::<Option<i64>>("openings")?.unwrap_or(0),
        failures: row.get::<Option<i64>>("failures")?.unwrap_or(0),
        failing_since: row.get("failing_since")?,
        succeeded_at: row.get("succeeded_at")?,
        failed_at: row.get("failed_at")?,
        last_error: row.get("last_error")?,
        held_until,
        held_why: if held_until.is_some() {
            row.get("held_why")?
        } else {
            None
        },
        spent_until: spent_until(&budgets, now),
        paused_at,
        paused_why: row.get("paused_why")?,
        budgets: budgets.iter().map(|budget| budget.view(now)).collect(),
        upstream,
    })
}

/// One row of `budget`.
struct Budget {
    token: String,
    ledger: Ledger,
    held: Option<Hold>,
    /// Only the reserve is left, if that.
    spent: bool,
}

impl Budget {
    fn hold(&self, now: Timestamp) -> Option<&Hold> {
        self.held.as_ref().filter(|held| held.until > now)
    }

    fn view(&self, now: Timestamp) -> BudgetView {
        let held = self.hold(now);
        BudgetView {
            token: (!self.token.is_empty()).then(|| self.token.clone()),
            limit: self.ledger.quota,
            remaining: self.ledger.remaining,
            reset_at: self.ledger.reset_at,
            announced: self.ledger.announced,
            held_until: held.map(|held| held.until),
            held_why: held.map(|held| held.why.clone()),
        }
    }
}

/// When the first token has something left again, if none has now.
fn spent_until(budgets: &[Budget], now: Timestamp) -> Option<Timestamp> {
    let until = |budget: &Budget| {
        let spent = budget.spent && !budget.ledger.is_over(now);
        let reset_at = budget.ledger.reset_at.filter(|_| spent);
        budget.hold(now).map(|held| held.until).max(reset_at)
    };
    let all: Option<Vec<Timestamp>> = budgets.iter().map(until).collect();
    all?.into_iter().min()
}

async fn budgets(
    engine: &Engine,
    name: Option<&str>,
) -> Result<HashMap<String, Vec<Budget>>, DbError> {
    let rows = engine
        .db
        .fetch_all(sql!(
            "SELECT * FROM budget WHERE $1 IS NULL OR upstream = $1 ORDER BY upstream, token",
            name
        ))
        .await?;
    let mut budgets: HashMap<String, Vec<Budget>> = HashMap::new();
    for row in &rows {
        let upstream: String = row.get("upstream")?;
        let ledger = ledger(row)?;
        let reserve = engine.upstreams().policy(&upstream).reserve;
        let budget = Budget {
            token: row.get("token")?,
            spent: ledger.available(reserve, false) == Some(0),
            ledger,
            held: hold(row)?,
        };
        budgets.entry(upstream).or_default().push(budget);
    }
    Ok(budgets)
}
