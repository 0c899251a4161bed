//! Directories that live as long as one batch: private, and gone after a crash too.
//!
//! Files keep their names and as much of their path as some parsers look at. Names come from
//! strangers, so every part of a path is checked and rewritten if it could lead anywhere else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

const PREFIX: &str = "batch-";

/// A directory of our own, gone when it is dropped. Its name has our pid, so that [`sweep`] knows
/// whose it was.
pub(super) fn make(base: &Path) -> io::Result<TempDir> {
    fs::create_dir_all(base)?;
    private(base)?;
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir_in(base)
}

#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Removes what dead processes have left.
pub(super) fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let pid = rest.split('-').next().unwrap_or_default();
        // Where there is no /proc nobody can tell, and nothing is removed.
        let alive = !Path::new("/proc/self").exists() || Path::new("/proc").join(pid).exists();
        if !alive {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether so much space is left.
pub(super) fn has_room(base: &Path, bytes: u64) -> bool {
    let _ = fs::create_dir_all(base);
    match rustix::fs::statvfs(base) {
        Ok(about) => about.f_bavail.saturating_mul(about.f_frsize) >= bytes,
        // A file system that does not tell.
        Err(_) => true,
    }
}

/// Writes a file below a directory under its own path, or as near to it as is safe.
pub(super) fn write(below: &Path, path: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut place = below.to_path_buf();
    let mut parts: Vec<String> = path.split('/').map(safe).collect();
    // As deep as a parser may look, and no deeper than a file system takes.
    if parts.len() > 40 {
        parts.drain(..parts.len() - 40);
    }
    place.extend(&parts);
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&place, bytes)?;
    Ok(place)
}

/// One part of a path that cannot lead elsewhere.
fn safe(part: &str) -> String {
    let mut text: String = part
        .chars()
        .map(|c| {
            if c.is_control() || matches!(c, '\\' | '/') {
                '_'
            } else {
                c
            }
        })
        .collect();
    if matches!(text.as_str(), "" | "." | ".." | ".git") {
        return "_".to_owned();
    }
    if text.len() > 200 {
        // The ending tells what it is.
        let mut cut = text.len() - 200;
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        text.drain(..cut);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        let directory = tempfile::tempdir().unwrap();
        for path in [
            "../../etc/passwd",
            "/etc/x",
            "a/../../b",
            ".git/config",
            "a\nb",
            "c:\\d",
        ] {
            let place = write(directory.path(), path, b"x").unwrap();
            let real = fs::canonicalize(&place).unwrap();
            assert!(
                real.starts_with(fs::canonicalize(directory.path()).unwrap()),
                "{path}"
            );
            assert!(!place.to_string_lossy().contains("/.git/"), "{path}");
        }
        let long = format!("{}.c", "x".repeat(1000));
        let place = write(directory.path(), &long, b"x").unwrap();
        assert!(place.to_string_lossy().ends_with(".c"));
    }

    #[test]
    fn what_the_dead_left_goes_and_what_lives_stays() {
        let base = tempfile::tempdir().unwrap();
        let mine = make(base.path()).unwrap();
        let dead = base.path().join("batch-4294967295-x");
        fs::create_dir(&dead).unwrap();
        let other = base.path().join("something");
        fs::create_dir(&other).unwrap();
        sweep(base.path());
        assert!(mine.path().exists() && other.exists() && !dead.exists());
    }
}
