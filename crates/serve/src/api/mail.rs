//! `/api/v1/mail/…`: lists, messages by their Message-ID, threads, raw mail, search, figures; and
//! `/api/v1/mailing-list/stats` with the names that older clients know.

use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;
use store::mail::{self, KeptList, MessagePlace};

use super::{list as paged, one, page_size, percent};
use crate::{Web, problem::Problem};

/// Messages of a thread that one mbox holds.
const MOST_OF_THREAD: usize = 5_000;
/// Messages that are read at once.
const AT_ONCE: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    q: String,
    list: Option<String>,
    cursor: Option<i64>,
    limit: Option<usize>,
}

type Asked<T> = Result<Query<T>, QueryRejection>;

fn read<T>(query: Asked<T>) -> Result<T, Problem> {
    query
        .map(|Query(query)| query)
        .map_err(|error| Problem::bad_input(error.body_text()))
}

pub(crate) async fn lists(
    State(web): State<Web>,
    query: Asked<PageQuery>,
) -> Result<Response, Problem> {
    let query = read(query)?;
    let limit = page_size(query.limit);
    let after = number(query.cursor.as_deref())?;
    let lists = mail::lists(web.engine.db(), after, limit + 1).await;
    let mut lists = lists.map_err(Problem::database)?;
    let more = lists.len() > limit;
    lists.truncate(limit);
    let next = lists.last().filter(|_| more).map(|last| {
        let address = format!("/api/v1/mail/lists?limit={limit}&cursor={}", last.id);
        (last.id.to_string(), address)
    });
    Ok(paged(&web, &lists, next))
}

pub(crate) async fn show_list(
    State(web): State<Web>,
    Path(list): Path<String>,
) -> Result<Response, Problem> {
    find(&web, &list).await.map(one)
}

pub(crate) async fn messages(
    State(web): State<Web>,
    Path(list): Path<String>,
    query: Asked<PageQuery>,
) -> Result<Response, Problem> {
    let query = read(query)?;
    let list = find(&web, &list).await?;
    let limit = page_size(query.limit);
    let before = place(query.cursor.as_deref())?;
    let hits = mail::in_list(web.engine.db(), list.id, before, limit + 1).await;
    let mut hits = hits.map_err(Problem::database)?;
    let more = hits.len() > limit;
    hits.truncate(limit);
    let path = format!("/api/v1/mail/lists/{}/messages", list.id);
    let next = next_of(
        &path,
        limit,
        hits.last().filter(|_| more).map(|(place, _)| *place),
    );
    let hits: Vec<_> = hits.into_iter().map(|(_, hit)| hit).collect();
    Ok(paged(&web, &hits, next))
}

pub(crate) async fn threads(
    State(web): State<Web>,
    Path(list): Path<String>,
    query: Asked<PageQuery>,
) -> Result<Response, Problem> {
    let query = read(query)?;
    let list = find(&web, &list).await?;
    let limit = page_size(query.limit);
    let before = place(query.cursor.as_deref())?;
    let threads = mail::recent_threads(web.engine.db(), Some(list.id), before, limit + 1).await;
    let mut threads = threads.map_err(Problem::database)?;
    let more = threads.len() > limit;
    threads.truncate(limit);
    let path = format!("/api/v1/mail/lists/{}/threads", list.id);
    let next = next_of(
        &path,
        limit,
        threads.last().filter(|_| more).map(|(place, _)| *place),
    );
    let threads: Vec<_> = threads.into_iter().map(|(_, thread)| thread).collect();
    Ok(paged(&web, &threads, next))
}

/// The messages with an id: a list, since ids are not unique.
pub(crate) async fn message(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let views = mail::by_message_id(web.engine.db(), bare(&id)).await;
    let views = views.map_err(Problem::database)?;
    if views.is_empty() {
        return Err(nothing(&id));
    }
    Ok(paged(&web, &views, None))
}

pub(crate) async fn raw(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let copies = mail::raw_of(web.engine.db(), bare(&id)).await;
    let copies = copies.map_err(Problem::database)?;
    let bytes = copies.first().and_then(|copy| mail::unpack(&copy.raw));
    let bytes = bytes.ok_or_else(|| nothing(&id))?;
    Ok(with_type(Body::from(bytes), "message/rfc822"))
}

pub(crate) async fn thread(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let thread = mail::thread_of(web.engine.db(), bare(&id)).await;
    let thread = thread.map_err(Problem::database)?;
    thread.map(one).ok_or_else(|| nothing(&id))
}

pub(crate) async fn mbox(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let mut text = Vec::new();
    for skip in (0..MOST_OF_THREAD).step_by(AT_ONCE) {
        let copies = mail::raws_of_thread(web.engine.db(), bare(&id), skip, AT_ONCE).await;
        let copies = copies.map_err(Problem::database)?;
        for copy in &copies {
            if let Some(bytes) = mail::unpack(&copy.raw) {
                append(&mut text, &bytes);
            }
        }
        if copies.len() < AT_ONCE {
            break;
        }
    }
    if text.is_empty() {
        return Err(nothing(&id));
    }
    Ok(with_type(Body::from(text), "application/mbox"))
}

pub(crate) async fn search(
    State(web): State<Web>,
    query: Asked<SearchQuery>,
) -> Result<Response, Problem> {
    let query = read(query)?;
    let list = match &query.list {
        Some(list) => Some(find(&web, list).await?.id),
        None => None,
    };
    let limit = page_size(query.limit);
    let hits = mail::search(web.engine.db(), &query.q, list, query.cursor, limit + 1).await;
    let mut hits = hits.map_err(Problem::database)?;
    let more = hits.len() > limit;
    hits.truncate(limit);
    let next = hits.last().filter(|_| more).map(|last| {
        let list = query
            .list
            .as_deref()
            .map(|list| format!("&list={}", percent(list)));
        let address = format!(
            "/api/v1/mail/search?q={}&limit={limit}&cursor={}{}",
            percent(&query.q),
            last.id,
            list.unwrap_or_default()
        );
        (last.id.to_string(), address)
    });
    Ok(paged(&web, &hits, next))
}

pub(crate) async fn stats(State(web): State<Web>) -> Result<Response, Problem> {
    let stats = mail::stats(web.engine.db()).await;
    stats.map(one).map_err(Problem::database)
}

/// The same figures, bare and under the names of the seed.
pub(crate) async fn old_stats(State(web): State<Web>) -> Result<Response, Problem> {
    let stats = mail::stats(web.engine.db())
        .await
        .map_err(Problem::database)?;
    let by_class: serde_json::Map<String, serde_json::Value> = stats
        .by_class
        .iter()
        .map(|one| (one.class.clone(), one.messages.into()))
        .collect();
    let waiting: Vec<serde_json::Value> = stats
        .waiting
        .iter()
        .map(|one| json!({ "List": one.list, "Staged": one.staged, "WithoutRepository": one.without_repository }))
        .collect();
    Ok(Json(json!({
        "Lists": stats.lists,
        "ScanComplete": stats.scan_complete,
        "EmailMessages": stats.email_messages,
        "Mirrors": stats.mirrors,
        "SignaledCaptured": stats.signalled_captured,
        "SignaledResolved": stats.signalled_resolved,
        "SenderTotal": stats.sender_total,
        "SenderResolved": stats.sender_resolved,
        "SenderEmailOnly": stats.sender_email_only,
        "Threads": stats.threads,
        "Series": stats.series,
        "ByClass": by_class,
        "Waiting": waiting,
        "Shadows": stats.shadows,
        "Skipped": stats.skipped,
        "DeadLetters": stats.dead_letters,
        "IncompleteParts": stats.incomplete_parts,
    }))
    .into_response())
}

/// A list by its number or its address.
async fn find(web: &Web, text: &str) -> Result<KeptList, Problem> {
    let found = match text.parse::<i64>() {
        Ok(id) => mail::by_id(web.engine.db(), id).await,
        Err(_) => mail::find(web.engine.db(), text)
            .await
            .map(|lists| lists.into_iter().next()),
    };
    let found = found.map_err(Problem::database)?;
    found.ok_or_else(|| Problem::not_found(format!("there is no list `{text}`")))
}

fn nothing(id: &str) -> Problem {
    Problem::not_found(format!("there is no message `{id}`"))
}

fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}

fn number(cursor: Option<&str>) -> Result<i64, Problem> {
    let bad = |_| Problem::bad_input("the cursor is none of ours".to_owned());
    cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(bad))
}

fn place(cursor: Option<&str>) -> Result<Option<MessagePlace>, Problem> {
    let bad = |_| Problem::bad_input("the cursor is none of ours".to_owned());
    cursor.map(|cursor| cursor.parse().map_err(bad)).transpose()
}

fn next_of(path: &str, limit: usize, last: Option<MessagePlace>) -> Option<(String, String)> {
    let last = last?;
    let cursor = last.to_string();
    let address = format!("{path}?limit={limit}&cursor={cursor}");
    Some((cursor, address))
}

fn with_type(body: Body, kind: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Mail is as hostile as any text: nobody shows it as a page.
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Appends a mail in the form mboxrd: every line that begins with `From `, after any number of `>`,
/// gets one more.
fn append(mbox: &mut Vec<u8>, mail: &[u8]) {
    mbox.extend_from_slice(b"From mboxrd@z Thu Jan  1 00:00:00 1970\n");
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        let quotes = line.iter().take_while(|byte| **byte == b'>').count();
        if line[quotes..].starts_with(b"From ") {
            mbox.push(b'>');
        }
        mbox.extend_from_slice(line);
    }
    if !mbox.ends_with(b"\n") {
        mbox.push(b'\n');
    }
    mbox.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_mail_are_quoted() {
        let mut mbox = Vec::new();
        append(&mut mbox, b"Subject: x\n\nFrom me\n>From you\nFromage");
        let text = String::from_utf8_lossy(&mbox).into_owned();
        assert!(
            text.ends_with("\n\n>From me\n>>From you\nFromage\n\n"),
            "{text}"
        );
    }
}
