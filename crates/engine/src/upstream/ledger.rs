//! The arithmetic of one budget. No database, no clock: it is told everything.
//!
//! The service counts what it was sent. We count what may still be sent: what
//! is `remaining` in the row, which nobody has, and the slices that processes
//! have leased from it. As long as nobody else uses the token,
//!
//! > what the service has left = remaining + unused slices + requests on their way
//!
//! An answer of the service is held against that. If it has less than we
//! thought, somebody else draws on the token: the row is lowered. If it has more
//! than all slices and all requests on their way can explain, a process has died
//! with a slice it did not use: the row is raised, once no other process has
//! touched it for a minute (else the answer may be older than what another has
//! sent since). So what a dead process had
//! counts as sent until the service itself says otherwise, and nothing is ever
//! sent beyond what was announced.

use std::time::Duration;

use db::Timestamp;

use super::Announced;

/// The largest slice: one row update per fifty requests.
const LARGEST_SLICE: i64 = 50;
/// A slice is at most this part of what is left, so that slices shrink to one
/// request towards the end of a budget and nothing is left in idle hands.
const PARTS: i64 = 8;
/// Two ends of a window that differ by less are the same one: services count
/// whole seconds, and some compute the end anew in each answer.
const SAME_WINDOW: Duration = Duration::from_secs(5);
/// A window is over this much later than announced: services announce whole
/// seconds, and a request too early is one beyond the limit.
pub(super) const RESET_SLACK: Duration = Duration::from_secs(1);
/// A window whose length nobody has told.
const USUAL_WINDOW: Duration = Duration::from_hours(1);
/// No window is believed to be longer: a service with a broken clock would
/// otherwise never be asked again.
const LONGEST_WINDOW: Duration = Duration::from_hours(31 * 24);

pub(super) fn same_window(one: Timestamp, other: Timestamp) -> bool {
    one.since(other).max(other.since(one)) <= SAME_WINDOW
}

/// One row of `budget`, as far as it counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Requests in a whole window.
    pub quota: Option<i64>,
    /// Of this window, not leased to anybody; none: not known, not limited.
    pub remaining: Option<i64>,
    /// The next window begins.
    pub reset_at: Option<Timestamp>,
    /// Seconds of a window.
    pub span: Option<i64>,
    /// The service said so of this very window; else it is our guess.
    pub announced: bool,
}

/// What is out of the row's hands when an answer is heard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abroad {
    /// Left in our own slice.
    pub left: i64,
    /// Our own requests whose answer was not heard.
    pub sent: i64,
    /// Leased by other processes.
    pub others: i64,
    /// No other process has touched this budget within a minute, so that no
    /// answer to one is older news than this one.
    pub alone: bool,
    /// The lowest that the service said to us in this window.
    pub lowest: i64,
}

impl Ledger {
    /// As configured, for a service that announces nothing.
    pub(super) fn configured(quota: i64, span: Duration, now: Timestamp) -> Self {
        Self {
            quota: Some(quota),
            remaining: Some(quota),
            reset_at: Some(now.plus(span)),
            span: Some(i64::try_from(span.as_secs().max(1)).unwrap_or(i64::MAX)),
            announced: false,
        }
    }

    /// Whether this window is over.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.reset_at
            .is_some_and(|reset_at| reset_at.plus(RESET_SLACK) <= now)
    }

    /// Begins the next window if this one is over; true if so. All slices are
    /// void then. How much there is and until when is a guess that the first
    /// answer mends.
    pub(super) fn roll(&mut self, now: Timestamp) -> bool {
        if !self.is_over(now) {
            return false;
        }
        let span = self.span.map_or(USUAL_WINDOW, |seconds| {
            Duration::from_secs(seconds.unsigned_abs())
        });
        self.remaining = self.quota;
        self.reset_at = self.quota.map(|_| now.plus(span));
        self.announced = false;
        true
    }

    /// What may be taken from the row, with or without the reserve.
    pub(crate) fn available(&self, reserve: f64, interactive: bool) -> Option<i64> {
        let kept = if interactive {
            0
        } else {
            // Rounded down: of fewer than fifty nothing is kept by default.
            self.quota
                .map_or(0, |quota| (quota as f64 * reserve.clamp(0.0, 1.0)) as i64)
        };
        Some((self.remaining? - kept).max(0))
    }

    /// Takes a slice; zero if there is nothing to be had.
    pub(super) fn slice(&mut self, reserve: f64, interactive: bool) -> i64 {
        let available = self.available(reserve, interactive).unwrap_or(0);
        let slice = if interactive {
            // Somebody waits for one answer, not for fifty.
            available.min(1)
        } else {
            available.min((available / PARTS).clamp(1, LARGEST_SLICE))
        };
        self.remaining = self.remaining.map(|remaining| remaining - slice);
        slice
    }

    /// Takes over what the service said. True if slices are void by it.
    pub(super) fn hear(&mut self, said: &Announced, abroad: Abroad, now: Timestamp) -> bool {
        let ends = said.reset_at.min(now.plus(LONGEST_WINDOW));
        if ends.plus(RESET_SLACK) <= now {
            // An answer that was long on its way: its window is over.
            return false;
        }
        let heard = said.remaining.max(0);
        let rolled = self.roll(now);
        let known = self.remaining;
        let moved = self
            .reset_at
            .is_none_or(|reset_at| !self.announced || ends > reset_at.plus(SAME_WINDOW));
        if !moved
            && self
                .reset_at
                .is_some_and(|reset_at| ends.plus(SAME_WINDOW) < reset_at)
        {
            // The window before, or another limit beside this one.
            self.remaining = known.map(|known| known.min((heard - abroad.left).max(0)));
            return heard == 0;
        }
        self.quota = said
            .limit
            .filter(|limit| *limit > 0)
            .or(self.quota)
            .or(Some(heard));
        if moved {
            let seconds = i64::try_from(ends.since(now).as_secs().max(1)).unwrap_or(i64::MAX);
            self.span = Some(self.span.unwrap_or(0).max(seconds));
            self.reset_at = Some(ends);
        }
        let sure = (heard.min(abroad.lowest) - abroad.left - abroad.sent - abroad.others).max(0);
        let most = (heard - abroad.left).max(0);
        self.remaining = Some(match known {
            // Slices of the last window are void, and its requests are counted there.
            Some(_) if rolled => heard,
            // The service began a new window before we thought it would.
            Some(_) if moved && self.announced => sure,
            Some(known) if abroad.alone || !self.announced => known.min(most).max(sure),
            Some(known) => known.min(most),
            None => sure,
        });
        self.announced = true;
        rolled || heard == 0
    }

    /// Whether [`Ledger::hear`] would change anything worth a write.
    pub(super) fn would_change(&self, said: &Announced, abroad: Abroad, now: Timestamp) -> bool {
        let mut heard = self.clone();
        let void = heard.hear(said, abroad, now);
        void || heard.remaining != self.remaining
            || heard.quota != self.quota
            || heard.reset_at != self.reset_at
            || heard.announced != self.announced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn said(remaining: i64, reset_at: Timestamp) -> Announced {
        Announced {
            limit: Some(100),
            remaining,
            reset_at,
        }
    }

    fn abroad(left: i64, sent: i64, others: i64, lowest: i64) -> Abroad {
        Abroad {
            left,
            sent,
            others,
            alone: others == 0,
            lowest,
        }
    }

    fn announced(remaining: i64) -> Ledger {
        let mut ledger = Ledger::default();
        let reset_at = Timestamp::EPOCH.plus(HOUR);
        ledger.hear(
            &said(remaining, reset_at),
            abroad(0, 0, 0, remaining),
            Timestamp::EPOCH,
        );
        ledger
    }

    #[test]
    fn slices_shrink_and_leave_nothing() {
        let mut ledger = announced(100);
        let mut slices = Vec::new();
        loop {
            let slice = ledger.slice(0.0, false);
            if slice == 0 {
                break;
            }
            slices.push(slice);
        }
        assert_eq!(slices.iter().sum::<i64>(), 100);
        assert_eq!((slices[0], *slices.last().unwrap()), (12, 1));
        assert_eq!(announced(100_000).slice(0.0, false), LARGEST_SLICE);
    }

    #[test]
    fn the_reserve_is_for_those_who_wait() {
        let mut ledger = announced(3);
        ledger.quota = Some(150);
        assert_eq!(ledger.slice(0.02, false), 0);
        assert_eq!(ledger.slice(0.02, true), 1);
        assert_eq!(ledger.remaining, Some(2));
    }

    #[test]
    fn less_than_we_thought_lowers_and_a_dead_process_is_made_up_for() {
        let reset_at = Timestamp::EPOCH.plus(HOUR);
        let now = Timestamp::EPOCH;
        let mut ledger = announced(80);
        // We hold 10, nobody else draws: 90 are left there, nothing changes.
        let ours = abroad(10, 0, 0, 90);
        assert!(!ledger.would_change(&said(90, reset_at), ours, now));
        // Somebody else has used 30.
        ledger.hear(&said(60, reset_at), abroad(10, 0, 0, 60), now);
        assert_eq!(ledger.remaining, Some(50));
        // Another process leased 12, and died: its slice is gone.
        ledger.remaining = Some(38);
        ledger.hear(&said(60, reset_at), abroad(10, 0, 12, 60), now);
        assert_eq!(ledger.remaining, Some(38), "it may use them yet");
        ledger.hear(&said(60, reset_at), abroad(10, 1, 0, 60), now);
        assert_eq!(ledger.remaining, Some(49), "all but one on its way");
        // An older answer that arrives late does not raise it.
        ledger.hear(&said(70, reset_at), abroad(10, 0, 0, 60), now);
        assert_eq!(ledger.remaining, Some(50));
    }

    #[test]
    fn a_new_window_is_guessed_and_then_mended() {
        let mut ledger = announced(0);
        let first_end = Timestamp::EPOCH.plus(HOUR);
        assert!(!ledger.roll(first_end), "a second later, to be sure");
        let now = first_end.plus(RESET_SLACK);
        assert!(ledger.roll(now));
        assert_eq!((ledger.remaining, ledger.announced), (Some(100), false));
        let slice = ledger.slice(0.0, false);
        // Late news of the last window says nothing of this one.
        assert!(!ledger.would_change(
            &said(0, first_end),
            abroad(slice, 0, 0, 0),
            now.plus(HOUR / 60)
        ));
        // It ends earlier than we guessed.
        let ends = now.plus(HOUR / 2);
        ledger.hear(&said(99, ends), abroad(slice - 1, 0, 0, 99), now);
        assert_eq!(ledger.reset_at, Some(ends));
        assert_eq!(ledger.remaining, Some(100 - slice));
    }

    #[test]
    fn a_window_that_slides_is_believed() {
        let mut ledger = announced(5);
        let now = Timestamp::EPOCH.plus(Duration::from_mins(10));
        let ends = now.plus(HOUR);
        ledger.hear(&said(40, ends), abroad(2, 1, 7, 40), now);
        assert_eq!((ledger.remaining, ledger.reset_at), (Some(30), Some(ends)));
    }

    #[test]
    fn absurd_announcements_do_no_harm() {
        let mut ledger = announced(5);
        let ends = Timestamp::FAR_FUTURE;
        ledger.hear(
            &Announced {
                limit: Some(-3),
                remaining: i64::MIN,
                reset_at: ends,
            },
            abroad(0, 0, 0, 0),
            Timestamp::EPOCH,
        );
        assert_eq!(ledger.remaining, Some(0));
        assert!(ledger.reset_at.unwrap() <= Timestamp::EPOCH.plus(LONGEST_WINDOW));
        assert_eq!(ledger.quota, Some(100));
    }
}
