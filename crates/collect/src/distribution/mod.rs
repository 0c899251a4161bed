//! Where a repository is published, and how it declares itself.
//!
//! Each source is a kind of unit of its own, with its own answer, time and completeness.
//!
//! | module | asks |
//! |---|---|
//! | [`depsdev`] | deps.dev: which packages come from this repository |
//! | [`ecosystems`] | ecosyste.ms: the same, of many more registries |
//! | [`names`] | deps.dev: whose the names are that the manifests declare |
//! | [`releases`] | the forge: which packages are attached to releases |
//! | [`packages`] | the forge: which packages are in its own registry |
//! | [`manifests`] | the repository's tree: how it declares itself |
//! | [`pairing`] | nobody: which package comes from which manifest, and what is left |

mod at_forge;
pub mod depsdev;
pub mod ecosystems;
pub mod manifests;
pub mod names;
pub mod packages;
pub mod pairing;
mod registry_view;
pub mod releases;

use engine::Enqueue;
use facts::repository::RepositoryUrl;

pub use registry_view::{Settings, Subject};

/// The units of a repository, those first that others can use the answers of.
pub fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    manifests::unit(id, url)
        .into_iter()
        .chain(releases::unit(id, url))
        .chain(packages::unit(id, url))
        .chain(depsdev::unit(id, url))
        .chain(ecosystems::unit(id, url))
        .chain(names::unit(id, url))
        .collect()
}
