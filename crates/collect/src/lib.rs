//! Collectors: they ask the outside, hand bytes to `scan`, and commit facts
//! through the engine.
//!
//! [`collector`] says what one is, [`registry`] lists them all; each round has
//! its directory. [`git`] is the one door to repositories, [`http`] the one to
//! web services, [`forge`] knows how the forges among those speak, [`answer`]
//! the three values that asking can have.

pub mod answer;
pub mod collector;
pub mod distribution;
pub mod drill;
pub mod forge;
pub mod forge_activity;
pub mod foundation;
pub mod git;
pub mod goindex;
pub mod http;
mod inner_address;
pub mod license;
pub mod mail;
pub mod organisation;
pub mod pypi;
pub mod registry;
pub mod repo_metadata;
