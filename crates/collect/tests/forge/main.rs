//! Forges in the simulated world, through the real client and the real engine.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod faults;
mod goindex;
mod hosts;
mod large;
mod organisation;
mod repo_metadata;
mod world;
