//! GitHub's limits: a budget an hour for each token, and the secondary ones
//! against haste, which are announced only by refusing.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{Request, State},
    http::{HeaderName, StatusCode, header},
    middleware::Next,
    response::Response,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{At, Desk, message};
use crate::{
    clock::later,
    journal::Limit,
    upstream::{Caller, Credential},
    upstreams::{
        answer::{self, with},
        budget::{Budgets, Standing},
    },
    world::Token,
};

/// What a GitHub allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHubLimits {
    /// Requests an hour with a token, if the token does not say otherwise.
    pub per_hour: u64,
    /// Requests an hour without a token.
    pub anonymous_per_hour: u64,
    /// Searches a minute with a token.
    pub searches_per_minute: u64,
    /// Searches a minute without a token.
    pub anonymous_searches_per_minute: u64,
    /// Secondary: requests a minute.
    pub points_per_minute: usize,
    /// Secondary: requests at once.
    pub concurrent: u32,
    /// How long a caller is shut out after going too fast, in seconds.
    pub penalty: u64,
    /// Whether a secondary refusal says when to come back.
    pub tells_retry_after: bool,
    /// How refusals are numbered: 403 or 429.
    pub refusal: u16,
}

impl Default for GitHubLimits {
    fn default() -> Self {
        Self {
            per_hour: 5_000,
            anonymous_per_hour: 60,
            searches_per_minute: 30,
            anonymous_searches_per_minute: 10,
            points_per_minute: 900,
            concurrent: 100,
            penalty: 60,
            tells_retry_after: true,
            refusal: 403,
        }
    }
}

/// Keeps the accounts.
#[derive(Debug)]
pub(super) struct Meter {
    limits: GitHubLimits,
    core: Budgets,
    search: Budgets,
    graphql: Budgets,
    haste: Mutex<HashMap<String, Haste>>,
}

#[derive(Debug, Default)]
struct Haste {
    /// Requests of the last minute.
    recent: VecDeque<Timestamp>,
    shut_out_until: Option<Timestamp>,
}

/// What has a budget of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resource {
    Core,
    Search,
    Graphql,
}

impl Resource {
    fn of(path: &str) -> Self {
        match path {
            "/graphql" | "/api/graphql" => Self::Graphql,
            path if path.starts_with("/search/") => Self::Search,
            _ => Self::Core,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Search => "search",
            Self::Graphql => "graphql",
        }
    }
}

impl Meter {
    pub(super) fn new(limits: GitHubLimits) -> Self {
        Self {
            limits,
            core: Budgets::every(3_600),
            search: Budgets::every(60),
            graphql: Budgets::every(3_600),
            haste: Mutex::default(),
        }
    }

    fn account(&self, caller: &Caller, resource: Resource) -> (&Budgets, u64) {
        let limits = &self.limits;
        let per_hour = |token: &Token| token.limit.unwrap_or(limits.per_hour);
        match (caller.token(), resource) {
            (Some(token), Resource::Core) => (&self.core, per_hour(token)),
            (None, Resource::Core) => (&self.core, limits.anonymous_per_hour),
            (Some(_), Resource::Search) => (&self.search, limits.searches_per_minute),
            (None, Resource::Search) => (&self.search, limits.anonymous_searches_per_minute),
            // In points; the one question that is understood costs one.
            (Some(token), Resource::Graphql) => (&self.graphql, per_hour(token)),
            (None, Resource::Graphql) => (&self.graphql, 0),
        }
    }

    /// The time until which the caller is too hasty, if they are.
    fn too_hasty(&self, caller: &Caller, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.haste.lock().unwrap_or_else(PoisonError::into_inner);
        let haste = all.entry(caller.key()).or_default();
        if let Some(until) = haste.shut_out_until.filter(|until| *until > now) {
            return Some(until);
        }
        while haste.recent.front().is_some_and(|at| later(*at, 60) <= now) {
            haste.recent.pop_front();
        }
        if caller.in_flight > self.limits.concurrent
            || haste.recent.len() >= self.limits.points_per_minute
        {
            let until = later(now, self.limits.penalty);
            haste.shut_out_until = Some(until);
            return Some(until);
        }
        haste.recent.push_back(now);
        None
    }
}

/// Stands before every handler.
pub(super) async fn meter(
    State(desk): At,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    if !request.headers().contains_key(header::USER_AGENT) {
        return message(403, "Request forbidden by administrative rules");
    }
    if matches!(caller.credential, Credential::Refused(_)) {
        return message(401, "Bad credentials");
    }
    let path = request.uri().path();
    let Some(meter) = desk.meter.as_ref().filter(|_| path != "/rate_limit") else {
        return next.run(request).await;
    };
    let now = desk.site.now();
    let resource = Resource::of(path);
    if resource == Resource::Graphql && caller.token().is_none() {
        return message(401, "This endpoint requires you to be authenticated.");
    }
    let (budget, limit) = meter.account(&caller, resource);
    let resource = resource.name();

    if let Some(until) = meter.too_hasty(&caller, now) {
        let standing = budget.look(&caller.key(), limit, now);
        return announce(secondary(meter, until, now), &standing, resource);
    }
    let standing = budget.take(&caller.key(), limit, now);
    if !standing.granted {
        return announce(primary(meter, &caller), &standing, resource);
    }
    let answer = next.run(request).await;
    if answer.status() == StatusCode::NOT_MODIFIED && caller.token().is_some() {
        budget.give_back(&caller.key());
        return announce(answer, &budget.look(&caller.key(), limit, now), resource);
    }
    announce(answer, &standing, resource)
}

fn primary(meter: &Meter, caller: &Caller) -> Response {
    let whose = match caller.token() {
        Some(_) => "user ID 1".to_owned(),
        None => "127.0.0.1".to_owned(),
    };
    let text = format!("API rate limit exceeded for {whose}.");
    refused(message(meter.limits.refusal, &text), Limit::Primary)
}

fn secondary(meter: &Meter, until: Timestamp, now: Timestamp) -> Response {
    let text =
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    let answer = refused(message(meter.limits.refusal, text), Limit::Secondary);
    if !meter.limits.tells_retry_after {
        return answer;
    }
    let seconds = until.duration_since(now).as_secs().max(1);
    with(answer, header::RETRY_AFTER, &seconds.to_string())
}

fn refused(mut answer: Response, limit: Limit) -> Response {
    answer.extensions_mut().insert(limit);
    answer
}

fn announce(answer: Response, standing: &Standing, resource: &str) -> Response {
    let fields = [
        ("x-ratelimit-limit", standing.limit.to_string()),
        ("x-ratelimit-remaining", standing.remaining().to_string()),
        ("x-ratelimit-used", standing.used.to_string()),
        ("x-ratelimit-reset", standing.reset_seconds().to_string()),
        ("x-ratelimit-resource", resource.to_owned()),
    ];
    fields.into_iter().fold(answer, |answer, (name, value)| {
        with(answer, HeaderName::from_static(name), &value)
    })
}

/// Costs nothing, and is not there where limits are off.
pub(super) async fn rate_limit(State(desk): State<Arc<Desk>>, caller: Caller) -> Response {
    let Some(meter) = &desk.meter else {
        return message(404, "Rate limiting is not enabled.");
    };
    let now = desk.site.now();
    let look = |resource| -> Value {
        let (budget, limit) = meter.account(&caller, resource);
        let standing = budget.look(&caller.key(), limit, now);
        json!({
            "limit": standing.limit,
            "used": standing.used,
            "remaining": standing.remaining(),
            "reset": standing.reset_seconds(),
        })
    };
    let core = look(Resource::Core);
    answer::json(
        200,
        &json!({
            "resources": {
                "core": core,
                "search": look(Resource::Search),
                "graphql": look(Resource::Graphql),
            },
            "rate": core,
        }),
    )
}
