//! Declarations, each once, from the files that make them.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use serde_json::Value;

use super::{comparable, family, published::plain_directory};
use crate::manifest::{Intent, ManifestFact, Place};

/// What a directory declares to publish, from one file or from several that agree: a Python
/// project has up to three.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) ecosystem: String,
    /// The name the ecosystem would publish under; none where the files do not show it.
    pub(super) name: Option<String>,
    /// The name stands in the file and is not only the ecosystem's default.
    pub(super) explicit: bool,
    pub(super) path: String,
    pub(super) directory: String,
    pub(super) ordinary: bool,
    pub(super) denied: bool,
    /// The file could not be read: it may declare anything.
    pub(super) unreadable: bool,
    /// Further packages that the manifest says it makes.
    pub(super) outputs: Vec<String>,
    pub(super) uuid: Option<String>,
    /// The directory that the file itself names.
    pub(super) claimed: Option<String>,
}

impl Declaration {
    /// Part of the project itself, and nothing forbids to publish it.
    pub(super) fn counts(&self) -> bool {
        self.ordinary && !self.denied && !self.unreadable
    }
}

/// What the manifests declare, the shallowest first.
pub(super) fn declarations(manifests: &[&ManifestFact]) -> Vec<Declaration> {
    let mut manifests: Vec<&&ManifestFact> = manifests.iter().collect();
    manifests.sort_by_key(|fact| (fact.path.matches('/').count(), &fact.path));
    let mut all: Vec<Declaration> = Vec::new();
    // Directory, ecosystem and name: what is equal in these is one declaration.
    let mut known: HashMap<(String, String, Option<String>), usize> = HashMap::new();
    for fact in manifests {
        let new = read(fact);
        if new.unreadable {
            all.push(new);
            continue;
        }
        let name = new.name.as_deref();
        let name = name.map(|name| comparable(&new.ecosystem, name));
        match known.entry((new.directory.clone(), new.ecosystem.clone(), name)) {
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(new);
            }
            Entry::Occupied(place) => {
                let old = &mut all[*place.get()];
                old.explicit |= new.explicit;
                // A project that one of its files forbids to publish is not meant to be.
                old.denied |= new.denied;
                old.outputs.extend(new.outputs);
                old.uuid = old.uuid.take().or(new.uuid);
                old.claimed = old.claimed.take().or(new.claimed);
            }
        }
    }
    // A file without a name beside one that has it is part of the same declaration.
    let named: HashSet<(String, String)> = all
        .iter()
        .filter(|one| one.name.is_some())
        .map(place_of)
        .collect();
    all.retain(|one| one.name.is_some() || one.unreadable || !named.contains(&place_of(one)));
    all
}

fn place_of(one: &Declaration) -> (String, String) {
    (one.directory.clone(), family(&one.ecosystem).to_owned())
}

fn read(fact: &ManifestFact) -> Declaration {
    let attributes = fact.attributes.to_map();
    let outputs = match attributes.get("outputs") {
        Some(Value::Array(outputs)) => outputs
            .iter()
            .filter_map(|output| output.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    let filled = |name: &Option<String>| name.clone().filter(|name| !name.trim().is_empty());
    Declaration {
        ecosystem: fact.manifest_type.clone(),
        name: filled(&fact.effective_name).or_else(|| filled(&fact.name)),
        explicit: filled(&fact.name).is_some(),
        directory: directory_of(&fact.path),
        path: fact.path.clone(),
        ordinary: fact.place == Place::Ordinary,
        denied: fact.intent == Intent::Denied,
        unreadable: fact.error.is_some(),
        outputs,
        uuid: attributes
            .get("uuid")
            .and_then(Value::as_str)
            .map(str::to_lowercase),
        claimed: fact.directory.as_deref().map(plain_directory),
    }
}

fn directory_of(path: &str) -> String {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    // These lie one level below what they speak of.
    let above = |name: &str| {
        directory
            .strip_suffix(name)
            .map(|rest| rest.trim_end_matches('/'))
    };
    above("debian")
        .or_else(|| above("conda.recipe"))
        .unwrap_or(directory)
        .to_owned()
}
