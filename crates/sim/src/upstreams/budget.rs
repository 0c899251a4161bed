//! Requests counted in windows of world time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use crate::clock::later;

/// How one caller stands in the current window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) limit: u64,
    pub(super) used: u64,
    /// When the window ends.
    pub(super) reset: Timestamp,
    /// Whether the request that asked may pass.
    pub(super) granted: bool,
}

impl Standing {
    pub(super) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Unix seconds, rounded up: at that second the window is over.
    pub(super) fn reset_seconds(&self) -> i64 {
        let whole = self.reset.as_second();
        whole + i64::from(self.reset.subsec_nanosecond() > 0)
    }

    pub(super) fn seconds_left(&self, now: Timestamp) -> u64 {
        (self.reset_seconds() - now.as_second()).max(1) as u64
    }
}

/// One budget for each caller. A window begins with the first request in it.
#[derive(Debug)]
pub(super) struct Budgets {
    seconds: u64,
    windows: Mutex<HashMap<String, Window>>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    reset: Timestamp,
    used: u64,
}

impl Budgets {
    pub(super) fn every(seconds: u64) -> Self {
        Self {
            seconds,
            windows: Mutex::default(),
        }
    }

    /// Takes one request from the caller's budget, if there is one left.
    pub(super) fn take(&self, caller: &str, limit: u64, now: Timestamp) -> Standing {
        let mut windows = self.windows();
        let fresh = Window {
            reset: later(now, self.seconds),
            used: 0,
        };
        let window = windows.entry(caller.to_owned()).or_insert(fresh);
        if window.reset <= now {
            *window = fresh;
        }
        let granted = window.used < limit;
        window.used += u64::from(granted);
        Standing {
            limit,
            used: window.used,
            reset: window.reset,
            granted,
        }
    }

    /// Gives back what the last request took: it was not to be counted.
    pub(super) fn give_back(&self, caller: &str) {
        if let Some(window) = self.windows().get_mut(caller) {
            window.used = window.used.saturating_sub(1);
        }
    }

    /// How the caller stands, without taking anything.
    pub(super) fn look(&self, caller: &str, limit: u64, now: Timestamp) -> Standing {
        let windows = self.windows();
        let window = windows.get(caller).filter(|window| window.reset > now);
        Standing {
            limit,
            used: window.map_or(0, |window| window.used),
            reset: window.map_or_else(|| later(now, self.seconds), |window| window.reset),
            granted: true,
        }
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<String, Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
