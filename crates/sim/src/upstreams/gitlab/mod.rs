//! GitLab's REST API, as far as projects and groups go.
//!
//! Kept: projects by number or by encoded path, 301 to the number after a move,
//! groups with sub-groups, offset paging with its cap and without totals for
//! long lists, keyset paging of `/projects` by id only, filters of `/projects`
//! that a group's list silently ignores (`last_activity_after` among them),
//! fewer fields for those without a token (no `archived`), `RateLimit-*`
//! headers on the public one and none on self-hosted ones; trees in pages of at
//! most 100 by keyset, 404 for the tree of an empty project, raw blobs, releases
//! with links, packages of projects and of groups, one row for each version. GitLab has no 451: a
//! project taken down is simply not shown.

mod code;
mod issues;
mod listing;
mod publishing;
mod shape;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde_json::json;

use super::{
    answer::{self, Parameters, address, tagged, with},
    budget::Budgets,
};
use crate::{
    clock::http_date,
    journal::Limit,
    upstream::{Caller, Credential, Site, Upstream},
    world::{Forge, ForgeKind, Lookup, Owner, OwnerKind, Repository},
};

/// The double of gitlab.com or of a self-hosted GitLab.
#[derive(Clone, Debug)]
pub struct GitLab {
    host: String,
    limits: GitLabLimits,
}

/// What a GitLab allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLabLimits {
    /// Requests a minute with a token and without one; `None` on servers that
    /// do not count.
    pub per_minute: Option<(u64, u64)>,
    /// The largest offset of a list of projects.
    pub offset_cap: usize,
    /// Longer lists do not tell their length.
    pub totals_cap: usize,
}

impl Default for GitLabLimits {
    fn default() -> Self {
        Self {
            per_minute: Some((2_000, 500)),
            offset_cap: 50_000,
            totals_cap: 10_000,
        }
    }
}

impl GitLab {
    /// gitlab.com, with its limits.
    pub fn public() -> Self {
        Self {
            host: "gitlab.com".to_owned(),
            limits: GitLabLimits::default(),
        }
    }

    /// A self-hosted one, which does not count requests.
    pub fn own(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            limits: GitLabLimits {
                per_minute: None,
                ..GitLabLimits::default()
            },
        }
    }

    /// With other limits.
    pub fn with_limits(mut self, limits: GitLabLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl Upstream for GitLab {
    fn name(&self) -> &str {
        &self.host
    }

    fn base_path(&self) -> &'static str {
        "/api/v4"
    }

    fn forge(&self) -> Option<ForgeKind> {
        Some(ForgeKind::Nested)
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            site,
            limits: self.limits.clone(),
            budgets: Budgets::every(60),
        });
        let api = Router::new()
            .route("/projects", get(listing::projects))
            .route("/projects/{id}", get(project))
            .route("/projects/{id}/{*rest}", get(below_project))
            .route("/groups/{id}", get(group))
            .route("/groups/{id}/projects", get(listing::of_group))
            .route("/groups/{id}/packages", get(publishing::of_group))
            .route("/users/{id}/projects", get(listing::of_user))
            .route("/user", get(user))
            .route("/personal_access_tokens/self", get(token))
            .fallback(missing)
            .layer(middleware::from_fn_with_state(Arc::clone(&desk), meter))
            .with_state(desk);
        Router::new().nest(self.base_path(), api)
    }
}

/// What every handler needs.
#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    limits: GitLabLimits,
    budgets: Budgets,
}

type At = State<Arc<Desk>>;

async fn project(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    desk.site.look(|forge| match find(forge, &id) {
        Lookup::Here(found) if caller.sees(found) => {
            tagged(&headers, &shape::project(forge, found, &desk.site, &caller))
        }
        Lookup::Moved(found) if caller.sees(found) => moved(&desk.site, found, ""),
        _ => no_project(),
    })
}

async fn below_project(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path((id, rest)): Path<(String, String)>,
    Query(query): Query<Parameters>,
) -> Response {
    desk.site.look(|forge| match find(forge, &id) {
        Lookup::Moved(found) if caller.sees(found) => {
            moved(&desk.site, found, &address(&format!("/{rest}"), &query))
        }
        Lookup::Here(found) if caller.sees(found) => {
            let below = code::Below {
                desk: &desk,
                forge,
                found,
                headers: &headers,
                query: &query,
            };
            below.answer(&rest)
        }
        _ => no_project(),
    })
}

fn find<'a>(forge: &'a Forge, id: &str) -> Lookup<'a> {
    match id.parse() {
        Ok(number) => forge.by_id(number).map_or(Lookup::Nothing, Lookup::Here),
        Err(_) => forge.look_up(id),
    }
}

fn moved(site: &Site, found: &Repository, rest: &str) -> Response {
    let url = format!("{}/projects/{}{rest}", site.base_url, found.id);
    let text = format!("This resource has been moved permanently to {url}.");
    let answer = (StatusCode::MOVED_PERMANENTLY, text).into_response();
    with(answer, header::LOCATION, &url)
}

async fn group(State(desk): At, headers: HeaderMap, Path(id): Path<String>) -> Response {
    desk.site.look(|forge| match find_owner(forge, &id) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            tagged(&headers, &shape::group(forge, owner, &desk.site))
        }
        _ => message(404, "404 Group Not Found"),
    })
}

fn find_owner<'a>(forge: &'a Forge, id: &str) -> Option<&'a Owner> {
    match id.parse() {
        Ok(number) => forge.owner_by_id(number),
        Err(_) => forge.owner(id),
    }
}

async fn user(caller: Caller) -> Response {
    match caller.token() {
        Some(token) => answer::json(
            200,
            &json!({ "id": 1, "username": token.name, "state": "active" }),
        ),
        None => message(401, "401 Unauthorized"),
    }
}

async fn token(caller: Caller) -> Response {
    match caller.token() {
        Some(token) => answer::json(
            200,
            &json!({
                "id": 1,
                "name": token.name,
                "revoked": false,
                "active": true,
                "scopes": token.scopes,
                "expires_at": null,
            }),
        ),
        None => message(401, "401 Unauthorized"),
    }
}

async fn missing() -> Response {
    answer::json(404, &json!({ "error": "404 Not Found" }))
}

fn no_project() -> Response {
    message(404, "404 Project Not Found")
}

fn message(status: u16, text: &str) -> Response {
    answer::json(status, &json!({ "message": text }))
}

/// Stands before every handler.
async fn meter(State(desk): At, caller: Caller, request: Request, next: Next) -> Response {
    if matches!(caller.credential, Credential::Refused(_)) {
        return message(401, "401 Unauthorized");
    }
    let Some((with_token, without)) = desk.limits.per_minute else {
        return next.run(request).await;
    };
    let limit = match caller.token() {
        Some(token) => token.limit.unwrap_or(with_token),
        None => without,
    };
    let now = desk.site.now();
    let standing = desk.budgets.take(&caller.key(), limit, now);
    let answer = if standing.granted {
        next.run(request).await
    } else {
        let mut refusal = (StatusCode::TOO_MANY_REQUESTS, "Retry later\n").into_response();
        refusal.extensions_mut().insert(Limit::Primary);
        let seconds = standing.seconds_left(now).to_string();
        with(refusal, header::RETRY_AFTER, &seconds)
    };
    let name = match caller.token() {
        Some(_) => "throttle_authenticated_api",
        None => "throttle_unauthenticated_api",
    };
    let fields = [
        ("ratelimit-limit", standing.limit.to_string()),
        ("ratelimit-name", name.to_owned()),
        ("ratelimit-observed", standing.used.to_string()),
        ("ratelimit-remaining", standing.remaining().to_string()),
        ("ratelimit-reset", standing.reset_seconds().to_string()),
        ("ratelimit-resettime", http_date(standing.reset)),
    ];
    fields.into_iter().fold(answer, |answer, (name, value)| {
        with(answer, HeaderName::from_static(name), &value)
    })
}
