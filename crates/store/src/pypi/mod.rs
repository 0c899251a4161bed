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
//! Only the unit of a project writes what its page says, only the unit of a file's version what was
//! extracted, and both through the functions here, which see to the mark.

mod changes;

pub use changes::{Extracted, FileKind, FileRow, changed_files, last_seq, number};
