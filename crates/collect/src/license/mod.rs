//! The license round: per-file licenses, copyrights and packages.
//!
//! | kind | asks | does |
//! |---|---|---|
//! | `license/scan` | a git server | scans what is new in a repository's tree and puts the tree together |
//!
//! The unit of scanning is a file's contents, not a repository: whoever has scanned a file has done
//! so for every repository and every later commit that holds it, and most files of a tree are old
//! acquaintances. `HEAD` is asked first; while it and the scanner are the same, that is all.
//!
//! [`Scanner`] is what all scanners have in common; [`Desk`] chooses one and proves that it works
//! before it is believed. Results of two scanners are never mixed.

mod batch;
mod builtin;
mod claims;
mod collector;
mod cross_check;
mod desk;
mod file_key;
mod gather;
mod kept_answer;
mod provenant;
mod repository_scan;
mod scancode;
mod scanner;
mod setup;
mod stock_output;
mod stop;
mod tree_step;
mod verify;
mod whole_tree;
mod work_directory;
mod written;

use std::{path::PathBuf, time::Duration};

pub use self::{
    builtin::Builtin,
    collector::{LicenseScan, unit},
    desk::{Desk, POOL, PROBE_EVERY, watch},
    file_key::name_class,
    provenant::Provenant,
    scancode::ScanCode,
    scanner::{Broken, Input, Scanned, Scanner, Settling},
    setup::{REQUIREMENTS, SetupError, provenant_in, python_in, set_up, set_up_provenant},
    verify::{Compared, Difference, VerifyError, compare, stock, stock_of_repository},
};
use crate::goindex;

/// Which scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The best that proves to work: provenant, then ScanCode, then the one that is built in.
    Auto,
    /// The one that is built in.
    Builtin,
    /// ScanCode Toolkit.
    ScanCode,
    /// Provenant.
    Provenant,
}

impl Choice {
    /// The choice of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "builtin" => Some(Self::Builtin),
            "scancode" => Some(Self::ScanCode),
            "provenant" => Some(Self::Provenant),
            _ => None,
        }
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Builtin => "builtin",
            Self::ScanCode => "scancode",
            Self::Provenant => "provenant",
        }
    }
}

/// How repositories are scanned.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether the round is switched on.
    pub enabled: bool,
    /// How git servers are asked.
    pub servers: goindex::Settings,
    /// Which scanner.
    pub scanner: Choice,
    /// Scan whole trees by one long process each, as ScanCode itself does.
    pub whole_tree: bool,
    /// Where a private ScanCode is, or would be.
    pub venv: PathBuf,
    /// Provenant, by name or path: the one of our own where it was set up, else that on the PATH.
    pub provenant: PathBuf,
    /// Where batches and trees are unpacked.
    pub directory: PathBuf,
    /// Scanner processes at a time.
    pub processes: usize,
    /// What a scanner may take for one file.
    pub file_timeout: Duration,
    /// The most memory of one scanner process.
    pub memory_bytes: u64,
    /// Larger files are left out.
    pub max_file_bytes: usize,
    /// Files that are read, scanned and written down together.
    pub batch_files: usize,
    /// Least space that must be left where batches are unpacked.
    pub min_free_bytes: u64,
    /// One file of so many is shown to a second scanner; 0 for none.
    pub cross_check_one_in: u32,
}

impl Settings {
    /// The usual ones, with this way to git servers, and everything of its own below a directory.
    pub fn new(mut servers: goindex::Settings, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let max_file_bytes = scan::license::MAX_BYTES;
        servers.git.limits.reading.blob_bytes = max_file_bytes;
        let own = provenant_in(&directory);
        Self {
            enabled: true,
            servers,
            scanner: Choice::Auto,
            whole_tree: false,
            venv: directory.join("scancode"),
            provenant: if own.is_file() {
                own
            } else {
                PathBuf::from("provenant")
            },
            directory: directory.join("work"),
            processes: 2,
            file_timeout: Duration::from_mins(2),
            memory_bytes: 4 << 30,
            max_file_bytes,
            batch_files: 400,
            min_free_bytes: 1 << 30,
            cross_check_one_in: 100,
        }
    }
}
