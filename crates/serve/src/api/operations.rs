//! `/api/v1/counts`, `/pools`, `/upstreams`, `/workers`

use axum::{extract::State, response::Response};

use super::list;
use crate::{Web, problem::Problem};

pub(crate) async fn counts(State(web): State<Web>) -> Result<Response, Problem> {
    let counts = web.counts.get().await.map_err(Problem::database)?;
    Ok(list(&web, &counts, None))
}

pub(crate) async fn pools(State(web): State<Web>) -> Result<Response, Problem> {
    let pools = web.engine.pools().await.map_err(Problem::database)?;
    Ok(list(&web, &pools, None))
}

pub(crate) async fn upstreams(State(web): State<Web>) -> Result<Response, Problem> {
    let upstreams = web
        .engine
        .upstream_views()
        .await
        .map_err(Problem::database)?;
    Ok(list(&web, &upstreams, None))
}

pub(crate) async fn workers(State(web): State<Web>) -> Result<Response, Problem> {
    let workers = web.engine.workers().await.map_err(Problem::database)?;
    Ok(list(&web, &workers, None))
}
