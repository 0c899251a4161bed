//! GitLab's own package registry: one row for each version, images elsewhere.

use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{
    At,
    code::{Below, time},
    find_owner, message,
};
use crate::{
    upstream::{Caller, Site},
    upstreams::answer::{Page, Parameters, tagged, with},
    world::{OwnerKind, Repository, is_within, packages},
};

/// Of a group and all groups in it.
pub(super) async fn of_group(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    desk.site.look(|forge| match find_owner(forge, &id) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            let rows = forge
                .repositories()
                .filter(|found| caller.sees(found) && is_within(&found.owner, &owner.path))
                .flat_map(|found| rows(found, &desk.site))
                .collect();
            let url = format!("{}/groups/{}/packages", desk.site.base_url, owner.id);
            paged(rows, &url, &headers, &query)
        }
        _ => message(404, "404 Group Not Found"),
    })
}

impl Below<'_> {
    pub(super) fn packages(&self) -> Response {
        let base = &self.desk.site.base_url;
        let url = format!("{base}/projects/{}/packages", self.found.id);
        let rows = rows(self.found, &self.desk.site);
        paged(rows, &url, self.headers, self.query)
    }
}

fn rows(found: &Repository, site: &Site) -> Vec<Value> {
    let mut rows = Vec::new();
    // Images are in a registry of their own.
    for package in packages(found)
        .into_iter()
        .filter(|one| one.kind != "container")
    {
        let name = match package.name.split_once(':') {
            Some((group, artifact)) => format!("{}/{artifact}", group.replace('.', "/")),
            None => package.name.clone(),
        };
        for (index, (version, at)) in package.versions.iter().enumerate() {
            let id = package.id * 10 + index as u64;
            rows.push(json!({
                "id": id,
                "name": name,
                "version": version,
                "package_type": package.kind,
                "status": "default",
                "_links": { "web_path": format!("/{}/-/packages/{id}", found.path()) },
                "created_at": time(*at),
                "project_id": found.id,
                "project_path": found.path(),
                "web_url": format!("https://{}/{}/-/packages/{id}", site.name, found.path()),
            }));
        }
    }
    rows
}

fn paged(rows: Vec<Value>, url: &str, headers: &HeaderMap, query: &Parameters) -> Response {
    let page = Page::read(query, "per_page", 20, 100);
    let total = rows.len();
    let answer = tagged(headers, &Value::Array(page.cut(rows)));
    match page.links(url, query, total, true) {
        Some(links) => with(answer, header::LINK, &links),
        None => answer,
    }
}
