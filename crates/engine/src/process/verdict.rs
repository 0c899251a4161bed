//! What became of a subprocess, judged by what is left of it on its own host.

use rustix::process::{Pid, Signal, kill_process_group};

use super::{host::HostFacts, record::Record};

/// What became of a subprocess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Finished,
    Running,
    Lost,
}

impl Record {
    /// Judges by what is on this machine. Only the record's own host can.
    pub(super) fn judge(&self, facts: &dyn HostFacts) -> Verdict {
        // Looked at in this order: one that ends in between leaves its status.
        let alive = self.place().is_locked() || self.ours(facts).is_some();
        match self.place().status() {
            Some(status) if self.accepts(status) && self.place().has_output() => Verdict::Finished,
            None if alive => Verdict::Running,
            Some(_) | None => Verdict::Lost,
        }
    }

    /// The pid, if a process that is alive under it is certainly this one.
    fn ours(&self, facts: &dyn HostFacts) -> Option<u32> {
        let (pid, started) = match (self.pid, &self.started) {
            (Some(pid), Some(started)) => (pid, Some(started.clone())),
            // Nobody lived to write it down, or it was over too soon.
            _ => self.place().pid()?,
        };
        // Where a boot has no name, pid and start time must do.
        let same_boot = match (&self.boot, facts.boot()) {
            (Some(then), Some(now)) => *then == now,
            _ => true,
        };
        (same_boot && started? == facts.started(pid)?).then_some(pid)
    }

    /// Ends what is left of it, if that is certainly ours. The leader was seen
    /// alive a moment ago, so its number is still the group's.
    pub(super) fn end(&self, facts: &dyn HostFacts) {
        let leader = self
            .ours(facts)
            .and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let Some(leader) = leader else {
            // Something holds its log and tells no name: it is left to end by itself.
            return;
        };
        let (unit, name, pid) = (self.unit, &self.name, leader.as_raw_nonzero());
        match kill_process_group(leader, Signal::KILL) {
            Ok(()) => {
                count("ended");
                tracing::info!(unit, name, pid, "ended a subprocess that nobody waits for");
            }
            Err(error) => tracing::warn!(unit, name, pid, %error, "could not end a subprocess"),
        }
    }
}

/// Files and process tables are looked at where that harms nobody.
pub(super) async fn blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(look).await {
        Ok(seen) => seen,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is being dropped, and we with it.
            Err(_) => std::future::pending().await,
        },
    }
}

pub(super) fn count(event: &'static str) {
    metrics::counter!("gleaner_subprocesses_total", "event" => event).increment(1);
}
