//! Issues and merge requests: two lists, whose numbers have nothing to do with each other.

use axum::{http::header, response::Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::code::{Below, time};
use crate::{
    upstreams::answer::{Page, tagged, with},
    world::Issue,
};

impl Below<'_> {
    pub(super) fn issues(&self, pulls: bool) -> Response {
        let parameter = |name: &str| self.query.get(name).map_or("", String::as_str);
        let since: Option<Timestamp> = parameter("updated_after").parse().ok();
        let mut found: Vec<&Issue> = self
            .forge
            .issues(self.found)
            .iter()
            .filter(|one| one.pull == pulls)
            .filter(|one| since.is_none_or(|since| one.updated_at >= since))
            .collect();
        match parameter("order_by") {
            "updated_at" => found.sort_by_key(|one| (one.updated_at, one.number)),
            _ => found.sort_by_key(|one| (one.created_at, one.number)),
        }
        if parameter("sort") != "asc" {
            found.reverse();
        }
        let page = Page::read(self.query, "per_page", 20, 100);
        let total = found.len();
        let shown = |one: &Issue| {
            json!({
                "id": one.id,
                "iid": one.number,
                "title": one.title,
                "state": if one.closed_at.is_some() { "closed" } else { "opened" },
                "created_at": time(one.created_at),
                "updated_at": time(one.updated_at),
                "closed_at": one.closed_at.map(time),
            })
        };
        let items: Vec<Value> = page.cut(found).into_iter().map(shown).collect();
        let answer = tagged(self.headers, &Value::Array(items));
        let word = if pulls { "merge_requests" } else { "issues" };
        let (base, id) = (&self.desk.site.base_url, self.found.id);
        let url = format!("{base}/projects/{id}/{word}");
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}
