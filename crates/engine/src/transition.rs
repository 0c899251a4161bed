//! What becomes of a unit when its run ends: one pure function, the transition
//! table of ENGINE.md in code.

use std::time::Duration;

use db::Timestamp;

use crate::{
    Rank, State,
    kind::Kind,
    outcome::{Outcome, backoff},
};

/// The strike that parks a unit.
pub(crate) const LAST_STRIKE: i64 = 10;
/// From this many lost runs on, a unit runs alone.
pub(crate) const LOST_RUNS_BEFORE_ALONE: i64 = 3;

/// What of a unit bears on its next state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub rank: Rank,
    pub strikes: i64,
    pub partials: i64,
    pub lost: i64,
}

/// How a run ended, as the engine sees it.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Outcome(Outcome),
    /// The unit's fault.
    Strike,
    /// Not the unit's fault: back in a while.
    Later(Duration),
    /// Given back untouched, at shutdown.
    Released,
}

/// The columns after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct After {
    pub state: State,
    pub rank: Rank,
    pub due_at: Timestamp,
    pub strikes: i64,
    pub partials: i64,
    pub lost: i64,
    /// Set when this end counts as one for those who wait for the unit.
    pub ended_at: Option<Timestamp>,
    pub succeeded_at: Option<Timestamp>,
}

pub(crate) fn after(before: Before, kind: &Kind, end: &End, now: Timestamp) -> After {
    let kept = After {
        state: State::Ready,
        // A run that ended, however it ended, killed nobody: no longer suspect.
        rank: match before.rank {
            Rank::Alone => Rank::Cadence,
            rank => rank,
        },
        due_at: now,
        strikes: before.strikes,
        partials: before.partials,
        lost: 0,
        ended_at: None,
        succeeded_at: None,
    };
    match end {
        End::Outcome(Outcome::Done | Outcome::Gone { .. }) => After {
            state: match kind.cadence {
                Some(_) => State::Ready,
                None => State::Done,
            },
            rank: Rank::Cadence,
            due_at: now.plus(kind.cadence.unwrap_or_default()),
            strikes: 0,
            partials: 0,
            ended_at: Some(now),
            succeeded_at: Some(now),
            ..kept
        },
        End::Outcome(Outcome::Partial { retry_at, .. }) => {
            let partials = before.partials + 1;
            let square = match (kind.immediate_partial_retry, kind.cadence) {
                (false, Some(cadence)) => cadence,
                (_, Some(cadence)) => backoff(partials).min(cadence),
                (_, None) => backoff(partials),
            };
            After {
                rank: Rank::Partial,
                due_at: retry_at.unwrap_or(now.plus(square)),
                strikes: 0,
                partials,
                ended_at: Some(now),
                ..kept
            }
        }
        End::Outcome(Outcome::Retry { at, .. }) => After {
            due_at: *at,
            ..kept
        },
        End::Outcome(Outcome::Wait { .. }) => After {
            state: State::Waiting,
            ..kept
        },
        End::Strike => struck(kept, kind.cadence, now),
        End::Later(span) => After {
            due_at: now.plus(*span),
            ..kept
        },
        // Still suspect: that it was given back says nothing of its health.
        End::Released => After {
            rank: before.rank,
            lost: before.lost,
            ..kept
        },
    }
}

/// One strike more; the last one parks.
pub(crate) fn struck(unit: After, cadence: Option<Duration>, now: Timestamp) -> After {
    let strikes = unit.strikes + 1;
    if strikes >= LAST_STRIKE {
        return After {
            state: State::Parked,
            // A one-off stays parked until somebody retries it.
            due_at: cadence.map_or(Timestamp::FAR_FUTURE, |cadence| now.plus(cadence)),
            strikes,
            ended_at: Some(now),
            ..unit
        };
    }
    After {
        rank: Rank::Strike,
        due_at: now.plus(backoff(strikes)),
        strikes,
        ..unit
    }
}

/// What becomes of a unit whose process died. Not a strike at first; a unit
/// that was there three times runs alone, and if that kills a process too, it
/// was the unit.
pub(crate) fn lost(before: Before, cadence: Option<Duration>, now: Timestamp) -> After {
    let lost = before.lost + 1;
    let freed = After {
        state: State::Ready,
        rank: before.rank,
        due_at: now,
        strikes: before.strikes,
        partials: before.partials,
        lost,
        ended_at: None,
        succeeded_at: None,
    };
    if lost < LOST_RUNS_BEFORE_ALONE {
        return freed;
    }
    let suspect = After {
        rank: Rank::Alone,
        ..freed
    };
    if lost == LOST_RUNS_BEFORE_ALONE {
        return suspect;
    }
    After {
        rank: Rank::Alone,
        ..struck(suspect, cadence, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CADENCE: Duration = Duration::from_hours(24 * 180);
    const NOW: Timestamp = Timestamp::EPOCH;

    fn before() -> Before {
        Before {
            rank: Rank::First,
            strikes: 3,
            partials: 2,
            lost: 1,
        }
    }

    fn recurring() -> Kind {
        Kind::recurring("test", CADENCE)
    }

    #[test]
    fn a_complete_run_wipes_the_slate_and_waits_for_the_cadence() {
        let next = after(before(), &recurring(), &End::Outcome(Outcome::Done), NOW);
        assert_eq!(
            next,
            After {
                state: State::Ready,
                rank: Rank::Cadence,
                due_at: NOW.plus(CADENCE),
                strikes: 0,
                partials: 0,
                lost: 0,
                ended_at: Some(NOW),
                succeeded_at: Some(NOW),
            }
        );
    }

    #[test]
    fn a_one_off_is_done() {
        let next = after(
            before(),
            &Kind::one_off("x"),
            &End::Outcome(Outcome::Done),
            NOW,
        );
        assert_eq!((next.state, next.due_at), (State::Done, NOW));
    }

    #[test]
    fn strikes_back_off_by_the_square_and_the_tenth_parks() {
        let mut unit = Before {
            rank: Rank::First,
            strikes: 0,
            partials: 0,
            lost: 0,
        };
        let mut minutes = Vec::new();
        for _ in 0..LAST_STRIKE - 1 {
            let next = after(unit, &recurring(), &End::Strike, NOW);
            assert_eq!((next.state, next.rank), (State::Ready, Rank::Strike));
            minutes.push(next.due_at.since(NOW).as_secs() / 60);
            unit.strikes = next.strikes;
        }
        assert_eq!(minutes, [2, 8, 18, 32, 50, 72, 98, 128, 162]);
        let parked = after(unit, &recurring(), &End::Strike, NOW);
        assert_eq!(
            (parked.state, parked.due_at),
            (State::Parked, NOW.plus(CADENCE))
        );
        let parked = after(unit, &Kind::one_off("x"), &End::Strike, NOW);
        assert_eq!(parked.due_at, Timestamp::FAR_FUTURE);
    }

    #[test]
    fn partials_have_their_own_square_law_within_the_cadence() {
        let partial = End::Outcome(Outcome::Partial {
            why: String::new(),
            retry_at: None,
        });
        let next = after(before(), &recurring(), &partial, NOW);
        assert_eq!(
            (next.rank, next.partials, next.strikes),
            (Rank::Partial, 3, 0)
        );
        assert_eq!(next.due_at, NOW.plus(Duration::from_mins(18)));
        let mut patient = recurring();
        patient.immediate_partial_retry = false;
        assert_eq!(
            after(before(), &patient, &partial, NOW).due_at,
            NOW.plus(CADENCE)
        );
        let mut hasty = recurring();
        hasty.cadence = Some(Duration::from_mins(5));
        assert_eq!(
            after(before(), &hasty, &partial, NOW).due_at,
            NOW.plus(Duration::from_mins(5))
        );
    }

    #[test]
    fn what_the_other_side_says_always_wins() {
        let at = NOW.plus(Duration::from_secs(7));
        let partial = End::Outcome(Outcome::Partial {
            why: String::new(),
            retry_at: Some(at),
        });
        assert_eq!(after(before(), &recurring(), &partial, NOW).due_at, at);
        let retry = End::Outcome(Outcome::Retry {
            at,
            why: String::new(),
        });
        let next = after(before(), &recurring(), &retry, NOW);
        assert_eq!((next.due_at, next.strikes, next.rank), (at, 3, Rank::First));
    }

    #[test]
    fn a_unit_that_kills_processes_runs_alone_then_strikes() {
        let mut unit = Before {
            rank: Rank::Cadence,
            strikes: 0,
            partials: 0,
            lost: 0,
        };
        let mut seen = Vec::new();
        for _ in 0..4 {
            let next = lost(unit, None, NOW);
            seen.push((next.rank, next.strikes));
            unit.lost = next.lost;
            unit.rank = next.rank;
            unit.strikes = next.strikes;
        }
        assert_eq!(
            seen,
            [
                (Rank::Cadence, 0),
                (Rank::Cadence, 0),
                (Rank::Alone, 0),
                (Rank::Alone, 1)
            ]
        );
        unit.strikes = LAST_STRIKE - 1;
        assert_eq!(lost(unit, None, NOW).state, State::Parked);
    }
}
