//! From real repositories on a real git server to licenses.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

#[path = "../made/mod.rs"]
mod made;

mod faults;
mod fleet;
mod manners;
mod poison;
mod provenant;
mod round;
mod scancode;
mod world;
