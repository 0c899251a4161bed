//! From real repositories on a real git server to the feed.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

#[path = "../made/mod.rs"]
mod made;

mod by_api;
mod events;
mod faults;
mod go_truth;
mod large;
mod layouts;
mod organisation;
mod vanity;
mod world;
