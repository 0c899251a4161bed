//! What one run asked, for its report and the unit's page.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use db::Timestamp;
use serde::Serialize;

/// More are counted, not listed.
const LISTED: usize = 200;

/// One request.
#[derive(Clone, Debug, Serialize)]
pub struct Logged {
    /// When it was asked for.
    pub at: Timestamp,
    /// GET, HEAD or POST.
    pub method: &'static str,
    /// Who was asked.
    pub upstream: String,
    /// What for; without the values of parameters that sound secret.
    pub path: String,
    /// The status of the answer, if one came.
    pub status: Option<u16>,
    /// `found`, `absent`, or why it is unknown.
    pub came_to: &'static str,
    /// Bytes of the body on the wire.
    pub bytes: u64,
    /// The answer was as before, and the kept one was used.
    pub from_cache: bool,
    /// From the question to the end of the body, with all waiting.
    pub duration_ms: u64,
    /// Of that, waiting for a slot, the pace, or a budget.
    pub waited_ms: u64,
    /// Requests on the wire: more than one after redirects and lost connections.
    pub sent: u32,
    /// The name of the token it was asked with.
    pub token: Option<String>,
}

/// All requests of a run, the last ones in full.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RequestLog {
    /// How many there were.
    pub requests: u64,
    /// How many of them were answered from the cache.
    pub from_cache: u64,
    /// Bytes on the wire, of all.
    pub bytes: u64,
    /// The last ones, in order.
    pub last: VecDeque<Logged>,
}

/// Where a run's requests are written down.
#[derive(Clone, Debug, Default)]
pub(super) struct Book(Arc<Mutex<RequestLog>>);

impl Book {
    pub(super) fn write(&self, logged: Logged) {
        tracing::debug!(
            upstream = logged.upstream,
            path = logged.path,
            status = logged.status,
            bytes = logged.bytes,
            from_cache = logged.from_cache,
            duration_ms = logged.duration_ms,
            waited_ms = logged.waited_ms,
            "{} came to {}",
            logged.method,
            logged.came_to
        );
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.requests += 1;
        log.from_cache += u64::from(logged.from_cache);
        log.bytes += logged.bytes;
        if log.last.len() == LISTED {
            log.last.pop_front();
        }
        log.last.push_back(logged);
    }

    pub(super) fn read(&self) -> RequestLog {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
