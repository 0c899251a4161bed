//! The nouns of gleaner, without any input or output: what a repository is and when two addresses
//! mean the same one, what was observed about it and when, how packages and people are named.
//!
//! | module | noun |
//! |---|---|
//! | [`repository`] | a repository's address: host, owner, name, and the key that tells two apart |
//! | [`evidence`] | one observed fact about a published package |
//! | [`distribution`] | which published package comes from which manifest, and where the two disagree |
//! | [`mail`] | where mail comes from, and what becomes of copies of what a forge knows |
//! | [`manifest`] | one file in which a repository declares what it publishes |
//! | [`kept`] | any fact with the times at which it was seen |
//! | [`purl`] | the package URL of an ecosystem's package |
//! | [`contributor`], [`group`] | people with their addresses; sets of repositories |
//! | [`git_object`] | the ids that git gives to contents |
//! | [`hex`] | digests as they are written |
//! | [`license`] | what a scanner finds in one file |
//! | [`json`] | JSON whose text is equal when its meaning is |

pub mod contributor;
pub mod distribution;
pub mod evidence;
pub mod git_object;
pub mod group;
pub mod hex;
pub mod json;
pub mod kept;
pub mod license;
pub mod mail;
pub mod manifest;
pub mod purl;
pub mod repository;
