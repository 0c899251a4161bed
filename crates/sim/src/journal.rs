//! Every request the world got, and what became of it.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::Notify;

/// So many requests are kept word for word; the counters know of all.
const KEPT: usize = 200_000;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Counted from 1 over all upstreams.
    pub number: u64,
    /// Who was asked.
    pub upstream: String,
    /// How.
    pub method: String,
    /// Path and query, as the upstream sees them.
    pub path: String,
    /// The name of the token, or a fingerprint of one nobody gave out.
    pub token: Option<String>,
    /// World time of the arrival.
    pub at: Timestamp,
    /// Requests to this upstream on their way at that moment, this one included.
    pub in_flight: u32,
    /// The answer; `None` if there was none (yet).
    pub status: Option<u16>,
    /// Which fault it met.
    pub fault: Option<String>,
    /// Which limit refused it.
    pub limit: Option<Limit>,
}

/// The limits a forge can refuse by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The budget of the hour or the minute is spent.
    Primary,
    /// Too fast or too many at once.
    Secondary,
}

/// What one upstream was asked, in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them.
    pub requests: u64,
    /// By status.
    pub statuses: BTreeMap<u16, u64>,
    /// By fault met.
    pub faults: BTreeMap<String, u64>,
    /// By token; anonymous ones under `""`.
    pub tokens: BTreeMap<String, u64>,
    /// Refused because a budget was spent.
    pub over_primary: u64,
    /// Refused for haste.
    pub over_secondary: u64,
    /// On their way now.
    pub in_flight: u32,
    /// The most that ever were.
    pub most_in_flight: u32,
}

/// The request log. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Book>);

#[derive(Debug, Default)]
struct Book {
    inner: Mutex<Inner>,
    /// Told of everything that is written down.
    written: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    kept: VecDeque<Request>,
    last: u64,
    counts: BTreeMap<String, Counts>,
    /// By upstream and token.
    in_flight: HashMap<(String, String), u32>,
}

impl Journal {
    /// The requests to one upstream that are still kept, oldest first.
    pub fn requests(&self, upstream: &str) -> Vec<Request> {
        self.select(|request| request.upstream == upstream)
    }

    /// Those that `wanted` picks, oldest first.
    pub fn select(&self, wanted: impl Fn(&Request) -> bool) -> Vec<Request> {
        let inner = self.inner();
        inner
            .kept
            .iter()
            .filter(|request| wanted(request))
            .cloned()
            .collect()
    }

    /// The figures of one upstream.
    pub fn counts(&self, upstream: &str) -> Counts {
        let inner = self.inner();
        inner.counts.get(upstream).cloned().unwrap_or_default()
    }

    /// The figures of all that were asked.
    pub fn all_counts(&self) -> BTreeMap<String, Counts> {
        self.inner().counts.clone()
    }

    /// Waits until the journal is as `done` wants it. Looks again whenever
    /// something was written down, so nobody needs to sleep.
    pub async fn until(&self, done: impl Fn(&Self) -> bool) {
        loop {
            // Interest is registered before the look: no entry is missed between.
            let written = self.0.written.notified();
            let mut written = std::pin::pin!(written);
            written.as_mut().enable();
            if done(self) {
                return;
            }
            written.await;
        }
    }

    /// Forgets what was, but not what is on its way.
    pub fn clear(&self) {
        let mut inner = self.inner();
        inner.kept.clear();
        for counts in inner.counts.values_mut() {
            *counts = Counts {
                in_flight: counts.in_flight,
                most_in_flight: counts.in_flight,
                ..Counts::default()
            };
        }
    }

    pub(crate) fn arrive(
        &self,
        upstream: &str,
        method: &str,
        path: &str,
        token: Option<String>,
        at: Timestamp,
    ) -> Flight {
        let mut inner = self.inner();
        inner.last += 1;
        let number = inner.last;
        let key = (upstream.to_owned(), token.clone().unwrap_or_default());
        let by_token = inner.in_flight.entry(key.clone()).or_default();
        *by_token += 1;
        let by_token = *by_token;
        let counts = inner.counts.entry(upstream.to_owned()).or_default();
        counts.requests += 1;
        *counts.tokens.entry(key.1.clone()).or_default() += 1;
        counts.in_flight += 1;
        counts.most_in_flight = counts.most_in_flight.max(counts.in_flight);
        let in_flight = counts.in_flight;
        inner.kept.push_back(Request {
            number,
            upstream: upstream.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            token,
            at,
            in_flight,
            status: None,
            fault: None,
            limit: None,
        });
        if inner.kept.len() > KEPT {
            inner.kept.pop_front();
        }
        drop(inner);
        self.0.written.notify_waiters();
        Flight {
            journal: self.clone(),
            number,
            key,
            by_token,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request on its way: ends when dropped, that is when the last byte of the
/// answer was handed over or the connection is gone.
#[derive(Debug)]
pub(crate) struct Flight {
    journal: Journal,
    number: u64,
    key: (String, String),
    /// Requests with this token on their way at the arrival, this one included.
    pub(crate) by_token: u32,
}

impl Flight {
    pub(crate) fn met(&self, fault: &str) {
        let mut inner = self.journal.inner();
        if let Some(counts) = inner.counts.get_mut(&self.key.0) {
            *counts.faults.entry(fault.to_owned()).or_default() += 1;
        }
        if let Some(request) = inner.request(self.number) {
            request.fault = Some(fault.to_owned());
        }
    }

    pub(crate) fn answered(&self, status: u16, limit: Option<Limit>) {
        let mut inner = self.journal.inner();
        if let Some(counts) = inner.counts.get_mut(&self.key.0) {
            *counts.statuses.entry(status).or_default() += 1;
            match limit {
                Some(Limit::Primary) => counts.over_primary += 1,
                Some(Limit::Secondary) => counts.over_secondary += 1,
                None => {}
            }
        }
        if let Some(request) = inner.request(self.number) {
            request.status = Some(status);
            request.limit = limit;
        }
        drop(inner);
        self.journal.0.written.notify_waiters();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut inner = self.journal.inner();
        if let Some(count) = inner.in_flight.get_mut(&self.key) {
            *count -= 1;
        }
        if let Some(counts) = inner.counts.get_mut(&self.key.0) {
            counts.in_flight -= 1;
        }
        drop(inner);
        self.journal.0.written.notify_waiters();
    }
}

impl Inner {
    fn request(&mut self, number: u64) -> Option<&mut Request> {
        let first = self.kept.front()?.number;
        self.kept.get_mut(number.checked_sub(first)? as usize)
    }
}
