//! REST under `/api/v1`: lists as `{"data": […], "meta": {…}}`, single things
//! as `{"data": {…}}`, keyset paging with `Link` and `meta.next`.

mod operations;
mod repos;
mod units;

use axum::{
    Json, Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
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
    let (cursor, address) = next.unzip();
    let as_of = web.engine.clock().now();
    let body = json!({ "data": data, "meta": { "next": cursor, "as_of": as_of } });
    let mut response = Json(body).into_response();
    if let Some(address) = address
        && let Ok(link) = HeaderValue::from_str(&format!("<{address}>; rel=\"next\""))
    {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}
