//! A moment with microseconds: `TIMESTAMPTZ` in PostgreSQL, fixed-width UTC
//! text with six decimals in SQLite. Both sort in time order and both are read
//! by people.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Microseconds between 1970 and PostgreSQL's own epoch, 2000-01-01.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

/// Years 0001 to 9998: what fixed-width text and every time library can hold.
const MIN_MICROS: i64 = -62_135_596_800_000_000;
const MAX_MICROS: i64 = 253_370_764_799_999_999;

/// A moment in UTC, exact to the microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The end of time that both databases can hold: "not before a person says so".
    pub const FAR_FUTURE: Self = Self(MAX_MICROS);
    /// 1970-01-01.
    pub const EPOCH: Self = Self(0);

    /// From microseconds since 1970, held within the years 1 to 9998.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(MIN_MICROS, MAX_MICROS))
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment and `by` more; stops at the end of time instead of wrapping.
    pub fn plus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(by))
    }

    /// This moment less `by`.
    pub fn minus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_sub(by))
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub(crate) fn to_postgres(self) -> i64 {
        self.0 - POSTGRES_EPOCH
    }

    pub(crate) fn from_postgres(micros: i64) -> Self {
        Self::from_micros(micros.saturating_add(POSTGRES_EPOCH))
    }
}

/// RFC 3339 with exactly six decimals and `Z`: 27 bytes, always.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The clamp in every constructor keeps this within jiff's range.
        let moment =
            jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        write!(f, "{moment:.6}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text that is no RFC 3339 moment.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no RFC 3339 time")]
pub struct BadTimestamp(String);

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(Self::from)
            .map_err(|_| BadTimestamp(text.chars().take(40).collect()))
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(moment: jiff::Timestamp) -> Self {
        Self::from_micros(moment.as_microsecond())
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(moment: Timestamp) -> Self {
        Self::from_microsecond(moment.0).unwrap_or(Self::UNIX_EPOCH)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let text = "2026-11-15T22:07:00.000001Z";
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        assert_eq!(
            Timestamp::FAR_FUTURE.to_string(),
            "9998-12-31T23:59:59.999999Z"
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn arithmetic_stops_at_the_end_of_time() {
        assert_eq!(
            Timestamp::FAR_FUTURE.plus(Duration::MAX),
            Timestamp::FAR_FUTURE
        );
        assert_eq!(
            Timestamp::EPOCH.since(Timestamp::FAR_FUTURE),
            Duration::ZERO
        );
    }

    proptest! {
        #[test]
        fn text_sorts_as_time_does(a in MIN_MICROS..=MAX_MICROS, b in MIN_MICROS..=MAX_MICROS) {
            let (a, b) = (Timestamp::from_micros(a), Timestamp::from_micros(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(a.to_string().len(), 27);
            prop_assert_eq!(a.to_string().parse::<Timestamp>().unwrap(), a);
            prop_assert_eq!(Timestamp::from_postgres(a.to_postgres()), a);
        }
    }
}
