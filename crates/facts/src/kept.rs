//! A fact and the times at which it was seen.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A fact as it is kept: what was observed, by whom, and since when.
///
/// A source that answered cleanly may end its own facts (`gone_at`); an outage ends nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept<T> {
    /// What was observed last.
    #[serde(flatten)]
    pub fact: T,
    /// Who observed it.
    pub source: String,
    /// The version of the collector that wrote it.
    pub collector_version: i64,
    /// The first observation ever.
    #[serde(serialize_with = "six_decimals")]
    pub first_seen: Timestamp,
    /// The first observation of the present state.
    #[serde(serialize_with = "six_decimals")]
    pub changed_at: Timestamp,
    /// The last observation.
    #[serde(serialize_with = "six_decimals")]
    pub last_seen: Timestamp,
    /// When the source first answered without it; none while it is there.
    #[serde(serialize_with = "maybe_six_decimals")]
    pub gone_at: Option<Timestamp>,
}

/// An earlier state of a fact and the stretch of time in which it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span<T> {
    /// What was observed.
    #[serde(flatten)]
    pub fact: T,
    /// The version of the collector that wrote it.
    pub collector_version: i64,
    /// The first observation of this state.
    #[serde(serialize_with = "six_decimals")]
    pub seen_from: Timestamp,
    /// The last observation of this state.
    #[serde(serialize_with = "six_decimals")]
    pub seen_until: Timestamp,
    /// When it was found gone; none where the next state followed at once, or it is still there.
    #[serde(serialize_with = "maybe_six_decimals")]
    pub gone_at: Option<Timestamp>,
}

/// Writes a moment as everywhere in the product: RFC 3339, UTC, six decimals.
pub fn six_decimals<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{moment:.6}"))
}

/// The same where there may be none.
pub fn maybe_six_decimals<S: Serializer>(
    moment: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => six_decimals(moment, serializer),
        None => serializer.serialize_none(),
    }
}
