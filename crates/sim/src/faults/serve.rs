//! How each fault looks on the wire.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderValue, Response, StatusCode, header},
};
use futures_util::stream;
use hyper::body::{Body as HttpBody, Frame};
use jiff::Timestamp;

use super::{Fault, RetryAfter, bomb::gzip_bomb};
use crate::clock::{http_date, later};

/// What the connection is to do.
#[derive(Debug)]
pub(crate) enum Served {
    /// Send this.
    Answer(Response<Body>),
    /// Send this, whose body breaks off with a reset.
    AnswerThenReset(Response<Body>),
    /// Reset at once.
    Reset,
}

const WALL: &str = "<!DOCTYPE html>\n<html><head><title>One moment, please</title></head>\n\
    <body><h1>Checking that you are human</h1><noscript>Please enable JavaScript.</noscript></body></html>\n";

impl Fault {
    /// Whether the true answer is needed to spoil it.
    pub(crate) fn spoils(&self) -> bool {
        matches!(
            self,
            Self::ResetInBody
                | Self::Truncated
                | Self::Trickle { .. }
                | Self::ContentType { .. }
                | Self::HugeHeader { .. }
        )
    }

    /// What comes instead of the true answer.
    pub(crate) async fn replace(&self, own_url: &str, now: Timestamp) -> Served {
        Served::Answer(match self {
            Self::Status {
                status,
                retry_after,
                body,
            } => refusal(*status, *retry_after, body.as_deref(), now),
            Self::HtmlWall => plain(200, "text/html; charset=utf-8", WALL),
            Self::WrongJson { body } => {
                let body = body.as_deref().unwrap_or("{\"id\": 17, \"name\": \"hal");
                plain(200, "application/json", body.to_owned())
            }
            Self::Endless => {
                let chunk = Bytes::from(vec![b' '; 16 << 10]);
                let chunks = stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
                plain(200, "application/json", Body::from_stream(chunks))
            }
            Self::GzipBomb { mebibytes } => {
                let mut bomb = plain(200, "application/json", gzip_bomb(*mebibytes));
                let gzip = HeaderValue::from_static("gzip");
                bomb.headers_mut().insert(header::CONTENT_ENCODING, gzip);
                bomb
            }
            Self::RedirectLoop => redirect(own_url),
            Self::Redirect { to } => redirect(to),
            Self::Hang => std::future::pending().await,
            Self::Reset => return Served::Reset,
            Self::ResetInBody
            | Self::Truncated
            | Self::Trickle { .. }
            | Self::ContentType { .. }
            | Self::HugeHeader { .. } => plain(500, "text/plain", "needs the true answer"),
        })
    }

    /// What becomes of the true answer.
    pub(crate) async fn spoil(&self, mut answer: Response<Body>) -> Served {
        match self {
            Self::ResetInBody => return Served::AnswerThenReset(half(answer).await),
            Self::Truncated => return Served::Answer(half(answer).await),
            Self::Trickle { bytes, pause_ms } => {
                let (head, body) = answer.into_parts();
                let body = trickle(whole(body).await, *bytes, *pause_ms);
                answer = Response::from_parts(head, body);
            }
            Self::ContentType { content_type } => {
                if let Ok(value) = HeaderValue::from_str(content_type) {
                    answer.headers_mut().insert(header::CONTENT_TYPE, value);
                }
            }
            Self::HugeHeader { bytes } => {
                let filler = HeaderValue::from_maybe_shared(Bytes::from(vec![b'x'; *bytes]));
                if let Ok(value) = filler {
                    answer.headers_mut().insert("x-filler", value);
                }
            }
            _ => {}
        }
        Served::Answer(answer)
    }
}

fn refusal(
    status: u16,
    retry_after: Option<RetryAfter>,
    body: Option<&str>,
    now: Timestamp,
) -> Response<Body> {
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Refused");
    let body = body.map_or_else(|| format!("{reason}\n"), str::to_owned);
    let mut answer = plain(status, "text/plain", body);
    let value = match retry_after {
        Some(RetryAfter::Seconds(seconds)) => Some(seconds.to_string()),
        Some(RetryAfter::DateIn(seconds)) => Some(http_date(later(now, seconds))),
        None => None,
    };
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
        answer.headers_mut().insert(header::RETRY_AFTER, value);
    }
    answer
}

fn redirect(to: &str) -> Response<Body> {
    let mut answer = plain(302, "text/plain", "Found\n");
    if let Ok(value) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(header::LOCATION, value);
    }
    answer
}

fn plain(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let value = HeaderValue::from_static(content_type);
    answer.headers_mut().insert(header::CONTENT_TYPE, value);
    answer
}

async fn whole(body: Body) -> Bytes {
    to_bytes(body, usize::MAX).await.unwrap_or_default()
}

/// The head promises the whole body; half of it comes.
async fn half(answer: Response<Body>) -> Response<Body> {
    let (mut head, body) = answer.into_parts();
    let body = whole(body).await;
    head.headers.remove(header::TRANSFER_ENCODING);
    // A promise of at least one byte, so that it is always broken.
    let promised = HeaderValue::from(body.len().max(1));
    head.headers.insert(header::CONTENT_LENGTH, promised);
    Response::from_parts(head, Body::new(Broken::after(body.slice(..body.len() / 2))))
}

fn trickle(body: Bytes, bytes: usize, pause_ms: u64) -> Body {
    Body::from_stream(stream::unfold(body, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        let piece = rest.split_to(bytes.clamp(1, rest.len()));
        Some((Ok::<_, Infallible>(piece), rest))
    }))
}

/// A body that breaks off. It lets the connection flush once before it fails:
/// otherwise the client would see neither head nor first half.
#[derive(Debug)]
struct Broken {
    first: Option<Bytes>,
    flushed: bool,
}

impl Broken {
    fn after(first: Bytes) -> Self {
        Self {
            first: Some(first),
            flushed: false,
        }
    }
}

impl HttpBody for Broken {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.take()
            && !first.is_empty()
        {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if !self.flushed {
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the plan breaks this body off"))))
    }
}
