//! git as the collectors use it: repositories on disk, behind a server, and the manifests in them.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod local;
#[path = "../made/mod.rs"]
mod made;
mod manifests;
mod remote;
