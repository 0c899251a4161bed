//! Whether an answer is one: found, absent, or neither.

use reqwest::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;

use super::{
    ask::{Ask, Expect, Method},
    limits::Heard,
    text,
    unknown::Class,
};

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Found,
    Absent,
}

/// What an answer is, or what is wrong with it.
pub(super) fn judge(
    ask: &Ask,
    status: u16,
    headers: &HeaderMap,
    heard: &Heard,
    body: &[u8],
) -> Result<Verdict, (Class, String)> {
    let page = is_page(headers, body);
    let wall = page && ask.expect == Expect::Json;
    match status {
        _ if ask.absent.contains(&status) && (!wall || ask.absent_as_page) => Ok(Verdict::Absent),
        206 if ask.range.is_none() => Err((
            Class::Undecodable,
            "a part came where the whole was asked for".into(),
        )),
        200 | 203 | 204 | 206 => found(ask, status, page, body),
        202 => Err((Class::Pending, "accepted, but not ready".into())),
        304 => Err((
            Class::Undecodable,
            "\"not modified\" came to a question without conditions".into(),
        )),
        429 => Err((Class::Limited, shown(status))),
        403 if heard.is_spent() => Err((
            Class::Limited,
            format!("{}, the budget is spent", shown(status)),
        )),
        403 if heard.retry_after.is_some() || speaks_of_limits(body) => Err((
            Class::Limited,
            format!("{}, a secondary limit", shown(status)),
        )),
        _ if wall => Err((Class::Wall, format!("{}, with an HTML page", shown(status)))),
        401 | 403 | 407 => Err((Class::Refused, quoted(status, page, body))),
        408 | 425 | 500.. => Err((Class::Transient, shown(status))),
        300..=399 => Err((Class::Redirect, shown(status))),
        _ => Err((Class::Rejected, quoted(status, page, body))),
    }
}

fn found(ask: &Ask, status: u16, page: bool, body: &[u8]) -> Result<Verdict, (Class, String)> {
    if ask.method == Method::Head || status == 204 {
        return Ok(Verdict::Found);
    }
    if page && ask.expect != Expect::Any {
        return Err((
            Class::Wall,
            format!("an HTML page stands where {} should be", wanted(ask)),
        ));
    }
    if ask.expect == Expect::Json {
        // Before anything is kept or counted as served. Shapes are looked at later, by whoever
        // knows them.
        serde_json::from_slice::<IgnoredAny>(body).map_err(|error| {
            if error.is_eof() {
                (Class::Transient, format!("the JSON is truncated: {error}"))
            } else {
                let near = near(body, error.line(), error.column());
                (
                    Class::Undecodable,
                    format!("no valid JSON: {error}, near {near}"),
                )
            }
        })?;
    }
    Ok(Verdict::Found)
}

fn wanted(ask: &Ask) -> &'static str {
    match ask.expect {
        Expect::Json => "JSON",
        Expect::Data | Expect::Any => "data",
    }
}

/// A bit of the body around a position.
pub(super) fn near(body: &[u8], line: usize, column: usize) -> String {
    let start = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    let at = start
        .saturating_add(column.saturating_sub(1))
        .min(body.len());
    let from = at.saturating_sub(20);
    text::quote(&body[from..(at + 20).min(body.len())])
}

/// A page for people, by what it says it is or by how it begins.
fn is_page(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if kind.contains("html") && !kind.contains("json") {
        return true;
    }
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = body.trim_ascii_start();
    let start = start[..start.len().min(14)].to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// GitHub's secondary limits, and those of services that copied it, are known by their text only.
fn speaks_of_limits(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(4000)]).to_lowercase();
    [
        "secondary rate limit",
        "rate limit exceeded",
        "abuse detection",
    ]
    .iter()
    .any(|words| start.contains(words))
}

/// `503 Service Unavailable`
fn shown(status: u16) -> String {
    match StatusCode::from_u16(status).map(|status| status.canonical_reason()) {
        Ok(Some(reason)) => format!("{status} {reason}"),
        _ => status.to_string(),
    }
}

/// With what the service says about it: that often names the missing right.
fn quoted(status: u16, page: bool, body: &[u8]) -> String {
    if page || body.trim_ascii().is_empty() {
        return shown(status);
    }
    let said = serde_json::from_slice::<serde_json::Value>(body)
        .ok()
        .and_then(|value| {
            ["message", "error_description", "error", "detail"]
                .iter()
                .find_map(|name| Some(value.get(name)?.as_str()?.to_owned()))
        });
    let said = match said {
        Some(said) => text::quote(said.as_bytes()),
        None => text::quote(body),
    };
    format!("{}: {said}", shown(status))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_answer_is_judged(
            status in 100_u16..1000,
            body in proptest::collection::vec(any::<u8>(), 0..300),
            kind in "[ -~]{0,30}",
            expect in 0..3,
        ) {
            let expect = [Expect::Json, Expect::Data, Expect::Any][expect as usize];
            let ask = Ask::get("forge", "/a").expect(expect);
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            if let Err((_, what)) = judge(&ask, status, &headers, &Heard::default(), &body) {
                prop_assert!(what.chars().count() < 300);
                prop_assert!(!what.chars().any(char::is_control));
            }
        }

        #[test]
        fn a_place_is_quoted_wherever_it_is(
            body in any::<Vec<u8>>(),
            line in any::<usize>(),
            column in any::<usize>(),
        ) {
            prop_assert!(near(&body, line, column).chars().count() < 500);
        }
    }
}
