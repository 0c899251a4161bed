//! A small faithful world for tests, the demo and benches: deterministic by
//! seed. So far it holds source trees; the upstreams come one file each.

mod trees;

pub use trees::{SourceTree, source_trees};
