//! Subprocesses, of two sorts.
//!
//! **Detached** ones are worth more than the process that started them: a scan
//! of a whole tree may take hours, and a restart must not throw it away. They
//! run in a session of their own, are written down in the table `subprocess`,
//! and are found again by [`recovery`]. **Attached** ones ([`attached`]) die
//! with their parent.
//!
//! The life of a detached subprocess, and why nothing of it gets lost:
//!
//! 1. *Intent.* Its directory is made, its log is opened and locked, and a row
//!    without a pid is committed under the run's fence.
//! 2. *Start.* A small shell script runs it ([`place`]): notes its own pid in a
//!    file, runs the command, moves a good output to its final name, and leaves
//!    the exit status. The lock on the log goes along, so it is held exactly as
//!    long as anything of the subprocess lives, and by nobody once it does not.
//! 3. *Record.* The row gets the pid and its start time.
//!
//! Whoever dies between two of these leaves something that [`recovery`] can
//! judge: a row without a pid is completed from the file, or waits for the lock.
//!
//! | found by its host | what it is | what is done |
//! |---|---|---|
//! | exit status accepted, output in its place | finished, before or after a reboot | the unit's handler takes the output, under a new attempt |
//! | log locked, or same boot, pid and start time | running | adopted: a new attempt watches it |
//! | anything else | lost | the row is cleared, the unit runs again |
//! | finished or lost, and the unit is done, cancelled or has succeeded since | unwanted | cleared |
//! | running, and the same | unwanted | ended, then cleared |
//!
//! A pid with another start time is somebody else's: it is neither waited for
//! nor harmed.

mod attached;
mod hold;
mod host;
mod place;
mod record;
mod recovery;
mod spawn;
mod verdict;
mod view;
mod watch;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use attached::{Attached, Attachment};
pub use host::{HostFacts, ThisHost};
pub use place::Place;
pub use spawn::{Ended, Recovered, Subprocess};
pub use view::SubprocessView;
pub use watch::Detached;

pub(crate) use hold::keep_for_their_hosts;

use crate::finish::Attempt;

/// How a worker deals with detached subprocesses.
#[derive(Clone, Debug)]
pub struct Subprocesses {
    /// What is known of the machine. Tests lie here.
    pub host: Arc<dyn HostFacts>,
    /// How long a unit stays with a host that has a subprocess for it and no
    /// worker process. A host that is there renews it.
    pub grace: Duration,
    /// Between two looks at a subprocess that is not our child.
    pub poll: Duration,
}

impl Default for Subprocesses {
    fn default() -> Self {
        Self {
            host: Arc::new(ThisHost),
            grace: Duration::from_mins(30),
            poll: Duration::from_secs(5),
        }
    }
}

/// What one worker process knows of its host's subprocesses.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub settings: Subprocesses,
    machine: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Runs in our hands that have a record: their end settles it.
    recorded: HashSet<Attempt>,
    /// Units that came back to this host and wait for a slot.
    returning: Vec<recovery::Returning>,
}

impl Recorder {
    pub(crate) fn new(settings: Subprocesses) -> Self {
        Self {
            machine: settings.host.machine(),
            settings,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
