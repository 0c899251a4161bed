//! What is known of the remote services, shared by all processes.
//!
//! Two things stand between a unit and its upstream. The **breaker**
//! ([`breaker`]) says whether the service works at all: requests note how they
//! fared, ten failures in a row open it, one probe ([`probe`]) closes it. The
//! **budget** ([`budget`]) says how much may be asked, per token: it is leased
//! in slices, so that most requests cost no statement.
//!
//! Both are rows, so all processes agree. What one process remembers
//! ([`memory`]) only saves statements: it may be lost at any time. A view of
//! the rows ([`view`]) is believed for a fifth of a second, or until somebody
//! signals.
//!
//! Units of an upstream that must not be asked are not even claimed
//! ([`admission`]); [`Upstreams::take`] holds back those that run already.

pub(crate) mod admission;
mod breaker;
mod budget;
mod ledger;
mod memory;
mod pace;
mod policy;
pub(crate) mod probe;
mod take;
mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use db::{Clock, Db, DbError, Timestamp};

pub(crate) use breaker::last_successes;
pub(crate) use ledger::Ledger;
use memory::Memory;
pub use policy::UpstreamPolicy;
pub use probe::Probe;
pub(crate) use view::{Hold, hold, ledger};

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
    /// Tells the slices of this process from those of others.
    holder: String,
    memory: Mutex<Memory>,
    /// One writer of failures at a time: what gathers meanwhile is one write.
    noting: tokio::sync::Mutex<()>,
    /// One lease at a time: the others then live on its slice.
    leasing: tokio::sync::Mutex<()>,
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
                holder: random_name(),
                memory: Mutex::default(),
                noting: tokio::sync::Mutex::default(),
                leasing: tokio::sync::Mutex::default(),
            }),
            interactive: false,
        }
    }

    /// Sets the policy of one upstream in this process.
    pub fn set_policy(&self, upstream: &str, policy: UpstreamPolicy) {
        let mut memory = self.memory();
        memory.policies.insert(upstream.to_owned(), policy);
    }

    pub(crate) fn policy(&self, upstream: &str) -> UpstreamPolicy {
        self.memory().policy(upstream)
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
    pub async fn succeeded(&self, upstream: &str) {
        if upstream.is_empty() {
            return;
        }
        self.memory().spoke(upstream, self.shared.clock.now());
        self.note_success(upstream).await;
    }

    /// One request failed in a way that is the service's fault and may pass: a
    /// server error, a reset, a timeout, a wall. Best effort.
    pub async fn failed(&self, upstream: &str, why: &str) {
        if upstream.is_empty() {
            return;
        }
        self.memory().spoke(upstream, self.shared.clock.now());
        self.note_failure(upstream, why).await;
    }

    /// May a request be sent now, and with which token? `tokens` are names,
    /// never secrets; none means anonymous, with one budget for the upstream.
    pub async fn take(&self, upstream: &str, tokens: &[String]) -> Result<Grant, DbError> {
        self.take_one(upstream, tokens).await
    }

    /// May a request be sent now that no budget counts (git)? Pauses, silence that was asked for and
    /// an open breaker stand against it as against any other.
    pub async fn may_ask(&self, upstream: &str) -> Result<Grant, DbError> {
        self.uncounted(upstream).await
    }

    /// What the service said of a budget in its answer. Best effort.
    pub async fn announce(&self, upstream: &str, token: Option<&str>, said: Announced) {
        let token = token.unwrap_or_default();
        if let Err(error) = self.hear(upstream, token, &said).await {
            tracing::warn!(upstream, %error, "could not write down what is left of a budget");
        }
    }

    /// The service asked for silence until then (Retry-After, a secondary
    /// limit): for one token, or for all. Best effort.
    pub async fn hold(&self, upstream: &str, token: Option<&str>, until: Timestamp, why: &str) {
        let held = self.hold_until(upstream, token, until, why).await;
        if let Err(error) = held {
            tracing::warn!(upstream, %error, "could not write down that a service wants silence");
        }
    }

    /// Gives back what was leased and not used. Called at shutdown; until then
    /// [`crate::Worker`] gives back what was not used within its lease.
    pub async fn give_back(&self) {
        self.return_slices(true).await;
    }

    /// Gives back what was not used within its lease.
    pub(crate) async fn give_back_expired(&self) {
        self.return_slices(false).await;
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.shared
            .memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enough to tell processes apart, on any number of hosts.
fn random_name() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The keys of a new hasher are random.
    let number = std::hash::RandomState::new().build_hasher().finish();
    format!("{number:016x}")
}

/// How much wall time passes in `real` time; they differ in the simulated world.
fn wall(clock: &Clock, real: std::time::Duration) -> std::time::Duration {
    let second = std::time::Duration::from_secs(1);
    real.mul_f64(second.as_secs_f64() / clock.real(second).as_secs_f64().max(1e-9))
}
