//! A Python index: its projects, their files, and what the files hold.
//!
//! **The sequence of changes.** Every file has one row in `pypi_files`, which stays when the file
//! goes: then it is marked as removed. Whoever changes anything of a row (what the page says of it,
//! its removal or its return, a yank, what was extracted) marks it as unnumbered in the same
//! transaction. [`number`] alone gives numbers, and only to what has been committed before, so that
//! numbers grow in the order in which changes became visible: a reader who has read up to
//! [`last_seq`] misses nothing that is committed late. A row has one number at a time, that of its
//! last change; so [`changed_files`] gives a row that changed twice only once, as it is now. A row
//! that has changed and has no new number yet is found under its old number with its new contents,
//! and again when it has the new one: reading is idempotent by (project, filename).
//!
//! Only the unit of a project writes what its page says, only the unit of a file what was extracted
//! from it, and both through the functions here, which see to the mark.

mod changes;
mod files;
mod index;
mod projects;
mod status;

pub use changes::{Extracted, FileKind, FileRow, awaits_numbers, changed_files, last_seq, number};
pub use files::{
    Extraction, FileAsked, FileWrite, Filter, KnownFile, Verdict, extracted, file, file_rows,
    forget_extraction, keep, kept, known_files, outdated, remove_files, unread, withhold_files,
    write_files,
};
pub use index::{
    Index, address, audited, baseline, crawl_began, crawl_finished, index, safe_up_to, seen,
    set_address,
};
pub use projects::{
    DueProject, Event, KnownProject, PageRead, Project, due, due_count, due_names,
    due_since_before, events, page_read, project, projects, write_events,
};
pub use status::{Reason, Status, reasons, status};
