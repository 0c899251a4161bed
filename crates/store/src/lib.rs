//! The only SQL about facts: what is watched, what was observed about it, and how to read it back.
//!
//! | module | holds |
//! |---|---|
//! | [`repositories`] | the catalogue: add, find, list, rename, archive, remove |
//! | [`groups`] | named sets of repositories |
//! | [`group_sources`] | the owners on forges that groups keep up with |
//! | [`forge_hosts`] | what hosts run, where their name does not tell |
//! | [`metadata`] | what forges say of repositories, and every change of it |
//! | [`contributors`] | people and their addresses |
//! | [`observed`] | evidence and manifests as sources report them, with their history |
//! | [`declared_names`] | whose the names are that manifests declare |
//! | [`distribution`] | what follows from them: pairings, gaps, events, figures |
//! | [`goindex`] | tags, the Go module versions they name, and the feed of them |
//! | [`license`] | what scanners find in files, and what that makes of repositories |
//! | [`mail`] | what mail archives hold, the messages in it, threads, patch series, search |
//! | [`objects`] | where dumps and datasets are: a directory or S3 |
//! | [`dumps`] | every file of a Python index, as objects |
//! | [`datasets`] | look-ups of import names and requirements, built from dumps |
//! | [`drill`] | what drills write, to be counted |
//! | [`http_cache`] | answers of upstreams with their validators, bounded |
//! | [`manifest_blobs`] | contents of manifests by their id, bounded |
//! | [`pypi`] | a Python index: projects, files, what the files hold, and the sequence of changes |
//! | [`owner_packages`] | what owners have in their forges' own registries, for a while |
//! | [`sources`] | when each source was asked and how it answered |
//! | [`show`] | everything about one repository, for a person |
//!
//! Writes take a [`db::Tx`], so that they commit together with the unit that made them; reads take
//! a [`db::Db`]. Time is passed in. A transaction should write at most [`MAX_ROWS`] rows: on SQLite
//! it holds up every other writer.
//!
//! What is expected to go one way or the other is a value ([`repositories::Added`],
//! [`repositories::Renamed`]); an error is always the database's.

pub mod contributors;
pub mod datasets;
pub mod declared_names;
pub mod distribution;
pub mod drill;
pub mod dumps;
pub mod forge_hosts;
pub mod goindex;
pub mod group_sources;
pub mod groups;
pub mod http_cache;
pub mod license;
pub mod mail;
pub mod manifest_blobs;
pub mod metadata;
pub mod objects;
pub mod observed;
pub mod owner_packages;
pub mod pypi;
pub mod repositories;
mod schema;
pub mod show;
pub mod sources;

pub use schema::PART;

/// The most rows one transaction should write: 20,000 on SQLite delay other writers by more than a
/// second.
pub const MAX_ROWS: usize = 5_000;
