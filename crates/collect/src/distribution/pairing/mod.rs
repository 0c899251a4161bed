//! What a repository's sources together mean: which package comes from which manifest, and where
//! declaring and publishing disagree. Derived; asks nobody.
//!
//! When it runs. Every source that records an answer calls [`wake`] in the transaction of that
//! answer, so a pairing is never older than what it rests on, whatever happens between the two. A
//! requirement on the sources' units would not do: it is met once, by all of them, while one
//! source alone may answer again at any time (a partial answer is completed, a cadence passes, a
//! person asks for a recheck), and a source whose service is down would hold up what the others
//! have to say. A pairing that runs while another answer is committed is marked to run again by
//! the same call.
//!
//! Sources that have never been asked are waited for a while after a repository was added, so that
//! its first gaps are judged once and not five times, each time with a little less unknown.

mod collector;
mod expected;

pub use collector::{Pairing, SOURCE, Subject, at_once, unit, wake, wake_after_failure};
pub use expected::SwitchedOn;
