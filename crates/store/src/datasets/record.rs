//! What stands under the keys.
//!
//! | dataset | key | value |
//! |---|---|---|
//! | `depgraph` | project NUL filename | [`FileRecord`] |
//! | `modules` | import name NUL project | [`Versions`] that have it |
//! | `dependents` | project NUL project that requires it | [`Versions`] that do |
//!
//! Values are JSON with fields in a fixed order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::DatasetError;
use crate::dumps::DumpRow;

/// One file of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The version.
    pub version: String,
    /// `wheel`, `egg`, `sdist`, `installer` or `other`.
    pub dist_type: String,
    /// In hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// In bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// The versions of Python that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_python: Option<String>,
    /// Why it was yanked, empty without a reason; none for a file that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
    /// `ok`, `refused`, or `not-yet`: only after the first its requirements and modules are known.
    pub extracted: String,
    /// As they stand in the metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires_dist: Vec<String>,
    /// The extras that it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
    /// `python-abi-platform`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What a user would import.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub import_names: Vec<String>,
    /// All that can be imported, dotted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
}

/// Versions of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Those with a file that is not yanked, in the order of their bytes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub versions: BTreeSet<String>,
    /// Those whose files are all yanked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub yanked: BTreeSet<String>,
}

impl From<DumpRow> for FileRecord {
    fn from(row: DumpRow) -> Self {
        Self {
            version: row.version,
            dist_type: row.dist_type,
            sha256: row.sha256,
            size: row.size,
            requires_python: row.requires_python,
            yanked: row.yanked,
            extracted: row.extracted,
            requires_dist: row.requires_dist,
            extras: row.extras,
            tags: row.tags,
            import_names: row.import_names,
            modules: row.modules,
        }
    }
}

impl Versions {
    fn add(&mut self, record: &FileRecord) {
        let version = &record.version;
        if record.yanked.is_none() {
            self.yanked.remove(version);
            self.versions.insert(version.clone());
        } else if !self.versions.contains(version) {
            self.yanked.insert(version.clone());
        }
    }
}

/// What the files of one project add to the other datasets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// By import name.
    pub(super) modules: BTreeMap<String, Versions>,
    /// By the project that is required.
    pub(super) requires: BTreeMap<String, Versions>,
}

impl Added {
    pub(super) fn by<'r>(records: impl Iterator<Item = &'r FileRecord>) -> Self {
        let mut added = Self::default();
        for record in records {
            let names = record.modules.iter().chain(&record.import_names);
            for name in names.filter(|name| can_be_key(name)) {
                add(&mut added.modules, name, record);
            }
            for requirement in &record.requires_dist {
                if let Some(name) = required_project(requirement) {
                    add(&mut added.requires, &name, record);
                }
            }
        }
        added
    }
}

fn add(all: &mut BTreeMap<String, Versions>, name: &str, record: &FileRecord) {
    if let Some(versions) = all.get_mut(name) {
        versions.add(record);
    } else {
        let mut versions = Versions::default();
        versions.add(record);
        all.insert(name.to_owned(), versions);
    }
}

/// The project that a requirement names, normalised; none if it begins with no name.
pub fn required_project(requirement: &str) -> Option<String> {
    let text = requirement.trim_start();
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let end = text.find(|c| !part_of_name(c)).unwrap_or(text.len());
    normalised(&text[..end])
}

/// A project's name as indexes compare it: lower case, runs of `.`, `_` and `-` as one hyphen.
pub fn normalised(name: &str) -> Option<String> {
    let name = name.trim();
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '.' | '_' | '-' => {
                if !out.ends_with('-') {
                    out.push('-');
                }
            }
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ => return None,
        }
    }
    let out = out.trim_matches('-');
    (!out.is_empty()).then(|| out.to_owned())
}

/// The key of two names.
pub(super) fn key(first: &str, second: &str) -> Vec<u8> {
    [first.as_bytes(), &[0], second.as_bytes()].concat()
}

/// The second name of a key.
pub(super) fn second(key: &[u8]) -> Result<&str, DatasetError> {
    let at = key.iter().position(|byte| *byte == 0);
    let name = at.and_then(|at| std::str::from_utf8(&key[at + 1..]).ok());
    name.ok_or_else(|| DatasetError::Corrupt("a key has no second name".to_owned()))
}

/// The first name of a key, as it is compared.
pub(super) fn first(key: &[u8]) -> &[u8] {
    key.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Whether a name can be the first of a key.
pub(super) fn can_be_key(name: &str) -> bool {
    !name.is_empty() && !name.contains('\0')
}

pub(super) fn to_value(value: &impl Serialize) -> Result<Vec<u8>, DatasetError> {
    serde_json::to_vec(value).map_err(|error| DatasetError::Corrupt(error.to_string()))
}

pub(super) fn from_value<'v, T: Deserialize<'v>>(value: &'v [u8]) -> Result<T, DatasetError> {
    serde_json::from_slice(value).map_err(|error| DatasetError::Corrupt(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_name_projects() {
        for (text, name) in [
            ("requests", Some("requests")),
            ("zope.interface (>=4.0)", Some("zope-interface")),
            ("PyYAML[full]>=5; extra == 'x'", Some("pyyaml")),
            (" a__b--c~=1", Some("a-b-c")),
            ("foo @ https://example.org/foo.zip", Some("foo")),
            ("#objectpath>=0.5", None),
            ("", None),
        ] {
            assert_eq!(required_project(text).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn a_version_is_yanked_when_all_its_files_are() {
        let file = |version: &str, yanked: bool| FileRecord {
            version: version.to_owned(),
            yanked: yanked.then(String::new),
            modules: vec!["m".to_owned()],
            ..FileRecord::default()
        };
        let files = [file("1", true), file("1", false), file("2", true)];
        for files in [
            files.clone(),
            [files[1].clone(), files[0].clone(), files[2].clone()],
        ] {
            let added = Added::by(files.iter());
            let versions = &added.modules["m"];
            assert!(versions.versions.iter().eq(["1"]));
            assert!(versions.yanked.iter().eq(["2"]));
        }
    }
}
