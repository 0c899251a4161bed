//! `/repos/{id}`: what is known about one repository, each datum with its
//! source and time.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use store::{
    license::{self, Current, LicenseCount},
    show::{self, Overview},
};

use super::{Frame, relative, render};
use crate::{Web, api::license::next_run, problem::Problem};

/// Manifests on one page; the API has the rest.
const MOST: usize = 500;

#[derive(Template)]
#[template(path = "repo.html")]
struct RepoPage {
    frame: Frame,
    repo: Overview,
    slug: String,
    now: i64,
    scanned: Option<Current>,
    licenses: Vec<LicenseCount>,
    next_scan: Option<String>,
}

impl RepoPage {
    fn ago(&self, at: &jiff::Timestamp) -> String {
        relative(self.now, at.as_microsecond())
    }
}

pub(crate) async fn page(
    State(web): State<Web>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found(format!("there is no repository `{id}`"));
    let number: i64 = id.parse().map_err(|_| missing())?;
    let repo = show::overview(web.engine.db(), number, MOST)
        .await
        .map_err(Problem::database)?
        .ok_or_else(missing)?;
    let db = web.engine.db();
    let scanned = license::current(db, number).await;
    let scanned = scanned.map_err(Problem::database)?;
    let licenses = match &scanned {
        Some(scanned) => license::licenses(db, scanned.id)
            .await
            .map_err(Problem::database)?,
        None => Vec::new(),
    };
    render(&RepoPage {
        scanned,
        licenses,
        next_scan: next_run(&web, number).await?,
        frame: Frame::new(&web),
        slug: repo.repository.slug(),
        now: web.engine.clock().now().as_micros(),
        repo,
    })
}
