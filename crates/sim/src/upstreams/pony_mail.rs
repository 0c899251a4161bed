//! Pony Mail (Foal), as far as a collector goes: months as mbox, figures, the catalogue.
//!
//! Kept: a month without mail, and a list that is not there, both answer 200 with an empty body; the
//! body comes in chunks, without a length; `d=` includes the edges of a month and `date=` leaves out
//! its first and last second; lists are named in one piece or in two; lines that begin with `From`
//! and a blank, after any number of `>`, get one more `>`; separators of several kinds stand side by
//! side; statistics count mail that was deleted and is not given; a slow reader gets a clean end
//! after some of the mail. Statistics over more than the last day are refused: the real service
//! would work for half a minute.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
    routing::get,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde_json::{Value, json};

use super::answer::{self, Parameters};
use crate::{
    dice::fingerprint,
    upstream::{Site, Upstream},
};

/// Generated lists have a mail in each of these many seconds.
const SLOT: i64 = 6 * 3600;
/// The lists that are there when nobody gives any.
const GENERATED: [&str; 2] = ["dev@meadow.apache.org", "users@meadow.apache.org"];

/// The double. Clones share what is in it.
#[derive(Clone, Debug)]
pub struct PonyMail {
    name: String,
    given: Arc<Mutex<Given>>,
}

/// A mail of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedMail {
    /// When the archive thinks it was sent.
    pub at: Timestamp,
    /// Its source, with or without a separator line.
    pub source: Vec<u8>,
}

#[derive(Debug, Default)]
struct Given {
    lists: BTreeMap<String, Vec<ArchivedMail>>,
    /// Mail that is counted and not given, by list and month.
    deleted: HashMap<(String, String), u64>,
    /// Answers that end early, by list and month: after how many mails, and how often.
    cuts: HashMap<(String, String), (usize, u32)>,
}

impl PonyMail {
    /// With two lists on which somebody writes four times a day.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            given: Arc::default(),
        }
    }

    /// Puts a mail into a list, which is made by its first.
    pub fn put(&self, list: &str, at: &str, source: impl Into<Vec<u8>>) {
        let mail = ArchivedMail {
            at: at.parse().unwrap_or_default(),
            source: source.into(),
        };
        let mut given = self.given();
        let list = given.lists.entry(list.to_owned()).or_default();
        list.push(mail);
        list.sort_by_key(|mail| mail.at);
    }

    /// Counts mail of a month that is not given.
    pub fn delete(&self, list: &str, month: &str, count: u64) {
        let key = (list.to_owned(), month.to_owned());
        self.given().deleted.insert(key, count);
    }

    /// Ends the next `times` answers for a month after so many mails, as for a slow reader.
    pub fn cut(&self, list: &str, month: &str, after: usize, times: u32) {
        let key = (list.to_owned(), month.to_owned());
        self.given().cuts.insert(key, (after, times));
    }

    fn given(&self) -> std::sync::MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mail of a list up to now, by time.
    fn mail(&self, site: &Site, list: &str, from: Timestamp, to: Timestamp) -> Vec<ArchivedMail> {
        let (oldest, now) = (earliest(site), site.now());
        let given = self.given();
        if let Some(mail) = given.lists.get(list) {
            let within = mail.iter().filter(|mail| from <= mail.at && mail.at <= to);
            return within.cloned().collect();
        }
        if !given.lists.is_empty() || !GENERATED.contains(&list) {
            return Vec::new();
        }
        let (from, to) = (from.max(oldest), to.min(now));
        let first = from.as_second().div_euclid(SLOT);
        let last = to.as_second().div_euclid(SLOT);
        (first..=last)
            .filter_map(|slot| generated(site, list, slot))
            .filter(|mail| from <= mail.at && mail.at <= to)
            .collect()
    }

    fn lists(&self) -> Vec<String> {
        let given = self.given();
        if given.lists.is_empty() {
            return GENERATED.map(str::to_owned).into();
        }
        given.lists.keys().cloned().collect()
    }
}

impl Upstream for PonyMail {
    fn name(&self) -> &str {
        &self.name
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            site,
            archive: self.clone(),
        });
        let mut router = Router::new();
        for ending in ["", ".lua", ".json"] {
            router = router
                .route(&format!("/api/mbox{ending}"), get(mbox))
                .route(&format!("/api/stats{ending}"), get(stats))
                .route(&format!("/api/preferences{ending}"), get(preferences));
        }
        router.fallback(missing).with_state(desk)
    }
}

#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    archive: PonyMail,
}

type At = State<Arc<Desk>>;

async fn missing() -> Response {
    text(404, "API Endpoint not found!")
}

async fn mbox(State(desk): At, Query(query): Query<Parameters>) -> Response {
    let list = match list_of(&query) {
        Ok(list) => list,
        Err(wrong) => return text(400, wrong),
    };
    let month = query.get("d").or_else(|| query.get("date"));
    let (from, to) = match month.map(|month| window(month)) {
        None => {
            let now = desk.site.now();
            let before = Timestamp::from_second(now.as_second() - 30 * 86_400);
            (before.unwrap_or_default(), now)
        }
        Some(Some((from, to))) if query.contains_key("d") => (from, to),
        // Both edges are left out.
        Some(Some((from, to))) => (
            Timestamp::from_second(from.as_second() + 1).unwrap_or(from),
            Timestamp::from_second(to.as_second() - 1).unwrap_or(to),
        ),
        Some(None) => return text(400, "Keyword 'd' must be of type YYYY-MM"),
    };
    let mut mails = desk.archive.mail(&desk.site, &list, from, to);
    if let Some(month) = month {
        let mut given = desk.archive.given();
        if let Some((after, times)) = given.cuts.get_mut(&(list, month.clone()))
            && *times > 0
        {
            *times -= 1;
            mails.truncate(*after);
        }
    }
    let chunks: Vec<Result<Vec<u8>, std::convert::Infallible>> =
        mails.iter().map(|mail| Ok(written(mail))).collect();
    let body = Body::from_stream(futures_util::stream::iter(chunks));
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    let kind = HeaderValue::from_static("application/mbox");
    headers.insert(header::CONTENT_TYPE, kind);
    answer
}

async fn stats(State(desk): At, Query(query): Query<Parameters>) -> Response {
    let (Some(name), Some(domain)) = (query.get("list"), query.get("domain")) else {
        return answer::json(200, &json!({}));
    };
    if query.get("d").map(String::as_str) != Some("lte=1d") {
        return text(500, "API error occurred: this window is too expensive");
    }
    let list = format!("{name}@{domain}");
    let all = desk
        .archive
        .mail(&desk.site, &list, Timestamp::MIN, Timestamp::MAX);
    let mut months: BTreeMap<String, u64> = BTreeMap::new();
    for mail in &all {
        *months.entry(month_of(mail.at)).or_default() += 1;
    }
    for ((deleted_of, month), count) in &desk.archive.given().deleted {
        if *deleted_of == list {
            *months.entry(month.clone()).or_default() += count;
        }
    }
    let edge = |month: Option<&String>| {
        let (year, month) = month
            .and_then(|month| month.split_once('-'))
            .unwrap_or(("1970", "1"));
        let number = |text: &str| text.parse::<i64>().unwrap_or(1);
        (number(year), number(month))
    };
    let (first_year, first_month) = edge(months.keys().next());
    let (last_year, last_month) = edge(months.keys().next_back());
    answer::json(
        200,
        &json!({
            "firstYear": first_year, "firstMonth": first_month,
            "lastYear": last_year, "lastMonth": last_month,
            "active_months": months, "hits": 0, "emails": [], "list": list, "domain": domain,
            "name": name, "no_threads": 0,
        }),
    )
}

async fn preferences(State(desk): At) -> Response {
    let mut lists: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for list in desk.archive.lists() {
        if let Some((name, domain)) = list.split_once('@') {
            // A count of the last 90 days, and nothing for a list that sleeps.
            let domain = lists.entry(domain.to_owned()).or_default();
            domain.insert(name.to_owned(), json!(0));
        }
    }
    answer::json(200, &json!({ "login": {}, "lists": lists }))
}

/// `list=a@b`, or `list=a` and `domain=b`.
fn list_of(query: &Parameters) -> Result<String, &'static str> {
    let list = query.get("list").map(String::as_str).unwrap_or_default();
    if list.is_empty() {
        return Err("You must specify a list part of the list ID!");
    }
    if list.contains('@') {
        return Ok(list.to_owned());
    }
    match query.get("domain") {
        Some(domain) => Ok(format!("{list}@{domain}")),
        None => Err("You must specify a domain part of the list ID!"),
    }
}

/// The first and the last second of a month.
fn window(month: &str) -> Option<(Timestamp, Timestamp)> {
    let (year, month) = month.split_once('-')?;
    let first = Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()?;
    let last = first.last_of_month();
    let second = |date: Date| {
        let midnight = date.to_zoned(TimeZone::UTC).ok()?;
        Some(midnight.timestamp().as_second())
    };
    let from = Timestamp::from_second(second(first)?).ok()?;
    let to = Timestamp::from_second(second(last)? + 86_399).ok()?;
    Some((from, to))
}

fn month_of(at: Timestamp) -> String {
    let date = at.to_zoned(TimeZone::UTC).date();
    format!("{:04}-{:02}", date.year(), date.month())
}

/// Generated lists are a year old.
fn earliest(site: &Site) -> Timestamp {
    Timestamp::from_second(site.now().as_second() - 365 * 86_400).unwrap_or_default()
}

/// A mail as it stands in a month.
fn written(mail: &ArchivedMail) -> Vec<u8> {
    let mut out = Vec::with_capacity(mail.source.len() + 64);
    if !mail.source.starts_with(b"From ") {
        out.extend_from_slice(b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n");
    }
    for (number, line) in mail
        .source
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
    {
        let quotes = line.iter().take_while(|byte| **byte == b'>').count();
        let rest = &line[quotes..];
        let separates = rest.starts_with(b"From")
            && rest.get(4).is_some_and(u8::is_ascii_whitespace)
            && (number > 0 || quotes > 0);
        if separates {
            out.push(b'>');
        }
        out.extend_from_slice(line);
    }
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

/// The mail of a slot: every sixth begins a thread, the others answer.
fn generated(site: &Site, list: &str, slot: i64) -> Option<ArchivedMail> {
    let roll = fingerprint(format!("{list} {slot}").as_bytes()) ^ site.world.seed();
    let at = Timestamp::from_second(slot * SLOT + (roll % 20_000) as i64).ok()?;
    let root = slot - slot.rem_euclid(6);
    let people = ["Ada", "Ben", "Cleo", "Dan", "Eve"];
    let person = people[(roll >> 8) as usize % people.len()];
    let key = format!("MEADOW-{}", root.rem_euclid(900) + 1);
    let (from, subject, body) = match (root / 6).rem_euclid(4) {
        0 if slot == root => (
            "jira@apache.org".to_owned(),
            format!("[jira] [Created] ({key}) Gate does not close"),
            "The gate stays open.\n".to_owned(),
        ),
        1 => (
            format!("{}@example.org", person.to_lowercase()),
            format!("[VOTE] Release Meadow {}", root.rem_euclid(90)),
            "+1 (binding)\n".to_owned(),
        ),
        _ => (
            format!("{}@example.org", person.to_lowercase()),
            format!("How to mow in {}", root.rem_euclid(50)),
            format!("I think that {person} is right about slot {slot}.\n"),
        ),
    };
    let (reply, subject) = if slot == root {
        (String::new(), subject)
    } else {
        let id = format!("<{root}.mail@{}>", list.replace('@', "."));
        (
            format!("In-Reply-To: {id}\nReferences: {id}\n"),
            format!("Re: {}", subject.replacen("[jira] [Created] ", "", 1)),
        )
    };
    let date = at.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let source = format!(
        "From: {person} <{from}>\nTo: {list}\nSubject: {subject}\nDate: {date}\n\
         Message-ID: <{slot}.mail@{host}>\n{reply}List-Id: <{host}>\n\n{body}",
        host = list.replace('@', "."),
    );
    Some(ArchivedMail {
        at,
        source: source.into_bytes(),
    })
}

fn text(status: u16, text: &'static str) -> Response {
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = HeaderValue::from_static("text/plain");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
