//! Months.

use std::{fmt, str::FromStr};

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};

/// A month of a year, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    year: i16,
    month: i8,
}

/// The text is no month.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no month")]
pub struct NoMonth(String);

impl Month {
    /// A month by its numbers; months below 1 and beyond 12 are the nearest.
    pub const fn new(year: i16, month: i8) -> Self {
        let month = match month {
            ..=0 => 1,
            13.. => 12,
            month => month,
        };
        Self { year, month }
    }

    /// The month of a moment.
    pub fn of(at: Timestamp) -> Self {
        let date = at.to_zoned(TimeZone::UTC).date();
        Self::new(date.year(), date.month())
    }

    /// So many months before.
    #[must_use]
    pub fn back(self, months: i64) -> Self {
        let number = i64::from(self.year) * 12 + i64::from(self.month) - 1 - months.max(0);
        let year = i16::try_from(number.div_euclid(12)).unwrap_or(1);
        Self::new(year.max(1), (number.rem_euclid(12) + 1) as i8)
    }

    /// From this one to another, both included.
    pub fn until(self, last: Self) -> impl Iterator<Item = Self> {
        let next = |one: &Self| {
            Some(if one.month == 12 {
                Self::new(one.year + 1, 1)
            } else {
                Self::new(one.year, one.month + 1)
            })
        };
        std::iter::successors(Some(self), next).take_while(move |one| *one <= last)
    }

    /// The moment so many days after its last.
    pub fn end_plus_days(self, days: i64) -> Timestamp {
        let [_, next] = [self, self.until(Self::new(9000, 1)).nth(1).unwrap_or(self)];
        let first = Date::new(next.year, next.month, 1).unwrap_or_default();
        let after = first.checked_add(days.days()).unwrap_or(first);
        after
            .to_zoned(TimeZone::UTC)
            .map_or(Timestamp::MAX, |at| at.timestamp())
    }
}

impl FromStr for Month {
    type Err = NoMonth;

    fn from_str(text: &str) -> Result<Self, NoMonth> {
        let no = || NoMonth(text.chars().take(20).collect());
        let (year, month) = text.split_once('-').ok_or_else(no)?;
        let (year, month): (i16, i8) = (
            year.parse().map_err(|_| no())?,
            month.parse().map_err(|_| no())?,
        );
        if !(1..=9000).contains(&year) || !(1..=12).contains(&month) {
            return Err(no());
        }
        Ok(Self::new(year, month))
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_counted_over_years() {
        let month: Month = "2017-02".parse().unwrap();
        assert_eq!(month.back(0), month);
        assert_eq!(month.back(2).to_string(), "2016-12");
        assert_eq!(month.back(26).to_string(), "2014-12");
        let until: Vec<String> = "2016-11"
            .parse::<Month>()
            .unwrap()
            .until(month)
            .map(|month| month.to_string())
            .collect();
        assert_eq!(until, ["2016-11", "2016-12", "2017-01", "2017-02"]);
        assert_eq!(month.end_plus_days(7).to_string(), "2017-03-08T00:00:00Z");
        let december: Month = "2017-12".parse().unwrap();
        assert_eq!(
            december.end_plus_days(0).to_string(),
            "2018-01-01T00:00:00Z"
        );
        for wrong in ["", "2017", "2017-13", "2017-0", "x-1", "99999-01"] {
            assert!(wrong.parse::<Month>().is_err(), "{wrong}");
        }
    }
}
