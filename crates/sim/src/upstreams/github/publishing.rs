//! GitHub's own package registry, listed by owner and by type.

use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{At, Desk, message, not_found, shape};
use crate::{
    clock::rfc3339,
    upstream::Caller,
    upstreams::answer::{Page, Parameters, tagged, with},
    world::{Forge, Owner, OwnerKind, packages},
};

const TYPES: [&str; 6] = ["npm", "maven", "rubygems", "docker", "nuget", "container"];

pub(super) async fn of_organisation(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(org): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    answer(
        &desk,
        &caller,
        &headers,
        &org,
        OwnerKind::Organisation,
        &query,
    )
}

pub(super) async fn of_user(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(user): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    answer(&desk, &caller, &headers, &user, OwnerKind::User, &query)
}

/// Only with a right of its own, and one type at a time.
fn answer(
    desk: &Desk,
    caller: &Caller,
    headers: &HeaderMap,
    owner: &str,
    kind: OwnerKind,
    query: &Parameters,
) -> Response {
    let Some(token) = caller.token() else {
        return message(401, "Requires authentication");
    };
    if !token.lists_packages() {
        return message(
            403,
            "You need at least read:packages scope to list packages.",
        );
    }
    let Some(wanted) = query
        .get("package_type")
        .filter(|one| TYPES.contains(&one.as_str()))
    else {
        return message(400, "Invalid argument: package_type");
    };
    desk.site.look(|forge| match forge.owner(owner) {
        Some(found) if found.kind == kind => {
            list(desk, forge, found, caller, headers, wanted, query)
        }
        _ => not_found(),
    })
}

fn list(
    desk: &Desk,
    forge: &Forge,
    owner: &Owner,
    caller: &Caller,
    headers: &HeaderMap,
    wanted: &str,
    query: &Parameters,
) -> Response {
    let mut found: Vec<Value> = Vec::new();
    let of_owner = |found: &&_| caller.sees(found) && found.owner == owner.path;
    for repository in forge.repositories().filter(of_owner) {
        for package in packages(repository)
            .into_iter()
            .filter(|one| one.kind == wanted)
        {
            // Group and artifact are run together.
            let name = package.name.replace(':', ".");
            let (first, last) = (package.versions.first(), package.versions.last());
            let mut value = json!({
                "id": package.id,
                "name": name,
                "package_type": package.kind,
                "version_count": package.versions.len(),
                "visibility": "public",
                "url": format!("{}/packages/{}", desk.site.base_url, package.id),
                "html_url": format!("https://{}/{}/packages/{}", desk.site.name, owner.path, package.id),
                "created_at": first.map(|(_, at)| rfc3339(*at)),
                "updated_at": last.map(|(_, at)| rfc3339(*at)),
            });
            if package.linked {
                value["repository"] = shape::brief(forge, repository, &desk.site);
            }
            found.push(value);
        }
    }
    let page = Page::read(query, "per_page", 30, 100);
    let total = found.len();
    let answer = tagged(headers, &Value::Array(page.cut(found)));
    let group = match owner.kind {
        OwnerKind::Organisation => "orgs",
        OwnerKind::User => "users",
    };
    let url = format!("{}/{group}/{}/packages", desk.site.base_url, owner.path);
    match page.links(&url, query, total, true) {
        Some(links) => with(answer, header::LINK, &links),
        None => answer,
    }
}
