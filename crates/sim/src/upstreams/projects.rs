//! The list of projects that a foundation gives out, as projects.apache.org does: one file of JSON,
//! an object by the projects' ids.

use std::sync::Arc;

use axum::{Router, extract::State, response::Response, routing::get};
use serde_json::{Map, Value, json};

use super::answer;
use crate::{
    upstream::{Site, Upstream},
    world::ORGANISATION,
};

/// The forge that the projects have their repositories on.
const FORGE: &str = "github.com";
/// A foundation tells of so many projects.
const MOST: usize = 5;

/// The double.
#[derive(Debug)]
pub struct Projects {
    name: String,
}

impl Projects {
    /// Under this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }
}

impl Upstream for Projects {
    fn name(&self) -> &str {
        &self.name
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        Router::new()
            .route("/json/foundation/projects.json", get(projects))
            .with_state(site)
    }
}

async fn projects(State(site): State<Arc<Site>>) -> Response {
    let repositories = site.world.public_repositories(FORGE, ORGANISATION);
    let project = |name: &str, path: &str| {
        json!({
            "name": format!("Apache {name}"),
            "pmc": name,
            "homepage": format!("https://{name}.apache.org/"),
            "repository": [
                format!("https://{FORGE}/{path}.git"),
                format!("https://svn.apache.org/repos/asf/{name}"),
            ],
        })
    };
    let projects: Map<String, Value> = repositories
        .iter()
        .take(MOST)
        .map(|found| (found.name.clone(), project(&found.name, &found.path())))
        .collect();
    answer::json(200, &Value::Object(projects))
}
