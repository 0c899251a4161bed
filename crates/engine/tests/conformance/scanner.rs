//! A real subprocess that does what it is told, and a host that lies.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use engine::{
    Detached, HostFacts, Place, Run, RunError, Subprocess, Subprocesses, ThisHost, UnitId,
    steps::{Hand, Held},
};
use tempfile::TempDir;

use crate::drill::until;

pub(crate) const GRACE: Duration = Duration::from_mins(30);

/// A machine whose facts tests choose; what they do not choose is true.
#[derive(Debug)]
pub(crate) struct Lies {
    pub machine: &'static str,
    pub boot: Option<&'static str>,
    /// Start times by pid. `None`: there is no such process.
    pub started: Mutex<HashMap<u32, Option<String>>>,
}

impl HostFacts for Lies {
    fn machine(&self) -> String {
        self.machine.to_owned()
    }

    fn name(&self) -> String {
        format!("{}.example.org", self.machine)
    }

    fn boot(&self) -> Option<String> {
        self.boot.map(str::to_owned)
    }

    fn started(&self, pid: u32) -> Option<String> {
        let lie = self.started.lock().unwrap().get(&pid).cloned();
        lie.unwrap_or_else(|| ThisHost.started(pid))
    }
}

pub(crate) fn lies(machine: &'static str, boot: Option<&'static str>) -> Arc<Lies> {
    Arc::new(Lies {
        machine,
        boot,
        started: Mutex::default(),
    })
}

pub(crate) fn on(host: Arc<dyn HostFacts>) -> Subprocesses {
    Subprocesses {
        host,
        grace: GRACE,
        poll: Duration::from_millis(20),
    }
}

/// The machine `home`, in its first boot.
pub(crate) fn home() -> Subprocesses {
    on(lies("home", Some("boot 1")))
}

/// Scanners that wait at a pipe until they are told what to find.
pub(crate) struct Scanners {
    base: PathBuf,
    _own: Option<TempDir>,
}

impl Scanners {
    pub(crate) fn new() -> Self {
        let own = TempDir::new().unwrap();
        Self {
            base: own.path().to_owned(),
            _own: Some(own),
        }
    }

    /// Those of another process.
    pub(crate) fn at(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            _own: None,
        }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Notes its start, waits for a word, writes it down, ends with the status it was given.
    pub(crate) fn spec(&self) -> Subprocess<'static> {
        let starts = self.base.join("starts");
        Subprocess::new("scanner", self.base.join("work"), move |place| {
            let pipe = place.directory().join("go");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.unwrap().success());
            let script = r#"echo started >>"$1"; read -r word status <"$2"; printf %s "$word" >"$3"; exit "$status""#;
            let paths = [starts, pipe, place.partial()];
            ["sh", "-c", script, "it's a \"scanner\""]
                .into_iter()
                .map(PathBuf::from)
                .chain(paths)
                .collect::<Vec<_>>()
        })
    }

    pub(crate) fn starts(&self) -> usize {
        let starts = fs::read_to_string(self.base.join("starts"));
        starts.unwrap_or_default().lines().count()
    }

    /// Waits until that many have started.
    pub(crate) async fn started(&self, db: &db::Db, count: usize) {
        until(db, "scanners have started", || async {
            self.starts() == count
        })
        .await;
    }

    /// What was started in order of its start.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.base.join("work")).unwrap();
        let mut places: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        places.sort();
        places
    }

    /// Starts one for a unit and leaves it to itself.
    pub(crate) async fn start(&self, db: &db::Db, hand: &Hand, held: &Held) -> (u32, Place) {
        let before = self.starts();
        let scanner = hand.run(held).spawn(self.spec()).await.unwrap();
        let (pid, place) = (scanner.pid().unwrap(), scanner.place());
        self.started(db, before + 1).await;
        (pid, place)
    }
}

/// Tells the scanner at this place what to find and how to end.
pub(crate) async fn tell(place: &Path, word: &str, status: i32) {
    let (pipe, text) = (place.join("go"), format!("{word} {status}\n"));
    let told = tokio::task::spawn_blocking(move || fs::write(pipe, text));
    let told = tokio::time::timeout(Duration::from_mins(1), told).await;
    told.expect("somebody listens").unwrap().unwrap();
}

/// Tells it, and waits until it is gone.
pub(crate) async fn finish_scan(db: &db::Db, (pid, place): &(u32, Place), status: i32) {
    tell(place.directory(), "MIT", status).await;
    gone(db, *pid).await;
}

pub(crate) async fn gone(db: &db::Db, pid: u32) {
    until(db, "the process is gone", || async {
        ThisHost.started(pid).is_none()
    })
    .await;
}

pub(crate) fn alive(pid: u32) -> bool {
    ThisHost.started(pid).is_some()
}

/// Ends a whole session, as a crash of the machine would.
pub(crate) async fn kill(db: &db::Db, (pid, place): &(u32, Place)) {
    let group = format!("-{pid}");
    let killed = std::process::Command::new("kill")
        .args(["-KILL", "--", &group])
        .status();
    assert!(killed.unwrap().success());
    gone(db, *pid).await;
    // Others of its session may take a moment longer.
    until(db, "nobody holds its log", || async {
        fs::File::open(place.stderr()).map_or(true, |log| log.try_lock_shared().is_ok())
    })
    .await;
}

pub(crate) fn output(ended: engine::Ended) -> (String, bool) {
    match ended {
        engine::Ended::Well {
            output, recovered, ..
        } => (fs::read_to_string(output).unwrap(), recovered),
        engine::Ended::Badly { .. } => panic!("it ended badly: {ended:?}"),
    }
}

/// The one unit that came back to the hand's host, claimed.
pub(crate) async fn take_back(hand: &Hand, unit: UnitId) -> Held {
    assert_eq!(hand.recover().await.unwrap(), [unit]);
    hand.take_back("p")
        .await
        .unwrap()
        .expect("it can be claimed")
}

pub(crate) async fn adopt(run: &Run, scanners: &Scanners) -> Result<engine::Ended, RunError> {
    run.spawn_or_adopt(scanners.spec()).await
}

/// What an earlier attempt left must still run.
pub(crate) async fn still_running(run: &Run) -> Box<Detached> {
    match run.recovered("scanner").await.unwrap() {
        engine::Recovered::Running(scanner) => scanner,
        other => panic!("it does not run: {other:?}"),
    }
}
