//! Where a repository is published, and how it declares itself.
//!
//! | module | asks |
//! |---|---|
//! | [`depsdev`] | deps.dev: which packages come from this repository |
//! | [`ecosystems`] | ecosyste.ms: the same, of many more registries |
//! | [`names`] | deps.dev: whose the names are that the manifests declare |
//! | [`manifests`] | the repository's tree: how it declares itself |

pub mod depsdev;
pub mod ecosystems;
pub mod manifests;
pub mod names;
pub mod pairing;
mod registry_view;

use engine::Enqueue;
use facts::repository::RepositoryUrl;

pub use registry_view::{Settings, Subject};

/// The units of a repository, those first that others can use the answers of.
pub fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    manifests::unit(id, url)
        .into_iter()
        .chain(depsdev::unit(id, url))
        .chain(ecosystems::unit(id, url))
        .chain(names::unit(id, url))
        .collect()
}
