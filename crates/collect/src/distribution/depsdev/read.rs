//! What deps.dev's answers say.
//!
//! A field that is missing or empty is not told; an answer without its list is none.

use std::collections::BTreeMap;

use facts::repository::RepositoryUrl;
use serde::Deserialize;

use super::super::registry_view::{is_name, time};

/// More versions of one project are not given, and nothing says that there are more.
pub const CAP: usize = 1_500;

/// `…/projects/{id}:packageversions`
#[derive(Clone, Debug, Deserialize)]
pub struct ProjectVersions {
    versions: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    version_key: Key,
    relation_type: Option<String>,
    relation_provenance: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Key {
    system: String,
    name: String,
    version: String,
}

/// The packages that come from a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// By ecosystem word and name.
    pub packages: BTreeMap<(String, String), Mapping>,
    /// All rows of the answer.
    pub rows: usize,
    /// Rows that only say that problems are told here.
    pub issue_trackers: usize,
    /// Rows of packages that are but copied into others.
    pub bundled: usize,
    /// Rows that name nothing.
    pub unreadable: usize,
}

/// How a package is known to come from a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// `source-repo`, or `unknown`.
    pub relation: String,
    /// The strongest word that any of its versions has, as deps.dev says it.
    pub provenance: Option<String>,
    /// One of the versions that say so.
    pub version: String,
}

impl From<ProjectVersions> for Project {
    fn from(answer: ProjectVersions) -> Self {
        let mut project = Self {
            rows: answer.versions.len(),
            ..Self::default()
        };
        for row in answer.versions {
            project.take(row);
        }
        project
    }
}

impl Project {
    /// Whether there may be more that was not given.
    pub fn is_capped(&self) -> bool {
        self.rows >= CAP
    }

    fn take(&mut self, row: Row) {
        let key = row.version_key;
        let relation = row.relation_type.as_deref().map_or("unknown", relation);
        let word = ecosystem(&key.system).filter(|_| is_name(&key.name));
        match word {
            _ if relation == "issue-tracker" => self.issue_trackers += 1,
            // `a>1.0.0>b`: the copy of b inside a. Nobody published it from here.
            Some("npm") if key.name.contains('>') => self.bundled += 1,
            None => self.unreadable += 1,
            Some(word) => {
                let told = row.relation_provenance;
                let new = Mapping {
                    relation: relation.to_owned(),
                    provenance: told.filter(|word| strength(word) > 0),
                    version: key.version,
                };
                let package = self.packages.entry((word.to_owned(), key.name));
                package
                    .and_modify(|known| known.strengthen(&new))
                    .or_insert(new);
            }
        }
    }
}

impl Mapping {
    fn strengthen(&mut self, other: &Self) {
        let of = |mapping: &Self| {
            let provenance = mapping.provenance.as_deref().map_or(0, strength);
            (mapping.relation == "source-repo", provenance)
        };
        if of(other) > of(self) {
            self.clone_from(other);
        }
    }
}

/// How much a word for the provenance proves.
fn strength(provenance: &str) -> u8 {
    match provenance {
        "SLSA_ATTESTATION" | "PYPI_PUBLISH_ATTESTATION" | "RUBYGEMS_PUBLISH_ATTESTATION" => 4,
        "GO_ORIGIN" => 3,
        "UNVERIFIED_METADATA" => 1,
        word if word.starts_with("UNKNOWN") || !is_name(word) => 0,
        // A new word: some proof, as yet unheard of.
        _ => 2,
    }
}

fn relation(word: &str) -> &'static str {
    match word {
        "SOURCE_REPO" => "source-repo",
        "ISSUE_TRACKER" => "issue-tracker",
        _ => "unknown",
    }
}

/// The ecosystem word of a system.
pub fn ecosystem(system: &str) -> Option<&'static str> {
    SYSTEMS
        .iter()
        .find(|(_, word)| *word == system)
        .map(|(ecosystem, _)| *ecosystem)
}

/// The system of an ecosystem word.
pub fn system(ecosystem: &str) -> Option<&'static str> {
    SYSTEMS
        .iter()
        .find(|(word, _)| *word == ecosystem)
        .map(|(_, system)| *system)
}

const SYSTEMS: [(&str, &str); 7] = [
    ("cargo", "CARGO"),
    ("go", "GO"),
    ("maven", "MAVEN"),
    ("npm", "NPM"),
    ("nuget", "NUGET"),
    ("pypi", "PYPI"),
    ("rubygems", "RUBYGEMS"),
];

/// `…/systems/{system}/packages/{name}`
#[derive(Clone, Debug, Deserialize)]
pub struct PackageVersions {
    versions: Vec<PackageVersion>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageVersion {
    version_key: Key,
    published_at: Option<String>,
    #[serde(default)]
    is_default: bool,
    #[serde(default)]
    is_deprecated: bool,
}

/// A package by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// How many versions it has.
    pub count: usize,
    /// The version that one gets without asking for any.
    pub version: Option<String>,
    /// When its first version was published.
    pub first: Option<jiff::Timestamp>,
    /// When its latest version was published.
    pub latest: Option<jiff::Timestamp>,
    /// All of its versions are deprecated.
    pub deprecated: bool,
}

impl From<PackageVersions> for Package {
    fn from(answer: PackageVersions) -> Self {
        let all = answer.versions;
        let published = |one: &PackageVersion| time(one.published_at.as_deref());
        let default = all.iter().find(|one| one.is_default);
        let newest = || all.iter().max_by_key(|one| published(one));
        Self {
            count: all.len(),
            version: default
                .or_else(newest)
                .map(|one| one.version_key.version.clone())
                .filter(|version| is_name(version)),
            first: all.iter().filter_map(published).min(),
            latest: all.iter().filter_map(published).max(),
            deprecated: !all.is_empty() && all.iter().all(|one| one.is_deprecated),
        }
    }
}

/// `/v3/projects/{id}`: only that it is there.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ProjectInfo {
    #[serde(rename = "projectKey")]
    _project_key: ProjectKey,
}

/// `…/packages/{name}/versions/{version}`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionDetail {
    related_projects: Vec<Related>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Related {
    project_key: ProjectKey,
    relation_type: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct ProjectKey {
    id: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Link {
    #[serde(default)]
    label: String,
    #[serde(default)]
    url: String,
}

impl VersionDetail {
    /// The repositories that it says it comes from. deps.dev has projects on three hosts only; the
    /// package's own link tells of others.
    pub fn sources(&self) -> Vec<RepositoryUrl> {
        let related = self.related_projects.iter();
        let related = related
            .filter(|one| one.relation_type.as_deref() == Some("SOURCE_REPO"))
            .map(|one| format!("https://{}", one.project_key.id));
        let linked = self.links.iter();
        let linked = linked
            .filter(|link| link.label == "SOURCE_REPO")
            .map(|link| link.url.clone());
        let mut sources: Vec<RepositoryUrl> = Vec::new();
        for text in related.chain(linked).take(MOST_SOURCES) {
            let Ok(url) = RepositoryUrl::parse(&text) else {
                continue;
            };
            let known = sources.iter().any(|known| known.key() == url.key());
            if !url.is_local() && !known {
                sources.push(url);
            }
        }
        sources
    }
}

/// Nobody has more.
const MOST_SOURCES: usize = 100;
