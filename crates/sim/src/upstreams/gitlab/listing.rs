//! GitLab's lists of projects.

use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, header},
    response::Response,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{At, Desk, find_owner, message, shape};
use crate::{
    upstream::Caller,
    upstreams::answer::{self, Page, Parameters, address, tagged, with},
    world::{Forge, OwnerKind, Repository, is_within},
};

/// All projects; the only list with keyset paging and filters by activity.
pub(super) async fn projects(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let asked = Asked {
        desk: &desk,
        caller: &caller,
        headers: &headers,
        query: &query,
    };
    let keyset = asked.parameter("pagination") == "keyset";
    if keyset && asked.parameter("order_by") != "id" {
        let error = "Keyset pagination is not yet available for this type of request";
        return answer::json(405, &json!({ "error": error }));
    }
    desk.site.look(|forge| {
        let found = forge
            .repositories()
            .filter(|found| caller.sees(found) && asked.is_wanted(found) && asked.is_recent(found))
            .collect();
        if keyset {
            asked.keyset(forge, found)
        } else {
            asked.offset(forge, found, "/projects")
        }
    })
}

/// A group's projects, those of its sub-groups only if asked for.
pub(super) async fn of_group(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    let asked = Asked {
        desk: &desk,
        caller: &caller,
        headers: &headers,
        query: &query,
    };
    let deep = asked.parameter("include_subgroups") == "true";
    desk.site.look(|forge| {
        let owner = find_owner(forge, &id).filter(|owner| owner.kind == OwnerKind::Organisation);
        let Some(owner) = owner else {
            return message(404, "404 Group Not Found");
        };
        let belongs = |found: &Repository| {
            found.owner == owner.path || deep && is_within(&found.owner, &owner.path)
        };
        let found = forge
            .repositories()
            .filter(|found| belongs(found) && caller.sees(found) && asked.is_wanted(found))
            .collect();
        asked.offset(forge, found, &format!("/groups/{}/projects", owner.id))
    })
}

/// A person's own projects.
pub(super) async fn of_user(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    let asked = Asked {
        desk: &desk,
        caller: &caller,
        headers: &headers,
        query: &query,
    };
    desk.site.look(|forge| {
        let owner = find_owner(forge, &id).filter(|owner| owner.kind == OwnerKind::User);
        let Some(owner) = owner else {
            return message(404, "404 User Not Found");
        };
        let found = forge
            .repositories()
            .filter(|found| {
                found.owner == owner.path && caller.sees(found) && asked.is_wanted(found)
            })
            .collect();
        asked.offset(forge, found, &format!("/users/{}/projects", owner.id))
    })
}

/// One request for a list.
struct Asked<'a> {
    desk: &'a Desk,
    caller: &'a Caller,
    headers: &'a HeaderMap,
    query: &'a Parameters,
}

impl Asked<'_> {
    fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// The filters of every list.
    fn is_wanted(&self, found: &Repository) -> bool {
        let archived = match self.parameter("archived") {
            "true" => found.archived,
            "false" => !found.archived,
            _ => true,
        };
        let visible = match self.parameter("visibility") {
            "public" => !found.private,
            "private" => found.private,
            _ => true,
        };
        archived && visible && found.name.contains(self.parameter("search"))
    }

    /// The filters of the list of all projects.
    fn is_recent(&self, found: &Repository) -> bool {
        let time = |name: &str| self.parameter(name).parse::<Timestamp>().ok();
        let number = |name: &str| self.parameter(name).parse::<u64>().ok();
        time("last_activity_after").is_none_or(|after| found.pushed_at > after)
            && time("last_activity_before").is_none_or(|before| found.pushed_at < before)
            && time("updated_after").is_none_or(|after| found.updated_at > after)
            && time("updated_before").is_none_or(|before| found.updated_at < before)
            && number("id_after").is_none_or(|after| found.id > after)
            && number("id_before").is_none_or(|before| found.id < before)
    }

    fn is_ascending(&self) -> bool {
        self.parameter("sort") == "asc"
    }

    fn offset(&self, forge: &Forge, mut found: Vec<&Repository>, path: &str) -> Response {
        let limits = &self.desk.limits;
        let page = Page::read(self.query, "per_page", 20, 100);
        if page.offset() >= limits.offset_cap {
            let error = format!(
                "Offset pagination has a maximum allowed offset of {} for requests that return \
                 objects of type Project. Remaining records can be retrieved using keyset pagination.",
                limits.offset_cap
            );
            return answer::json(405, &json!({ "error": error }));
        }
        match self.parameter("order_by") {
            "id" => found.sort_by_key(|found| found.id),
            "name" | "path" => found.sort_by_key(|found| (found.name.clone(), found.id)),
            "updated_at" => found.sort_by_key(|found| (found.updated_at, found.id)),
            "last_activity_at" => found.sort_by_key(|found| (found.pushed_at, found.id)),
            "star_count" => found.sort_by_key(|found| (found.stars, found.id)),
            _ => found.sort_by_key(|found| (found.created_at, found.id)),
        }
        if !self.is_ascending() {
            found.reverse();
        }
        let total = found.len();
        let tells_total = total <= limits.totals_cap;
        let answer = self.body(forge, &page.cut(found));
        let last = page.last(total);
        let neighbour = |there: bool, number: usize| {
            if there {
                number.to_string()
            } else {
                String::new()
            }
        };
        let mut fields = vec![
            ("x-page", page.number.to_string()),
            ("x-per-page", page.size.to_string()),
            (
                "x-next-page",
                neighbour(page.number < last, page.number.saturating_add(1)),
            ),
            ("x-prev-page", neighbour(page.number > 1, page.number - 1)),
        ];
        if tells_total {
            fields.push(("x-total", total.to_string()));
            fields.push(("x-total-pages", last.to_string()));
        }
        let answer = fields.into_iter().fold(answer, |answer, (name, value)| {
            with(answer, HeaderName::from_static(name), &value)
        });
        let url = format!("{}{path}", self.desk.site.base_url);
        match page.links(&url, self.query, total, tells_total) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }

    fn keyset(&self, forge: &Forge, mut found: Vec<&Repository>) -> Response {
        let size = Page::read(self.query, "per_page", 20, 100).size;
        if !self.is_ascending() {
            found.reverse();
        }
        let next = found.get(size).and_then(|_| Some(found.get(size - 1)?.id));
        found.truncate(size);
        let answer = self.body(forge, &found);
        let Some(next) = next else { return answer };
        let mut query = self.query.clone();
        let bound = if self.is_ascending() {
            "id_after"
        } else {
            "id_before"
        };
        query.insert(bound.to_owned(), next.to_string());
        let url = address(&format!("{}/projects", self.desk.site.base_url), &query);
        with(answer, header::LINK, &format!("<{url}>; rel=\"next\""))
    }

    fn body(&self, forge: &Forge, page: &[&Repository]) -> Response {
        let shapes = page
            .iter()
            .map(|found| shape::project(forge, found, &self.desk.site, self.caller));
        tagged(self.headers, &Value::Array(shapes.collect()))
    }
}
