//! `/api/v1/units`

use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use engine::{State as UnitState, UnitFilter, UnitId};
use serde::Deserialize;

use super::{list as list_of, one, page_size, percent};
use crate::{Web, problem::Problem};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    kind: Option<String>,
    state: Option<String>,
    key: Option<String>,
    error: Option<String>,
    cursor: Option<UnitId>,
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(web): State<Web>,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let state: Option<UnitState> = query
        .state
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error: engine::UnknownState| Problem::bad_input(error.to_string()))?;
    let limit = page_size(query.limit);
    let filter = UnitFilter {
        kind: query.kind.clone(),
        state,
        key: query.key.clone(),
        error: query.error.clone(),
        after: query.cursor.unwrap_or(0),
        limit,
    };
    let units = web.engine.units(&filter).await.map_err(Problem::database)?;
    let next = (units.len() == limit)
        .then(|| units.last())
        .flatten()
        .map(|last| {
            let mut address = format!("/api/v1/units?limit={limit}&cursor={}", last.id);
            for (name, value) in [
                ("kind", &query.kind),
                ("state", &query.state),
                ("key", &query.key),
                ("error", &query.error),
            ] {
                if let Some(value) = value {
                    address.push('&');
                    address.push_str(name);
                    address.push('=');
                    address.push_str(&percent(value));
                }
            }
            (last.id.to_string(), address)
        });
    Ok(list_of(&web, &units, next))
}

pub(crate) async fn show(
    State(web): State<Web>,
    Path(address): Path<String>,
) -> Result<Response, Problem> {
    let id = find(&web, &address).await?;
    let unit = web.engine.unit(id).await.map_err(Problem::database)?;
    unit.map(one).ok_or_else(|| missing(&address))
}

pub(crate) async fn why(
    State(web): State<Web>,
    Path(address): Path<String>,
) -> Result<Response, Problem> {
    let id = find(&web, &address).await?;
    let why = web.engine.why(id).await.map_err(Problem::database)?;
    why.map(one).ok_or_else(|| missing(&address))
}

async fn find(web: &Web, address: &str) -> Result<UnitId, Problem> {
    let id = web.engine.find(address).await.map_err(Problem::database)?;
    id.ok_or_else(|| missing(address))
}

fn missing(address: &str) -> Problem {
    Problem::not_found(format!("there is no unit `{address}`"))
}
