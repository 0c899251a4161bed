//! The packages service of ecosyste.ms, as far as looking up by repository goes.
//!
//! Kept: addresses are compared whole, whatever their case, and an unknown one is an empty list;
//! pages without a total, of 100 unless told otherwise and 1,000 at most, with `link`,
//! `current-page` and `page-items`; a bulk look-up that gives at most 1,000 rows and does not say
//! when there are more; removed packages that stay with their status; one row for each registry
//! that has the package, distributions among them; entity tags; a limit for each hour that is
//! larger for those who say who they are, by `mailto` in the query or in the user agent (a `From`
//! header counts for nothing).

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderName, header},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};

use super::{
    answer::{self, Page, Parameters, tagged, with},
    budget::Budgets,
};
use crate::{
    dice::fingerprint,
    journal::Limit,
    upstream::{Site, Upstream},
    world::Publication,
};

/// The double.
#[derive(Clone, Debug, Default)]
pub struct Ecosystems {
    limits: EcosystemsLimits,
}

/// What it allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcosystemsLimits {
    /// Requests an hour of those who do not say who they are.
    pub anonymous: u64,
    /// Of those who do.
    pub polite: u64,
    /// Rows of one page.
    pub page: usize,
    /// Rows of one bulk look-up.
    pub bulk: usize,
}

impl Default for EcosystemsLimits {
    fn default() -> Self {
        Self {
            anonymous: 5_000,
            polite: 15_000,
            page: 1_000,
            bulk: 1_000,
        }
    }
}

impl Ecosystems {
    /// With the limits of the real one.
    pub fn new() -> Self {
        Self::default()
    }

    /// With other limits.
    pub fn with_limits(mut self, limits: EcosystemsLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl Upstream for Ecosystems {
    fn name(&self) -> &'static str {
        "ecosyste.ms"
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            site,
            limits: self.limits.clone(),
            budgets: Budgets::every(3_600),
        });
        // The product's name for this service is that of its API, whose root is elsewhere outside.
        Router::new()
            .route("/packages/lookup", get(look_up))
            .route("/packages/bulk_lookup", post(bulk))
            .fallback(missing)
            .layer(middleware::from_fn_with_state(Arc::clone(&desk), meter))
            .with_state(desk)
    }
}

#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    limits: EcosystemsLimits,
    budgets: Budgets,
}

type At = State<Arc<Desk>>;

async fn look_up(State(desk): At, headers: HeaderMap, Query(query): Query<Parameters>) -> Response {
    let parameter = |name: &str| query.get(name).map(String::as_str);
    let Some(url) = parameter("repository_url") else {
        return answer::json(422, &json!({ "error": "a parameter is missing" }));
    };
    let rows = desk.rows(&[url], parameter("ecosystem"));
    let page = Page::read(
        &query,
        "per_page",
        100.min(desk.limits.page),
        desk.limits.page,
    );
    let total = rows.len();
    let rows = page.cut(rows);
    let count = rows.len();
    let answer = tagged(&headers, &Value::Array(rows));
    let number = page.number.to_string();
    let answer = with(answer, HeaderName::from_static("current-page"), &number);
    let answer = with(
        answer,
        HeaderName::from_static("page-items"),
        &count.to_string(),
    );
    let address = format!("{}/packages/lookup", desk.site.base_url);
    match page.links(&address, &query, total, false) {
        Some(links) => with(answer, header::LINK, &links),
        None => answer,
    }
}

async fn bulk(State(desk): At, Json(asked): Json<Value>) -> Response {
    let Some(urls) = asked["repository_urls"].as_array() else {
        return answer::json(400, &json!({ "error": "nothing to look up" }));
    };
    let urls: Vec<&str> = urls.iter().filter_map(Value::as_str).collect();
    let mut rows = desk.rows(&urls, asked["ecosystem"].as_str());
    rows.truncate(desk.limits.bulk);
    answer::json(200, &Value::Array(rows))
}

impl Desk {
    /// By the number of the package, as a database gives them.
    fn rows(&self, urls: &[&str], ecosystem: Option<&str>) -> Vec<Value> {
        let mut rows: Vec<Value> = self.site.world.published(|all| {
            urls.iter()
                .flat_map(|url| all.linked(url))
                .flat_map(rows_of)
                .collect()
        });
        rows.retain(|row| ecosystem.is_none_or(|wanted| row["ecosystem"] == wanted));
        rows.sort_by_key(|row| row["id"].as_u64());
        rows.dedup_by_key(|row| row["id"].as_u64());
        rows
    }
}

fn rows_of(one: &Publication) -> Vec<Value> {
    let word = match one.ecosystem.as_str() {
        "composer" => "packagist",
        word => word,
    };
    let mirror = (word == "conda").then_some(("conda", "a mirror", false));
    let carriers = one.carried_by.iter().map(|word| (*word, *word, true));
    let registries = [(word, word, true)].into_iter().chain(mirror);
    registries
        .chain(carriers)
        .map(|(ecosystem, registry, default)| row(one, ecosystem, registry, default))
        .collect()
}

fn row(one: &Publication, ecosystem: &str, registry: &str, default: bool) -> Value {
    let number = fingerprint(format!("{ecosystem}/{registry}/{}", one.package).as_bytes());
    let status = match (one.removed, one.deprecated) {
        (true, _) => Some("removed"),
        (false, true) => Some("deprecated"),
        (false, false) => None,
    };
    let latest = one.all_versions().last();
    let millis = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string();
    json!({
        "id": number >> 16,
        "name": one.package,
        "ecosystem": ecosystem,
        "description": null,
        "homepage": null,
        "repository_url": one.link,
        "namespace": null,
        "versions_count": one.versions,
        "first_release_published_at": millis(one.first_at),
        "latest_release_published_at": millis(one.latest_at),
        "latest_release_number": latest.map(|version| version.number),
        "last_synced_at": millis(one.latest_at),
        "registry_url": format!("https://{registry}.example/packages/{}", one.package),
        "purl": null,
        "status": status,
        "downloads": null,
        "registry": {
            "name": format!("{registry}.example"),
            "url": format!("https://{registry}.example"),
            "ecosystem": ecosystem,
            "default": default,
        },
    })
}

async fn missing() -> Response {
    answer::json(404, &json!({ "error": "not found" }))
}

/// Stands before every handler.
async fn meter(State(desk): At, request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let polite = url::form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "mailto" && value.contains('@'));
    let agent = request.headers().get(header::USER_AGENT);
    let agent = agent.and_then(|agent| agent.to_str().ok());
    let polite = polite || agent.is_some_and(|agent| agent.contains("mailto:"));
    let (pool, limit) = if polite {
        ("polite", desk.limits.polite)
    } else {
        ("anonymous", desk.limits.anonymous)
    };
    if desk.budgets.take(pool, limit, desk.site.now()).granted {
        return next.run(request).await;
    }
    let mut refusal = answer::json(429, &json!({ "error": "rate limit exceeded" }));
    refusal.extensions_mut().insert(Limit::Primary);
    refusal
}
