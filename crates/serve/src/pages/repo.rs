//! `/repos/{id}`: what is known about one repository, each datum with its
//! source and time.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use store::show::{self, Overview};

use super::{Frame, relative, render};
use crate::{Web, problem::Problem};

/// Manifests on one page; the API has the rest.
const MOST: usize = 500;

#[derive(Template)]
#[template(path = "repo.html")]
struct RepoPage {
    frame: Frame,
    repo: Overview,
    slug: String,
    now: i64,
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
    render(&RepoPage {
        frame: Frame::new(&web),
        slug: repo.repository.slug(),
        now: web.engine.clock().now().as_micros(),
        repo,
    })
}
