//! GitHub's REST API, as far as repositories and organisations go.
//!
//! Kept: numeric ids, 301 by id after a rename or a transfer (sub-paths too),
//! 451 after a take-down, 404 for what is private, `Link` paging by the owner's
//! number, entity tags with 304 that cost nothing of the primary limit, search
//! with its cap of 1,000, budgets by token, secondary limits, enterprise base
//! paths, and enterprise servers without limits or limit headers. Left out:
//! GraphQL, and whatever no collector asks for yet. What has been taken down is
//! left out of listings; outside, this is nowhere promised.

mod limits;
mod listing;
mod search;
mod shape;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, header},
    middleware,
    response::Response,
    routing::get,
};
use serde_json::{Value, json};

pub use limits::GitHubLimits;
use limits::Meter;

use super::answer::{self, tagged, with};
use crate::{
    clock::{http_date, rfc3339},
    upstream::{Caller, Site, Upstream},
    world::{Forge, ForgeKind, Lookup, OwnerKind, Presence, Repository},
};

/// The double of github.com or of an enterprise server.
#[derive(Clone, Debug)]
pub struct GitHub {
    host: String,
    base_path: &'static str,
    limits: Option<GitHubLimits>,
}

impl GitHub {
    /// github.com, with its limits.
    pub fn public() -> Self {
        Self {
            host: "github.com".to_owned(),
            base_path: "",
            limits: Some(GitHubLimits::default()),
        }
    }

    /// An enterprise server: another base path, and no limits unless given.
    pub fn enterprise(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            base_path: "/api/v3",
            limits: None,
        }
    }

    /// With other limits.
    pub fn with_limits(mut self, limits: GitHubLimits) -> Self {
        self.limits = Some(limits);
        self
    }
}

impl Upstream for GitHub {
    fn name(&self) -> &str {
        &self.host
    }

    fn base_path(&self) -> &'static str {
        self.base_path
    }

    fn forge(&self) -> Option<ForgeKind> {
        Some(ForgeKind::Flat)
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            site,
            meter: self.limits.clone().map(Meter::new),
        });
        let api = Router::new()
            .route("/repos/{owner}/{name}", get(by_path))
            .route("/repos/{owner}/{name}/{*rest}", get(below_path))
            .route("/repositories", get(listing::everything))
            .route("/repositories/{id}", get(by_id))
            .route("/orgs/{org}", get(organisation))
            .route("/orgs/{org}/repos", get(listing::of_organisation))
            .route("/organizations", get(listing::organisations))
            .route("/organizations/{id}/repos", get(listing::of_owner_number))
            .route("/users/{user}", get(account))
            .route("/users/{user}/repos", get(listing::of_user))
            .route("/user/{id}/repos", get(listing::of_owner_number))
            .route("/search/repositories", get(search::repositories))
            .route("/rate_limit", get(limits::rate_limit))
            .route("/user", get(user))
            .fallback(missing)
            .layer(middleware::from_fn_with_state(
                Arc::clone(&desk),
                limits::meter,
            ))
            .with_state(desk);
        if self.base_path.is_empty() {
            api
        } else {
            Router::new().nest(self.base_path, api)
        }
    }
}

/// What every handler needs.
#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    meter: Option<Meter>,
}

type At = State<Arc<Desk>>;

async fn by_path(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path((owner, name)): Path<(String, String)>,
) -> Response {
    desk.site
        .look(|forge| match forge.look_up(&format!("{owner}/{name}")) {
            Lookup::Here(found) => show(forge, found, &desk.site, &caller, &headers),
            Lookup::Moved(found) if found.private && !caller.sees_private() => not_found(),
            Lookup::Moved(found) => moved(&desk.site, found, ""),
            Lookup::Nothing => not_found(),
        })
}

async fn below_path(
    State(desk): At,
    caller: Caller,
    Path((owner, name, rest)): Path<(String, String, String)>,
) -> Response {
    desk.site
        .look(|forge| match forge.look_up(&format!("{owner}/{name}")) {
            Lookup::Moved(found) if !found.private || caller.sees_private() => {
                moved(&desk.site, found, &format!("/{rest}"))
            }
            _ => not_found(),
        })
}

async fn by_id(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    let Ok(id) = id.parse() else {
        return not_found();
    };
    desk.site.look(|forge| match forge.by_id(id) {
        Some(found) => show(forge, found, &desk.site, &caller, &headers),
        None => not_found(),
    })
}

fn show(
    forge: &Forge,
    found: &Repository,
    site: &Site,
    caller: &Caller,
    headers: &HeaderMap,
) -> Response {
    if found.presence == Presence::Blocked && (!found.private || caller.sees_private()) {
        return answer::json(
            451,
            &json!({
                "message": "Repository access blocked",
                "block": {
                    "reason": "dmca",
                    "created_at": rfc3339(found.updated_at),
                    "html_url": "https://github.example/dmca/notice",
                },
            }),
        );
    }
    if !caller.sees(found) {
        return not_found();
    }
    let answer = tagged(headers, &shape::whole(forge, found, site));
    with(answer, header::LAST_MODIFIED, &http_date(found.updated_at))
}

fn moved(site: &Site, found: &Repository, rest: &str) -> Response {
    let url = format!("{}/repositories/{}{rest}", site.base_url, found.id);
    let body =
        json!({ "message": "Moved Permanently", "url": url, "documentation_url": DOCUMENTATION });
    with(answer::json(301, &body), header::LOCATION, &url)
}

async fn organisation(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(org): Path<String>,
) -> Response {
    desk.site.look(|forge| match forge.owner(&org) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            tagged(&headers, &shape::account(forge, owner, &desk.site, &caller))
        }
        _ => not_found(),
    })
}

async fn account(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path(user): Path<String>,
) -> Response {
    desk.site.look(|forge| match forge.owner(&user) {
        Some(owner) => tagged(&headers, &shape::account(forge, owner, &desk.site, &caller)),
        None => not_found(),
    })
}

async fn user(caller: Caller) -> Response {
    let Some(token) = caller.token() else {
        return message(401, "Requires authentication");
    };
    let body = json!({ "login": token.name, "id": 1, "type": "User", "site_admin": false });
    let answer = answer::json(200, &body);
    // Fine-grained tokens do not say what they may.
    match &token.scopes {
        Some(scopes) => with(
            answer,
            HeaderName::from_static("x-oauth-scopes"),
            &scopes.join(", "),
        ),
        None => answer,
    }
}

async fn missing() -> Response {
    not_found()
}

const DOCUMENTATION: &str = "https://docs.github.example/rest";

fn not_found() -> Response {
    message(404, "Not Found")
}

fn message(status: u16, text: &str) -> Response {
    let body: Value = json!({
        "message": text,
        "documentation_url": DOCUMENTATION,
        "status": status.to_string(),
    });
    answer::json(status, &body)
}
