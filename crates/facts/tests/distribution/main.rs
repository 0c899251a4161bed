//! Names, pairings and gaps: tables of cases, and what holds for all of them.
#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod always;
mod case;
mod gaps;
mod names;
mod pairs;
