//! Packages, each once, from what all sources say of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{comparable, source};
use crate::evidence::Evidence;

/// One package as its sources together see it.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) ecosystem: String,
    /// As the first source spells it.
    pub(super) name: String,
    /// What the same package would be called elsewhere: a forge's registry has rules of its own.
    pub(super) aliases: Vec<String>,
    /// In a registry now, put there by the project: neither an asset of a release, nor
    /// redistributed, nor removed.
    pub(super) live: bool,
    /// Known from the registry of its forge only, where names follow from the owner's.
    pub(super) of_forge: bool,
    /// In a registry once, and removed from it.
    pub(super) removed: bool,
    /// Known from redistributors only.
    pub(super) redistributed: bool,
    /// An attestation or the origin of a module ties it to the repository.
    pub(super) attested: bool,
    /// Where in the repository the registry says it lies.
    pub(super) directory: Option<String>,
    pub(super) uuid: Option<String>,
}

/// The packages that evidence speaks of, in the order of ecosystem and name.
pub(super) fn packages(evidence: &[(&str, &Evidence)]) -> Vec<Package> {
    let mut packages: BTreeMap<(String, String), Package> = BTreeMap::new();
    let mut rows: Vec<&(&str, &Evidence)> = evidence.iter().collect();
    rows.sort_by_key(|(source, row)| (&row.ecosystem, &row.package, *source));
    for (source, row) in rows {
        if row.package.is_empty() {
            continue;
        }
        let key = (
            row.ecosystem.clone(),
            comparable(&row.ecosystem, &row.package),
        );
        let seen = see(source, row);
        match packages.get_mut(&key) {
            None => {
                packages.insert(key, seen);
            }
            Some(known) => {
                known.aliases.extend(seen.aliases);
                known.live |= seen.live;
                known.of_forge &= seen.of_forge;
                known.removed |= seen.removed;
                known.redistributed &= seen.redistributed;
                known.attested |= seen.attested;
                known.directory = known.directory.take().or(seen.directory);
                known.uuid = known.uuid.take().or(seen.uuid);
            }
        }
    }
    packages.into_values().collect()
}

fn see(source: &str, row: &Evidence) -> Package {
    let attributes = row.attributes.to_map();
    let text = |name: &str| attributes.get(name).and_then(Value::as_str);
    let registry = source != source::RELEASES;
    let redistributed = attributes.get("redistributor") == Some(&Value::Bool(true));
    let removed = matches!(text("status"), Some("removed" | "unpublished"));
    let provenance = text("provenance").unwrap_or_default().to_lowercase();
    Package {
        ecosystem: row.ecosystem.clone(),
        name: row.package.clone(),
        aliases: if source == source::PACKAGES {
            aliases(&row.ecosystem, &row.package, text("owner"))
        } else {
            Vec::new()
        },
        live: registry && !redistributed && !removed,
        of_forge: source == source::PACKAGES,
        removed: registry && !redistributed && removed,
        redistributed,
        attested: provenance.contains("attestation") || provenance.replace('_', "-") == "go-origin",
        directory: row.path.as_deref().map(plain_directory),
        uuid: text("uuid").map(str::to_lowercase),
    }
}

/// GitHub takes npm packages only under the owner's scope, whatever the manifest says, and writes
/// group and artifact of a Maven package in one word.
fn aliases(ecosystem: &str, name: &str, owner: Option<&str>) -> Vec<String> {
    match ecosystem {
        "npm" => {
            let scoped = name.strip_prefix('@').and_then(|name| name.split_once('/'));
            match (scoped, owner) {
                (Some((scope, plain)), Some(owner)) if scope.eq_ignore_ascii_case(owner) => {
                    vec![plain.to_owned()]
                }
                _ => Vec::new(),
            }
        }
        "maven" if !name.contains([':', '/']) => name
            .match_indices('.')
            .take(20)
            .map(|(dot, _)| format!("{}:{}", &name[..dot], &name[dot + 1..]))
            .collect(),
        _ => Vec::new(),
    }
}

/// A directory as trees write it: without `./` before and `/` around.
pub(super) fn plain_directory(path: &str) -> String {
    let path = path.trim().trim_start_matches("./").trim_matches('/');
    if path == "." {
        String::new()
    } else {
        path.to_owned()
    }
}
