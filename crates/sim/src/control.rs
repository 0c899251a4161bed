//! How other processes watch and steer the world.
//!
//! | request | does |
//! |---|---|
//! | `GET /__sim/upstreams` | names and base addresses |
//! | `GET /__sim/clock` | `{"now", "now_us", "factor"}`, for clocks that follow |
//! | `POST /__sim/clock` | `{"advance_s": 60}` moves a standing clock |
//! | `GET /__sim/requests` | the request log; `?upstream=`, `?after=NUMBER` |
//! | `DELETE /__sim/requests` | forgets it, and the counts |
//! | `GET /__sim/counts` | figures by upstream |
//! | `GET /__sim/faults` | the rules in force, with their numbers |
//! | `POST /__sim/faults` | adds a [`Rule`](crate::Rule), or an array of them |
//! | `DELETE /__sim/faults` | removes `?id=NUMBER`, or all |
//! | `POST /__sim/change` | `{"forge", "at"?, "change": "rename", …}`, see [`Change`] |
//! | `POST /__sim/tokens` | gives a [`Token`] out: `{"upstream", "name", "secret", "limit"?, …}` |
//! | `DELETE /__sim/tokens` | revokes `?upstream=&name=` |
//! | `POST /__sim/registry` | `{"change": "remove", "ecosystem", "package"}`, see [`Registration`] |
//! | `GET /__sim/registry` | every publication, as it truly is |
//! | `GET /__sim/world?forge=` | every repository of a forge, as it truly is |
//!
//! These requests are neither recorded nor struck by faults.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    faults::Rule,
    journal::{Counts, Request},
    server::Shared,
    world::{Change, Publication, Registration, Repository, Token},
};

/// The first part of these paths. No upstream has such a name.
pub(crate) const SEGMENT: &str = "__sim";

type World = State<Arc<Shared>>;

pub(crate) fn routes(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/__sim/upstreams", get(upstreams))
        .route("/__sim/clock", get(clock).post(advance))
        .route("/__sim/requests", get(requests).delete(forget))
        .route("/__sim/counts", get(counts))
        .route(
            "/__sim/faults",
            get(rules).post(add_rules).delete(remove_rules),
        )
        .route("/__sim/change", post(change))
        .route("/__sim/registry", get(published).post(register))
        .route("/__sim/tokens", post(give_token).delete(revoke_token))
        .route("/__sim/world", get(truth))
        .with_state(Arc::clone(shared))
}

async fn upstreams(State(shared): World) -> Json<Value> {
    let named = shared.upstreams.iter().map(|(name, place)| {
        let addresses = json!({
            "base_url": place.site.base_url,
            "host_url": place.site.host_url,
        });
        (name.clone(), addresses)
    });
    Json(Value::Object(named.collect()))
}

async fn clock(State(shared): World) -> Json<Value> {
    let clock = shared.world.clock();
    let now = clock.now();
    Json(json!({
        "now": now,
        "now_us": now.as_microsecond(),
        "factor": clock.factor(),
    }))
}

#[derive(Deserialize)]
struct Advance {
    advance_s: u64,
}

async fn advance(State(shared): World, Json(by): Json<Advance>) -> Response {
    let by = Duration::from_secs(by.advance_s);
    if shared.world.clock().advance(by) {
        clock(State(shared)).await.into_response()
    } else {
        refuse("this clock runs by itself")
    }
}

#[derive(Deserialize)]
struct Which {
    upstream: Option<String>,
    #[serde(default)]
    after: u64,
}

async fn requests(State(shared): World, Query(which): Query<Which>) -> Json<Vec<Request>> {
    let wanted = |request: &Request| {
        request.number > which.after
            && which
                .upstream
                .as_deref()
                .is_none_or(|name| name == request.upstream)
    };
    Json(shared.journal.select(wanted))
}

async fn forget(State(shared): World) -> StatusCode {
    shared.journal.clear();
    StatusCode::NO_CONTENT
}

async fn counts(State(shared): World) -> Json<std::collections::BTreeMap<String, Counts>> {
    Json(shared.journal.all_counts())
}

async fn rules(State(shared): World) -> Json<Value> {
    let listed = shared.plan.list();
    let rules = listed
        .into_iter()
        .map(|(id, rule)| json!({ "id": id, "rule": rule }));
    Json(rules.collect())
}

async fn add_rules(State(shared): World, Json(given): Json<Value>) -> Response {
    let given = match given {
        Value::Array(rules) => rules,
        one => vec![one],
    };
    let mut ids = Vec::new();
    for value in given {
        let names_fault = value.get("fault").is_some_and(|fault| !fault.is_null());
        let rule = match serde_json::from_value::<Rule>(value) {
            Ok(rule) if rule.fault.is_none() && names_fault => {
                return refuse("there is no such fault, or it lacks a field");
            }
            Ok(rule) => rule,
            Err(error) => return refuse(&error.to_string()),
        };
        match shared.plan.add(rule) {
            Ok(id) => ids.push(id),
            Err(error) => return refuse(&error.to_string()),
        }
    }
    Json(json!({ "ids": ids })).into_response()
}

#[derive(Deserialize)]
struct RuleId {
    id: Option<u64>,
}

async fn remove_rules(State(shared): World, Query(which): Query<RuleId>) -> StatusCode {
    match which.id {
        None => shared.plan.clear(),
        Some(id) if shared.plan.remove(id) => {}
        Some(_) => return StatusCode::NOT_FOUND,
    }
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct Event {
    forge: String,
    at: Option<Timestamp>,
    #[serde(flatten)]
    change: Change,
}

async fn change(State(shared): World, Json(event): Json<Event>) -> Response {
    let Event { forge, at, change } = event;
    match at {
        Some(at) => shared.world.schedule(at, &forge, change),
        None => {
            if let Err(error) = shared.world.apply(&forge, &change) {
                return refuse(&error.to_string());
            }
        }
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn published(State(shared): World) -> Json<Vec<Publication>> {
    Json(shared.world.published(|all| all.all().cloned().collect()))
}

async fn register(State(shared): World, Json(change): Json<Registration>) -> Response {
    match shared.world.register(&change) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refuse(&error.to_string()),
    }
}

async fn give_token(State(shared): World, Json(token): Json<Token>) -> StatusCode {
    shared.world.add_token(token);
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct WhichToken {
    upstream: String,
    name: String,
}

async fn revoke_token(State(shared): World, Query(which): Query<WhichToken>) -> StatusCode {
    match shared.world.revoke_token(&which.upstream, &which.name) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::NOT_FOUND,
    }
}

#[derive(Deserialize)]
struct WhichForge {
    forge: String,
}

async fn truth(State(shared): World, Query(which): Query<WhichForge>) -> Json<Vec<Repository>> {
    Json(shared.world.repositories(&which.forge))
}

fn refuse(why: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": why }))).into_response()
}
