//! Where data and configuration live on this machine.
//!
//! The data directory is made with private permissions (0700), and so is the database file in it
//! (0600): mail addresses and private repositories are nobody else's business. Permissions of a
//! directory that is already there are the owner's choice and stay as they are.

use std::{
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::error::{Failure, Result, codes};

/// Less than this is no room to write even one transaction.
const FULL_BELOW: u64 = 64 * 1024;

/// What to do about a full disk.
pub(crate) const MAKE_ROOM: &str = "make room, or move the data with `--data DIR`";

/// The name of the default database in the data directory.
const DATABASE: &str = "gleaner.db";

/// `--data`, else `GLEANER_DATA`, else the platform's.
pub(crate) fn locate(flag: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = flag {
        return Ok(path.to_owned());
    }
    if let Some(path) = non_empty("GLEANER_DATA") {
        return Ok(path.into());
    }
    platform(&DATA)
        .map(|base| base.join("gleaner"))
        .ok_or_else(|| {
            Failure::new(
                &codes::NO_HOME,
                "there is no place for the data: HOME is not set",
            )
            .hint("name a directory with `--data DIR` or GLEANER_DATA")
        })
}

/// The configuration file of the platform; it need not exist.
pub(crate) fn platform_config() -> Option<PathBuf> {
    platform(&CONFIG).map(|base| base.join("gleaner").join("gleaner.toml"))
}

/// Makes the data directory if need be and the default database file in it; returns the address.
pub(crate) fn default_database(directory: &Path) -> Result<String> {
    prepare(directory)?;
    let path = directory.join(DATABASE);
    create_private_file(&path).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => full(directory, &error),
        _ => not_writable(directory, &error),
    })?;
    let shown = path.to_str().ok_or_else(|| {
        let message = format!("the path `{}` is not UTF-8", path.display());
        Failure::new(&codes::NOT_WRITABLE, message).hint("choose another with `--data DIR`")
    })?;
    Ok(format!("sqlite:{shown}"))
}

/// Makes the data directory if need be and checks that it can be written.
pub(crate) fn prepare(directory: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .and_then(|()| writable(directory))
        .map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => full(directory, &error),
            _ => not_writable(directory, &error),
        })
}

/// Asks the system, which knows of read-only mounts too; trying would leave files behind.
#[cfg(unix)]
pub(crate) fn writable(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(not(unix))]
pub(crate) fn writable(directory: &Path) -> io::Result<()> {
    std::fs::metadata(directory).map(|_| ())
}

pub(crate) fn not_writable(directory: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write to the directory `{}`", directory.display());
    Failure::new(&codes::NOT_WRITABLE, message)
        .caused_by(error)
        .hint("choose a directory that you can write with `--data DIR` or GLEANER_DATA")
}

fn full(directory: &Path, error: &io::Error) -> Failure {
    let message = format!("the disk that holds `{}` is full", directory.display());
    Failure::new(&codes::FULL, message)
        .caused_by(error)
        .hint(MAKE_ROOM)
}

/// The directory that a file is in.
pub(crate) fn of_file(path: &str) -> PathBuf {
    match Path::new(path).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether there is no room left for anything.
pub(crate) fn is_full(directory: &Path) -> bool {
    free_bytes(directory).is_some_and(|free| free < FULL_BELOW)
}

/// What the disk under a directory has left for us; `None` where the system does not tell.
#[cfg(unix)]
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn create_private_file(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Where a platform keeps a sort of file: a variable, or a place below the home directory.
struct Place {
    variable: &'static str,
    below_home: &'static str,
}

const DATA: Place = if cfg!(target_os = "macos") {
    Place {
        variable: "XDG_DATA_HOME",
        below_home: "Library/Application Support",
    }
} else if cfg!(windows) {
    Place {
        variable: "LOCALAPPDATA",
        below_home: "AppData/Local",
    }
} else {
    Place {
        variable: "XDG_DATA_HOME",
        below_home: ".local/share",
    }
};

const CONFIG: Place = if cfg!(target_os = "macos") {
    Place {
        variable: "XDG_CONFIG_HOME",
        below_home: "Library/Application Support",
    }
} else if cfg!(windows) {
    Place {
        variable: "APPDATA",
        below_home: "AppData/Roaming",
    }
} else {
    Place {
        variable: "XDG_CONFIG_HOME",
        below_home: ".config",
    }
};

fn platform(place: &Place) -> Option<PathBuf> {
    // The XDG specification says to ignore relative paths.
    if let Some(base) = non_empty(place.variable).map(PathBuf::from)
        && base.is_absolute()
    {
        return Some(base);
    }
    let home = non_empty(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
    Some(Path::new(&home).join(place.below_home))
}

fn non_empty(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}
