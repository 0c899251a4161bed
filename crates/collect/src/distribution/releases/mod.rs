//! What a repository attaches to its releases.

mod collector;
mod evidence;

pub use collector::{Releases, Subject, unit};
