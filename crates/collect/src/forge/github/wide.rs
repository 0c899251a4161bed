//! GitHub's lists that belong to no owner.
//!
//! Search shows the first thousand of what it finds, whatever it finds. So it is asked in spans of
//! the time of creation: one that holds more than a thousand is cut in half until none does. How
//! much there is in all was told at the beginning, and the listing is whole only if so much came.

use serde::{Deserialize, Serialize};

use super::{GitHub, Repository};
use crate::{
    forge::{Asked, Listed, NoAnswer, Order, Page},
    http::{Ask, Decoded},
};

/// Nothing beyond this many results is shown.
const CAP: u64 = 1_000;
/// Before the first repository, and after any that will be made while this runs; in seconds.
const ALL_TIME: Span = Span {
    from: 1_167_609_600,
    to: 2_524_608_000,
};

#[derive(Deserialize)]
struct Given {
    total_count: u64,
    repositories: Vec<Repository>,
}

#[derive(Deserialize)]
struct Found {
    total_count: u64,
    #[serde(default)]
    incomplete_results: bool,
    items: Vec<Repository>,
}

/// Seconds; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    from: i64,
    to: i64,
}

/// A place in a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    /// What is still to be asked; the last comes first.
    spans: Vec<Span>,
    /// A page within the last of them; none for its first.
    path: Option<String>,
    /// How much there was in all when the search began.
    total: Option<u64>,
}

impl GitHub {
    /// A page of what the installation was given that the token is of.
    pub(super) async fn given(&self, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => self.ask_on(path),
            None => self
                .ask("/installation/repositories")
                .query("per_page", 100),
        };
        let found: Option<Decoded<Given>> = self.session.ask_json(&ask).await.known()?;
        Ok(found.map(|found| {
            let total = Some(found.value.total_count);
            let mut page = self.listed(found.value.repositories);
            page.total = total;
            page.next = found.response.next;
            page.not_modified = found.response.not_modified;
            page
        }))
    }

    /// A page of everything on the server, in the order of numbers.
    pub(super) async fn everything(&self, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => self.ask_on(path),
            None => self.ask("/repositories").query("since", 0),
        };
        let found: Option<Decoded<Vec<Repository>>> = self.session.ask_json(&ask).await.known()?;
        Ok(found.map(|found| {
            let mut page = self.listed(found.value);
            page.next = found.response.next;
            page.not_modified = found.response.not_modified;
            page
        }))
    }

    /// A page of what a search finds.
    pub(super) async fn found(
        &self,
        query: &str,
        order: Order,
        from: Option<&str>,
    ) -> Asked<Option<Page>> {
        match order {
            Order::Whole => self.found_in_spans(query, from).await,
            Order::LastChanged => self.found_last(query, from).await,
        }
    }

    async fn found_in_spans(&self, query: &str, from: Option<&str>) -> Asked<Option<Page>> {
        let mut place = match from {
            Some(text) => serde_json::from_str(text)
                .map_err(|_| NoAnswer::Nonsense("a place in a search cannot be read".into()))?,
            None => Place {
                spans: vec![ALL_TIME],
                path: None,
                total: None,
            },
        };
        let Some(span) = place.spans.last().copied() else {
            return Ok(Some(Page::default()));
        };
        let is_first = place.path.is_none();
        let ask = match &place.path {
            Some(path) => self.ask_on(path).budget("search"),
            // In an order that changes least while it is read.
            None => self.search(&format!("{query} created:{}", span.written()?)),
        };
        let Some(found) = self.session.ask_json::<Found>(&ask).await.known()? else {
            return Ok(None);
        };
        let (count, whole) = (found.value.total_count, !found.value.incomplete_results);
        let total = *place.total.get_or_insert(count);
        if is_first && count > CAP && span.from < span.to {
            place.spans.pop();
            place.spans.extend(span.halves());
            return Ok(Some(Page {
                next: Some(place.written()),
                ..Page::default()
            }));
        }
        let mut page = self.listed(found.value.items);
        if !whole {
            page.cut = Some("the search gave up before it had found everything".into());
        } else if count > CAP {
            page.cut = Some(format!("{count} were made in one second"));
        }
        page.total = Some(total);
        page.not_modified = found.response.not_modified;
        place.path = found.response.next;
        if place.path.is_none() {
            place.spans.pop();
        }
        page.next = (!place.spans.is_empty()).then(|| place.written());
        Ok(Some(page))
    }

    /// What changed last comes first, as far as search shows it.
    async fn found_last(&self, query: &str, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => self.ask_on(path).budget("search"),
            None => self
                .search(query)
                .query("sort", "updated")
                .query("order", "desc"),
        };
        let Some(found) = self.session.ask_json::<Found>(&ask).await.known()? else {
            return Ok(None);
        };
        let count = found.value.total_count;
        let mut page = self.listed(found.value.items);
        page.next = found.response.next;
        page.not_modified = found.response.not_modified;
        if page.next.is_none() && count > CAP {
            page.cut = Some(format!("the first {CAP} of {count} came"));
        }
        Ok(Some(page))
    }

    fn search(&self, query: &str) -> Ask {
        self.ask("/search/repositories")
            .query("q", query)
            .query("per_page", 100)
            .budget("search")
    }

    pub(super) fn listed(&self, said: Vec<Repository>) -> Page {
        let count = said.len();
        let repositories: Vec<Listed> =
            said.into_iter().filter_map(|one| self.sight(one)).collect();
        Page {
            odd: count - repositories.len(),
            repositories,
            ..Page::default()
        }
    }
}

impl Span {
    /// As search wants it.
    fn written(self) -> Asked<String> {
        let moment = |second: i64| {
            jiff::Timestamp::from_second(second)
                .map_err(|error| NoAnswer::Nonsense(error.to_string()))
        };
        Ok(format!("{}..{}", moment(self.from)?, moment(self.to)?))
    }

    /// The later one first: it is asked last.
    fn halves(self) -> [Self; 2] {
        let middle = self.from + (self.to - self.from) / 2;
        [
            Self {
                from: middle + 1,
                to: self.to,
            },
            Self {
                from: self.from,
                to: middle,
            },
        ]
    }
}

impl Place {
    fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_hold_everything_once() {
        for (from, to) in [(0, 1), (0, 2), (5, 100), (ALL_TIME.from, ALL_TIME.to)] {
            let [later, earlier] = Span { from, to }.halves();
            assert_eq!((earlier.from, later.to), (from, to));
            assert_eq!(earlier.to + 1, later.from);
            assert!(earlier.from <= earlier.to && later.from <= later.to);
        }
        let written = ALL_TIME.written().unwrap();
        assert_eq!(written, "2007-01-01T00:00:00Z..2050-01-01T00:00:00Z");
    }
}
