//! The rule files: their format, the shipped ones, and how included ones are found.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::Class;

/// The systems that are shipped.
const SHIPPED: [(&str, &str); 3] = [
    ("apache", include_str!("../../../rules/apache.toml")),
    ("lore", include_str!("../../../rules/lore.toml")),
    ("generic", include_str!("../../../rules/generic.toml")),
];

#[derive(Debug, Error)]
pub enum RulesError {
    #[error("there are no classification rules for the system '{0}'")]
    UnknownSystem(String),
    #[error("the classification rules of '{system}' cannot be read")]
    Syntax {
        system: String,
        #[source]
        source: Box<toml::de::Error>,
    },
    #[error("a pattern in the classification rules of '{system}' is wrong")]
    Pattern {
        system: String,
        #[source]
        source: Box<regex::Error>,
    },
    #[error("the classification rules of '{0}' include each other")]
    IncludeLoop(String),
}

/// One rule file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    pub(super) system: String,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default, rename = "rule")]
    pub(super) rules: Vec<Rule>,
    #[serde(default, rename = "capture")]
    pub(super) captures: Vec<Capture>,
}

/// One rule: every condition given must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) class: Option<Class>,
    /// `true`: an answer; `false`: neither answer nor forward.
    pub(super) reply: Option<bool>,
    /// Kinds of patch tags, see `mail::subject`.
    #[serde(default)]
    pub(super) tag: Vec<String>,
    #[serde(default)]
    pub(super) unless_tag: Vec<String>,
    /// A diff of the sender's own.
    pub(super) diff: Option<bool>,
    pub(super) in_patch_thread: Option<bool>,
    #[serde(default)]
    pub(super) subject: Patterns,
    /// The subject without leading `Re:` and the like.
    #[serde(default)]
    pub(super) topic: Patterns,
    #[serde(default)]
    pub(super) sender: Patterns,
    #[serde(default)]
    pub(super) list_id: Patterns,
    #[serde(default)]
    pub(super) list_address: Patterns,
    /// The list's id, or its address where there is none.
    #[serde(default)]
    pub(super) list: Patterns,
    #[serde(default)]
    pub(super) body: Patterns,
    #[serde(default)]
    pub(super) header: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) unless_subject: Patterns,
    #[serde(default)]
    pub(super) unless_list: Patterns,
}

/// Captures taken from mail of certain classes after the rule has decided; they fill what the rule
/// itself did not capture.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    /// For the reader; captures are not reported by name.
    #[serde(rename = "name")]
    _name: String,
    /// Empty means all.
    #[serde(default)]
    pub(super) classes: Vec<Class>,
    #[serde(default)]
    pub(super) subject: Patterns,
    #[serde(default)]
    pub(super) body: Patterns,
    #[serde(default)]
    pub(super) header: BTreeMap<String, String>,
    /// Finds that match this are passed over.
    pub(super) except: Option<String>,
}

/// One pattern or several, of which any may match.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Patterns {
    #[default]
    None,
    One(String),
    Any(Vec<String>),
}

impl Patterns {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(pattern) => std::slice::from_ref(pattern),
            Self::Any(patterns) => patterns,
        }
    }
}

/// The file of a system followed by those it includes. `overrides` maps systems to TOML text and
/// comes before the shipped files.
pub(super) fn load(
    system: &str,
    overrides: &BTreeMap<String, String>,
) -> Result<Vec<RuleFile>, RulesError> {
    let mut files: Vec<RuleFile> = Vec::new();
    let mut wanted = vec![system.to_owned()];
    while let Some(name) = wanted.pop() {
        if files.iter().any(|file| file.system == name) {
            return Err(RulesError::IncludeLoop(name));
        }
        let text = overrides
            .get(&name)
            .map(String::as_str)
            .or_else(|| shipped(&name))
            .ok_or_else(|| RulesError::UnknownSystem(name.clone()))?;
        let mut file: RuleFile = toml::from_str(text).map_err(|source| RulesError::Syntax {
            system: name.clone(),
            source: Box::new(source),
        })?;
        file.system = name;
        wanted.extend(file.include.iter().rev().cloned());
        files.push(file);
    }
    Ok(files)
}

fn shipped(system: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|(name, _)| *name == system)
        .map(|(_, text)| *text)
}
