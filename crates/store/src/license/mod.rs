//! Licenses: what scanners find in files, and what that makes of repositories.
//!
//! An answer belongs to a file's contents and a scanner, not to a repository, and is written once,
//! "nothing found" included. A result says which commit of a repository was put together from which
//! answers; it is staged while its rows are written, then takes the place of the one before, which
//! stays as history. Only the unit of a repository writes its results.

mod answers;
mod checks;
mod report;
mod results;

pub use answers::{
    Answer, FileKey, KEYS_AT_ONCE, Known, State, answers, forget_answers, keep, known, scanner,
    scanner_number, sorts,
};
pub use checks::{CrossCheck, note_checks};
pub use report::{
    Current, FileFilter, FileReport, LicenseCount, PackageReport, ScannerStats, Stats, current,
    files, holders, licenses, packages, stats,
};
pub use results::{
    Again, NewFile, NewPackage, NewResult, NewTally, ResultHead, add_files, add_packages,
    add_tallies, again, begin, discard_staged, head, make_current, stamp,
};
