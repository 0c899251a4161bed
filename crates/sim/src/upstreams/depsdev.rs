//! deps.dev's API, as far as packages and where they come from go.
//!
//! Kept: the id of a project is one percent-encoded segment, and anything else, an id with its
//! slashes bare or encoded twice, is simply not found; at most 1,500 versions of a project without
//! a word that there are more, attested ones first; relations that are no source; packages that
//! are only bundled inside others, whose names hold `>`; names in the registry's own spelling;
//! errors as bare text. Neither entity tags nor a word about limits.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde_json::{Value, json};

use super::answer;
use crate::{
    clock::rfc3339,
    dice::fingerprint,
    upstream::{Site, Upstream},
    world::{Publication, Version},
};

/// The double.
#[derive(Clone, Debug)]
pub struct DepsDev {
    cap: usize,
}

impl DepsDev {
    /// With the cap of the real one.
    pub fn new() -> Self {
        Self { cap: 1_500 }
    }

    /// With at most so many versions of a project.
    pub fn with_cap(mut self, versions: usize) -> Self {
        self.cap = versions;
        self
    }
}

impl Default for DepsDev {
    fn default() -> Self {
        Self::new()
    }
}

impl Upstream for DepsDev {
    fn name(&self) -> &'static str {
        "deps.dev"
    }

    fn routes(&self, site: Arc<Site>) -> Router {
        let desk = Arc::new(Desk {
            site,
            cap: self.cap,
        });
        Router::new()
            .route("/v3/projects/{id}", get(project))
            .route("/v3/systems/{system}/packages/{name}", get(package))
            .route(
                "/v3/systems/{system}/packages/{name}/versions/{version}",
                get(version),
            )
            .fallback(missing)
            .with_state(desk)
    }
}

#[derive(Debug)]
struct Desk {
    site: Arc<Site>,
    cap: usize,
}

type At = State<Arc<Desk>>;

/// The hosts whose projects it knows.
const HOSTS: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

/// Its word for an ecosystem.
fn system(ecosystem: &str) -> Option<&'static str> {
    Some(match ecosystem {
        "go" => "GO",
        "rubygems" => "RUBYGEMS",
        "npm" => "NPM",
        "cargo" => "CARGO",
        "maven" => "MAVEN",
        "pypi" => "PYPI",
        "nuget" => "NUGET",
        _ => return None,
    })
}

/// The ecosystem of its word, which may be in any case.
fn ecosystem(system: &str) -> Option<String> {
    let word = system.to_lowercase();
    self::system(&word).map(|_| word)
}

async fn project(State(desk): At, uri: Uri, Path(named): Path<String>) -> Response {
    // The verb is part of the path's text and never encoded.
    let wanted = uri.path().ends_with(":packageversions");
    let id = named.strip_suffix(":packageversions").filter(|_| wanted);
    let id = id.unwrap_or(&named);
    let Some((host, path)) = id.split_once('/') else {
        return not_found("project");
    };
    if !HOSTS.contains(&host.to_lowercase().as_str()) || path.is_empty() {
        return not_found("project");
    }
    let link = format!("https://{id}");
    if !wanted {
        return about_project(&desk, host, path, &link);
    }
    let mut rows: Vec<(bool, Value)> = desk.site.world.published(|all| {
        let source = all.linked(&link).map(|one| (one, "SOURCE_REPO"));
        let tracker = all.tracked(&link).map(|one| (one, "ISSUE_TRACKER"));
        source
            .chain(tracker)
            .filter(|(one, _)| !one.removed)
            .flat_map(|(one, relation)| rows_of(one, relation))
            .collect()
    });
    if rows.is_empty() {
        return not_found("project");
    }
    rows.sort_by_key(|(attested, _)| !attested);
    let rows = rows.into_iter().take(desk.cap).map(|(_, row)| row);
    let rows: Vec<Value> = rows.collect();
    answer::json(200, &json!({ "versions": rows }))
}

/// A project is what is there now: an address that a repository has left is none.
fn about_project(desk: &Desk, host: &str, path: &str, link: &str) -> Response {
    let world = &desk.site.world;
    let here = world.look(&host.to_lowercase(), |forge| {
        let mut all = forge.repositories().filter(|found| found.is_public());
        all.any(|found| found.path().eq_ignore_ascii_case(path))
    });
    // Beyond the forges of this world there are others, of whom only their packages tell.
    let elsewhere = path.starts_with("elsewhere/")
        && world.published(|all| all.linked(link).any(|one| !one.removed));
    if here != Some(true) && !elsewhere {
        return not_found("project");
    }
    let id = format!("{host}/{path}").to_lowercase();
    let body = json!({
        "projectKey": { "id": id },
        "openIssuesCount": 0,
        "starsCount": 0,
        "forksCount": 0,
        "license": "MIT",
        "description": "",
        "homepage": "",
    });
    answer::json(200, &body)
}

/// The versions of one publication, each with whether it is attested.
fn rows_of(one: &Publication, relation: &str) -> Vec<(bool, Value)> {
    let Some(system) = system(&one.ecosystem) else {
        return Vec::new();
    };
    let name = spelt(one);
    let attested = one.provenance.ends_with("ATTESTATION") && relation == "SOURCE_REPO";
    let provenance = if relation == "SOURCE_REPO" {
        one.provenance
    } else {
        "UNVERIFIED_METADATA"
    };
    let row = |name: &str, number: &str, attested: bool, provenance: &str| {
        let proofs = attested.then(|| {
            json!({
                "sourceRepository": one.link,
                "commit": format!("{:040x}", fingerprint(name.as_bytes())),
                "url": format!("https://registry.example/attestations/{name}@{number}"),
                "verified": true,
            })
        });
        let row = json!({
            "versionKey": { "system": system, "name": name, "version": number },
            "relationType": relation,
            "relationProvenance": provenance,
            "slsaProvenances": proofs.iter().collect::<Vec<_>>(),
            "attestations": [],
        });
        (attested, row)
    };
    let mut rows: Vec<(bool, Value)> = one
        .all_versions()
        .map(|version| row(&name, &version.number, attested, provenance))
        .collect();
    let bundles = system == "NPM" && fingerprint(name.as_bytes()).is_multiple_of(8);
    if bundles && relation == "SOURCE_REPO" {
        let inner = format!("{name}>1.0.0>left-pad");
        rows.push(row(&inner, "1.3.0", false, "UNVERIFIED_METADATA"));
    }
    rows
}

async fn package(State(desk): At, Path((system, name)): Path<(String, String)>) -> Response {
    let Some(ecosystem) = ecosystem(&system) else {
        return text(StatusCode::BAD_REQUEST, "invalid system");
    };
    desk.site
        .world
        .published(|all| match all.get(&ecosystem, &name) {
            Some(found) if !found.removed => {
                let count = found.versions as usize;
                let versions: Vec<Value> = found
                    .all_versions()
                    .enumerate()
                    .map(|(nth, version)| about(found, &version, nth + 1 == count))
                    .collect();
                let key = json!({ "system": self::system(&ecosystem), "name": spelt(found) });
                answer::json(200, &json!({ "packageKey": key, "versions": versions }))
            }
            _ => not_found("package"),
        })
}

async fn version(
    State(desk): At,
    Path((system, name, number)): Path<(String, String, String)>,
) -> Response {
    let Some(ecosystem) = ecosystem(&system) else {
        return text(StatusCode::BAD_REQUEST, "invalid system");
    };
    desk.site.world.published(|all| {
        let Some(found) = all.get(&ecosystem, &name).filter(|found| !found.removed) else {
            return not_found("package version");
        };
        let Some(version) = found.all_versions().find(|one| one.number == number) else {
            return not_found("package version");
        };
        let mut body = about(found, &version, true);
        let related = [
            (found.link.as_deref(), "SOURCE_REPO", found.provenance),
            (
                found.tracker.as_deref(),
                "ISSUE_TRACKER",
                "UNVERIFIED_METADATA",
            ),
        ];
        let related = related
            .into_iter()
            .filter_map(|(link, relation, provenance)| {
                let id = link?.strip_prefix("https://")?.to_lowercase();
                let known = HOSTS.iter().any(|host| id.starts_with(&format!("{host}/")));
                known.then(|| {
                    json!({
                        "projectKey": { "id": id },
                        "relationProvenance": provenance,
                        "relationType": relation,
                    })
                })
            });
        let links = [
            ("SOURCE_REPO", &found.link),
            ("ISSUE_TRACKER", &found.tracker),
        ];
        let links = links.into_iter().filter_map(|(label, link)| {
            let link = link.as_ref()?;
            Some(json!({ "label": label, "url": link }))
        });
        body["relatedProjects"] = related.collect();
        body["links"] = links.collect();
        body["licenses"] = json!(["MIT"]);
        answer::json(200, &body)
    })
}

fn about(one: &Publication, version: &Version, default: bool) -> Value {
    json!({
        "versionKey": {
            "system": system(&one.ecosystem),
            "name": spelt(one),
            "version": version.number,
        },
        "publishedAt": rfc3339(version.at),
        "isDefault": default,
        "isDeprecated": one.deprecated,
        "deprecatedReason": if one.deprecated { "no longer maintained" } else { "" },
    })
}

/// The name as deps.dev gives it: of Python packages, the normal form.
fn spelt(one: &Publication) -> String {
    match one.ecosystem.as_str() {
        "pypi" => one.package.to_lowercase().replace(['_', '.'], "-"),
        "nuget" => one.package.to_lowercase(),
        _ => one.package.clone(),
    }
}

async fn missing() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found")
}

fn not_found(what: &str) -> Response {
    text(StatusCode::NOT_FOUND, &format!("{what} not found"))
}

fn text(status: StatusCode, text: &str) -> Response {
    (status, text.to_owned()).into_response()
}
