//! REST under `/api/v1`: lists as `{"data": […], "meta": {…}}`, single things
//! as `{"data": {…}}`, keyset paging with `Link` and `meta.next`.

mod csv;
mod distribution;
mod go;
pub(crate) mod license;
mod mail;
mod operations;
mod pypi;
mod repos;
mod units;

use axum::{
    Json, Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Serialize;
use serde_json::json;

use crate::Web;

pub(crate) fn router() -> Router<Web> {
    Router::new()
        .route("/units", get(units::list))
        .route("/units/{address}", get(units::show))
        .route("/units/{address}/why", get(units::why))
        .route("/counts", get(operations::counts))
        .route("/pools", get(operations::pools))
        .route("/upstreams", get(operations::upstreams))
        .route("/workers", get(operations::workers))
        .route("/repos", get(repos::list))
        .route("/repos/{id}", get(repos::show))
        .route("/repos/{id}/distribution", get(distribution::show))
        .route("/repos/{id}/distribution.csv", get(distribution::show_csv))
        .route("/repos/{id}/scancode-licenses", get(license::licenses))
        .route("/repos/{id}/scancode-files", get(license::files))
        .route("/go/status", get(go::status))
        .route("/go/modules", get(go::list))
        .route("/go/modules/{*path}", get(go::show))
        .route("/mail/lists", get(mail::lists))
        .route("/mail/lists/{list}", get(mail::show_list))
        .route("/mail/lists/{list}/messages", get(mail::messages))
        .route("/mail/lists/{list}/threads", get(mail::threads))
        .route("/mail/messages/{id}", get(mail::message))
        .route("/mail/messages/{id}/raw", get(mail::raw))
        .route("/mail/messages/{id}/thread", get(mail::thread))
        .route("/mail/messages/{id}/thread.mbox", get(mail::mbox))
        .route("/mail/search", get(mail::search))
        .route("/mail/stats", get(mail::stats))
        .route("/mailing-list/stats", get(mail::old_stats))
        .route("/pypi/datasets", get(pypi::datasets))
        .route("/pypi/modules", get(pypi::names))
        .route("/pypi/modules/{name}", get(pypi::module))
        .route("/pypi/distributions", post(pypi::distributions))
        .route(
            "/pypi/projects/{name}/dependencies",
            get(pypi::dependencies),
        )
        .route(
            "/pypi/projects/{name}/releases/{version}/dependencies",
            get(pypi::version_dependencies),
        )
        .route(
            "/pypi/projects/{name}/releases/{version}/artifacts/{filename}/dependencies",
            get(pypi::file_dependencies),
        )
        .route("/pypi/projects/{name}/dependents", get(pypi::dependents))
        .route("/distribution/stats", get(distribution::stats))
        .route("/distribution/gaps", get(distribution::gaps))
        .route("/distribution/gaps.csv", get(distribution::gaps_csv))
        .route("/distribution/events", get(distribution::events))
        .route("/distribution/events.csv", get(distribution::events_csv))
}

/// The page size that a list may have.
const MOST: usize = 1_000;

fn page_size(limit: Option<usize>) -> usize {
    limit.unwrap_or(100).clamp(1, MOST)
}

/// A single thing.
fn one(data: impl Serialize) -> Response {
    Json(json!({ "data": data })).into_response()
}

/// A list; `next` is the address of the page behind it.
fn list(web: &Web, data: &[impl Serialize], next: Option<(String, String)>) -> Response {
    let cursor = next.as_ref().map(|(cursor, _)| cursor);
    let as_of = web.engine.clock().now();
    let body = json!({ "data": data, "meta": { "next": cursor, "as_of": as_of } });
    link(Json(body).into_response(), next)
}

/// Says where the page behind this one is.
fn link(mut response: Response, next: Option<(String, String)>) -> Response {
    if let Some((_, address)) = next
        && let Ok(link) = HeaderValue::from_str(&format!("<{address}>; rel=\"next\""))
    {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// A value as it may stand in a query.
fn percent(value: &str) -> String {
    use std::fmt::Write as _;
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
