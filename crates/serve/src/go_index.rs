//! `/index`: the feed of Go module versions, in the protocol of the public index.
//!
//! JSON lines, oldest first. `since` is inclusive, as it is there: a client that asks with the
//! moment of the last line it has seen gets that line again and everything behind it, and since no
//! two lines have the same moment, it always gets on. Beside the protocol there are `prefix`, for
//! the modules below a path, and `after`, for what lies behind a line's number.
//!
//! A page is read and written in pieces, so that many readers take little memory.

use std::{io, io::Write as _};

use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use engine::Engine;
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use store::goindex::{self, Asked, Entry};

use crate::{Web, problem::Problem};

/// The most lines of a page, and the usual number.
const MOST: usize = 2_000;
/// Lines in one piece of a page.
const PIECE: usize = 500;
const CONTENT_TYPE: &str = "application/json; charset=utf-8";

/// The parameters, as text: what is wrong with one is told in our own words. Others are passed
/// over, as the public index does.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct IndexQuery {
    since: Option<String>,
    limit: Option<String>,
    include: Option<String>,
    prefix: Option<String>,
    after: Option<String>,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "Path")]
    path: &'a str,
    #[serde(rename = "Version")]
    version: &'a str,
    #[serde(rename = "Timestamp")]
    timestamp: String,
}

pub(crate) async fn index(
    State(web): State<Web>,
    headers: HeaderMap,
    query: Result<Query<IndexQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let asked = query.read()?;
    let validator = goindex::validator(web.engine.db()).await;
    let (last, event) = validator.map_err(Problem::database)?;
    let tag = format!("W/\"{last}-{event}\"");
    let tag_value = HeaderValue::from_str(&tag).map_err(Problem::internal)?;
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag_value)]).into_response());
    }

    let left = asked.limit;
    let mut rest = Rest {
        engine: web.engine.clone(),
        asked,
        left,
        gzip: takes_gzip(&headers).then(|| GzEncoder::new(Vec::new(), Compression::fast())),
    };
    // The first piece is read before the answer begins: a database that is down is told.
    let first = rest.piece().await?;
    let zipped = rest.gzip.is_some();
    let body = stream::try_unfold((Some(first), rest), |(ready, mut rest)| async move {
        let piece = match ready {
            Some(first) => first,
            // Who reads sees that the answer is cut off; why is in our log.
            None => rest.piece().await.map_err(|_| io::ErrorKind::Other)?,
        };
        let bytes = match piece {
            Some(lines) => rest.pack(&lines)?,
            None => match rest.close()? {
                Some(end) => end,
                None => return Ok::<_, io::Error>(None),
            },
        };
        Ok(Some((Bytes::from(bytes), (None, rest))))
    });
    let mut response = Body::from_stream(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(header::ETAG, tag_value);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if zipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

impl IndexQuery {
    fn read(&self) -> Result<Asked, Problem> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let since = given(&self.since).map(|text| moment(&text)).transpose()?;
        let limit = match given(&self.limit) {
            None => MOST,
            Some(text) => match text.parse::<u64>() {
                Ok(limit) if limit > 0 => usize::try_from(limit).unwrap_or(MOST).min(MOST),
                _ => {
                    let what = format!("limit `{text}` is no number above 0");
                    return Err(Problem::bad_input(what));
                }
            },
        };
        let all = match given(&self.include).as_deref() {
            None => false,
            Some("all") => true,
            Some(other) => {
                let what = format!("include `{other}` is not known; it can be `all`");
                return Err(Problem::bad_input(what));
            }
        };
        let after = match given(&self.after) {
            None => None,
            Some(text) => match text.parse::<i64>() {
                Ok(after) if after >= 0 => Some(after),
                _ => {
                    let what = format!("after `{text}` is no number of a line");
                    return Err(Problem::bad_input(what));
                }
            },
        };
        Ok(Asked {
            since: since.map(Into::into),
            after,
            prefix: given(&self.prefix),
            all,
            limit,
        })
    }
}

/// RFC 3339 with any offset and any number of decimals. What lies between two microseconds begins
/// with the later one. A `+` that was not encoded has become a space.
fn moment(text: &str) -> Result<jiff::Timestamp, Problem> {
    let parsed = text
        .parse::<jiff::Timestamp>()
        .or_else(|_| text.replace(' ', "+").parse());
    let parsed = parsed.map_err(|_| {
        let what = format!("since `{text}` is no time, such as 2019-04-10T19:08:52.997264Z");
        Problem::bad_input(what)
    })?;
    let between = parsed.subsec_nanosecond().rem_euclid(1_000) != 0;
    let micros = parsed.as_nanosecond().div_euclid(1_000) + i128::from(between);
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    // Nothing but the end of time itself can be beyond it.
    Ok(jiff::Timestamp::from_microsecond(micros).unwrap_or(parsed))
}

/// What of a page is still to be read.
struct Rest {
    engine: Engine,
    asked: Asked,
    left: usize,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Rest {
    /// The next lines; none at the end of the page.
    async fn piece(&mut self) -> Result<Option<Vec<Entry>>, Problem> {
        if self.left == 0 {
            return Ok(None);
        }
        self.asked.limit = self.left.min(PIECE);
        let entries = goindex::page(self.engine.db(), &self.asked).await;
        let entries = entries.map_err(Problem::database)?;
        let Some(last) = entries.last() else {
            self.left = 0;
            return Ok(None);
        };
        let is_last = entries.len() < self.asked.limit;
        self.left = if is_last {
            0
        } else {
            self.left.saturating_sub(entries.len())
        };
        self.asked.after = Some(last.seq);
        self.asked.since = None;
        Ok(Some(entries))
    }

    fn pack(&mut self, entries: &[Entry]) -> io::Result<Vec<u8>> {
        let mut text = Vec::with_capacity(entries.len() * 120);
        for entry in entries {
            let line = Line {
                path: &entry.path,
                version: &entry.version,
                timestamp: entry.published_at.to_string(),
            };
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        match &mut self.gzip {
            None => Ok(text),
            Some(gzip) => {
                gzip.write_all(&text)?;
                gzip.flush()?;
                Ok(std::mem::take(gzip.get_mut()))
            }
        }
    }

    /// The last bytes of a packed answer.
    fn close(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.gzip.take().map(GzEncoder::finish).transpose()
    }
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut given = given
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim);
    given.any(|one| one == "*" || one.trim_start_matches("W/") == tag.trim_start_matches("W/"))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut given = given
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    given.any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| part.replace(' ', "") == "q=0")
    })
}
