//! Errors as RFC 9457 says: `application/problem+json`, with the same codes as
//! the command line has.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// An error answer.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// The code that `gleaner help CODE` explains.
    #[serde(rename = "type")]
    code: &'static str,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Problem {
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self {
            code: "E-INPUT-NOT-FOUND",
            title: "There is no such thing",
            status: 404,
            detail: Some(detail.into()),
        }
    }

    pub(crate) fn bad_input(detail: impl Into<String>) -> Self {
        Self {
            code: "E-INPUT-VALUE",
            title: "The request makes no sense",
            status: 400,
            detail: Some(detail.into()),
        }
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self {
            code: "E-INPUT-FORBIDDEN",
            title: "Whoever asks may not do that",
            status: 403,
            detail: Some(detail.into()),
        }
    }

    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self {
            code: "E-INPUT-VALUE",
            title: "The request is too large",
            status: 413,
            detail: Some(detail.into()),
        }
    }

    /// The database failed. The cause goes to the log; outside it is nobody's business.
    pub(crate) fn database(error: impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "a request failed for the database");
        Self {
            code: "E-DB-UNREACHABLE",
            title: "The database does not answer",
            status: 503,
            detail: None,
        }
    }
}

impl Problem {
    /// The datasets cannot be read. The cause goes to the log.
    pub(crate) fn datasets(error: impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "a request failed for the datasets");
        Self {
            code: "E-UPSTREAM-ANSWER",
            title: "The datasets cannot be read",
            status: 503,
            detail: None,
        }
    }

    /// What we have could not be written down. The cause goes to the log.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "an answer could not be written");
        Self {
            code: "E-DB-DATA",
            title: "The answer could not be written",
            status: 500,
            detail: None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

pub(crate) async fn no_such_page(uri: Uri) -> Problem {
    Problem::not_found(format!("nothing is served at {}", uri.path()))
}

pub(crate) async fn wrong_method() -> Problem {
    Problem {
        code: "E-INPUT-METHOD",
        title: "This address can only be read",
        status: 405,
        detail: None,
    }
}
