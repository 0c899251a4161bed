//! How a repository declares itself: the manifests in its tree, on this machine or on its forge.

mod collector;
mod kept_blobs;
mod read;
mod remote;
mod unmoved;
mod visit;

pub(in crate::distribution) use collector::{BEING_READ, SOURCE};
pub use collector::{Manifests, Subject, unit};
pub use read::{MAX_MANIFESTS, Snapshot, read_manifests};
