//! Probes: does the process live, can it work.

use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Map, Value, json};

use crate::Web;

/// The process answers. Asks nobody, so that a slow database does not get it killed.
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Everything that work needs is there: 200, else 503, with a line for each.
pub(crate) async fn readyz(State(web): State<Web>) -> (StatusCode, Json<Value>) {
    let mut ready = true;
    let mut checks = Map::new();
    for (name, result) in (web.readiness)().await {
        let value = match result {
            Ok(detail) => json!({"status": "ok", "detail": detail}),
            Err(detail) => {
                ready = false;
                json!({"status": "failed", "detail": detail})
            }
        };
        checks.insert(name.to_owned(), value);
    }
    let (code, status) = if ready {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "failed")
    };
    (code, Json(json!({"status": status, "checks": checks})))
}
