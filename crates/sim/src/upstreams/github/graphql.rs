//! Of GitHub's GraphQL, one question: many blobs of one repository by their ids.

use std::sync::LazyLock;

use axum::{extract::State, response::Response};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{At, message};
use crate::{upstream::Caller, upstreams::answer, world::Lookup};

/// The answer is cut short beyond this many bytes of text.
const LONGEST_TEXT: usize = 512_000;

#[derive(Deserialize)]
struct Question {
    query: String,
    #[serde(default)]
    variables: Map<String, Value>,
}

/// `b0: object(oid: "…")`
static BLOB: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(\w+)\s*:\s*object\(oid:\s*"([0-9a-f]+)"\)"#).ok());

pub(super) async fn query(State(desk): At, caller: Caller, body: String) -> Response {
    if caller.token().is_none() {
        return message(401, "This endpoint requires you to be authenticated.");
    }
    let Ok(question) = serde_json::from_str::<Question>(&body) else {
        return message(400, "Problems parsing JSON");
    };
    let variable = |name: &str| question.variables.get(name)?.as_str();
    let (Some(owner), Some(name)) = (variable("owner"), variable("name")) else {
        return complaint("INVALID", "Variables owner and name are required");
    };
    desk.site.look(|forge| {
        // Former names lead on.
        let found = match forge.look_up(&format!("{owner}/{name}")) {
            Lookup::Here(found) | Lookup::Moved(found) if caller.sees(found) => found,
            _ => return complaint("NOT_FOUND", "Could not resolve to a Repository"),
        };
        let tree = forge.tree(found);
        let mut objects = Map::new();
        for captures in BLOB
            .iter()
            .flat_map(|blob| blob.captures_iter(&question.query))
        {
            let blob = tree.blob(&captures[2]).map(|contents| {
                let text = std::str::from_utf8(contents).ok();
                let truncated = contents.len() > LONGEST_TEXT;
                json!({
                    "oid": &captures[2],
                    "byteSize": contents.len(),
                    "isBinary": text.is_none(),
                    "isTruncated": truncated,
                    "text": text.map(|text| text.chars().take(LONGEST_TEXT).collect::<String>()),
                })
            });
            objects.insert(captures[1].to_owned(), blob.unwrap_or_default());
        }
        answer::json(200, &json!({ "data": { "repository": objects } }))
    })
}

/// Complaints come with 200.
fn complaint(kind: &str, text: &str) -> Response {
    let error = json!({ "type": kind, "path": ["repository"], "message": text });
    answer::json(
        200,
        &json!({ "data": { "repository": null }, "errors": [error] }),
    )
}
