//! Answers that came with somebody else's question, until their own run asks for them.
//!
//! Only in this process and only for a while: an answer that nobody fetched is no loss.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use db::Timestamp;

use super::Row;

/// An older answer is no longer one.
const FRESH: Duration = Duration::from_mins(30);

/// The answers that wait.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<HashMap<i64, Kept>>);

/// What was said of one repository.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// When it was asked.
    pub(super) at: Timestamp,
    pub(super) rows: Vec<Row>,
}

impl Shelf {
    /// The answer for a repository, if it is there and fresh. It is given once: who asks again
    /// wants to know what has changed.
    pub(super) fn take(&self, repository: i64, now: Timestamp) -> Option<Kept> {
        let kept = self.lock().remove(&repository)?;
        (now < kept.at.plus(FRESH)).then_some(kept)
    }

    /// Puts answers there, and throws old ones away.
    pub(super) fn put(&self, answers: Vec<(i64, Kept)>, now: Timestamp) {
        let mut shelf = self.lock();
        shelf.retain(|_, kept| now < kept.at.plus(FRESH));
        shelf.extend(answers);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
