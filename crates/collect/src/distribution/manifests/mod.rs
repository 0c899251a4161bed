//! How a repository declares itself: the manifests in its tree, on this machine or on its forge.

mod by_git;
mod collector;
mod directory;
mod kept_blobs;
mod read;
mod remote;
mod unmoved;
mod visit;
mod written;

pub use collector::{Manifests, Subject, plain_directory, unit};
pub use directory::read_directory;
pub use read::{MAX_MANIFESTS, Snapshot, read_manifests};
pub(in crate::distribution) use written::{BEING_READ, SOURCE};
