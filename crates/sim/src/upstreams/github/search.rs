//! Search of repositories, with the cap that makes it a poor list.

use axum::{
    extract::{Query, State},
    http::{HeaderMap, header},
    response::Response,
};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde_json::json;

use super::{At, message, shape};
use crate::{
    clock::later,
    upstream::Caller,
    upstreams::answer::{Page, Parameters, tagged, with},
    world::Repository,
};

/// Nothing beyond this many results is ever shown.
const CAP: usize = 1_000;

pub(super) async fn repositories(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let Some(wanted) = query.get("q").filter(|q| !q.trim().is_empty()) else {
        return message(422, "Validation Failed");
    };
    let page = Page::read(&query, "per_page", 30, 100);
    if page.offset() >= CAP {
        return message(422, "Only the first 1000 search results are available");
    }
    let wanted = Wanted::read(wanted);
    desk.site.look(|forge| {
        let mut found: Vec<_> = forge
            .repositories()
            .filter(|found| caller.sees(found) && wanted.matches(found))
            .collect();
        match query.get("sort").map(String::as_str) {
            Some("updated") => found.sort_by_key(|found| (found.updated_at, found.id)),
            _ => found.sort_by_key(|found| (found.stars, found.id)),
        }
        if query.get("order").is_none_or(|order| order != "asc") {
            found.reverse();
        }
        let total = found.len();
        found.truncate(CAP);
        let shown = found.len();
        let items: Vec<_> = page
            .cut(found)
            .into_iter()
            .map(|found| shape::brief(forge, found, &desk.site))
            .collect();
        let body = json!({ "total_count": total, "incomplete_results": false, "items": items });
        let answer = tagged(&headers, &body);
        let url = format!("{}/search/repositories", desk.site.base_url);
        match page.links(&url, &query, shown, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    })
}

/// A query, as far as it is understood; an unknown qualifier is ignored.
#[derive(Debug, Default)]
struct Wanted {
    owner: Option<String>,
    words: Vec<String>,
    language: Option<String>,
    archived: Option<bool>,
    forks: Forks,
    created: Option<Span>,
    pushed: Option<Span>,
}

/// Forks are left out unless asked for.
#[derive(Debug, Default, PartialEq, Eq)]
enum Forks {
    #[default]
    Without,
    With,
    Only,
}

impl Wanted {
    fn read(text: &str) -> Self {
        let mut wanted = Self::default();
        for term in text.split_whitespace() {
            let Some((qualifier, value)) = term.split_once(':') else {
                wanted.words.push(term.to_lowercase());
                continue;
            };
            match qualifier {
                "org" | "user" => wanted.owner = Some(value.to_owned()),
                "language" => wanted.language = Some(value.to_owned()),
                "archived" => wanted.archived = value.parse().ok(),
                "fork" if value == "only" => wanted.forks = Forks::Only,
                "fork" if value == "true" => wanted.forks = Forks::With,
                "created" => wanted.created = Span::read(value),
                "pushed" => wanted.pushed = Span::read(value),
                _ => {}
            }
        }
        wanted
    }

    fn matches(&self, found: &Repository) -> bool {
        let owner = |owner: &String| found.owner.eq_ignore_ascii_case(owner);
        let language = |wanted: &String| {
            found
                .language
                .is_some_and(|language| language.eq_ignore_ascii_case(wanted))
        };
        let name = found.name.to_lowercase();
        self.owner.as_ref().is_none_or(owner)
            && self.language.as_ref().is_none_or(language)
            && self
                .archived
                .is_none_or(|archived| archived == found.archived)
            && self.words.iter().all(|word| name.contains(word.as_str()))
            && match self.forks {
                Forks::Without => found.fork_of.is_none(),
                Forks::With => true,
                Forks::Only => found.fork_of.is_some(),
            }
            && self.created.is_none_or(|span| span.holds(found.created_at))
            && self.pushed.is_none_or(|span| span.holds(found.pushed_at))
    }
}

/// Both ends belong to it.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Timestamp,
    to: Timestamp,
}

impl Span {
    /// `A..B`, `*..B`, `>=A`, `>A`, `<=B`, `<B` or `A`.
    fn read(text: &str) -> Option<Self> {
        let (always, ever) = (Timestamp::MIN, Timestamp::MAX);
        let span = |from, to| Some(Self { from, to });
        if let Some((from, to)) = text.split_once("..") {
            let from = if from == "*" { always } else { moment(from)?.0 };
            let to = if to == "*" { ever } else { moment(to)?.1 };
            return span(from, to);
        }
        if let Some(from) = text.strip_prefix(">=") {
            span(moment(from)?.0, ever)
        } else if let Some(from) = text.strip_prefix('>') {
            span(later(moment(from)?.1, 1), ever)
        } else if let Some(to) = text.strip_prefix("<=") {
            span(always, moment(to)?.1)
        } else if let Some(to) = text.strip_prefix('<') {
            let second = SignedDuration::from_secs(1);
            span(always, moment(to)?.0.saturating_sub(second).ok()?)
        } else {
            let (from, to) = moment(text)?;
            span(from, to)
        }
    }

    fn holds(self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }
}

/// The first and the last second that a date or a time means.
fn moment(text: &str) -> Option<(Timestamp, Timestamp)> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some((at, at));
    }
    let day: Date = text.parse().ok()?;
    let from = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some((from, later(from, 86_399)))
}
