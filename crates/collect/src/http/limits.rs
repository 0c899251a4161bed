//! What services say about how often they may be asked.
//!
//! | where | headers | reset |
//! |---|---|---|
//! | GitHub, Gitea | `x-ratelimit-limit, -remaining, -reset, -resource` | seconds since 1970 |
//! | GitLab | `ratelimit-limit, -remaining, -reset` | seconds since 1970 |
//! | earlier drafts of the standard | the same names, or `ratelimit: limit=, remaining=, reset=` | seconds from now |
//! | the standard's draft | `ratelimit: "name";r=50;t=30` | seconds from now |
//! | everybody | `retry-after` | seconds from now, or a date |
//!
//! Times are held against our clock and within a day: a service that asks for silence until the
//! year 9000 has made a mistake, and would otherwise be obeyed for ever.

use std::time::{Duration, SystemTime};

use db::Timestamp;
use engine::Announced;
use reqwest::header::HeaderMap;

/// Nothing is waited for longer.
const LONGEST: Duration = Duration::from_hours(24);
/// Coming back at once would be rude, whatever was said.
const SHORTEST: Duration = Duration::from_secs(1);
/// For a limit without a time.
pub(super) const UNTOLD: Duration = Duration::from_mins(1);
/// Numbers above are seconds since 1970, below they are seconds from now: no window lasts 3 years.
const EPOCH_FROM: i64 = 100_000_000;

/// What the headers of one answer say.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) announced: Option<Announced>,
    /// Which of several budgets it is about.
    pub(super) resource: Option<String>,
    pub(super) retry_after: Option<Timestamp>,
}

impl Heard {
    pub(super) fn from(headers: &HeaderMap, now: Timestamp) -> Self {
        Self {
            announced: plain(headers, "x-ratelimit", now)
                .or_else(|| plain(headers, "x-rate-limit", now))
                .or_else(|| plain(headers, "ratelimit", now))
                .or_else(|| structured(text(headers, "ratelimit")?, now)),
            resource: text(headers, "x-ratelimit-resource").map(str::to_owned),
            retry_after: text(headers, "retry-after").map(|value| retry_after(value, now)),
        }
    }

    /// Whether the budget that this is about is spent.
    pub(super) fn is_spent(&self) -> bool {
        self.announced
            .as_ref()
            .is_some_and(|said| said.remaining == 0)
    }
}

fn retry_after(value: &str, now: Timestamp) -> Timestamp {
    let value = value.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 {
            LONGEST
        } else {
            SHORTEST
        }),
        Err(_) => match httpdate::parse_http_date(value) {
            Ok(date) => from_system(date).since(now),
            Err(_) => UNTOLD,
        },
    };
    now.plus(wait.clamp(SHORTEST, LONGEST))
}

fn from_system(time: SystemTime) -> Timestamp {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::EPOCH.plus(since)
}

/// One header for each number, under a common prefix.
fn plain(headers: &HeaderMap, prefix: &str, now: Timestamp) -> Option<Announced> {
    let number = |name: &str| first_number(text(headers, &format!("{prefix}-{name}"))?);
    announced(number("remaining")?, number("limit"), number("reset"), now)
}

/// One header for all. Of several budgets the one with the least left counts.
fn structured(value: &str, now: Timestamp) -> Option<Announced> {
    let mut least: Option<Announced> = None;
    let (mut limit, mut remaining, mut reset) = (None, None, None);
    for item in value.split(',').take(16) {
        let (mut left, mut window) = (None, None);
        for parameter in item.split(';').take(16) {
            let Some((name, number)) = parameter.split_once('=') else {
                continue;
            };
            let number = first_number(number);
            match name.trim() {
                "r" => left = number,
                "t" => window = number,
                "limit" => limit = number,
                "remaining" => remaining = number,
                "reset" => reset = number,
                _ => {}
            }
        }
        let said = left.and_then(|left| announced(left, None, window, now));
        if let Some(said) = said
            && least.as_ref().is_none_or(|l| said.remaining < l.remaining)
        {
            least = Some(said);
        }
    }
    least.or_else(|| announced(remaining?, limit, reset, now))
}

fn announced(
    remaining: i64,
    limit: Option<i64>,
    reset: Option<i64>,
    now: Timestamp,
) -> Option<Announced> {
    if remaining < 0 {
        return None;
    }
    let reset_at = match reset {
        None => now.plus(UNTOLD),
        Some(reset) if reset >= EPOCH_FROM => {
            Timestamp::from_micros(reset.saturating_mul(1_000_000))
        }
        Some(reset) => now.plus(Duration::from_secs(u64::try_from(reset).unwrap_or(0))),
    };
    Some(Announced {
        limit: limit.filter(|limit| *limit > 0),
        remaining,
        reset_at: reset_at.clamp(now, now.plus(LONGEST)),
    })
}

/// Digits up to whatever follows them: `100, 100;w=60` and `12.5` occur.
fn first_number(value: &str) -> Option<i64> {
    let value = value.trim();
    let end = value
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(value.len());
    value[..end].parse().ok()
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const NOW: i64 = 1_794_700_000;

    fn now() -> Timestamp {
        Timestamp::from_micros(NOW * 1_000_000)
    }

    fn hear(headers: &[(&'static str, &str)]) -> Heard {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
        Heard::from(&headers, now())
    }

    /// Limit, remaining, and seconds until the reset.
    fn said(headers: &[(&'static str, &str)]) -> Option<(Option<i64>, i64, u64)> {
        let said = hear(headers).announced?;
        Some((
            said.limit,
            said.remaining,
            said.reset_at.since(now()).as_secs(),
        ))
    }

    fn wait(value: &str) -> u64 {
        let at = hear(&[("retry-after", value)]).retry_after.unwrap();
        at.since(now()).as_secs()
    }

    #[test]
    fn retry_after_comes_in_two_forms() {
        assert_eq!(wait("120"), 120);
        assert_eq!(wait(" 0 "), 1);
        assert_eq!(wait("Fri, 15 Nov 2030 22:13:20 GMT"), 86400, "clamped");
        let date =
            httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_700_090));
        assert_eq!(wait(&date), 90);
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), 1, "it has passed");
        assert_eq!(wait("99999999999999999999"), 86400);
        assert_eq!(wait("-5"), 1);
        assert_eq!(wait("soon"), 60);
        assert_eq!(wait("NaN"), 1);
        assert_eq!(wait("inf"), 86400);
    }

    #[test]
    fn every_dialect_is_understood() {
        let reset = (NOW + 1800).to_string();
        assert_eq!(
            said(&[
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", "4999"),
                ("x-ratelimit-reset", &reset),
            ]),
            Some((Some(5000), 4999, 1800))
        );
        assert_eq!(
            said(&[
                ("ratelimit-limit", "600, 600;w=60"),
                ("ratelimit-remaining", "0"),
                ("ratelimit-reset", "30"),
            ]),
            Some((Some(600), 0, 30))
        );
        assert_eq!(
            said(&[("ratelimit", "\"hour\";r=50;t=30, \"day\";r=7;t=900")]),
            Some((None, 7, 900))
        );
        assert_eq!(
            said(&[("ratelimit", "limit=100, remaining=50, reset=5")]),
            Some((Some(100), 50, 5))
        );
        assert_eq!(said(&[("x-ratelimit-remaining", "3")]), Some((None, 3, 60)));
    }

    #[test]
    fn nonsense_says_nothing() {
        assert_eq!(said(&[("x-ratelimit-remaining", "many")]), None);
        assert_eq!(said(&[("ratelimit", ";;;=,=r=,r=")]), None);
        assert_eq!(said(&[("x-ratelimit-limit", "5")]), None);
        assert_eq!(
            said(&[
                ("x-ratelimit-remaining", "1"),
                ("x-ratelimit-reset", "9999999999999999")
            ]),
            Some((None, 1, 86400))
        );
    }

    proptest! {
        #[test]
        fn nothing_is_waited_for_longer_than_a_day(value in "[ -~]{0,60}") {
            let heard = hear(&[
                ("retry-after", &value),
                ("ratelimit", &value),
                ("x-ratelimit-remaining", &value),
                ("x-ratelimit-reset", &value),
            ]);
            let latest = now().plus(LONGEST);
            prop_assert!(heard.retry_after.unwrap() <= latest);
            if let Some(said) = heard.announced {
                prop_assert!(said.reset_at >= now() && said.reset_at <= latest && said.remaining >= 0);
            }
        }
    }
}
