//! Distribution: what sources say, and what follows from it.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod pairing;
