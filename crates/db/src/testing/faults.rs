//! Commits that fail, as the network makes them fail: before the database had
//! the request, or after it had done it and before we heard so.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, PoisonError},
};

use crate::DbError;

/// What happens to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// It never reaches the database: nothing happened.
    Before,
    /// It is done, but the caller hears an error: everything happened.
    After,
}

/// The fate of the commits to come. Empty means that all go well.
#[derive(Debug, Default)]
pub struct CommitFaults(Mutex<VecDeque<Option<CommitFault>>>);

impl CommitFaults {
    /// Decides the next commit that is not decided yet.
    pub fn push(&self, fate: Option<CommitFault>) {
        self.lock().push_back(fate);
    }

    /// All goes well from here on.
    pub fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn next(&self) -> Option<CommitFault> {
        self.lock().pop_front().flatten()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Option<CommitFault>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn lost_connection() -> DbError {
    DbError::Unreachable(sqlx::Error::Io(io::Error::new(
        io::ErrorKind::ConnectionReset,
        "injected: connection lost at commit",
    )))
}
