//! Why there is no answer, and what follows from it for a run.

use db::{DbError, Timestamp};
use engine::{Ending, Outcome, Run, RunError};

/// No answer, or none that can be trusted.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Unknown {
    /// What sort of failure it is.
    pub class: Class,
    /// When to ask again, if the other side or a budget said so.
    pub retry_at: Option<Timestamp>,
    /// The status, where one came.
    pub status: Option<u16>,
    /// For people; without secrets.
    message: String,
    #[source]
    database: Option<DbError>,
}

/// Sorts of failure, one for each thing that can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// A budget is spent or a limit was announced: come back when told.
    Limited,
    /// 401, 403: a token is missing, wrong, or not allowed to see this.
    Refused,
    /// Nobody there, 5xx, a lost connection, a truncated body, too slow: try again.
    Transient,
    /// Accepted, but not ready (202): try again.
    Pending,
    /// A page for people stands where the answer should be.
    Wall,
    /// More than is taken: body, headers, or decompression.
    TooLarge,
    /// Not in the form it claims to have.
    Undecodable,
    /// A redirect that is not followed: a loop, another scheme.
    Redirect,
    /// A private, loopback or otherwise forbidden address.
    Address,
    /// The service did not like the question (other 4xx).
    Rejected,
    /// No request could be made of it: a bad path, a name that is no host.
    Settings,
    /// The run was told to stop.
    Interrupted,
    /// Our own database, where the budgets are.
    Database,
}

impl Class {
    /// The word for logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::Refused => "refused",
            Self::Transient => "transient",
            Self::Pending => "pending",
            Self::Wall => "wall",
            Self::TooLarge => "too large",
            Self::Undecodable => "undecodable",
            Self::Redirect => "redirect",
            Self::Address => "address",
            Self::Rejected => "rejected",
            Self::Settings => "settings",
            Self::Interrupted => "interrupted",
            Self::Database => "database",
        }
    }
}

impl Unknown {
    /// 451: there is an answer, and the law forbids it.
    pub(crate) fn is_for_legal_reasons(&self) -> bool {
        self.status == Some(451)
    }

    pub(super) fn new(class: Class, message: String) -> Self {
        Self {
            class,
            retry_at: None,
            status: None,
            message,
            database: None,
        }
    }

    /// Answers that came whole and cannot both be true: none of them is believed.
    pub fn contradiction(message: String) -> Self {
        Self::new(Class::Undecodable, message)
    }

    pub(super) fn database(message: String, error: DbError) -> Self {
        Self {
            database: Some(error),
            ..Self::new(Class::Database, message)
        }
    }

    /// How a run ends that cannot go on without this answer. When the other side said when to come
    /// back, that is its outcome; otherwise it is an error, and the upstream's fault where it may be.
    pub fn end(self, run: &Run, report: impl serde::Serialize) -> Result<Ending, RunError> {
        match self.retry_at {
            Some(at) => Ok(run.end(
                Outcome::Retry {
                    at,
                    why: self.message,
                },
                report,
            )),
            None => Err(self.into()),
        }
    }
}

impl From<Unknown> for RunError {
    fn from(unknown: Unknown) -> Self {
        match unknown.class {
            Class::Interrupted => Self::Interrupted,
            Class::Database => match unknown.database {
                Some(error) => error.into(),
                None => Self::upstream(unknown),
            },
            // A token that nobody accepts is not this unit's fault; what this unit alone may not
            // see is, and so is a question that the service does not understand.
            Class::Refused if unknown.status != Some(401) => Self::unit(unknown),
            Class::TooLarge
            | Class::Redirect
            | Class::Address
            | Class::Rejected
            | Class::Settings => Self::unit(unknown),
            Class::Limited
            | Class::Refused
            | Class::Transient
            | Class::Pending
            | Class::Wall
            | Class::Undecodable => Self::upstream(unknown),
        }
    }
}
