//! Evidence: one observed fact about a package that is published from a repository.

use jiff::Timestamp;
use serde::Serialize;

use crate::{json::Attributes, kept::maybe_six_decimals};

/// "This source says that this package of this ecosystem comes from the repository."
///
/// Within one source, ecosystem and package tell two apart; all else may change, and a change is
/// history. When it was seen is not part of it: see [`Kept`](crate::kept::Kept).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The ecosystem word, for example `pypi`.
    pub ecosystem: String,
    /// The package's name as the source spells it.
    pub package: String,
    /// The newest version the source knows.
    pub version: Option<String>,
    /// How many versions the source knows.
    pub version_count: Option<i64>,
    /// When the first version was published.
    #[serde(serialize_with = "maybe_six_decimals")]
    pub first_published_at: Option<Timestamp>,
    /// When the newest version was published.
    #[serde(serialize_with = "maybe_six_decimals")]
    pub latest_published_at: Option<Timestamp>,
    /// Where in the repository it was found, if the source says so.
    pub path: Option<String>,
    /// Whatever else the source says and is worth keeping.
    pub attributes: Attributes,
}
