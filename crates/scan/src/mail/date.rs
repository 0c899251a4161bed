//! Dates as mail really writes them.
//!
//! One tolerant reader serves `Date:`, `Received:` and From_ lines: it takes the words it knows
//! (day, month, year, time, zone) in any order, which covers RFC 822 and 5322, `asctime`, ISO 8601
//! and the common mistakes between them: two and three digit years, `+0200 CEST`, no seconds,
//! missing blanks, impossible zones. Order matters only where both day and year are short numbers.
//! A date outside 1970 to 2100 is a broken clock and counts as no date.

use jiff::{Timestamp, civil, tz::Offset};

/// Longer values are noise; a real date needs fewer than 60 characters.
const MAX_LEN: usize = 200;

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

const WEEKDAYS: [&[u8; 3]; 7] = [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];

/// Reads a date in any of the shapes above; `None` where day, month, year or time is missing.
pub fn parse(text: &str) -> Option<Timestamp> {
    let mut found = Found::default();
    let mut comment = 0_usize;
    for token in tokens(text) {
        if token == "(" {
            comment += 1;
        } else if token == ")" {
            comment = comment.saturating_sub(1);
        } else if comment == 0 {
            found.take(token);
        }
    }
    found.timestamp()
}

/// Whether the text holds a weekday, a month, a time and a year as `asctime` abbreviates them: what
/// every mbox writer puts behind the sender, and what prose hardly ever does.
pub(super) fn looks_like_asctime(text: &str) -> bool {
    let (mut weekday, mut month, mut time, mut year) = (false, false, false, false);
    for token in tokens(text) {
        let short = token.len() == 3;
        weekday |= short && named(token, &WEEKDAYS).is_some();
        month |= weekday && short && named(token, &MONTHS).is_some();
        time |= weekday && token.contains(':') && token.starts_with(|c: char| c.is_ascii_digit());
        year |= month && token.len() == 4 && token.bytes().all(|b| b.is_ascii_digit());
    }
    time && year
}

#[derive(Default)]
struct Found {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<(i8, i8, i8)>,
    afternoon: Option<bool>,
    offset_seconds: Option<i32>,
}

impl Found {
    fn take(&mut self, token: &str) {
        let bytes = token.as_bytes();
        if bytes[0].is_ascii_digit() {
            self.take_number(token);
        } else if let Some(month) = named(token, &MONTHS) {
            self.month.get_or_insert(month);
        } else if named(token, &WEEKDAYS).is_some() {
            // The weekday follows from the date and is often wrong.
        } else if matches!(bytes[0], b'+' | b'-') {
            // A wrong number zone still ends the search: the name behind it is a comment.
            if self.time.is_some() {
                self.offset_seconds
                    .get_or_insert(number_zone(token).unwrap_or(0));
            }
        } else if token.eq_ignore_ascii_case("pm") || token.eq_ignore_ascii_case("am") {
            self.afternoon = Some(token.eq_ignore_ascii_case("pm"));
        } else if self.time.is_some()
            && let Some(seconds) = name_zone(token)
        {
            self.offset_seconds.get_or_insert(seconds);
        }
    }

    fn take_number(&mut self, token: &str) {
        match token.find([':', '-', '/']) {
            Some(at) if token.as_bytes()[at] == b':' => return self.take_time(token),
            Some(_) => return self.take_joined(token),
            None => {}
        }
        if token.matches('.').count() == 2 && self.time.is_none() && self.year.is_some() {
            self.take_time(&token.replace('.', ":"));
            return;
        }
        let digits = token.trim_end_matches(|c: char| !c.is_ascii_digit());
        let Ok(number) = digits.parse::<i16>() else {
            return;
        };
        if digits.len() >= 4 {
            self.year.get_or_insert(number);
        } else if self.day.is_none() && digits.len() <= 2 {
            self.day = i8::try_from(number).ok();
        } else if self.year.is_none() && self.month.is_some() {
            self.year = Some(full_year(number));
        }
    }

    /// `15:15:07`, `15:15`, `15:15:07.123`, `15:15:07+0200`, `15:15:07Z`.
    fn take_time(&mut self, token: &str) {
        if self.time.is_some() {
            return;
        }
        let clock_end = token
            .find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'))
            .unwrap_or(token.len());
        let (clock, zone) = token.split_at(clock_end);
        let mut parts = clock.split(':').map(|part| {
            let whole = part.split('.').next().unwrap_or_default();
            whole.parse::<i8>().ok()
        });
        let hour = parts.next().flatten();
        let minute = parts.next().flatten();
        let second = parts.next().flatten().unwrap_or(0);
        if let (Some(hour), Some(minute)) = (hour, minute) {
            self.time = Some((hour, minute, second));
            if let Some(first) = zone.bytes().next() {
                self.offset_seconds = if matches!(first, b'+' | b'-') {
                    Some(number_zone(zone).unwrap_or(0))
                } else {
                    name_zone(zone)
                };
            }
        }
    }

    /// `2017-11-12`, `2017-11-12T15:15:07Z`, `12-Nov-2017`, `12/Nov/17`.
    fn take_joined(&mut self, token: &str) {
        if let Some((date, time)) = token.split_once(['T', 't'])
            && !date.is_empty()
            && date.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        {
            self.take_joined(date);
            self.take_time(time);
            return;
        }
        let parts: Vec<&str> = token.splitn(3, ['-', '/']).collect();
        let [first, second, third] = parts[..] else {
            return;
        };
        let month = named(second, &MONTHS).or_else(|| second.parse().ok());
        if first.len() == 4 {
            self.year = first.parse().ok();
            self.month = month;
            self.day = third.parse().ok();
        } else if named(second, &MONTHS).is_some() {
            self.day = first.parse().ok();
            self.month = month;
            self.year = third.parse().ok().map(full_year);
        }
    }

    fn timestamp(&self) -> Option<Timestamp> {
        let (mut hour, minute, second) = self.time?;
        match self.afternoon {
            Some(true) if hour < 12 => hour += 12,
            Some(false) if hour == 12 => hour = 0,
            _ => {}
        }
        let year = self.year.filter(|year| (1970..=2100).contains(year))?;
        // Leap seconds are written as :60 and have no place in a timestamp.
        let local = civil::DateTime::new(
            year,
            self.month?,
            self.day?,
            hour,
            minute,
            if second == 60 { 59 } else { second },
            0,
        )
        .ok()?;
        let offset = Offset::from_seconds(self.offset_seconds.unwrap_or(0)).unwrap_or(Offset::UTC);
        let timestamp = offset.to_timestamp(local).ok()?;
        (timestamp.as_second() >= 0).then_some(timestamp)
    }
}

/// Words of the text; brackets of comments come as words of their own.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let end = text.floor_char_boundary(MAX_LEN);
    text[..end]
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';' || c == '"' || c == '\0')
        .flat_map(|word| word.split_inclusive(['(', ')']))
        .flat_map(|word| match word.as_bytes().last() {
            Some(b'(' | b')') => {
                let (head, bracket) = word.split_at(word.len() - 1);
                [head, bracket]
            }
            _ => [word, ""],
        })
        .filter(|word| !word.is_empty())
}

fn named(token: &str, names: &[&[u8; 3]]) -> Option<i8> {
    let head = token.as_bytes().get(..3)?;
    if !token.bytes().all(|b| b.is_ascii_alphabetic() || b == b'.') || token.len() > 10 {
        return None;
    }
    names
        .iter()
        .position(|name| head.eq_ignore_ascii_case(&name[..]))
        .and_then(|at| i8::try_from(at + 1).ok())
}

/// Two digits pivot at 1970; three are the year count since 1900 that broken software wrote.
fn full_year(number: i16) -> i16 {
    match number {
        0..=69 => 2000 + number,
        70..=199 => 1900 + number,
        other => other,
    }
}

/// `+0200`, `-07:00`, `+530`, `+02`.
fn number_zone(token: &str) -> Option<i32> {
    let sign = if token.starts_with('-') { -1 } else { 1 };
    let digits: String = token[1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.parse::<i32>().ok()?, 0),
        3 | 4 => {
            let (hours, minutes) = digits.split_at(digits.len() - 2);
            (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?)
        }
        _ => return None,
    };
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The zone names that mail programs wrote; unknown ones are UTC, as RFC 5322 asks.
fn name_zone(token: &str) -> Option<i32> {
    let name = token.trim_matches(|c: char| !c.is_ascii_alphabetic());
    let hours: f32 = match name.to_ascii_uppercase().as_str() {
        "GMT" | "UTC" | "UT" | "Z" | "WET" => 0.0,
        "BST" | "CET" | "MET" | "MEZ" | "WEST" => 1.0,
        "CEST" | "MEST" | "MESZ" | "EET" | "SAST" | "IST" => 2.0,
        "EEST" | "MSK" => 3.0,
        "MSD" => 4.0,
        "HKT" | "SGT" | "AWST" => 8.0,
        "JST" | "KST" => 9.0,
        "AEST" => 10.0,
        "AEDT" => 11.0,
        "NZST" => 12.0,
        "NZDT" => 13.0,
        "EDT" => -4.0,
        "EST" | "CDT" => -5.0,
        "CST" | "MDT" => -6.0,
        "MST" | "PDT" => -7.0,
        "PST" => -8.0,
        _ => return None,
    };
    Some((hours * 3600.0) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> Option<String> {
        parse(text).map(|at| at.to_string())
    }

    #[test]
    fn reads_the_shapes_that_archives_hold() {
        let want = Some("2017-11-12T15:15:07Z".to_owned());
        for text in [
            "Sun, 12 Nov 2017 15:15:07 +0000",
            "Sun, 12 Nov 2017 16:15:07 +0100 (CET)",
            "12 Nov 2017 15:15:07 -0000",
            "12 Nov 17 15:15:07 GMT",
            "Sun Nov 12 15:15:07 2017",
            "Sun Nov 12 10:15:07 EST 2017",
            "Sun, 12 Nov 2017 17:15:07 +0200 CEST",
            "Sun,12 Nov 2017 15:15:07 UT",
            "2017-11-12T15:15:07Z",
            "2017-11-12 15:15:07.123456 +00:00",
            "Sunday, November 12, 2017 3:15:07 PM",
            "12-Nov-2017 15:15:07",
            "Sun, 12 Nov 117 15:15:07 +0000",
            "Sun, 12 Nov 2017 15:15:07 -3000 (CST)",
        ] {
            assert_eq!(utc(text), want, "{text}");
        }
        assert_eq!(
            utc("Wed, 4 Jun 2014 17:50"),
            Some("2014-06-04T17:50:00Z".to_owned())
        );
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "yesterday",
            "Sun, 12 Nov 2017",
            "31 Feb 2017 10:00:00 +0000",
            "Mon, 01 Jan 0001 00:00:00 +0000",
            "Mon, 01 Jan 9999 00:00:00 +0000",
            "99:99:99",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    #[test]
    fn tells_envelope_dates_from_prose() {
        assert!(looks_like_asctime("a@b Sat Sep 30 08:58:08 2017"));
        assert!(looks_like_asctime("MAILER-DAEMON Thu Jan  1 00:00:00 1970"));
        assert!(!looks_like_asctime("the beginning of May it was clear"));
        assert!(!looks_like_asctime("Monday on, the meeting moves to 10:00"));
    }
}
