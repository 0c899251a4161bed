//! Files for mail on its way in. They go with whoever holds them, however that ends; what a killed
//! process left is cleared by the next one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A file of its own.
#[derive(Debug)]
pub(super) struct Spool(PathBuf);

impl Spool {
    /// A name in the directory, which is made where it is missing.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(directory)?;
        sweep(directory);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{count}.mbox", std::process::id());
        Ok(Self(directory.join(name)))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Removes the files of processes that are no longer there.
fn sweep(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pid = name
            .split('-')
            .next()
            .and_then(|pid| pid.parse::<u32>().ok());
        let gone = pid.is_some_and(|pid| {
            pid != std::process::id()
                && Path::new("/proc/self").exists()
                && !Path::new(&format!("/proc/{pid}")).exists()
        });
        if gone && path.extension().is_some_and(|end| end == "mbox") {
            let _ = std::fs::remove_file(&path);
        }
    }
}
