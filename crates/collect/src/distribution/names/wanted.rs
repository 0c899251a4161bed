//! Which names are asked for.

use std::collections::BTreeSet;

use facts::manifest::{Intent, ManifestFact, Place};

use crate::distribution::depsdev;

/// A name to ask about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The ecosystem word.
    pub ecosystem: String,
    /// As the manifest spells it.
    pub name: String,
}

/// The names that manifests declare and mean to publish, each once.
pub fn wanted<'m>(manifests: impl IntoIterator<Item = &'m ManifestFact>) -> Vec<Wanted> {
    let names: BTreeSet<Wanted> = manifests.into_iter().filter_map(name).collect();
    names.into_iter().collect()
}

fn name(manifest: &ManifestFact) -> Option<Wanted> {
    if manifest.intent == Intent::Denied || manifest.place != Place::Ordinary {
        return None;
    }
    let ecosystem = manifest.manifest_type.as_str();
    depsdev::system(ecosystem)?;
    let name = manifest
        .effective_name
        .as_ref()
        .or(manifest.name.as_ref())?;
    // An artifact without its group could be anybody's.
    let whole = ecosystem != "maven" || name.contains(':');
    (whole && !name.trim().is_empty()).then(|| Wanted {
        ecosystem: ecosystem.to_owned(),
        name: name.clone(),
    })
}

/// A name in the form in which its registry compares names.
pub fn comparable(ecosystem: &str, name: &str) -> String {
    match ecosystem {
        "pypi" => {
            let mut plain = String::with_capacity(name.len());
            for part in name.split(['-', '_', '.']).filter(|part| !part.is_empty()) {
                if !plain.is_empty() {
                    plain.push('-');
                }
                plain.push_str(&part.to_lowercase());
            }
            plain
        }
        "cargo" => name.to_lowercase().replace('_', "-"),
        "nuget" => name.to_lowercase(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(ecosystem: &str, name: &str) -> ManifestFact {
        ManifestFact {
            effective_name: Some(name.to_owned()),
            intent: Intent::Yes,
            ..ManifestFact::new(format!("{name}/manifest"), ecosystem)
        }
    }

    #[test]
    fn what_is_meant_to_be_published_is_asked_for_once() {
        let manifests = [
            manifest("npm", "@a/b"),
            manifest("npm", "@a/b"),
            manifest("maven", "artifact"),
            manifest("maven", "group:artifact"),
            manifest("hex", "elsewhere"),
            ManifestFact {
                intent: Intent::Denied,
                ..manifest("npm", "private")
            },
            ManifestFact {
                place: Place::Test,
                ..manifest("npm", "fixture")
            },
            ManifestFact::new("Gemfile", "rubygems"),
        ];
        let names: Vec<String> = wanted(&manifests)
            .into_iter()
            .map(|one| format!("{} {}", one.ecosystem, one.name))
            .collect();
        assert_eq!(names, ["maven group:artifact", "npm @a/b"]);
    }

    #[test]
    fn names_compare_as_their_registry_compares_them() {
        for (ecosystem, a, b) in [
            ("pypi", "Jaraco__Context", "jaraco.context"),
            ("cargo", "serde_json", "Serde-Json"),
            ("nuget", "Newtonsoft.Json", "newtonsoft.json"),
        ] {
            assert_eq!(comparable(ecosystem, a), comparable(ecosystem, b));
        }
        assert_ne!(comparable("npm", "A"), comparable("npm", "a"));
    }
}
