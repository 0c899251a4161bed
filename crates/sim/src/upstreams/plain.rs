//! An upstream without any wishes: every path exists, and what is there follows
//! from the seed and the path. For tests of the engine, of faults and of the
//! client, and a pattern for new upstreams.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::{
    dice::fingerprint,
    upstream::{Site, Upstream},
};

/// The double. Paths below `/absent` are not there.
#[derive(Debug)]
pub struct Plain {
    name: String,
}

impl Plain {
    /// Under this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }
}

impl Upstream for Plain {
    fn name(&self) -> &str {
        &self.name
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        Router::new().fallback(answer).with_state(site)
    }
}

async fn answer(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let path = uri.path();
    if path == "/absent" || path.starts_with("/absent/") {
        return (StatusCode::NOT_FOUND, Json(json!({ "absent": path }))).into_response();
    }
    let value = fingerprint(path.as_bytes()) ^ site.world.seed();
    Json(json!({ "path": path, "value": format!("{value:016x}") })).into_response()
}
