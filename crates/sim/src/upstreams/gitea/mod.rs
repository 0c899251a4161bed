//! Gitea's and Forgejo's REST API, as far as repositories and organisations go.
//!
//! Kept: redirects after a rename, with a `Location` that is only a path; pages
//! of at most 50; `X-Total-Count`; no entity tags and no word about limits; trees
//! in pages that call themselves truncated, blobs, releases, packages by owner,
//! one row for each version. A repository taken down is not shown.

mod code;
mod issues;
mod publishing;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{HeaderName, header},
    response::Response,
    routing::get,
};
use serde_json::{Value, json};

use self::code::Below;
use super::answer::{self, Page, Parameters, address, with};
use crate::{
    clock::rfc3339,
    upstream::{Caller, Credential, Site, Upstream},
    world::{Forge, ForgeKind, Lookup, Owner, OwnerKind, Repository},
};

/// The double of a Gitea or Forgejo.
#[derive(Clone, Debug)]
pub struct Gitea {
    host: String,
    trees_per_page: usize,
}

impl Gitea {
    /// On this host.
    pub fn new(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            trees_per_page: 1_000,
        }
    }

    /// A tree comes in pages of at most so many entries.
    pub fn with_trees_per_page(mut self, entries: usize) -> Self {
        self.trees_per_page = entries;
        self
    }
}

impl Upstream for Gitea {
    fn name(&self) -> &str {
        &self.host
    }

    fn base_path(&self) -> &'static str {
        "/api/v1"
    }

    fn forge(&self) -> Option<ForgeKind> {
        Some(ForgeKind::Flat)
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let trees_per_page = self.trees_per_page;
        let api = Router::new()
            .route("/repos/search", get(search))
            .route("/repos/{owner}/{name}", get(by_path))
            .route(
                "/repos/{owner}/{name}/{*rest}",
                get(move |site, caller: Caller, path, query| {
                    let answer = below_path(trees_per_page, site, &caller, path, query);
                    std::future::ready(answer)
                }),
            )
            .route("/repositories/{id}", get(by_id))
            .route("/orgs/{org}", get(organisation))
            .route("/orgs/{org}/repos", get(of_organisation))
            .route("/users/{user}", get(account))
            .route("/users/{user}/repos", get(of_user))
            .route("/packages/{owner}", get(publishing::of_owner))
            .route("/user", get(user))
            .route("/version", get(version))
            .route("/settings/api", get(settings))
            .fallback(missing)
            .with_state(site);
        Router::new().nest(self.base_path(), api)
    }
}

type At = State<Arc<Site>>;

async fn by_path(
    State(site): At,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Response {
    let path = format!("{owner}/{name}");
    site.look(|forge| match forge.look_up(&path) {
        Lookup::Here(found) if caller.sees(found) => {
            answer::json(200, &repository(forge, found, &site))
        }
        Lookup::Moved(found) if caller.sees(found) => moved(found, &site, ""),
        _ => not_found(),
    })
}

fn below_path(
    trees_per_page: usize,
    State(site): At,
    caller: &Caller,
    Path((owner, name, rest)): Path<(String, String, String)>,
    Query(query): Query<Parameters>,
) -> Response {
    let path = format!("{owner}/{name}");
    site.look(|forge| match forge.look_up(&path) {
        Lookup::Here(found) if caller.sees(found) => {
            let below = Below {
                site: &site,
                forge,
                found,
                query: &query,
                trees_per_page,
            };
            below.answer(&rest)
        }
        Lookup::Moved(found) if caller.sees(found) => {
            moved(found, &site, &address(&format!("/{rest}"), &query))
        }
        _ => not_found(),
    })
}

/// The path alone, without scheme and host.
fn moved(found: &Repository, site: &Site, rest: &str) -> Response {
    let root = site.base_url.splitn(4, '/').nth(3).unwrap_or_default();
    let location = format!("/{root}/repos/{}{rest}", found.path());
    with(answer::json(307, &Value::Null), header::LOCATION, &location)
}

async fn by_id(State(site): At, caller: Caller, Path(id): Path<String>) -> Response {
    site.look(|forge| {
        let found = id.parse().ok().and_then(|id| forge.by_id(id));
        match found.filter(|found| caller.sees(found)) {
            Some(found) => answer::json(200, &repository(forge, found, &site)),
            None => not_found(),
        }
    })
}

async fn organisation(State(site): At, Path(org): Path<String>) -> Response {
    site.look(|forge| match forge.owner(&org) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            answer::json(200, &actor(owner, &site))
        }
        _ => not_found(),
    })
}

async fn account(State(site): At, Path(user): Path<String>) -> Response {
    site.look(|forge| match forge.owner(&user) {
        Some(owner) => answer::json(200, &actor(owner, &site)),
        None => not_found(),
    })
}

async fn of_organisation(
    State(site): At,
    caller: Caller,
    Path(org): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    site.look(|forge| match forge.owner(&org) {
        Some(owner) if owner.kind == OwnerKind::Organisation => {
            list(&site, forge, owner, &caller, "orgs", &query)
        }
        _ => not_found(),
    })
}

async fn of_user(
    State(site): At,
    caller: Caller,
    Path(user): Path<String>,
    Query(query): Query<Parameters>,
) -> Response {
    site.look(|forge| match forge.owner(&user) {
        Some(owner) => list(&site, forge, owner, &caller, "users", &query),
        None => not_found(),
    })
}

/// Both lists are by name and cannot be sorted otherwise.
fn list(
    site: &Site,
    forge: &Forge,
    owner: &Owner,
    caller: &Caller,
    sort: &str,
    query: &Parameters,
) -> Response {
    let mut found: Vec<_> = forge
        .repositories()
        .filter(|found| found.owner == owner.path && caller.sees(found))
        .collect();
    found.sort_by_key(|found| found.name.to_lowercase());
    let url = format!("{}/{sort}/{}/repos", site.base_url, owner.path);
    paged(site, forge, found, &url, query, |items| items)
}

async fn search(State(site): At, caller: Caller, Query(query): Query<Parameters>) -> Response {
    let parameter = |name: &str| query.get(name).map_or("", String::as_str);
    let owner = parameter("uid").parse::<u64>().ok();
    let words = parameter("q").to_lowercase();
    site.look(|forge| {
        let owner = owner.map(|id| forge.owner_by_id(id).map(|owner| owner.path.clone()));
        let mut found: Vec<_> = forge
            .repositories()
            .filter(|found| caller.sees(found) && found.name.to_lowercase().contains(&words))
            .filter(|found| {
                owner
                    .as_ref()
                    .is_none_or(|owner| owner.as_ref() == Some(&found.owner))
            })
            .filter(|found| match parameter("archived") {
                "true" => found.archived,
                "false" => !found.archived,
                _ => true,
            })
            .collect();
        match parameter("sort") {
            "updated" => found.sort_by_key(|found| (found.updated_at, found.id)),
            "created" => found.sort_by_key(|found| (found.created_at, found.id)),
            "id" => found.sort_by_key(|found| found.id),
            _ => found.sort_by_key(|found| found.name.to_lowercase()),
        }
        if parameter("order") == "desc" {
            found.reverse();
        }
        let url = format!("{}/repos/search", site.base_url);
        paged(
            &site,
            forge,
            found,
            &url,
            &query,
            |items| json!({ "ok": true, "data": items }),
        )
    })
}

fn paged(
    site: &Site,
    forge: &Forge,
    found: Vec<&Repository>,
    url: &str,
    query: &Parameters,
    wrap: impl FnOnce(Value) -> Value,
) -> Response {
    let page = Page::read(query, "limit", 30, 50);
    let total = found.len();
    let items = page.cut(found).into_iter();
    let items = items.map(|found| repository(forge, found, site)).collect();
    let answer = answer::json(200, &wrap(Value::Array(items)));
    let count = HeaderName::from_static("x-total-count");
    let answer = with(answer, count, &total.to_string());
    match page.links(url, query, total, true) {
        Some(links) => with(answer, header::LINK, &links),
        None => answer,
    }
}

async fn user(caller: Caller) -> Response {
    match &caller.credential {
        Credential::Known(token) => answer::json(
            200,
            &json!({ "id": 1, "login": token.name, "active": true }),
        ),
        Credential::Anonymous => message(401, "token is required"),
        Credential::Refused(_) => message(401, "user does not exist"),
    }
}

async fn version() -> Response {
    answer::json(200, &json!({ "version": "1.24.6" }))
}

async fn settings() -> Response {
    answer::json(
        200,
        &json!({
            "max_response_items": 50,
            "default_paging_num": 30,
            "default_git_trees_per_page": 1000,
            "default_max_blob_size": 10_485_760,
        }),
    )
}

async fn missing() -> Response {
    not_found()
}

fn not_found() -> Response {
    message(404, "The target couldn't be found.")
}

fn message(status: u16, text: &str) -> Response {
    answer::json(status, &json!({ "message": text, "errors": [] }))
}

fn repository(forge: &Forge, found: &Repository, site: &Site) -> Value {
    let parent = found.fork_of.and_then(|id| forge.by_id(id));
    let path = found.path();
    let host = &site.name;
    json!({
        "id": found.id,
        "owner": forge.owner(&found.owner).map(|owner| actor(owner, site)),
        "name": found.name,
        "full_name": path,
        "description": found.description,
        "empty": found.empty,
        "private": found.private,
        "fork": found.fork_of.is_some(),
        "template": false,
        "parent": parent.map(|parent| {
            json!({ "id": parent.id, "name": parent.name, "full_name": parent.path() })
        }),
        "mirror": false,
        "size": if found.empty { 0 } else { 64 + found.stars },
        "language": found.language.unwrap_or_default(),
        "html_url": format!("https://{host}/{path}"),
        "url": format!("{}/repos/{path}", site.base_url),
        "ssh_url": format!("ssh://git@{host}/{path}.git"),
        "clone_url": format!("https://{host}/{path}.git"),
        "stars_count": found.stars,
        "forks_count": 0,
        "open_issues_count": 0,
        "default_branch": found.default_branch,
        "archived": found.archived,
        "created_at": rfc3339(found.created_at),
        "updated_at": rfc3339(found.updated_at),
        // The zero of time where it is not archived.
        "archived_at": if found.archived {
            rfc3339(found.updated_at)
        } else {
            "1970-01-01T00:00:00Z".to_owned()
        },
        "topics": [],
    })
}

fn actor(owner: &Owner, site: &Site) -> Value {
    json!({
        "id": owner.id,
        "login": owner.path,
        "username": owner.path,
        "full_name": "",
        "html_url": format!("https://{}/{}", site.name, owner.path),
        "visibility": "public",
    })
}
