//! `/api/v1/pypi`: what the datasets of the Python index know. Every answer names the version of
//! the data, and is whole: it comes from one generation.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::JsonRejection, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::datasets::{DatasetError, Generation};

use super::{link, page_size, percent};
use crate::{Web, problem::Problem};

/// Names in one question.
const MOST_NAMES: usize = 100;
/// Projects that are told for one name. More than this have a module called `tests`.
const MOST_PROJECTS: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DistributionsQuestion {
    modules: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamesQuery {
    prefix: Option<String>,
    similar: Option<String>,
    limit: Option<usize>,
}

/// A project and one of its versions.
#[derive(Debug, Serialize)]
struct NamedVersion {
    name: String,
    version: String,
}

/// `GET /pypi/datasets`: what is served.
pub(crate) async fn datasets(State(web): State<Web>) -> Result<Response, Problem> {
    let generation = newest(&web).await?;
    Ok(answer(&generation, &json!(generation.manifest), None))
}

/// `GET /pypi/modules?prefix=` and `?similar=`: import names.
pub(crate) async fn names(
    State(web): State<Web>,
    query: Result<Query<NamesQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let limit = page_size(query.limit);
    let generation = newest(&web).await?;
    let names = match (query.prefix, query.similar) {
        (prefix, None) => generation.modules_like(&prefix.unwrap_or_default(), limit),
        (None, Some(name)) => generation.similar_modules(&name, limit).map_err(failed)?,
        (Some(_), Some(_)) => {
            let detail = "`prefix` and `similar` are two questions";
            return Err(Problem::bad_input(detail));
        }
    };
    Ok(answer(&generation, &json!(names), None))
}

/// `GET /pypi/modules/{name}`: the projects and versions that have a module.
pub(crate) async fn module(
    State(web): State<Web>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let generation = newest(&web).await?;
    if let Some(known) = unchanged(&generation, &headers) {
        return Ok(known);
    }
    let found = generation.module(&name, MOST_PROJECTS).map_err(failed)?;
    if found.is_empty() {
        let detail = format!("no project has a module `{name}`");
        return Err(Problem::not_found(detail));
    }
    Ok(answer(&generation, &json!(found), None))
}

/// `POST /pypi/distributions`: the projects and versions of many modules at once. Bare, with the
/// fields that callers of its forerunner know.
pub(crate) async fn distributions(
    State(web): State<Web>,
    question: Result<Json<DistributionsQuestion>, JsonRejection>,
) -> Result<Response, Problem> {
    let Json(question) = question.map_err(|error| Problem::bad_input(error.body_text()))?;
    let names = question.modules;
    if names.is_empty() || names.len() > MOST_NAMES {
        let detail = format!("`modules` holds between 1 and {MOST_NAMES} names");
        return Err(Problem::bad_input(detail));
    }
    if let Some(name) = names
        .iter()
        .find(|name| name.is_empty() || name.trim() != **name)
    {
        let detail = format!("`{name}` is blank or has blanks around it");
        return Err(Problem::bad_input(detail));
    }
    let generation = newest(&web).await?;
    let mut results = Map::new();
    for name in names {
        let found = generation.module(&name, MOST_PROJECTS).map_err(failed)?;
        let versions = found.into_iter().flat_map(|one| {
            let name = one.project;
            let versions = one.versions.into_iter();
            versions.map(move |version| NamedVersion {
                name: name.clone(),
                version,
            })
        });
        let versions: Vec<NamedVersion> = versions.collect();
        results.insert(name, json!(versions));
    }
    let body = json!({ "results": results, "data_version": generation.number() });
    Ok(Json(body).into_response())
}

/// `GET /pypi/projects/{name}/dependencies`: what all files of a project require.
pub(crate) async fn dependencies(
    State(web): State<Web>,
    Path(project): Path<String>,
) -> Result<Response, Problem> {
    required(&web, &project, None, None).await
}

/// `GET /pypi/projects/{name}/releases/{version}/dependencies`: of one version.
pub(crate) async fn version_dependencies(
    State(web): State<Web>,
    Path((project, version)): Path<(String, String)>,
) -> Result<Response, Problem> {
    required(&web, &project, Some(&version), None).await
}

/// `GET /pypi/projects/{name}/releases/{version}/artifacts/{filename}/dependencies`: of one file.
pub(crate) async fn file_dependencies(
    State(web): State<Web>,
    Path((project, version, filename)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    required(&web, &project, Some(&version), Some(&filename)).await
}

/// `GET /pypi/projects/{name}/dependents`: who requires a project.
pub(crate) async fn dependents(
    State(web): State<Web>,
    Path(project): Path<String>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let limit = page_size(query.limit);
    let generation = newest(&web).await?;
    let found = generation.dependents(&project, query.cursor.as_deref(), limit + 1);
    let mut found = found.map_err(failed)?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| {
        let address = format!(
            "/api/v1/pypi/projects/{}/dependents?limit={limit}&cursor={}",
            percent(&project),
            percent(&last.project)
        );
        (last.project.clone(), address)
    });
    Ok(answer(&generation, &json!(found), next))
}

async fn required(
    web: &Web,
    project: &str,
    version: Option<&str>,
    filename: Option<&str>,
) -> Result<Response, Problem> {
    let generation = newest(web).await?;
    let mut files = generation.files(project, version).map_err(failed)?;
    if let Some(filename) = filename {
        files.retain(|file| file.filename == filename);
    }
    if files.is_empty() {
        let of = version.map_or_else(String::new, |version| format!(" {version}"));
        let detail = format!("there is no such file of `{project}`{of}");
        return Err(Problem::not_found(detail));
    }
    // Modules have their own question, and are many.
    let files = files.into_iter().map(|mut file| {
        file.record.modules.clear();
        file
    });
    let files: Vec<_> = files.collect();
    Ok(answer(&generation, &json!(files), None))
}

async fn newest(web: &Web) -> Result<Arc<Generation>, Problem> {
    let none = || Problem::not_found("there are no datasets yet");
    let library = web.library.as_ref().ok_or_else(none)?;
    library.current().await.map_err(failed)?.ok_or_else(none)
}

/// Data with its version, also as an entity tag: the same generation answers the same.
fn answer(generation: &Generation, data: &Value, next: Option<(String, String)>) -> Response {
    let number = generation.number();
    let cursor = next.as_ref().map(|(cursor, _)| cursor);
    let body = json!({
        "data": data,
        "meta": { "next": cursor, "data_version": number, "up_to": generation.manifest.up_to() },
    });
    let mut response = link(Json(body).into_response(), next);
    if let Ok(tag) = HeaderValue::from_str(&tag(generation)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn tag(generation: &Generation) -> String {
    format!("\"pypi-{}\"", generation.number())
}

fn unchanged(generation: &Generation, headers: &HeaderMap) -> Option<Response> {
    let known = headers.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let tag = tag(generation);
    let is_known = known.split(',').any(|one| one.trim() == tag);
    is_known.then(|| (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response())
}

fn failed(error: DatasetError) -> Problem {
    match error {
        DatasetError::Query(detail) => Problem::bad_input(detail),
        other => Problem::datasets(other),
    }
}
