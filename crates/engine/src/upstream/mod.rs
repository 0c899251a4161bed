//! What is known of the remote services, shared by all processes.

mod notebook;
mod policy;
mod probe;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use db::{Clock, Db, DbError, Timestamp};

pub(crate) use notebook::{Notebook, blocked, last_successes};
pub use policy::UpstreamPolicy;
pub use probe::Probe;

/// How the remote services fare and what they allow. Shared by all parts of a
/// process and cheap to clone; [`crate::Engine::upstreams`] and
/// [`crate::Run::upstreams`] give it.
#[derive(Clone, Debug)]
pub struct Upstreams {
    shared: Arc<Shared>,
    /// May draw on the reserve: a person waits for the answer.
    interactive: bool,
}

#[derive(Debug)]
struct Shared {
    db: Db,
    clock: Clock,
    policies: Mutex<HashMap<String, UpstreamPolicy>>,
}

/// Whether a request may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Send one request.
    Go {
        /// With this of the tokens that were offered; none: anonymously.
        token: Option<usize>,
    },
    /// Send nothing before then.
    NotBefore {
        /// When to ask again.
        at: Timestamp,
        /// What stands against it, for people.
        why: String,
    },
}

/// What a service said of a budget in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Requests in a whole window.
    pub limit: Option<i64>,
    /// Requests that are left in this one.
    pub remaining: i64,
    /// When the next one begins.
    pub reset_at: Timestamp,
}

impl Upstreams {
    /// For a database that has the engine's part of the schema.
    pub fn new(db: Db, clock: Clock) -> Self {
        Self {
            shared: Arc::new(Shared {
                db,
                clock,
                policies: Mutex::default(),
            }),
            interactive: false,
        }
    }

    /// Sets the policy of one upstream in this process.
    pub fn set_policy(&self, upstream: &str, policy: UpstreamPolicy) {
        self.shared
            .policies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(upstream.to_owned(), policy);
    }

    /// The same, with the right to draw on the reserve: for requests that a
    /// person waits for. [`crate::Run::upstreams`] of a unit that was told to
    /// run now is one already.
    #[must_use]
    pub fn interactive(&self) -> Self {
        Self {
            interactive: true,
            ..self.clone()
        }
    }

    /// One request was answered in a way that shows that the service works; a
    /// plain "not found" does. Best effort: logs its own errors, writes seldom.
    #[expect(clippy::unused_async, reason = "skeleton")]
    pub async fn succeeded(&self, upstream: &str) {
        tracing::trace!(upstream, "answered");
    }

    /// One request failed in a way that is the service's fault and may pass: a
    /// server error, a reset, a timeout, a wall. Best effort.
    #[expect(clippy::unused_async, reason = "skeleton")]
    pub async fn failed(&self, upstream: &str, why: &str) {
        tracing::trace!(upstream, why, "failed");
    }

    /// May a request be sent now, and with which token? `tokens` are names,
    /// never secrets; none means anonymous, with one budget for the upstream.
    #[expect(clippy::unused_async, reason = "skeleton")]
    pub async fn take(&self, upstream: &str, tokens: &[String]) -> Result<Grant, DbError> {
        tracing::trace!(upstream, self.interactive, now = %self.shared.clock.now(), db = ?self.shared.db, "asked");
        Ok(Grant::Go {
            token: (!tokens.is_empty()).then_some(0),
        })
    }

    /// What the service said of a budget in its answer.
    #[expect(clippy::unused_async, reason = "skeleton")]
    pub async fn announce(&self, upstream: &str, token: Option<&str>, said: Announced) {
        tracing::trace!(upstream, token, ?said, "announced");
    }

    /// The service asked for silence until then (Retry-After, a secondary
    /// limit): for one token, or for all.
    #[expect(clippy::unused_async, reason = "skeleton")]
    pub async fn hold(&self, upstream: &str, token: Option<&str>, until: Timestamp, why: &str) {
        tracing::trace!(upstream, token, %until, why, "held");
    }
}
