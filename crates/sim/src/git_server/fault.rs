//! What goes wrong between a git server and its client.

use std::{convert::Infallible, fmt::Write as _, io, sync::Arc};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::{StreamExt as _, stream};
use tokio::sync::Notify;

use super::backend::Answered;

/// What happens to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A page for people, with 200.
    Wall,
    /// Another status, with headers and a page.
    Status {
        /// The status.
        status: u16,
        /// Headers, such as `Retry-After`.
        headers: Vec<(&'static str, String)>,
    },
    /// The same path elsewhere.
    Moved {
        /// What stands before the path: `http://other.example`.
        to: String,
    },
    /// A page elsewhere, such as a sign-in.
    SignIn {
        /// The address of the page.
        to: String,
    },
    /// The connection breaks after some bytes of the true answer.
    Cut {
        /// How many.
        after: usize,
    },
    /// The answer ends early, as if that were all.
    Short {
        /// After how many bytes.
        after: usize,
    },
    /// Some bytes of the true answer, then nothing, for ever.
    Hang {
        /// How many.
        after: usize,
    },
    /// One right line after the other, for ever.
    Endless,
    /// A header of this many bytes.
    LongHeader {
        /// How many.
        bytes: usize,
    },
}

impl Fault {
    /// Whether the true answer does not matter.
    pub(super) fn needs_no_answer(&self) -> bool {
        !matches!(
            self,
            Self::Cut { .. } | Self::Short { .. } | Self::Hang { .. } | Self::LongHeader { .. }
        )
    }

    pub(super) fn spoil(
        self,
        (headers, status, body): Answered,
        target: &str,
        held: &Arc<Notify>,
        left: &Arc<Notify>,
    ) -> Response {
        match self {
            Self::Wall => page(StatusCode::OK),
            Self::Status {
                status,
                headers: more,
            } => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
                let mut response = page(status);
                for (name, value) in more {
                    if let Ok(value) = value.parse() {
                        response.headers_mut().insert(name, value);
                    }
                }
                response
            }
            Self::Moved { to } => moved(&format!("{to}{target}")),
            Self::SignIn { to } => moved(&to),
            Self::Short { after } => {
                let after = after.min(body.len());
                (status, headers, body.slice(..after)).into_response()
            }
            Self::Cut { after } => {
                let after = after.min(body.len());
                let start = stream::iter([Ok(body.slice(..after))]);
                let end = stream::once(async {
                    // What came before must be on its way first.
                    for _ in 0..8 {
                        tokio::task::yield_now().await;
                    }
                    Err(io::Error::from(io::ErrorKind::BrokenPipe))
                });
                (status, headers, Body::from_stream(start.chain(end))).into_response()
            }
            Self::Hang { after } => {
                let after = after.min(body.len());
                let start = stream::iter([Ok::<_, Infallible>(body.slice(..after))]);
                let farewell = Farewell(left.clone());
                let held = held.clone();
                let rest = stream::once(async move {
                    let _farewell = farewell;
                    held.notify_one();
                    std::future::pending().await
                });
                (status, headers, Body::from_stream(start.chain(rest))).into_response()
            }
            Self::Endless => endless(target),
            Self::LongHeader { bytes } => {
                let mut response = (status, headers, body).into_response();
                if let Ok(value) = "x".repeat(bytes).parse() {
                    response.headers_mut().insert("x-padding", value);
                }
                response
            }
        }
    }
}

/// Without the right `Authorization`.
pub(super) fn unauthorized() -> Response {
    let mut response = page(StatusCode::UNAUTHORIZED);
    response.headers_mut().insert(
        header::WWW_AUTHENTICATE,
        header::HeaderValue::from_static("Basic realm=\"git\""),
    );
    response
}

fn page(status: StatusCode) -> Response {
    let text = "<!doctype html><html><title>One moment</title>\n<p>Are you a person?</html>\n";
    let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, kind, text).into_response()
}

fn moved(to: &str) -> Response {
    (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, to)]).into_response()
}

/// Refs without end: as an advertisement of version 0, or as the answer to `ls-refs`.
fn endless(target: &str) -> Response {
    let old = target.contains("/info/refs");
    let start = if old {
        "001e# service=git-upload-pack\n0000"
    } else {
        ""
    };
    let kind = if old {
        "application/x-git-upload-pack-advertisement"
    } else {
        "application/x-git-upload-pack-result"
    };
    let mut block = String::new();
    for n in 1..=1000 {
        let line = format!("{n:040x} refs/tags/v{n:012}\n");
        let _ = write!(block, "{:04x}{line}", line.len() + 4);
    }
    let lines = stream::repeat(Bytes::from(block)).map(Ok::<_, Infallible>);
    let start = stream::iter([Ok(Bytes::from_static(start.as_bytes()))]);
    let kind = [(header::CONTENT_TYPE, kind)];
    (kind, Body::from_stream(start.chain(lines))).into_response()
}

/// Says when the client has gone.
struct Farewell(Arc<Notify>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
