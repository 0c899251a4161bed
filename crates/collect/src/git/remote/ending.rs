//! What a remote's silence means for a run, and for everybody else who would ask the same host.

use db::Timestamp;
use engine::{Ending, Outcome, Run, RunError};
use serde::Serialize;

use super::{RemoteError, Retry};

impl RemoteError {
    /// How a run ends that cannot go on without this answer. When the server said when to come
    /// back, that is its outcome; otherwise it is an error, and the upstream's fault where it may
    /// be.
    pub fn end(self, run: &Run, report: impl Serialize) -> Result<Ending, RunError> {
        if let Some(at) = self.retry_at(run.clock().now()) {
            let why = self.to_string();
            return Ok(run.end(Outcome::Retry { at, why }, report));
        }
        Err(match self {
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::BadUrl { .. }
            | Self::PrivateAddress { .. }
            | Self::Moved { .. }
            | Self::TooMuch { .. }
            | Self::Directory { .. }
            | Self::Git(_) => RunError::unit(self),
            other => RunError::upstream(other),
        })
    }

    /// When the server wants to be asked again, where it said so.
    fn retry_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.retry().map(|retry| match retry {
            Retry::After(span) => now.plus(*span),
            Retry::At(time) => Timestamp::from(*time),
        })
    }

    /// Whether the server does not work; a refusal is an answer.
    fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::ServerFailed { .. }
                | Self::Wall { .. }
                | Self::Unreachable { .. }
                | Self::Silent { .. }
                | Self::TimedOut { .. }
                | Self::Damaged { .. }
        )
    }

    /// Whether nobody else was asked: the fault is this machine's or the address's.
    fn is_own(&self) -> bool {
        matches!(
            self,
            Self::BadUrl { .. }
                | Self::PrivateAddress { .. }
                | Self::Busy { .. }
                | Self::Directory { .. }
                | Self::Git(_)
        )
    }
}

/// Tells the breaker of the run's upstream how a question went, as every question over HTTP does:
/// an outage that git meets stops the others too, and what git is served counts as served.
pub async fn account<T>(run: &Run, asked: &Result<T, RemoteError>) {
    let name = run.upstream();
    if name.is_empty() {
        return;
    }
    let upstreams = run.upstreams();
    match asked {
        Ok(_) => upstreams.succeeded(name).await,
        Err(error) => {
            let why = error.to_string();
            if let Some(until) = error.retry_at(run.clock().now()) {
                upstreams.hold(name, None, until, &why).await;
            }
            match error {
                _ if error.is_outage() => upstreams.failed(name, &why).await,
                RemoteError::Limited { .. } | RemoteError::Unauthorized { .. } => {}
                _ if error.is_own() => {}
                _ => upstreams.succeeded(name).await,
            }
        }
    }
}
