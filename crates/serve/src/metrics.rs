//! `/metrics`: what this process counted, and what the database says of all.

use std::{fmt::Write as _, sync::OnceLock, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::Web;

/// Collects this process's metrics. There is one per process.
#[derive(Clone)]
pub struct Recorder(PrometheusHandle);

impl Recorder {
    /// Installs the process's recorder, or returns the one that is there.
    pub fn install() -> Self {
        static INSTALLED: OnceLock<PrometheusHandle> = OnceLock::new();
        let handle = INSTALLED.get_or_init(|| {
            let recorder = PrometheusBuilder::new()
                .set_buckets(&[
                    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0,
                ])
                .unwrap_or_else(|_| PrometheusBuilder::new())
                .build_recorder();
            let handle = recorder.handle();
            // Fails only if another recorder is installed; ours then stays empty.
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder is installed");
            }
            handle
        });
        Self(handle.clone())
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

pub(crate) async fn metrics(State(web): State<Web>) -> Response {
    web.recorder.0.run_upkeep();
    let mut text = web.recorder.0.render();
    let _ = writeln!(
        text,
        "# TYPE gleaner_build_info gauge\ngleaner_build_info{{version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    if let Ok(counts) = web.counts.get().await {
        text.push_str("# TYPE gleaner_units gauge\n");
        for count in counts.iter() {
            let _ = writeln!(
                text,
                "gleaner_units{{kind=\"{}\",state=\"{}\"}} {}",
                count.kind, count.state, count.units
            );
        }
        text.push_str("# TYPE gleaner_units_oldest_due_seconds gauge\n");
        let now = web.engine.clock().now();
        for count in counts.iter() {
            if let Some(oldest) = count.oldest_due_at {
                let _ = writeln!(
                    text,
                    "gleaner_units_oldest_due_seconds{{kind=\"{}\"}} {}",
                    count.kind,
                    now.since(oldest).as_secs()
                );
            }
        }
    }
    let (open, idle) = web.engine.db().connections();
    let _ = writeln!(
        text,
        "# TYPE gleaner_db_pool_connections gauge\n\
         gleaner_db_pool_connections{{state=\"busy\"}} {}\n\
         gleaner_db_pool_connections{{state=\"idle\"}} {idle}",
        (open as usize).saturating_sub(idle)
    );
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        text,
    )
        .into_response()
}

/// Counts and times requests by route. Probes and metrics are left out: they
/// are noise that somebody's monitoring makes.
pub(crate) async fn count(request: Request, next: Next) -> Response {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    if matches!(route.as_str(), "/healthz" | "/readyz" | "/metrics") {
        return next.run(request).await;
    }
    let method = request.method().to_string();
    let begun = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::counter!("gleaner_http_requests_total",
        "route" => route.clone(), "method" => method, "status" => status)
    .increment(1);
    metrics::histogram!("gleaner_http_request_duration_seconds", "route" => route)
        .record(begun.elapsed());
    response
}
