//! What ecosyste.ms's answers say.

use std::collections::BTreeMap;

use facts::{evidence::Evidence, json::Attributes};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::registry_view::{is_name, time};

/// A list of packages, each read by itself: one that is odd does not spoil the others.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Rows(Vec<Value>);

impl Rows {
    /// How many there are, odd ones included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The packages, and how many rows could not be read.
    pub fn read(self) -> (Vec<Row>, usize) {
        let all = self.0.len();
        let rows: Vec<Row> = self.0.into_iter().filter_map(Row::read).collect();
        let odd = all - rows.len();
        (rows, odd)
    }
}

/// A package of one registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What tells it from the same package of another registry.
    pub id: String,
    /// Where it says that it comes from.
    pub repository_url: String,
    /// Whether its registry is the ecosystem's usual one.
    pub default: bool,
    /// What it says.
    pub evidence: Evidence,
}

#[derive(Deserialize)]
struct Package {
    id: Option<u64>,
    name: String,
    ecosystem: Option<String>,
    repository_url: Option<String>,
    versions_count: Option<i64>,
    first_release_published_at: Option<String>,
    latest_release_published_at: Option<String>,
    latest_release_number: Option<String>,
    registry_url: Option<String>,
    status: Option<String>,
    registry: Option<Registry>,
}

#[derive(Deserialize)]
struct Registry {
    name: Option<String>,
    ecosystem: Option<String>,
    #[serde(default)]
    default: bool,
}

impl Row {
    fn read(value: Value) -> Option<Self> {
        let package: Package = serde_json::from_value(value).ok()?;
        let registry = package.registry.as_ref();
        let own = registry.and_then(|registry| registry.ecosystem.clone());
        let ecosystem = word(&package.ecosystem.or(own)?)?;
        if !is_name(&package.name) {
            return None;
        }
        let mut attributes = Map::new();
        let mut attribute = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| is_name(value)) {
                attributes.insert(name.to_owned(), Value::from(value));
            }
        };
        attribute("relation", Some("source-repo".to_owned()));
        attribute("status", package.status);
        attribute("url", package.registry_url);
        let default = registry.is_some_and(|registry| registry.default);
        let registry = package.registry.and_then(|registry| registry.name);
        attribute("registry", registry.clone());
        if is_redistributor(&ecosystem) {
            attributes.insert("redistributor".to_owned(), Value::from(true));
        }
        let id = match package.id {
            Some(id) => id.to_string(),
            None => format!("{ecosystem}/{}/{registry:?}", package.name),
        };
        let evidence = Evidence {
            ecosystem,
            package: package.name,
            version: package.latest_release_number.filter(|text| is_name(text)),
            version_count: package.versions_count.filter(|count| *count >= 0),
            first_published_at: time(package.first_release_published_at.as_deref()),
            latest_published_at: time(package.latest_release_published_at.as_deref()),
            path: None,
            attributes: Attributes::from(attributes),
        };
        Some(Self {
            id,
            repository_url: package.repository_url.unwrap_or_default(),
            default,
            evidence,
        })
    }
}

/// One fact for each package. One that several registries have is told by the ecosystem's usual
/// one, else by the one with most versions; where it is still to be had wins over where it is not.
pub fn merged(rows: Vec<Row>) -> Vec<Evidence> {
    let mut best: BTreeMap<(String, String), Row> = BTreeMap::new();
    for row in rows {
        let key = (row.evidence.ecosystem.clone(), row.evidence.package.clone());
        match best.get_mut(&key) {
            Some(known) if weight(&row) > weight(known) => *known = row,
            Some(_) => {}
            None => {
                best.insert(key, row);
            }
        }
    }
    best.into_values().map(|row| row.evidence).collect()
}

fn weight(row: &Row) -> (bool, bool, Option<i64>) {
    let status = row.evidence.attributes.to_map().remove("status");
    let there = !matches!(
        status.as_ref().and_then(Value::as_str),
        Some("removed" | "unpublished")
    );
    (there, row.default, row.evidence.version_count)
}

/// Our word for an ecosystem of theirs.
fn word(ecosystem: &str) -> Option<String> {
    let word = ecosystem.to_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (is_name(&word) && word.len() <= 50 && word.chars().all(plain)).then(|| match word.as_str() {
        "packagist" => "composer".to_owned(),
        _ => word,
    })
}

/// Whether packages there are made by others than those who wrote what is in them.
fn is_redistributor(ecosystem: &str) -> bool {
    REDISTRIBUTORS.contains(&ecosystem)
}

const REDISTRIBUTORS: [&str; 18] = [
    "adelie",
    "alpine",
    "arch",
    "deb",
    "debian",
    "fdroid",
    "freebsd",
    "gentoo",
    "guix",
    "homebrew",
    "ips",
    "nixpkgs",
    "openbsd",
    "pkgsrc",
    "postmarketos",
    "spack",
    "ubuntu",
    "vcpkg",
];
