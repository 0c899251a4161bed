//! `/api/v1/repos/{id}/distribution`, `/api/v1/distribution/stats`, `/gaps` and `/events`; all but
//! the figures also with `.csv`.

use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    response::Response,
};
use engine::{UnitView, Why};
use facts::distribution::Grade;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::distribution::{self, EventFilter, EventPlace, GapFilter, Report};

use super::{MOST, csv, link, list, one, page_size, percent};
use crate::{Web, problem::Problem};

const GAP_COLUMNS: &[&str] = &[
    "id",
    "repository",
    "repo",
    "ecosystem",
    "name",
    "grade",
    "purl",
    "path",
    "package",
    "linked",
    "reason",
    "since",
    "first_seen",
    "last_seen",
];

const EVENT_COLUMNS: &[&str] = &[
    "observed_at",
    "event",
    "repository",
    "repo",
    "source",
    "ecosystem",
    "package",
    "evidence",
];

/// Published, declared, paired and missing in one table; `what` tells which a row is.
const REPORT_COLUMNS: &[&str] = &[
    "what",
    "source",
    "ecosystem",
    "name",
    "version",
    "path",
    "intent",
    "grade",
    "how",
    "confidence",
    "purl",
    "reason",
    "first_seen",
    "last_seen",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GapsQuery {
    grade: Option<String>,
    min_grade: Option<String>,
    ecosystem: Option<String>,
    repository: Option<i64>,
    cursor: Option<i64>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    event: Option<String>,
    source: Option<String>,
    repository: Option<i64>,
    since: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

/// The units of the round, by what they ask or do.
const WHAT: [&str; 7] = [
    "depsdev",
    "ecosystems",
    "names",
    "releases",
    "packages",
    "manifests",
    "pairing",
];

/// The report, with the units behind its sources.
#[derive(Debug, Serialize)]
struct Shown<'r> {
    #[serde(flatten)]
    report: &'r Report,
    units: Vec<Behind>,
}

/// A unit: strikes, when it runs next, and why not now.
#[derive(Debug, Serialize)]
struct Behind {
    source: &'static str,
    unit: UnitView,
    why: Vec<Why>,
}

async fn units(web: &Web, id: i64) -> Result<Vec<Behind>, Problem> {
    let mut units = Vec::new();
    for source in WHAT {
        let address = format!("distribution/{source}:{id}");
        let found = web.engine.find(&address).await;
        let Some(unit) = found.map_err(Problem::database)? else {
            continue;
        };
        let detail = web.engine.unit(unit).await.map_err(Problem::database)?;
        let why = web.engine.why(unit).await.map_err(Problem::database)?;
        units.extend(detail.map(|detail| Behind {
            source,
            unit: detail.unit,
            why: why.unwrap_or_default(),
        }));
    }
    Ok(units)
}

pub(crate) async fn stats(State(web): State<Web>) -> Result<Response, Problem> {
    let stats = distribution::stats(web.engine.db()).await;
    stats.map(one).map_err(Problem::database)
}

pub(crate) async fn show(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let report = report(&web, &id).await?;
    let units = units(&web, report.repository.id).await?;
    Ok(one(Shown {
        report: &report,
        units,
    }))
}

pub(crate) async fn show_csv(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let report = report(&web, &id).await?;
    csv::table(REPORT_COLUMNS, &rows(&report))
}

pub(crate) async fn gaps(
    State(web): State<Web>,
    query: Result<Query<GapsQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (gaps, next) = gaps_page(&web, query, "").await?;
    Ok(list(&web, &gaps, next))
}

pub(crate) async fn gaps_csv(
    State(web): State<Web>,
    query: Result<Query<GapsQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (gaps, next) = gaps_page(&web, query, ".csv").await?;
    Ok(link(csv::table(GAP_COLUMNS, &gaps)?, next))
}

pub(crate) async fn events(
    State(web): State<Web>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (events, next) = events_page(&web, query, "").await?;
    Ok(list(&web, &events, next))
}

pub(crate) async fn events_csv(
    State(web): State<Web>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let (events, next) = events_page(&web, query, ".csv").await?;
    Ok(link(csv::table(EVENT_COLUMNS, &events)?, next))
}

/// A page, and the cursor and address of the one behind it.
type Paged<T> = (Vec<T>, Option<(String, String)>);

async fn gaps_page(
    web: &Web,
    query: Result<Query<GapsQuery>, QueryRejection>,
    suffix: &str,
) -> Result<Paged<distribution::KeptGap>, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let grades = match (&query.grade, &query.min_grade) {
        (Some(word), _) => vec![grade(word)?],
        (None, Some(word)) => {
            let least = grade(word)?;
            let all = Grade::ALL.into_iter();
            all.filter(|grade| *grade >= least).collect()
        }
        (None, None) => Vec::new(),
    };
    let limit = page_size(query.limit);
    let filter = GapFilter {
        grades,
        ecosystem: query.ecosystem.clone(),
        repository: query.repository,
        declared: false,
        after: query.cursor,
    };
    let page = distribution::gaps(web.engine.db(), &filter, limit)
        .await
        .map_err(Problem::database)?;
    let next = page.next.map(|cursor| {
        let address = address(
            &format!("/api/v1/distribution/gaps{suffix}?limit={limit}&cursor={cursor}"),
            &[
                ("grade", query.grade.clone()),
                ("min_grade", query.min_grade.clone()),
                ("ecosystem", query.ecosystem.clone()),
                ("repository", query.repository.map(|id| id.to_string())),
            ],
        );
        (cursor.to_string(), address)
    });
    Ok((page.items, next))
}

async fn events_page(
    web: &Web,
    query: Result<Query<EventsQuery>, QueryRejection>,
    suffix: &str,
) -> Result<Paged<distribution::Event>, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let limit = page_size(query.limit);
    let after = match &query.cursor {
        None => None,
        Some(text) => Some(
            EventPlace::parse(text)
                .ok_or_else(|| Problem::bad_input(format!("`{text}` is no cursor of this list")))?,
        ),
    };
    let filter = EventFilter {
        repository: query.repository,
        source: query.source.clone(),
        event: query.event.clone(),
        since: match &query.since {
            None => None,
            Some(text) => Some(
                text.parse()
                    .map_err(|_| Problem::bad_input(format!("`{text}` is no time")))?,
            ),
        },
        after,
    };
    let (events, next) = distribution::events(web.engine.db(), &filter, limit)
        .await
        .map_err(Problem::database)?;
    let next = next.map(|place| {
        let cursor = place.to_string();
        let address = address(
            &format!(
                "/api/v1/distribution/events{suffix}?limit={limit}&cursor={}",
                percent(&cursor)
            ),
            &[
                ("event", query.event.clone()),
                ("source", query.source.clone()),
                ("repository", query.repository.map(|id| id.to_string())),
                ("since", query.since.clone()),
            ],
        );
        (cursor, address)
    });
    Ok((events, next))
}

fn address(begin: &str, filters: &[(&str, Option<String>)]) -> String {
    let mut address = begin.to_owned();
    for (name, value) in filters {
        if let Some(value) = value {
            address.push('&');
            address.push_str(name);
            address.push('=');
            address.push_str(&percent(value));
        }
    }
    address
}

fn grade(word: &str) -> Result<Grade, Problem> {
    Grade::from_word(word).ok_or_else(|| Problem::bad_input(format!("there is no grade `{word}`")))
}

async fn report(web: &Web, id: &str) -> Result<Report, Problem> {
    let missing = || Problem::not_found(format!("there is no repository `{id}`"));
    let number: i64 = id.parse().map_err(|_| missing())?;
    let report = distribution::report(web.engine.db(), number, MOST)
        .await
        .map_err(Problem::database)?;
    report.ok_or_else(missing)
}

fn rows(report: &Report) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut add = |what: &str, name: &str, facts: Vec<Value>| {
        for mut fact in facts {
            fact["what"] = json!(what);
            fact["name"] = fact[name].take();
            rows.push(fact);
        }
    };
    add("published", "package", values(&report.evidence));
    let mut declared = values(&report.manifests);
    for fact in &mut declared {
        fact["ecosystem"] = fact["manifest_type"].take();
    }
    add("declared", "effective_name", declared);
    add("paired", "package", values(&report.pairings));
    add("gap", "name", values(&report.gaps));
    rows
}

fn values(facts: &[impl Serialize]) -> Vec<Value> {
    let facts = facts.iter();
    facts
        .filter_map(|fact| serde_json::to_value(fact).ok())
        .collect()
}
