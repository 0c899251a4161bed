//! Gitea's own package registry: all of an owner's, one row for each version.

use axum::{
    extract::{Path, Query, State},
    http::{HeaderName, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{At, actor, not_found, repository};
use crate::{
    clock::rfc3339,
    upstream::Caller,
    upstreams::answer::{self, Page, Parameters, with},
    world::packages,
};

pub(super) async fn of_owner(
    State(site): At,
    caller: Caller,
    Path(owner): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    site.look(|forge| {
        let Some(owner) = forge.owner(&owner) else {
            return not_found();
        };
        let mut rows: Vec<Value> = Vec::new();
        let of_owner = |found: &&_| caller.sees(found) && found.owner == owner.path;
        for found in forge.repositories().filter(of_owner) {
            for package in packages(found) {
                for (index, (version, at)) in package.versions.iter().enumerate() {
                    rows.push(json!({
                        "id": package.id * 10 + index as u64,
                        "owner": actor(owner, &site),
                        "repository": package.linked.then(|| repository(forge, found, &site)),
                        "type": package.kind,
                        "name": package.name,
                        "version": version,
                        "html_url": format!(
                            "https://{}/{}/-/packages/{}/{}/{version}",
                            site.name, owner.path, package.kind, package.name
                        ),
                        "created_at": rfc3339(*at),
                    }));
                }
            }
        }
        // What was published last comes first.
        rows.reverse();
        let page = Page::read(&query, "limit", 30, 50);
        let total = rows.len();
        let answer = answer::json(200, &Value::Array(page.cut(rows)));
        let count = HeaderName::from_static("x-total-count");
        let answer = with(answer, count, &total.to_string());
        let url = format!("{}/packages/{}", site.base_url, owner.path);
        match page.links(&url, &query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    })
}
