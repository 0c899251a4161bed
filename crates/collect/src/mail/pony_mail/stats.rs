//! What the server counts, and which lists it has. Every field is optional: servers differ.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Month, Place, Stopped, Visit};
use crate::http::{Ask, Decoded, Reply, Session};

/// How many mails each month has.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    months: Option<BTreeMap<Month, i64>>,
    first: Option<Month>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(rename = "firstYear")]
    first_year: Option<i64>,
    #[serde(rename = "firstMonth")]
    first_month: Option<i64>,
    /// An object; what is documented as a list is ignored.
    active_months: serde_json::Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Preferences {
    lists: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

impl Histogram {
    /// The mails of a month; none where the server does not tell.
    pub(super) fn count(&self, month: Month) -> Option<i64> {
        let months = self.months.as_ref()?;
        Some(months.get(&month).copied().unwrap_or(0))
    }

    pub(super) fn first(&self) -> Option<Month> {
        let counted = self.months.as_ref().and_then(|months| {
            let mut full = months.iter().filter(|(_, count)| **count > 0);
            full.next().map(|(month, _)| *month)
        });
        counted.or(self.first)
    }

    /// The server knows of no mail at all.
    pub(super) fn is_empty(&self) -> bool {
        self.first().is_none()
            && self
                .months
                .as_ref()
                .is_some_and(|months| months.values().all(|count| *count == 0))
    }
}

/// The histogram, by the cheapest question: it is the whole one whatever the window.
pub(super) async fn histogram(place: &Place<'_>, visit: &Visit<'_>) -> Result<Histogram, Stopped> {
    let ask = place
        .ask("stats", visit)
        .query("list", place.name)
        .query("domain", place.domain)
        .query("d", "lte=1d")
        .query("quick", "1")
        .absent(&[])
        .uncached();
    let answer: Reply<Decoded<Stats>> = visit.session.ask_json(&ask).await;
    let stats = answer
        .known()?
        .map(|decoded| decoded.value)
        .unwrap_or_default();
    let months = stats.active_months.as_object().map(|months| {
        months
            .iter()
            .filter_map(|(month, count)| Some((month.parse().ok()?, count.as_i64()?)))
            .collect()
    });
    // 1970 stands for "there is none".
    let first = match (stats.first_year, stats.first_month) {
        (Some(year @ 1971..=9000), month) => {
            let month = month.unwrap_or(1).clamp(1, 12);
            Some(Month::new(year as i16, month as i8))
        }
        _ => None,
    };
    Ok(Histogram { months, first })
}

/// All lists of a server, as `name@domain`. What counts as traffic there is that of a few weeks, so
/// quiet lists are told as well.
pub async fn lists(session: &Session, upstream: &str) -> Reply<Vec<String>> {
    let ask = Ask::get(upstream, "/api/preferences.lua")
        .absent(&[])
        .uncached();
    let answer: Reply<Decoded<Preferences>> = session.ask_json(&ask).await;
    answer.map(|decoded| {
        let domains = decoded.value.lists.into_iter();
        domains
            .flat_map(|(domain, lists)| {
                let name = move |name: String| format!("{name}@{domain}").to_lowercase();
                lists.into_keys().map(name)
            })
            .collect()
    })
}
