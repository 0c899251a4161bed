//! How a run can end.

use std::{error::Error as StdError, time::Duration};

use db::{DbError, Timestamp, Transact};

use crate::Enqueue;

/// What a run says of itself when it ends without an error.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The whole answer is there.
    Done,
    /// Some of the answer is missing (a capped list, a truncated tree); what came is kept.
    Partial {
        /// What is missing.
        why: String,
        /// When to ask again, if the other side said so.
        retry_at: Option<Timestamp>,
    },
    /// The other side said when to come back. No strike.
    Retry {
        /// Not before.
        at: Timestamp,
        /// What it said.
        why: String,
    },
    /// The subject is no longer there. That is knowledge, not failure.
    Gone {
        /// How we know.
        why: String,
    },
    /// Other units must end first; it runs again when they have.
    Wait {
        /// Which.
        requirements: Vec<Requirement>,
    },
}

/// "This unit waits for that one."
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The other unit; it is enqueued if it is not there.
    pub unit: Enqueue,
    /// Hard: it must succeed. Soft: it must end.
    pub hard: bool,
    /// A success before this does not count.
    pub since: Option<Timestamp>,
    /// After this the requirement has failed.
    pub deadline: Option<Timestamp>,
}

impl Requirement {
    /// The unit must succeed.
    pub fn hard(unit: Enqueue) -> Self {
        Self {
            unit,
            hard: true,
            since: None,
            deadline: None,
        }
    }

    /// The unit must end, well or not.
    pub fn soft(unit: Enqueue) -> Self {
        Self {
            hard: false,
            ..Self::hard(unit)
        }
    }

    /// A success before `since` does not count.
    pub fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }

    /// Fails after `deadline`.
    pub fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// An error of any sort, on its way to being shown.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// How a run can end badly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The fault is this unit's: a strike.
    #[error(transparent)]
    Unit(BoxError),
    /// The upstream failed us: a strike only if it served others meanwhile.
    #[error(transparent)]
    Upstream(BoxError),
    /// Somebody else has the unit now, or it was cancelled, or the process could not
    /// say for too long that it lives: nothing may be written. Should the unit turn
    /// out to be ours still, it goes back as it was.
    #[error("the lease on the unit is lost")]
    LeaseLost,
    /// The process is shutting down: the unit goes back as it was.
    #[error("interrupted by shutdown")]
    Interrupted,
    /// Our own database: the unit goes back and is tried again shortly. No strike.
    #[error("the database failed during the run")]
    Database(#[source] DbError),
}

impl RunError {
    /// The fault is this unit's.
    pub fn unit(error: impl Into<BoxError>) -> Self {
        Self::Unit(error.into())
    }

    /// The fault is the upstream's, as far as one request can tell.
    pub fn upstream(error: impl Into<BoxError>) -> Self {
        Self::Upstream(error.into())
    }
}

/// A refused write is the unit's fault; everything else about the database is not.
impl From<DbError> for RunError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Constraint(_) | DbError::Statement(_) | DbError::Value { .. } => {
                Self::Unit(Box::new(error))
            }
            other => Self::Database(other),
        }
    }
}

impl Transact for RunError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_conflict())
    }
}

/// The whole chain of an error in one line, for the unit's page.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    // Errors quote what the other side sent: bound them here, once.
    if text.len() > 4000 {
        let cut = text.floor_char_boundary(4000);
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// The square law: 120 s, 8 min, 18 min, … 200 min.
pub(crate) fn backoff(count: i64) -> Duration {
    let count = u64::try_from(count.max(1)).unwrap_or(1).min(1_000);
    Duration::from_secs(120 * count * count)
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("the run panicked: {text}")
}
