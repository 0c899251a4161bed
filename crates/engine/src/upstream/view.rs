//! What stands against asking an upstream, as the rows said a moment ago.

use std::{collections::HashMap, sync::Arc, time::Duration};

use db::{Db, DbError, Row, Timestamp, sql};

use super::{Upstreams, ledger::Ledger};

/// A view is believed for so long, unless a signal comes. Requests take about as
/// long, so that most cost no statement; and a process without signals (SQLite
/// knows none between processes) hears of silence that was asked for almost at once.
const HOLDS: Duration = Duration::from_millis(200);
/// While it is paused by hand, or somebody probes, nobody knows until when.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct View {
    /// Monotonic time of the reading.
    pub read: Duration,
    /// When it was begun, in the order of this process's steps.
    pub begun: u64,
    /// The signals heard before it.
    signals: u64,
    pub open_until: Option<Timestamp>,
    pub last_error: Option<String>,
    pub held: Option<Hold>,
    /// Paused by hand, for this reason.
    pub paused: Option<String>,
    pub budgets: HashMap<String, BudgetView>,
}

/// Silence that a service has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub until: Timestamp,
    pub why: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BudgetView {
    pub ledger: Ledger,
    pub held: Option<Hold>,
    /// Whether our slice is still in the books.
    pub ours: bool,
    pub others: i64,
    /// No other process has leased from it within a minute.
    pub alone: bool,
}

impl Upstreams {
    /// The view of an upstream, read anew if it is too old.
    pub(super) async fn view(&self, upstream: &str) -> Result<Arc<View>, DbError> {
        let known = self.memory().views.get(upstream).cloned();
        if let Some(view) = known {
            let age = self.shared.clock.monotonic().saturating_sub(view.read);
            if age < HOLDS && view.signals == signals(&self.shared.db) {
                return Ok(view);
            }
        }
        self.fresh_view(upstream).await
    }

    pub(super) async fn fresh_view(&self, upstream: &str) -> Result<Arc<View>, DbError> {
        let view = Arc::new(self.read_view(upstream).await?);
        let mut memory = self.memory();
        memory.views.insert(upstream.to_owned(), view.clone());
        Ok(view)
    }

    async fn read_view(&self, upstream: &str) -> Result<View, DbError> {
        let (db, clock) = (&self.shared.db, &self.shared.clock);
        let mut view = View {
            read: clock.monotonic(),
            begun: self.memory().step(),
            signals: signals(db),
            ..View::default()
        };
        let row = db
            .fetch_optional(sql!("SELECT * FROM upstream WHERE name = $1", upstream))
            .await?;
        if let Some(row) = row {
            view.open_until = row.get("open_until")?;
            view.last_error = row.get("last_error")?;
            view.held = hold(&row)?;
            if row.get::<Option<Timestamp>>("paused_at")?.is_some() {
                let why: Option<String> = row.get("paused_why")?;
                view.paused = Some(why.unwrap_or_else(|| "by hand".to_owned()));
            }
        }
        let now = clock.now();
        let rows = db
            .fetch_all(sql!(
                "SELECT * FROM budget WHERE upstream = $1 ORDER BY token",
                upstream
            ))
            .await?;
        for row in &rows {
            let budget = BudgetView {
                ledger: ledger(row)?,
                held: hold(row)?,
                alone: true,
                ..BudgetView::default()
            };
            view.budgets.insert(row.get("token")?, budget);
        }
        if view.budgets.is_empty() {
            return Ok(view);
        }
        let slices = db
            .fetch_all(sql!(
                "SELECT token, holder, requests, expires_at FROM budget_slice WHERE upstream = $1",
                upstream
            ))
            .await?;
        for row in &slices {
            let token: String = row.get("token")?;
            let Some(budget) = view.budgets.get_mut(&token) else {
                continue;
            };
            let expires_at: Timestamp = row.get("expires_at")?;
            let requests: i64 = row.get("requests")?;
            if row.get::<String>("holder")? == self.shared.holder {
                budget.ours = requests > 0;
            } else if expires_at > now {
                budget.alone = false;
                budget.others += requests;
            }
        }
        Ok(view)
    }
}

pub(crate) fn ledger(row: &Row) -> Result<Ledger, DbError> {
    Ok(Ledger {
        quota: row.get("quota")?,
        remaining: row.get("remaining")?,
        reset_at: row.get("reset_at")?,
        span: row.get("span")?,
        announced: row.get("announced")?,
    })
}

pub(crate) fn hold(row: &Row) -> Result<Option<Hold>, DbError> {
    let until: Option<Timestamp> = row.get("held_until")?;
    let why: Option<String> = row.get("held_why")?;
    Ok(until.map(|until| Hold {
        until,
        why: why.unwrap_or_default(),
    }))
}

fn signals(db: &Db) -> u64 {
    *db.wakes().subscribe().borrow()
}
