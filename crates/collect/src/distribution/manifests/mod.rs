//! How a repository declares itself: the manifests in its tree.

mod collector;
mod read;

pub use collector::{Manifests, Subject, unit};
pub use read::{MAX_MANIFESTS, Snapshot, read_manifests};
