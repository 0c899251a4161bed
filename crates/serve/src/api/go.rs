//! `/api/v1/go/status`, `/api/v1/go/modules` and `/api/v1/go/modules/{path}`.

use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    response::Response,
};
use serde::{Deserialize, Serialize};
use store::goindex::{self, Module, Version};

use super::{list as paged, one, page_size, percent};
use crate::{Web, problem::Problem};

/// More versions than any module has.
const MOST_VERSIONS: usize = 100_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModulesQuery {
    prefix: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct ModuleView {
    path: String,
    latest: String,
    deprecated: Option<String>,
    versions: Vec<Version>,
}

pub(crate) async fn status(State(web): State<Web>) -> Result<Response, Problem> {
    let status = goindex::status(web.engine.db()).await;
    status.map(one).map_err(Problem::database)
}

pub(crate) async fn list(
    State(web): State<Web>,
    query: Result<Query<ModulesQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let limit = page_size(query.limit);
    let (prefix, after) = (query.prefix.as_deref(), query.cursor.as_deref());
    let modules = goindex::modules(web.engine.db(), prefix, after, limit + 1).await;
    let mut modules: Vec<Module> = modules.map_err(Problem::database)?;
    let more = modules.len() > limit;
    modules.truncate(limit);
    let next = modules.last().filter(|_| more).map(|last| {
        let cursor = last.path.clone();
        let prefix = prefix.map(|prefix| format!("&prefix={}", percent(prefix)));
        let address = format!(
            "/api/v1/go/modules?limit={limit}&cursor={}{}",
            percent(&cursor),
            prefix.unwrap_or_default()
        );
        (cursor, address)
    });
    Ok(paged(&web, &modules, next))
}

pub(crate) async fn show(
    State(web): State<Web>,
    Path(path): Path<String>,
) -> Result<Response, Problem> {
    let db = web.engine.db();
    let module = goindex::module(db, &path).await;
    let Some(module) = module.map_err(Problem::database)? else {
        return Err(Problem::not_found(format!("there is no module `{path}`")));
    };
    let versions = goindex::versions(db, &path, MOST_VERSIONS).await;
    Ok(one(ModuleView {
        path: module.path,
        latest: module.latest,
        deprecated: module.deprecated,
        versions: versions.map_err(Problem::database)?,
    }))
}
