//! GitHub's lists of repositories and organisations.

use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{At, Desk, message, not_found, shape};
use crate::{
    upstream::Caller,
    upstreams::answer::{Page, Parameters, address, tagged, with},
    world::{Forge, Owner, OwnerKind, Repository},
};

pub(super) async fn of_organisation(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(org): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    desk.site.look(|forge| match forge.owner(&org) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            list(&desk, forge, owner, &caller, &headers, &query)
        }
        _ => not_found(),
    })
}

pub(super) async fn of_user(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(user): Path<String>,
    Query(mut query): Query<Parameters>,
) -> Response {
    // Unlike an organisation's, a user's list is by name unless asked.
    query
        .entry("sort".to_owned())
        .or_insert_with(|| "full_name".to_owned());
    desk.site.look(|forge| match forge.owner(&user) {
        Some(owner) => list(&desk, forge, owner, &caller, &headers, &query),
        None => not_found(),
    })
}

/// Where the links of both lead.
pub(super) async fn of_owner_number(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    desk.site.look(|forge| {
        let owner = id.parse().ok().and_then(|id| forge.owner_by_id(id));
        match owner {
            Some(owner) => list(&desk, forge, owner, &caller, &headers, &query),
            None => not_found(),
        }
    })
}

fn list(
    desk: &Desk,
    forge: &Forge,
    owner: &Owner,
    caller: &Caller,
    headers: &HeaderMap,
    query: &Parameters,
) -> Response {
    let wanted = query.get("type").map_or("all", String::as_str);
    let mut found: Vec<_> = forge
        .repositories()
        .filter(|found| found.owner == owner.path && caller.sees(found))
        .filter(|found| match wanted {
            "public" => !found.private,
            "private" => found.private,
            "forks" => found.fork_of.is_some(),
            "sources" => found.fork_of.is_none(),
            _ => true,
        })
        .collect();
    sort(&mut found, query);

    let page = Page::read(query, "per_page", 30, 100);
    let total = found.len();
    let items: Vec<_> = page
        .cut(found)
        .into_iter()
        .map(|found| shape::brief(forge, found, &desk.site))
        .collect();
    let answer = tagged(headers, &Value::Array(items));
    let number = match owner.kind {
        OwnerKind::Organisation => format!("/organizations/{}/repos", owner.id),
        OwnerKind::User => format!("/user/{}/repos", owner.id),
    };
    let url = format!("{}{number}", desk.site.base_url);
    match page.links(&url, query, total, true) {
        Some(links) => with(answer, header::LINK, &links),
        None => answer,
    }
}

/// Newest first, but names from A; equal ones by id, so that pages are stable.
fn sort(found: &mut [&Repository], query: &Parameters) {
    let by = query.get("sort").map_or("created", String::as_str);
    match by {
        "updated" => found.sort_by_key(|found| (found.updated_at, found.id)),
        "pushed" => found.sort_by_key(|found| (found.pushed_at, found.id)),
        "full_name" => found.sort_by_key(|found| found.path().to_lowercase()),
        _ => found.sort_by_key(|found| (found.created_at, found.id)),
    }
    let ascending = match query.get("direction").map(String::as_str) {
        Some(direction) => direction == "asc",
        None => by == "full_name",
    };
    if !ascending {
        found.reverse();
    }
}

/// What organisations gave to the app whose token is shown.
pub(super) async fn of_installation(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    if caller.token().is_none() {
        return message(401, "A JSON web token could not be decoded");
    }
    desk.site.look(|forge| {
        let is_given = |found: &&Repository| {
            let owner = forge.owner(&found.owner);
            let of_organisation = owner.is_some_and(|one| one.kind == OwnerKind::Organisation);
            of_organisation && caller.sees(found)
        };
        let found: Vec<_> = forge.repositories().filter(is_given).collect();
        let page = Page::read(&query, "per_page", 30, 100);
        let total = found.len();
        let items: Vec<_> = page
            .cut(found)
            .into_iter()
            .map(|found| shape::brief(forge, found, &desk.site))
            .collect();
        let body = json!({
            "total_count": total,
            "repository_selection": "all",
            "repositories": items,
        });
        let answer = tagged(&headers, &body);
        let url = format!("{}/installation/repositories", desk.site.base_url);
        match page.links(&url, &query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    })
}

/// Everything public, by id, from `since` on.
pub(super) async fn everything(
    State(desk): At,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let since = since(&query);
    desk.site.look(|forge| {
        let after = forge
            .repositories()
            .filter(|found| found.is_public() && found.id > since);
        let page: Vec<_> = after.take(100).collect();
        let next = (page.len() == 100).then(|| page.last().map(|found| found.id));
        let items = page
            .iter()
            .map(|found| shape::brief(forge, found, &desk.site));
        let answer = tagged(&headers, &Value::Array(items.collect()));
        onward(&desk, "/repositories", query, next.flatten(), answer)
    })
}

/// Every organisation, by id, from `since` on.
pub(super) async fn organisations(
    State(desk): At,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let since = since(&query);
    let page = Page::read(&query, "per_page", 30, 100);
    desk.site.look(|forge| {
        let mut after: Vec<_> = forge
            .owners()
            .filter(|owner| owner.kind == OwnerKind::Organisation && owner.id > since)
            .collect();
        after.sort_by_key(|owner| owner.id);
        let next = after
            .get(page.size)
            .and_then(|_| Some(after.get(page.size - 1)?.id));
        let items = after.iter().take(page.size);
        let items = items.map(|owner| shape::actor(owner, &desk.site));
        let answer = tagged(&headers, &Value::Array(items.collect()));
        onward(&desk, "/organizations", query, next, answer)
    })
}

fn since(query: &Parameters) -> u64 {
    query
        .get("since")
        .and_then(|since| since.parse().ok())
        .unwrap_or(0)
}

fn onward(
    desk: &Desk,
    path: &str,
    mut query: Parameters,
    next: Option<u64>,
    answer: Response,
) -> Response {
    let Some(next) = next else { return answer };
    query.insert("since".to_owned(), next.to_string());
    let url = address(&format!("{}{path}", desk.site.base_url), &query);
    with(answer, header::LINK, &format!("<{url}>; rel=\"next\""))
}
