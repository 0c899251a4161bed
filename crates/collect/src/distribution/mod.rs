//! Where a repository is published, and how it declares itself.
//!
//! Each source is a kind of unit of its own, with its own answer, time and completeness.

mod at_forge;
pub mod manifests;
pub mod packages;
pub mod releases;

use engine::Enqueue;
use facts::repository::RepositoryUrl;

/// The units of a repository, those first that others can use the answers of.
pub fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    manifests::unit(id, url)
        .into_iter()
        .chain(releases::unit(id, url))
        .chain(packages::unit(id, url))
        .collect()
}
