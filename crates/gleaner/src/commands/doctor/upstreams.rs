//! Upstreams and tokens: does each answer, is each token good, and how much of it is left.
//!
//! The client works on a database of its own, in memory. So this works beside a broken
//! one, and asks even those that the shared breaker leaves alone: they may be well again.

use ::db::{Db, migrate};
use collect::{
    forge,
    http::{self, Ask, Class, Reply, Session, UpstreamSettings},
};
use engine::{BudgetView, Engine};
use facts::repository::{Forge as Software, RepositoryUrl};
use serde::Deserialize;
use tokio::task::JoinSet;

use super::Finding;
use crate::{
    clock,
    config::{self, Settings},
    error::Result,
    outside,
    session::PARTS,
};

/// A line for each upstream that is configured or has a token, and one for each token.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let looked = async {
        let db = Db::connect("sqlite::memory:", &settings.database.connection()).await?;
        let clock = clock::clock()?;
        migrate(&db, PARTS, &clock).await?;
        with(&Engine::new(db, clock), settings).await
    };
    looked
        .await
        .unwrap_or_else(|failure| vec![Finding::failed("upstream", &failure)])
}

async fn with(engine: &Engine, settings: &Settings) -> Result<Vec<Finding>> {
    let mut about = outside::about(settings, &config::environment())?;
    let upstreams = about.upstreams.clone();
    for set in upstreams.values() {
        // Each token is asked with alone.
        for token in &set.tokens {
            let alone = UpstreamSettings {
                tokens: vec![token.clone()],
                ..set.clone()
            };
            about.upstreams.insert(token.name.clone(), alone);
        }
    }
    let http = outside::client(engine, &about)?;
    let mut looks = JoinSet::new();
    for (place, (name, set)) in upstreams.into_iter().enumerate() {
        let (http, engine) = (http.clone(), engine.clone());
        looks.spawn(async move { (place, upstream(&engine, &http, &name, &set).await) });
    }
    let mut found = looks.join_all().await;
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().flat_map(|(_, found)| found).collect())
}

async fn upstream(
    engine: &Engine,
    http: &http::Http,
    name: &str,
    set: &UpstreamSettings,
) -> Vec<Finding> {
    if let Err(why) = http.probe(name).await {
        let fix = format!(
            "look at the network, and at `base_url` under `[upstream.\"{name}\"]`; its work waits"
        );
        return vec![Finding::wrong("upstream", format!("{name}: {why}"), fix)];
    }
    let mut findings = vec![Finding::fine("upstream", format!("{name} answers"))];
    if set.tokens.is_empty() {
        return findings;
    }
    let session = http.for_person();
    let software = match forge::look_up(engine.db(), &session, name, guess(name)).await {
        Ok(Ok(host)) => host.software,
        Ok(Err(why)) => {
            let fix = "try again when it is well";
            findings.push(Finding::wrong("token", format!("{name}: {why}"), fix));
            return findings;
        }
        Err(error) => {
            findings.push(Finding::failed("token", &error.into()));
            return findings;
        }
    };
    for token in &set.tokens {
        findings.push(match paths(name, software) {
            [] => Finding::fine("token", format!("{}: nobody to ask about it", token.name)),
            paths => ask(engine, &session, name, &token.name, paths).await,
        });
    }
    findings
}

/// What a host's name says that it runs.
fn guess(name: &str) -> Software {
    let any = format!("https://{name}/any/any");
    RepositoryUrl::parse(&any).map_or(Software::Git, |url| url.forge())
}

/// Where a forge tells whose token it is; the first that answers.
fn paths(name: &str, software: Software) -> &'static [&'static str] {
    match software {
        Software::GitHub if name == "github.com" => &["/user"],
        Software::GitHub => &["/api/v3/user"],
        // The second for tokens of groups and projects, and for older servers.
        Software::GitLab => &["/api/v4/personal_access_tokens/self", "/api/v4/user"],
        Software::Gitea => &["/api/v1/user"],
        Software::Bitbucket | Software::Git | Software::Local => &[],
    }
}

/// GitLab says it in the answer, GitHub in a header.
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    scopes: Option<Vec<String>>,
}

async fn ask(
    engine: &Engine,
    session: &Session,
    name: &str,
    token: &str,
    paths: &[&str],
) -> Finding {
    let mut last = None;
    for path in paths {
        match session
            .ask_json::<Told>(&Ask::get(token, *path).uncached())
            .await
        {
            Reply::Found(told) => {
                let header = told.response.header("x-oauth-scopes");
                let scopes = told.value.scopes.map(|scopes| scopes.join(", "));
                let scopes = scopes.or_else(|| header.map(str::to_owned));
                return good(token, scopes.as_deref(), left(engine, token).await.as_ref());
            }
            Reply::Absent => {}
            Reply::Unknown(why) => last = Some(why),
        }
    }
    match last {
        None => Finding::fine(
            "token",
            format!("{token}: its forge tells nothing about it"),
        ),
        Some(why) if why.class == Class::Refused => Finding::wrong(
            "token",
            format!("{token} is refused"),
            format!(
                "make a new one on {name}; `gleaner help environment` tells where tokens come from"
            ),
        ),
        Some(why) if why.class == Class::Limited => Finding::wrong(
            "token",
            format!("{token} is used up: {why}"),
            "its work goes on by itself; add another token for more",
        ),
        Some(why) => Finding::wrong("token", format!("{token}: {why}"), "try again later"),
    }
}

fn good(token: &str, scopes: Option<&str>, left: Option<&BudgetView>) -> Finding {
    let scopes = match scopes {
        Some("") => "no scopes".to_owned(),
        Some(scopes) => format!("scopes {scopes}"),
        None => "scopes not told".to_owned(),
    };
    let left = match left.map(|budget| (budget.remaining, budget.limit)) {
        Some((Some(remaining), Some(limit))) => format!("{remaining} of {limit} requests left"),
        Some((Some(remaining), None)) => format!("{remaining} requests left"),
        _ => "no limit announced".to_owned(),
    };
    Finding::fine("token", format!("{token} is good: {scopes}; {left}"))
}

/// What the answer announced.
async fn left(engine: &Engine, token: &str) -> Option<BudgetView> {
    let views = engine.upstream_views().await.ok()?;
    let view = views.into_iter().find(|view| view.upstream == token)?;
    view.budgets.into_iter().next()
}
