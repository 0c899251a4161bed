//! Where repositories are published, in the simulated world, through the real client and engine.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod depsdev;
mod depsdev_faults;
mod ecosystems;
mod names;
mod pairing;
mod registry_answers;
mod registry_world;
