//! `/api/v1/repos/{id}/scancode-licenses` and `/scancode-files`.
//!
//! The first is bare and has the field names that its clients know, whoever scanned.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use store::license::{self, Current, FileFilter, LicenseCount};

use super::{list, page_size, percent};
use crate::{Web, problem::Problem};

/// Holders and packages in one answer.
const MOST: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesQuery {
    license: Option<String>,
    #[serde(default)]
    problems: bool,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names that clients know")]
struct Licenses {
    licenses: Vec<License>,
    copyrights: Vec<Holder>,
    packages: Vec<license::PackageReport>,
    /// The license of the whole.
    license: Option<String>,
    last_run: Option<String>,
    scancode_version: Option<String>,
    scanner: Option<String>,
    scanner_key: Option<String>,
    commit: Option<String>,
    files: Option<i64>,
    files_failed: Option<i64>,
    /// When it runs next; with `last_run` none, when it will for the first time.
    next_run: Option<String>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names that clients know")]
struct License {
    license: String,
    file_count: i64,
    osi_approved: bool,
}

#[derive(Serialize)]
struct Holder {
    holder: String,
    file_count: i64,
}

pub(crate) async fn licenses(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let repository = known(&web, &id).await?;
    let db = web.engine.db();
    let current = license::current(db, repository).await;
    let current = current.map_err(Problem::database)?;
    let next_run = next_run(&web, repository).await?;
    let (mut licenses, mut holders, mut packages) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(current) = &current {
        licenses = license::licenses(db, current.id)
            .await
            .map_err(Problem::database)?;
        holders = license::holders(db, current.id, MOST)
            .await
            .map_err(Problem::database)?;
        packages = license::packages(db, current.id, MOST)
            .await
            .map_err(Problem::database)?;
    }
    let of = |field: fn(&Current) -> String| current.as_ref().map(field);
    Ok(Json(Licenses {
        licenses: licenses.into_iter().map(license_of).collect(),
        copyrights: holders
            .into_iter()
            .map(|one| Holder {
                holder: one.value,
                file_count: one.files,
            })
            .collect(),
        packages,
        license: current.as_ref().and_then(|current| current.license.clone()),
        last_run: of(|current| current.last_run.to_string()),
        scancode_version: of(|current| current.version.clone()),
        scanner: of(|current| current.scanner.clone()),
        scanner_key: of(|current| current.scanner_key.clone()),
        commit: of(|current| current.commit.clone()),
        files: current.as_ref().map(|current| current.files),
        files_failed: current.as_ref().map(|current| current.files_failed),
        next_run,
    })
    .into_response())
}

fn license_of(one: LicenseCount) -> License {
    License {
        license: one.value,
        file_count: one.files,
        osi_approved: one.osi_approved.unwrap_or(false),
    }
}

pub(crate) async fn files(
    State(web): State<Web>,
    Path(id): Path<String>,
    query: Result<Query<FilesQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_input(error.body_text()))?;
    let repository = known(&web, &id).await?;
    let db = web.engine.db();
    let current = license::current(db, repository).await;
    let Some(current) = current.map_err(Problem::database)? else {
        let none: [(); 0] = [];
        return Ok(list(&web, &none, None));
    };
    let limit = page_size(query.limit);
    let filter = FileFilter {
        after: query.cursor.clone(),
        limit: limit + 1,
        license: query.license.clone(),
        problems: query.problems,
    };
    let files = license::files(db, current.id, &filter).await;
    let mut files = files.map_err(Problem::database)?;
    let more = files.len() > limit;
    files.truncate(limit);
    let next = files.last().filter(|_| more).map(|last| {
        let cursor = last.path.clone();
        let license = query
            .license
            .as_deref()
            .map(|text| format!("&license={}", percent(text)));
        let problems = if query.problems { "&problems=true" } else { "" };
        let address = format!(
            "/api/v1/repos/{repository}/scancode-files?limit={limit}&cursor={}{}{problems}",
            percent(&cursor),
            license.unwrap_or_default()
        );
        (cursor, address)
    });
    Ok(list(&web, &files, next))
}

/// A repository that there is.
async fn known(web: &Web, id: &str) -> Result<i64, Problem> {
    let missing = || Problem::not_found(format!("there is no repository `{id}`"));
    let number: i64 = id.parse().map_err(|_| missing())?;
    let found = store::repositories::by_id(web.engine.db(), number).await;
    let found = found.map_err(Problem::database)?.ok_or_else(missing)?;
    Ok(found.id)
}

/// When the unit of a repository runs next.
pub(crate) async fn next_run(web: &Web, repository: i64) -> Result<Option<String>, Problem> {
    let unit = web.engine.find(&format!("license/scan:{repository}")).await;
    let Some(unit) = unit.map_err(Problem::database)? else {
        return Ok(None);
    };
    let detail = web.engine.unit(unit).await.map_err(Problem::database)?;
    Ok(detail
        .and_then(|detail| detail.unit.due_at)
        .map(|at| at.to_string()))
}
