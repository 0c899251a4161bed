//! Where a repository is published, and how it declares itself.

pub mod manifests;
pub mod pairing;
