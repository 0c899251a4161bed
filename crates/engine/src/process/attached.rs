//! Subprocesses that never outlive their parent: git, scanner workers.
//!
//! A process that is killed runs no destructors, so the kernel or somebody else
//! must end its children. Linux can: a process may ask for a signal when its
//! parent dies. Three traps lie there. "Parent" means the *thread* that forked,
//! so a child of a pooled thread dies when that thread is retired: all are
//! started by one thread that lives as long as the process. A parent that dies
//! before the child has asked is not noticed: the child compares its parent's
//! pid after asking. And grandchildren inherit nothing: between parent and
//! child stands a *keeper*, a small shell, that ends the whole group.
//!
//! Asking for the signal takes code between fork and exec, which safe Rust does
//! not offer; `setpriv` of util-linux does it instead. Where that is not to be
//! had, the keeper looks once a second whether the parent is still there.

use std::{
    ffi::OsStr,
    io,
    ops::{Deref, DerefMut},
    process::Stdio,
    sync::{OnceLock, mpsc},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

/// Run as `setpriv --pdeathsig TERM sh -c KEEPER sh PARENT COMMAND ARGUMENT…` in a
/// group of its own. It lets go of the child's pipes, so that both ends see
/// them closed in time, and ends with the child's status.
const KEEPER: &str = r#"
parent=$1
shift
trap 'kill -KILL 0' TERM
[ "$PPID" = "$parent" ] || exit 125
exec 3<&0
setpriv --pdeathsig KILL "$@" <&3 3<&- &
child=$!
exec </dev/null >/dev/null 2>&1 3<&-
wait "$child"
"#;

/// The same without `setpriv`.
const WATCHING_KEEPER: &str = r#"
parent=$1
shift
[ "$PPID" = "$parent" ] || exit 125
exec 3<&0
( while kill -0 "$parent"; do sleep 1; done; kill -KILL 0 ) </dev/null >/dev/null 2>&1 3<&- &
watch=$!
"$@" <&3 3<&- &
child=$!
exec </dev/null >/dev/null 2>&1 3<&-
wait "$child"
status=$?
kill -KILL "$watch"
exit "$status"
"#;

/// A command that will be attached to this process.
#[derive(Debug)]
pub struct Attachment(Command);

impl Attachment {
    /// To run `program`. Arguments, environment and pipes are added to
    /// [`Attachment::command`]; it reads nothing unless told.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        if has_setpriv() {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "TERM", "sh", "-c", KEEPER]);
            Self::kept(command, program.as_ref())
        } else {
            Self::watched(program)
        }
    }

    /// As on a system without a signal for the parent's death.
    #[doc(hidden)]
    pub fn watched(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", WATCHING_KEEPER]);
        Self::kept(command, program.as_ref())
    }

    fn kept(mut command: Command, program: &OsStr) -> Self {
        command
            .args(["sh", &std::process::id().to_string()])
            .arg(program)
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        Self(command)
    }

    /// The command, to be completed.
    pub fn command(&mut self) -> &mut Command {
        &mut self.0
    }

    /// Starts it. Must be called within a tokio runtime, on any thread.
    pub async fn spawn(self) -> io::Result<Attached> {
        let (answer, answered) = oneshot::channel();
        let job = Job {
            command: self.0,
            runtime: Handle::current(),
            answer,
        };
        let gone = || io::Error::other("the thread that starts subprocesses is gone");
        spawner()?.send(job).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// A subprocess that is ended, with all it has started, when this is dropped or
/// when our process ends, however it ends.
#[derive(Debug)]
pub struct Attached(Child);

impl Deref for Attached {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Attached {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // As long as nobody has fetched its status, its pid is the group's and nobody else's.
        let leader = self.0.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

struct Job {
    command: Command,
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Attached>>,
}

/// The one thread that starts them, for as long as the process lives.
fn spawner() -> io::Result<mpsc::Sender<Job>> {
    static SPAWNER: OnceLock<Result<mpsc::Sender<Job>, io::ErrorKind>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for mut job in queue {
                    let entered = job.runtime.enter();
                    let started = job.command.spawn().map(Attached);
                    drop(entered);
                    // Whoever no longer waits for it drops it, which ends it.
                    let _ = job.answer.send(started);
                }
            })
            .map_err(|error| error.kind())?;
        Ok(jobs)
    });
    spawner.clone().map_err(io::Error::from)
}

fn has_setpriv() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        std::process::Command::new("setpriv")
            .args(["--pdeathsig", "keep", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}
