//! Answers as forges give them: JSON, entity tags, pages and links.

use std::collections::BTreeMap;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::Value;

use crate::dice::fingerprint;

/// The query, the last of equal names winning.
pub(super) type Parameters = BTreeMap<String, String>;

/// A JSON answer.
pub(super) fn json(status: u16, body: &Value) -> Response {
    let mut answer = Response::new(Body::from(body.to_string()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    with(
        answer,
        header::CONTENT_TYPE,
        "application/json; charset=utf-8",
    )
}

/// A JSON answer with a weak entity tag, or 304 if the caller has it already.
pub(super) fn tagged(asked: &HeaderMap, body: &Value) -> Response {
    let tag = format!("W/\"{:016x}\"", fingerprint(body.to_string().as_bytes()));
    let known = asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| {
            let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
            known.trim() == "*" || opaque(known) == opaque(&tag)
        });
    let answer = if known {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        json(200, body)
    };
    with(answer, header::ETAG, &tag)
}

/// The answer with one more header.
pub(super) fn with(mut answer: Response, name: HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// Which part of a list is asked for; pages count from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) number: usize,
    pub(super) size: usize,
}

impl Page {
    /// From the query; sizes out of bounds are cut, nonsense is the default.
    pub(super) fn read(query: &Parameters, size: &str, default: usize, most: usize) -> Self {
        let number = |name: &str| query.get(name)?.parse::<usize>().ok();
        Self {
            number: number("page").unwrap_or(1).max(1),
            size: number(size)
                .filter(|size| *size > 0)
                .unwrap_or(default)
                .min(most),
        }
    }

    pub(super) fn offset(self) -> usize {
        (self.number - 1).saturating_mul(self.size)
    }

    pub(super) fn last(self, total: usize) -> usize {
        total.div_ceil(self.size).max(1)
    }

    pub(super) fn cut<T>(self, list: Vec<T>) -> Vec<T> {
        list.into_iter()
            .skip(self.offset())
            .take(self.size)
            .collect()
    }

    /// The `Link` header of this page; none if there is but one page. Where
    /// totals are withheld, so is the last page.
    pub(super) fn links(
        self,
        url: &str,
        query: &Parameters,
        total: usize,
        tell_last: bool,
    ) -> Option<String> {
        let last = self.last(total);
        let mut links = Vec::new();
        let mut link = |page: usize, relation: &str| {
            let mut query = query.clone();
            query.insert("page".to_owned(), page.to_string());
            links.push(format!("<{}>; rel=\"{relation}\"", address(url, &query)));
        };
        if self.number > 1 {
            link((self.number - 1).min(last), "prev");
        }
        if self.number < last {
            link(self.number + 1, "next");
            if tell_last {
                link(last, "last");
            }
        }
        if self.number > 1 {
            link(1, "first");
        }
        (!links.is_empty()).then(|| links.join(", "))
    }
}

/// The address with its query.
pub(super) fn address(url: &str, query: &Parameters) -> String {
    if query.is_empty() {
        return url.to_owned();
    }
    let encoded: String = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    format!("{url}?{encoded}")
}

/// Base64, broken into lines of this length (none if it is 0), as forges write contents.
pub(super) fn base64(bytes: &[u8], line: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() * 3 / 2);
    let mut written = 0;
    for chunk in bytes.chunks(3) {
        let three = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let word = three[0] << 16 | three[1] << 8 | three[2];
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS[(word >> shift & 63) as usize];
            text.push(if at <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
            written += 1;
            if line > 0 && written % line == 0 {
                text.push('\n');
            }
        }
    }
    text
}
