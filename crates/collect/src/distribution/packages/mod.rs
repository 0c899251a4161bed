//! What lies in the registry of a repository's own forge.

mod collector;
mod listing;

pub use collector::{Packages, Subject, unit};
