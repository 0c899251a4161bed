//! A home in which the real ScanCode scans local repositories, for drills that kill.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{sql, testing::TestDb};

/// Whatever is waited for, on a slow machine that others use too.
const LONGEST: Duration = Duration::from_mins(5);

pub(crate) struct Home {
    pub(crate) db: TestDb,
    directory: tempfile::TempDir,
}

/// ScanCode as `cargo xtask test` has set it up; none, loudly, where that could not be.
pub(crate) fn scancode() -> Option<PathBuf> {
    let venv = std::env::var_os("GLEANER_SCANCODE").map(PathBuf::from);
    if venv.is_none() {
        let why = std::env::var("GLEANER_NO_SCANCODE");
        let why = why.unwrap_or_else(|_| "GLEANER_SCANCODE names none".to_owned());
        eprintln!("NO SCANCODE, NOTHING WAS DRILLED: {why}; see CONTRIBUTING.md");
    }
    venv
}

impl Home {
    pub(crate) async fn new(venv: &Path, mode: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        std::fs::create_dir(home.join("license")).unwrap();
        // By a name of our own, so that its processes are told from everybody else's.
        std::os::unix::fs::symlink(venv, home.join("license/scancode")).unwrap();
        let settings = format!(
            "[license]\nscanner = \"scancode\"\nmode = \"{mode}\"\nprocesses = 1\n\
             cross_check_one_in = 0\nmin_free = \"1MiB\"\ndirectory = \"{}\"\n",
            home.join("license").display()
        );
        std::fs::write(home.join("gleaner.toml"), settings).unwrap();
        Self {
            db: TestDb::sqlite(super::fleet::PARTS).await,
            directory,
        }
    }

    /// A repository of this machine with these files, watched.
    pub(crate) async fn add(&self, name: &str, files: &[(&str, &str)]) -> i64 {
        let top = self.directory.path().join(name);
        for (path, text) in files {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["add", "-A"],
            &["commit", "-q", "-m", "Begin"],
        ] {
            git(&top, args);
        }
        let added = self.gleaner(&["repo", "add", name]).status().unwrap();
        assert!(added.success(), "{}", self.log());
        let row = self
            .db
            .fetch_one(sql!("SELECT max(id) AS n FROM repository"))
            .await;
        row.unwrap().get("n").unwrap()
    }

    pub(crate) fn work(&self, repositories: usize) -> Killed {
        let mut command = self.gleaner(&["work", "--kinds", "license"]);
        command.env("GLEANER_LICENSE_WORKERS", repositories.to_string());
        Killed(command.spawn().unwrap())
    }

    pub(crate) async fn number(&self, text: &'static str) -> i64 {
        let row = self.db.fetch_one(sql!(text)).await;
        row.unwrap().get("n").unwrap()
    }

    /// The license and the number of files of the current result.
    pub(crate) async fn result(&self, repository: i64) -> Option<(String, i64, i64)> {
        let found = store::license::current(&self.db, repository).await;
        let found = found.unwrap()?;
        Some((
            found.license.unwrap_or_default(),
            found.files,
            found.files_failed,
        ))
    }

    /// Looks again and again until `done`.
    pub(crate) async fn until(&self, what: &str, mut done: impl AsyncFnMut() -> bool) {
        let begun = Instant::now();
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        while !done().await {
            let error = self.log();
            assert!(begun.elapsed() < LONGEST, "not in time: {what}\n{error}");
            looks.tick().await;
        }
    }

    /// Processes that run by this home's ScanCode: their ids.
    pub(crate) fn scanners(&self) -> Vec<i32> {
        let ours = self.directory.path().join("license");
        let ours = ours.to_string_lossy();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(words) = std::fs::read(entry.path().join("cmdline")) else {
                continue;
            };
            let words = String::from_utf8_lossy(&words);
            if words.contains(&*ours) && words.contains("python") {
                found.push(pid);
            }
        }
        found
    }

    /// Trees that lie about.
    pub(crate) fn trees(&self) -> usize {
        let trees = self.directory.path().join("license/work/trees");
        std::fs::read_dir(trees).map_or(0, Iterator::count)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn gleaner(&self, arguments: &[&str]) -> Command {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env("GLEANER_DATABASE", self.db.url())
            .env("GLEANER_DATABASE_MIN_FREE", "1KiB")
            .env("GLEANER_DATABASE_TIMEOUT", "60s")
            .env("GLEANER_WORK_DEAD_AFTER", "3s")
            .env("GLEANER_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.unwrap());
        command
    }
}

/// A process that is killed at the latest when this is dropped: as the kernel would under memory
/// pressure, without a word.
pub(crate) struct Killed(pub(crate) Child);

impl Killed {
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.kill();
    }
}

fn git(directory: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(done.unwrap().success());
}
