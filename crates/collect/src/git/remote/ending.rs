//! What a remote's silence means for a run, and for everybody else who would ask the same host.

use std::time::Duration;

use db::Timestamp;
use engine::{Ending, Grant, Outcome, Run, RunError};
use serde::Serialize;

use super::{RemoteError, Retry};

/// Silence that is over so soon is waited for; longer ones are the engine's to wait for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a server is left alone that limits requests and does not say for how long.
const UNTOLD: Duration = Duration::from_mins(1);

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
        match self {
            Self::NotYet { until, .. } => return Some(*until),
            Self::Limited { retry: None, .. } => return Some(now.plus(UNTOLD)),
            _ => {}
        }
        self.retry().map(|retry| match retry {
            Retry::After(span) => now.plus(*span),
            // A time that has just passed on our clock must not bring us back at once.
            Retry::At(time) => Timestamp::from(*time).max(now.plus(Duration::from_secs(1))),
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
                | Self::NotYet { .. }
                | Self::Busy { .. }
                | Self::Directory { .. }
                | Self::Git(_)
        )
    }
}

/// Asks the run's upstream a question by git as every question over HTTP is asked: not while it
/// wants silence, is paused or is left alone, and with word to the breaker of how it went.
pub async fn ask<T>(
    run: &Run,
    question: impl Future<Output = Result<T, RemoteError>>,
) -> Result<Result<T, RemoteError>, RunError> {
    if let Err(not_yet) = leave(run).await? {
        return Ok(Err(not_yet));
    }
    let asked = question.await;
    account(run, &asked).await;
    Ok(asked)
}

async fn leave(run: &Run) -> Result<Result<(), RemoteError>, RunError> {
    let name = run.upstream();
    if name.is_empty() {
        return Ok(Ok(()));
    }
    let mut patience = PATIENCE;
    loop {
        let (until, why) = match run.upstreams().may_ask(name).await? {
            Grant::Go { .. } => return Ok(Ok(())),
            Grant::NotBefore { at, why } => (at, why),
        };
        let wait = until
            .since(run.clock().now())
            .max(Duration::from_millis(50));
        let Some(rest) = patience.checked_sub(wait) else {
            return Ok(Err(RemoteError::NotYet { until, why }));
        };
        patience = rest;
        tokio::time::sleep(run.clock().real(wait)).await;
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
            if error.is_own() {
                return;
            }
            let why = error.to_string();
            if let Some(until) = error.retry_at(run.clock().now()) {
                upstreams.hold(name, None, until, &why).await;
            }
            match error {
                _ if error.is_outage() => upstreams.failed(name, &why).await,
                RemoteError::Limited { .. } | RemoteError::Unauthorized { .. } => {}
                _ => upstreams.succeeded(name).await,
            }
        }
    }
}
