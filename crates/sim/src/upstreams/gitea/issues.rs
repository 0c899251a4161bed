//! Issues and pull requests in one list, the newest first whatever changed last.

use axum::{http::header, response::Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::code::Below;
use crate::{
    clock::rfc3339,
    upstreams::answer::{self, Page, with},
    world::Issue,
};

impl Below<'_> {
    pub(super) fn issues(&self) -> Response {
        let parameter = |name: &str| self.query.get(name).map_or("", String::as_str);
        let since: Option<Timestamp> = parameter("since").parse().ok();
        let mut found: Vec<&Issue> = self
            .forge
            .issues(self.found)
            .iter()
            .filter(|one| since.is_none_or(|since| one.updated_at >= since))
            .filter(|one| parameter("state") == "all" || one.closed_at.is_none())
            .collect();
        found.sort_by_key(|one| std::cmp::Reverse((one.created_at, one.number)));
        let page = Page::read(self.query, "limit", 30, 50);
        let total = found.len();
        let shown = |one: &Issue| {
            json!({
                "id": one.id,
                "number": one.number,
                "title": one.title,
                "state": if one.closed_at.is_some() { "closed" } else { "open" },
                "pull_request": one.pull.then(|| json!({ "merged": false })),
                "created_at": rfc3339(one.created_at),
                "updated_at": rfc3339(one.updated_at),
                "closed_at": one.closed_at.map(rfc3339),
            })
        };
        let items: Vec<Value> = page.cut(found).into_iter().map(shown).collect();
        let answer = answer::json(200, &Value::Array(items));
        let url = format!("{}/repos/{}/issues", self.site.base_url, self.found.path());
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}
