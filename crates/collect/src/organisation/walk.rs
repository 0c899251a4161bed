//! How far a listing is, and when it has seen enough.

use std::time::Duration;

use db::Timestamp;
use serde::{Deserialize, Serialize};

use crate::forge::{Order, Owner, Page};

/// Between two whole listings: only they find what is gone or hidden.
const WHOLE_EVERY: Duration = Duration::from_hours(7 * 24);
/// An interrupted listing that is older begins again: its pages are no longer where they were.
const TOO_OLD: Duration = Duration::from_hours(24);
/// Nobody is asked for so many at once; they would not fit into one transaction.
pub(super) const MOST_ON_PAGE: usize = 250;
/// More pages than any owner has.
const MOST_PAGES: u64 = 10_000;

/// What a source remembers between runs, and within one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Who is listed, as its forge knows them.
    pub(super) owner: Option<Owner>,
    /// When the last whole listing began.
    whole_at: Option<Timestamp>,
    /// The newest change that was listed.
    newest: Option<Timestamp>,
    /// The listing that is under way.
    walk: Option<Walk>,
}

/// A listing under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Walk {
    pub(super) started: Timestamp,
    pub(super) whole: bool,
    /// The next page; none for the first.
    pub(super) next: Option<String>,
    pub(super) pages: u64,
    pub(super) listed: u64,
    pub(super) odd: u64,
    newest: Option<Timestamp>,
    /// Why it cannot be read to its end.
    pub(super) cut: Option<String>,
}

impl Progress {
    /// Goes on with the listing that was interrupted, or begins the one that is due.
    pub(super) fn resume(&mut self, now: Timestamp) -> Walk {
        let recent = |at: Timestamp, span: Duration| now.since(at) < span;
        if let Some(walk) = self.walk.take()
            && recent(walk.started, TOO_OLD)
        {
            return walk;
        }
        Walk {
            started: now,
            whole: !self.whole_at.is_some_and(|at| recent(at, WHOLE_EVERY)),
            next: None,
            pages: 0,
            listed: 0,
            odd: 0,
            newest: None,
            cut: None,
        }
    }

    /// What to remember while the listing goes on.
    pub(super) fn during(&self, walk: &Walk) -> Self {
        Self {
            walk: Some(walk.clone()),
            ..self.clone()
        }
    }

    /// What to remember after it.
    pub(super) fn after(mut self, walk: &Walk) -> Self {
        if walk.whole {
            self.whole_at = Some(walk.started);
        }
        self.newest = self.newest.max(walk.newest);
        self.walk = None;
        self
    }

    /// Takes a page in and judges whether the listing has seen enough.
    pub(super) fn take(&self, walk: &mut Walk, page: &Page) -> Enough {
        let times = || page.repositories.iter().map(|one| one.updated_at);
        walk.pages += 1;
        walk.listed += (page.repositories.len() + page.odd) as u64;
        walk.odd += page.odd as u64;
        walk.newest = walk.newest.max(times().flatten().max());
        walk.cut = walk.cut.take().or_else(|| page.cut.clone());
        let stuck = page.next.is_some() && page.next == walk.next;
        walk.next.clone_from(&page.next);
        if stuck || walk.pages >= MOST_PAGES {
            walk.cut = Some("the list does not end".into());
            return Enough::Yes;
        }
        if page.repositories.len() > MOST_ON_PAGE {
            walk.cut = Some("a page is longer than any that was asked for".into());
        }
        if walk.next.is_some() {
            // What is older than the newest known change was listed before.
            let known = |newest| times().flatten().any(|time| time < newest);
            return match () {
                () if walk.whole => Enough::No,
                () if page.not_modified || self.newest.is_some_and(known) => Enough::Yes,
                () if times().all(|time| time.is_none()) => Enough::IfNoNews,
                () => Enough::No,
            };
        }
        if walk.whole && page.total.is_some_and(|total| walk.listed < total) {
            let total = page.total.unwrap_or_default();
            walk.cut = Some(format!("{} of {total} came", walk.listed));
        }
        Enough::Yes
    }
}

/// Whether a listing has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enough {
    Yes,
    No,
    /// No times are told: yes, if there was nothing on the page that was not known.
    IfNoNews,
}

impl Walk {
    pub(super) fn order(&self) -> Order {
        if self.whole {
            Order::Whole
        } else {
            Order::LastChanged
        }
    }
}
