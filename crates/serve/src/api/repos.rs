//! `/api/v1/repos`

use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use serde::Deserialize;
use store::{repositories, show};

use super::{MOST, list as list_of, one, page_size};
use crate::{Web, problem::Problem};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    cursor: Option<i64>,
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(web): State<Web>,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let limit = page_size(query.limit);
    let filter = repositories::Filter {
        after: query.cursor,
        ..repositories::Filter::default()
    };
    let page = repositories::list(web.engine.db(), &filter, limit)
        .await
        .map_err(Problem::database)?;
    let next = page.next.map(|cursor| {
        let address = format!("/api/v1/repos?limit={limit}&cursor={cursor}");
        (cursor.to_string(), address)
    });
    Ok(list_of(&web, &page.items, next))
}

pub(crate) async fn show(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found(format!("there is no repository `{id}`"));
    let number: i64 = id.parse().map_err(|_| missing())?;
    let overview = show::overview(web.engine.db(), number, MOST)
        .await
        .map_err(Problem::database)?;
    overview.map(one).ok_or_else(missing)
}
