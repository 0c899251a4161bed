//! Issues and pull requests, which GitHub lists as one, and the search of people.
//!
//! The list begins with `since`, that second included; it shows what is open unless all is asked
//! for. People are found by an address they show, else by public commits under it.

use axum::{
    extract::{Query, State},
    http::{HeaderMap, header},
    response::Response,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{At, Below, message};
use crate::{
    clock::rfc3339,
    upstreams::answer::{Page, Parameters, tagged, with},
    world::{Issue, Person},
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
            .filter(|one| match parameter("state") {
                "all" => true,
                "closed" => one.closed_at.is_some(),
                _ => one.closed_at.is_none(),
            })
            .collect();
        match parameter("sort") {
            "updated" => found.sort_by_key(|one| (one.updated_at, one.number)),
            _ => found.sort_by_key(|one| (one.created_at, one.number)),
        }
        if parameter("direction") != "asc" {
            found.reverse();
        }
        let page = Page::read(self.query, "per_page", 30, 100);
        let total = found.len();
        let (host, path) = (&self.desk.site.name, self.found.path());
        let shown = |one: &Issue| {
            let word = if one.pull { "pull" } else { "issues" };
            let mut value = json!({
                "id": one.id,
                "node_id": one.node_id,
                "number": one.number,
                "title": one.title,
                "state": if one.closed_at.is_some() { "closed" } else { "open" },
                "html_url": format!("https://{host}/{path}/{word}/{}", one.number),
                "created_at": rfc3339(one.created_at),
                "updated_at": rfc3339(one.updated_at),
                "closed_at": one.closed_at.map(rfc3339),
                "comments": 0,
            });
            if one.pull {
                value["pull_request"] = json!({
                    "html_url": format!("https://{host}/{path}/pull/{}", one.number),
                    "merged_at": null,
                });
            }
            value
        };
        let items: Vec<Value> = page.cut(found).into_iter().map(shown).collect();
        let answer = tagged(self.headers, &Value::Array(items));
        let url = format!(
            "{}/repositories/{}/issues",
            self.desk.site.base_url, self.found.id
        );
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}

/// `q=ada@example.org in:email`
pub(super) async fn people(
    State(desk): At,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let Some(email) = query.get("q").and_then(|q| q.strip_suffix(" in:email")) else {
        return message(422, "Validation Failed");
    };
    found(&desk, &headers, |person| {
        person.shows_email && person.email.eq_ignore_ascii_case(email)
    })
}

/// `q=author-email:ada@example.org`
pub(super) async fn commits(
    State(desk): At,
    headers: HeaderMap,
    Query(query): Query<Parameters>,
) -> Response {
    let Some(email) = query.get("q").and_then(|q| q.strip_prefix("author-email:")) else {
        return message(422, "Validation Failed");
    };
    desk.site.look(|forge| {
        let people = forge.people().iter();
        let items: Vec<Value> = people
            .filter(|one| one.commits && one.email.eq_ignore_ascii_case(email))
            .map(|one| {
                json!({
                    "sha": "0".repeat(40),
                    "commit": { "author": { "name": one.login, "email": one.email } },
                    "author": account(one),
                })
            })
            .collect();
        let body =
            json!({ "total_count": items.len(), "incomplete_results": false, "items": items });
        tagged(&headers, &body)
    })
}

fn found(desk: &super::Desk, headers: &HeaderMap, wanted: impl Fn(&Person) -> bool) -> Response {
    desk.site.look(|forge| {
        let people = forge.people().iter().filter(|one| wanted(one));
        let items: Vec<Value> = people.map(account).collect();
        let body =
            json!({ "total_count": items.len(), "incomplete_results": false, "items": items });
        tagged(headers, &body)
    })
}

fn account(person: &Person) -> Value {
    json!({
        "login": person.login,
        "type": if person.bot { "Bot" } else { "User" },
    })
}
