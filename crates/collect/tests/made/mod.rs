//! Repositories made for a test, by the real git and nobody's configuration.

use std::{fs, path::Path, process::Command};

/// A repository with a work tree, gone after the test.
#[derive(Debug)]
pub(crate) struct Made(tempfile::TempDir);

impl Made {
    /// An empty repository on the branch `trunk`.
    pub(crate) fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        git(made.path(), &["init", "-q", "-b", "trunk", "."]);
        made
    }

    /// Its top directory.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) {
        git(self.path(), &["add", "-A"]);
        git(self.path(), &["commit", "-q", "-m", message]);
    }
}

/// Runs git in a directory and fails with what it said.
pub(crate) fn git(directory: &Path, args: &[&str]) {
    let said = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(["-c", "commit.gpgsign=false", "-c", "gc.auto=0"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
}
