//! From real repositories on a real git server to the feed.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

#[path = "../made/mod.rs"]
mod made;

mod events;
mod faults;
mod go_truth;
mod layouts;
mod world;
