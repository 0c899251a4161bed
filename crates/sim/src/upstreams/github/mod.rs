//! GitHub's REST API, as far as repositories and organisations go.
//!
//! Kept: numeric ids, 301 by id after a rename or a transfer (sub-paths too),
//! 451 after a take-down, 404 for what is private, `Link` paging by the owner's
//! number, entity tags with 304 that cost nothing of the primary limit, search
//! with its cap of 1,000, budgets by token, secondary limits, enterprise base
//! paths, and enterprise servers without limits or limit headers; trees with
//! their cap and 409 for the empty repository, blobs, releases, packages by
//! owner and type for tokens with that right, and of GraphQL the one question
//! for many blobs; issues and pull requests in one list, and the search of people
//! by their address or their commits'. Left out: whatever no collector asks for yet. What has been taken down is
//! left out of listings; outside, this is nowhere promised.

mod code;
mod graphql;
mod issues;
mod limits;
mod listing;
mod publishing;
mod search;
mod shape;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, header},
    middleware,
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};

pub use limits::GitHubLimits;
use limits::Meter;

use super::answer::{self, Parameters, address, tagged, with};
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
    tree_entries: usize,
}

/// As the documentation has it.
const TREE_ENTRIES: usize = 100_000;

impl GitHub {
    /// github.com, with its limits.
    pub fn public() -> Self {
        Self {
            host: "github.com".to_owned(),
            base_path: "",
            limits: Some(GitHubLimits::default()),
            tree_entries: TREE_ENTRIES,
        }
    }

    /// An enterprise server: another base path, and no limits unless given.
    pub fn enterprise(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            base_path: "/api/v3",
            limits: None,
            tree_entries: TREE_ENTRIES,
        }
    }

    /// A recursive tree is cut after so many entries.
    pub fn with_tree_entries(mut self, entries: usize) -> Self {
        self.tree_entries = entries;
        self
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
            tree_entries: self.tree_entries,
        });
        let api = Router::new()
            .route("/repos/{owner}/{name}", get(by_path))
            .route("/repos/{owner}/{name}/{*rest}", get(below_path))
            .route("/repositories", get(listing::everything))
            .route("/repositories/{id}", get(by_id))
            .route("/repositories/{id}/{*rest}", get(below_id))
            .route("/orgs/{org}", get(organisation))
            .route("/orgs/{org}/repos", get(listing::of_organisation))
            .route("/orgs/{org}/packages", get(publishing::of_organisation))
            .route("/installation/repositories", get(listing::of_installation))
            .route("/organizations", get(listing::organisations))
            .route("/organizations/{id}/repos", get(listing::of_owner_number))
            .route("/users/{user}", get(account))
            .route("/users/{user}/repos", get(listing::of_user))
            .route("/users/{user}/packages", get(publishing::of_user))
            .route("/user/{id}/repos", get(listing::of_owner_number))
            .route("/search/repositories", get(search::repositories))
            .route("/search/users", get(issues::people))
            .route("/search/commits", get(issues::commits))
            .route("/rate_limit", get(limits::rate_limit))
            .route("/user", get(user))
            .fallback(missing);
        let metered = |routes: Router<Arc<Desk>>| {
            let meter = middleware::from_fn_with_state(Arc::clone(&desk), limits::meter);
            routes.layer(meter).with_state(Arc::clone(&desk))
        };
        let graphql = post(graphql::query);
        if self.base_path.is_empty() {
            return metered(api.route("/graphql", graphql));
        }
        // Beside the other API, and not below it.
        Router::new()
            .nest(self.base_path, metered(api))
            .merge(metered(Router::new().route("/api/graphql", graphql)))
    }
}

/// What every handler needs.
#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    meter: Option<Meter>,
    tree_entries: usize,
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
    headers: HeaderMap,
    Path((owner, name, rest)): Path<(String, String, String)>,
    Query(query): Query<Parameters>,
) -> Response {
    desk.site
        .look(|forge| match forge.look_up(&format!("{owner}/{name}")) {
            Lookup::Here(found) => {
                let below = Below {
                    desk: &desk,
                    forge,
                    found,
                    headers: &headers,
                    query: &query,
                };
                below.answer(&caller, &rest)
            }
            Lookup::Moved(found) if !found.private || caller.sees_private() => {
                moved(&desk.site, found, &address(&format!("/{rest}"), &query))
            }
            _ => not_found(),
        })
}

async fn below_id(
    State(desk): At,
    caller: Caller,
    headers: HeaderMap,
    Path((id, rest)): Path<(String, String)>,
    Query(query): Query<Parameters>,
) -> Response {
    let Ok(id) = id.parse() else {
        return not_found();
    };
    desk.site.look(|forge| match forge.by_id(id) {
        Some(found) => {
            let below = Below {
                desk: &desk,
                forge,
                found,
                headers: &headers,
                query: &query,
            };
            below.answer(&caller, &rest)
        }
        None => not_found(),
    })
}

/// A question about something of a repository.
struct Below<'a> {
    desk: &'a Desk,
    forge: &'a Forge,
    found: &'a Repository,
    headers: &'a HeaderMap,
    query: &'a Parameters,
}

impl Below<'_> {
    fn answer(&self, caller: &Caller, rest: &str) -> Response {
        if let Some(refusal) = refusal(self.found, caller) {
            return refusal;
        }
        if let Some(reference) = rest.strip_prefix("git/trees/") {
            self.tree(reference)
        } else if let Some(id) = rest.strip_prefix("git/blobs/") {
            self.blob(id)
        } else if rest == "releases" {
            self.releases()
        } else if rest == "issues" {
            self.issues()
        } else if rest == "commits" {
            self.commits()
        } else {
            not_found()
        }
    }
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
    if let Some(refusal) = refusal(found, caller) {
        return refusal;
    }
    let answer = tagged(headers, &shape::whole(forge, found, site));
    with(answer, header::LAST_MODIFIED, &http_date(found.updated_at))
}

/// Why a repository is not shown, if it is not.
fn refusal(found: &Repository, caller: &Caller) -> Option<Response> {
    if found.presence == Presence::Blocked && (!found.private || caller.sees_private()) {
        return Some(answer::json(
            451,
            &json!({
                "message": "Repository access blocked",
                "block": {
                    "reason": "dmca",
                    "created_at": rfc3339(found.updated_at),
                    "html_url": "https://github.example/dmca/notice",
                },
            }),
        ));
    }
    (!caller.sees(found)).then(not_found)
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
