//! Where fetched objects are kept: one private directory per repository and way of fetching.
//!
//! Whoever works in one holds a lock of the operating system on a file beside it, which ends with
//! the process however that ends. So what is found in a directory by a new holder and looks like
//! work in progress (lock files of git, half-written packs) was left by somebody dead, and goes.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::{RemoteError, address::Place};
use crate::git::{GitError, Limits, command::Git};

/// Each fetch adds a pack and reading looks into each; beyond this it is cheaper to begin anew.
const MAX_PACKS: usize = 64;

/// Written last, so that a directory without it was never finished.
const READY: &str = "gleaner-ready";

/// How the objects of a directory were fetched. They do not mix: a server takes a commit that we
/// have as proof that we have all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Blobless,
    Shallow,
    Deep,
}

/// The directory of all.
#[derive(Debug)]
pub(super) struct Cache {
    root: PathBuf,
}

/// The sole right to one repository's directory.
#[derive(Debug)]
pub(super) struct Slot {
    path: PathBuf,
    _lock: File,
}

/// A place for one process: its record, its complaints, its home. Gone with it.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    _alive: File,
}

impl Cache {
    /// Makes the directory private and clears what dead processes left.
    pub(super) fn open(root: &Path) -> Result<Self, RemoteError> {
        let failed = |source| RemoteError::Directory {
            path: root.to_owned(),
            source,
        };
        let root = std::path::absolute(root).map_err(failed)?;
        let made = make_private(&root).and_then(|()| make_private(&root.join("runs")));
        made.and_then(|()| fs::set_permissions(&root, Permissions::from_mode(0o700)))
            .map_err(failed)?;
        let cache = Self { root };
        cache.sweep();
        Ok(cache)
    }

    /// Removes the run directories of the dead: those whose locks can be had.
    fn sweep(&self) {
        let runs = fs::read_dir(self.root.join("runs")).into_iter().flatten();
        for alive in runs.flatten().map(|entry| entry.path()) {
            if alive.extension().is_some_and(|end| end == "alive")
                && File::open(&alive).is_ok_and(|file| file.try_lock().is_ok())
            {
                let _ = fs::remove_dir_all(alive.with_extension("run"));
                let _ = fs::remove_file(alive);
            }
        }
    }

    pub(super) fn run_directory(&self) -> Result<RunDirectory, RemoteError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{count}", std::process::id());
            let path = self.root.join("runs").join(name).with_extension("run");
            match RunDirectory::make(&path) {
                Ok(Some(made)) => return Ok(made),
                // Somebody sweeps it at this moment, or had our number before us.
                Ok(None) => {}
                Err(source) => return Err(RemoteError::Directory { path, source }),
            }
        }
    }

    /// Waits for the right to a repository's directory and leaves it clean and ready.
    pub(super) async fn slot(
        &self,
        place: &Place,
        shape: Shape,
        sha256: bool,
        limit: Duration,
        disk_bytes: u64,
    ) -> Result<Slot, RemoteError> {
        let digest = Sha256::digest(place.as_str().as_bytes());
        let name = facts::hex::lower(&digest[..16]);
        let shape_name = match shape {
            Shape::Blobless => "blobless",
            Shape::Shallow => "shallow",
            Shape::Deep => "deep",
        };
        let format = if sha256 { "-sha256" } else { "" };
        let path = self.root.join(format!("{name}-{shape_name}{format}.git"));
        let failed = |source| RemoteError::Directory {
            path: path.clone(),
            source,
        };
        let lock = File::create(path.with_extension("lock")).map_err(failed)?;
        let waited = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
        let lock = timeout(limit, waited)
            .await
            .map_err(|_| RemoteError::Busy {
                url: place.as_str().to_owned(),
                limit,
            })?
            .unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
            .map_err(failed)?;
        let slot = Slot { path, _lock: lock };
        slot.prepare(shape, sha256, disk_bytes).await?;
        Ok(slot)
    }
}

impl Slot {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    async fn prepare(
        &self,
        shape: Shape,
        sha256: bool,
        disk_bytes: u64,
    ) -> Result<(), RemoteError> {
        let failed = |source| RemoteError::Directory {
            path: self.path.clone(),
            source,
        };
        let path = self.path.clone();
        let ready = tokio::task::spawn_blocking(move || {
            clear_leftovers(&path, 0);
            let packs = fs::read_dir(path.join("objects/pack")).map_or(0, Iterator::count) / 3;
            path.join(READY).exists() && packs <= MAX_PACKS && disk_use(&path) <= disk_bytes
        })
        .await
        .unwrap_or(false);
        if ready {
            return Ok(());
        }
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => make_private(&self.path).map_err(failed)?,
        }
        let format = if sha256 { "sha256" } else { "sha1" };
        Git::new(&self.path, "init", Limits::default().time)
            .args(["--quiet", "--bare", "--template=", "--initial-branch=none"])
            .args([&format!("--object-format={format}")])
            .tell()
            .await
            .map_err(|error| match error {
                GitError::Failed { message, .. } => failed(io::Error::other(message)),
                other => RemoteError::Git(other),
            })?;
        let write = || {
            if shape == Shape::Blobless {
                let config = self.path.join("config");
                let mut text = fs::read_to_string(&config)?;
                text.push_str(
                    "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n\
                     [remote \"origin\"]\n\tpromisor = true\n\tpartialCloneFilter = blob:none\n",
                );
                fs::write(&config, text)?;
            }
            fs::write(self.path.join(READY), "")
        };
        write().map_err(failed)
    }
}

impl RunDirectory {
    /// None where another holds the name.
    fn make(path: &Path) -> io::Result<Option<Self>> {
        let alive = File::create(path.with_extension("alive"))?;
        if alive.try_lock().is_err() {
            return Ok(None);
        }
        if path.exists() {
            fs::remove_dir_all(path)?;
        }
        make_private(path)?;
        Ok(Some(Self {
            path: path.to_owned(),
            _alive: alive,
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(self.path.with_extension("alive"));
    }
}

/// What a directory takes, links not followed.
pub(super) fn disk_use(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => disk_use(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Lock files of git and half-written objects.
fn clear_leftovers(path: &Path, depth: u8) {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let about = entry.file_type();
        let is_dir = about.is_ok_and(|kind| kind.is_dir());
        let left = name.starts_with("tmp_")
            || name.starts_with(".tmp-")
            || name.starts_with("incoming-")
            || Path::new(&*name)
                .extension()
                .is_some_and(|end| end == "lock");
        if left && is_dir {
            let _ = fs::remove_dir_all(entry.path());
        } else if left {
            let _ = fs::remove_file(entry.path());
        } else if is_dir && depth < 32 {
            clear_leftovers(&entry.path(), depth + 1);
        }
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
