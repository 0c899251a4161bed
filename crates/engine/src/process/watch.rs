//! Waiting for a detached subprocess, as its parent or not.

use std::{sync::Arc, time::Duration};

use db::Clock;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::{
    Place, Recorder,
    record::Record,
    spawn::{Ended, ended},
    verdict::{Verdict, blocking},
};
use crate::{Run, RunError};

/// A detached subprocess that runs. Dropping this leaves it running and recorded.
#[derive(Debug)]
pub struct Detached {
    record: Record,
    /// None for one that an earlier attempt has started: its parent is another, or gone.
    child: Option<Child>,
    recorder: Arc<Recorder>,
    clock: Clock,
    cancel: CancellationToken,
    max_run: Duration,
}

impl Detached {
    pub(super) fn child(run: &Run, record: Record, child: Child) -> Self {
        Self {
            child: Some(child),
            ..Self::adopted(run, record)
        }
    }

    pub(super) fn adopted(run: &Run, record: Record) -> Self {
        Self {
            record,
            child: None,
            recorder: run.recorder.clone(),
            clock: run.clock.clone(),
            cancel: run.cancel.clone(),
            max_run: run.allowed,
        }
    }

    /// Its pid; none in the moment before it has one.
    pub fn pid(&self) -> Option<u32> {
        self.record.pid
    }

    /// Its directory.
    pub fn place(&self) -> Place {
        self.record.place()
    }

    /// Waits for its end. Its parent hears of it; others look now and then. An
    /// adopted one has no more time than it would have had without the restart.
    pub async fn ended(mut self) -> Result<Ended, RunError> {
        let recovered = self.child.is_none();
        loop {
            let (facts, record) = (self.recorder.settings.host.clone(), self.record.clone());
            let verdict = blocking(move || record.judge(&*facts)).await;
            if verdict != Verdict::Running {
                return Ok(ended(&self.record, verdict, recovered).await);
            }
            let age = self.clock.now().since(self.record.recorded_at);
            if self.clock.real(age) >= self.max_run {
                // The end of the run makes it unwanted, and so ends it.
                return Err(RunError::unit(format!(
                    "the subprocess {} ran longer than {:?}",
                    self.record.name, self.max_run
                )));
            }
            let hear = async {
                match &mut self.child {
                    Some(child) => drop(child.wait().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.cancel.cancelled() => return Err(RunError::Interrupted),
                () = hear => self.child = None,
                () = tokio::time::sleep(self.recorder.settings.poll) => {}
            }
        }
    }
}
