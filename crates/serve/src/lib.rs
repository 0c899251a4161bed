//! What people and programs see: REST, pages, metrics and probes.
//!
//! This room reads through `store` and `engine` and renders. It never fetches,
//! never parses what came from outside, and changes nothing: reading is open on
//! loopback, and whatever changes state goes through the command line. The one
//! exception are the hooks of forges, which make a unit due if they know a secret.

mod api;
mod counts;
mod go_index;
mod headers;
mod health;
mod hooks;
mod metrics;
mod pages;
mod problem;
mod state;

pub use metrics::Recorder;
pub use state::{Readiness, Web};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post},
};
use tokio::net::TcpListener;

/// Answers requests until `shutdown` is done, then lets those under way finish.
pub async fn serve(
    listener: TcpListener,
    web: Web,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(web))
        .with_graceful_shutdown(shutdown)
        .await
}

/// All routes.
pub fn router(web: Web) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/index", get(go_index::index))
        .route("/go/index", get(go_index::index))
        .route(
            "/hooks/{forge}",
            post(hooks::hook).layer(DefaultBodyLimit::max(hooks::MOST)),
        )
        .nest("/api/v1", api::router())
        .merge(pages::router())
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::wrong_method)
        .layer(middleware::from_fn(headers::guard))
        .layer(middleware::from_fn(metrics::count))
        .with_state(web)
}
