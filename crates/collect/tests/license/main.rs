//! From real repositories on a real git server to licenses.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]
#![expect(
    clippy::print_stderr,
    reason = "figures, differences and what was left out are worth a line in the log"
)]

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
