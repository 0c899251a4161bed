//! The directory of one detached subprocess: all that is left of it when
//! everybody who knew of it is gone.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::host::start_in_stat;
use crate::UnitId;

/// Runs the command and leaves its marks, as `sh -c SCRIPT sh DIRECTORY ACCEPTS
/// COMMAND ARGUMENT…`: the words of the command arrive as words, so nothing
/// needs quoting. A shell is everywhere, needs no help from the program that
/// links this crate, and is a few lines against a second binary to ship.
///
/// The pid is written first, with what the kernel says of the process, so that
/// one who finds a row without a pid can complete it. Every file gets its name
/// by a move when it is whole. An output is flushed before it counts: after a
/// power cut the name must not be there without the bytes. Only then follows
/// the status, which says that all is over.
pub(super) const SCRIPT: &str = r#"
dir=$1 accepts=$2
shift 2
stat=
{ read -r stat </proc/$$/stat; } 2>/dev/null
{ printf '%s\n%s\n' "$$" "$stat" >"$dir/pid.tmp" && mv "$dir/pid.tmp" "$dir/pid"; } || exit 125
"$@"
status=$?
for good in $accepts; do
    if [ "$status" = "$good" ] && [ -e "$dir/output.partial" ]; then
        sync "$dir/output.partial" 2>/dev/null
        mv "$dir/output.partial" "$dir/output"
    fi
done
printf '%s\n' "$status" >"$dir/status.tmp" && mv "$dir/status.tmp" "$dir/status"
"#;

/// Where one subprocess works. The directory is its own: made for it, and
/// removed with all that is in it when nobody needs it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    pub(super) fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The directory; the command may keep other things here.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the command must write its result. It becomes the output by a
    /// move, when the command has ended with an accepted status.
    pub fn partial(&self) -> PathBuf {
        self.directory.join("output.partial")
    }

    /// The result, whole or not there at all.
    pub fn output(&self) -> PathBuf {
        self.directory.join("output")
    }

    /// What it said.
    pub fn stdout(&self) -> PathBuf {
        self.directory.join("stdout")
    }

    /// What it complained of.
    pub fn stderr(&self) -> PathBuf {
        self.directory.join("stderr")
    }

    /// Makes a directory for this attempt below `base` and opens the logs, the
    /// second of them locked.
    pub(super) fn make(base: &Path, unit: UnitId, attempt: i64) -> io::Result<(Self, File, File)> {
        fs::create_dir_all(base)?;
        // The row must name the same place whatever the next process calls home.
        let base = fs::canonicalize(base)?;
        let place = (1..)
            .map(|number| Self::at(base.join(format!("{unit}.{attempt}.{number}"))))
            .find_map(|place| match fs::create_dir(&place.directory) {
                // An earlier one of this attempt, or of another database's unit.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                made => Some(made.map(|()| place)),
            })
            .unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))?;
        let (stdout, stderr) = (File::create(place.stdout())?, File::create(place.stderr())?);
        // Some network file systems have no locks; the pid must do there.
        let _ = stderr.try_lock();
        Ok((place, stdout, stderr))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Something of the subprocess holds its log. False proves nothing.
    pub(super) fn is_locked(&self) -> bool {
        let Ok(log) = File::open(self.stderr()) else {
            return false;
        };
        matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The exit status, once it is over; as a shell counts, so 128 and more for signals.
    pub(super) fn status(&self) -> Option<i32> {
        let text = fs::read_to_string(self.directory.join("status")).ok()?;
        text.trim().parse().ok()
    }

    /// The pid as the script wrote it, and its start time where the kernel told it.
    pub(super) fn pid(&self) -> Option<(u32, Option<String>)> {
        let text = fs::read_to_string(self.directory.join("pid")).ok()?;
        let (pid, stat) = text.split_once('\n')?;
        Some((pid.trim().parse().ok()?, start_in_stat(stat)))
    }

    pub(super) fn has_output(&self) -> bool {
        self.output().exists()
    }
}
