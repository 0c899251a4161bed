//! How a repository declares itself: the manifests in its tree.

mod read;

pub use read::{MAX_MANIFESTS, Snapshot, read_manifests};
