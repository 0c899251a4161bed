//! Questions to a generation.

use std::str::FromStr as _;

use pep440_rs::Version;
use serde::Serialize;

use super::{
    DatasetError, Generation,
    record::{FileRecord, Versions, from_value, key, normalised, second},
};

/// A project that has a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provider {
    /// The project, normalised.
    pub project: String,
    /// The versions that have it, the newest last.
    pub versions: Vec<String>,
    /// Those whose files are all yanked.
    pub yanked: Vec<String>,
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectFile {
    /// The project, normalised.
    pub project: String,
    /// Its name.
    pub filename: String,
    /// What is known of it.
    #[serde(flatten)]
    pub record: FileRecord,
}

impl Generation {
    /// The projects that have a module of this name, at most `limit` of them.
    pub fn module(&self, name: &str, limit: usize) -> Result<Vec<Provider>, DatasetError> {
        let found = self.datasets.modules.prefix(&key(name, ""), None, limit)?;
        found
            .iter()
            .map(|(key, value)| provider(key, value))
            .collect()
    }

    /// Import names that begin so.
    pub fn modules_like(&self, prefix: &str, limit: usize) -> Vec<String> {
        self.datasets.modules.names(prefix, limit)
    }

    /// Import names that are spelled much like this one, the nearest first.
    pub fn similar_modules(&self, name: &str, limit: usize) -> Result<Vec<String>, DatasetError> {
        let modules = &self.datasets.modules;
        let mut found = modules.similar(name, 1, limit)?;
        if name.len() >= 5 && found.len() < limit {
            let nearest = found.clone();
            let further = modules.similar(name, 2, limit)?.into_iter();
            found.extend(further.filter(|name| !nearest.contains(name)));
            found.truncate(limit);
        }
        Ok(found)
    }

    /// The files of a project, of one version if told, the newest version last.
    pub fn files(
        &self,
        project: &str,
        version: Option<&str>,
    ) -> Result<Vec<ProjectFile>, DatasetError> {
        let Some(project) = normalised(project) else {
            return Ok(Vec::new());
        };
        let found = self
            .datasets
            .depgraph
            .prefix(&key(&project, ""), None, usize::MAX)?;
        let mut files = Vec::new();
        let wanted = version.map(Order::of);
        for (key, value) in found {
            let record: FileRecord = from_value(&value)?;
            if wanted
                .as_ref()
                .is_none_or(|wanted| *wanted == Order::of(&record.version))
            {
                files.push(ProjectFile {
                    project: project.clone(),
                    filename: second(&key)?.to_owned(),
                    record,
                });
            }
        }
        files.sort_by_cached_key(|file| (Order::of(&file.record.version), file.filename.clone()));
        Ok(files)
    }

    /// The projects with a version that requires this one, at most `limit` of them in the order of
    /// their names, behind `after`.
    pub fn dependents(
        &self,
        project: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Provider>, DatasetError> {
        let Some(project) = normalised(project) else {
            return Ok(Vec::new());
        };
        let after = after.map(|after| key(&project, after));
        let found = self
            .datasets
            .dependents
            .prefix(&key(&project, ""), after.as_deref(), limit)?;
        found
            .iter()
            .map(|(key, value)| provider(key, value))
            .collect()
    }

    /// Whether the project has a file.
    pub fn has_project(&self, project: &str) -> Result<bool, DatasetError> {
        let Some(project) = normalised(project) else {
            return Ok(false);
        };
        let found = self.datasets.depgraph.prefix(&key(&project, ""), None, 1)?;
        Ok(!found.is_empty())
    }
}

fn provider(key: &[u8], value: &[u8]) -> Result<Provider, DatasetError> {
    let Versions { versions, yanked } = from_value(value)?;
    let sorted = |versions: std::collections::BTreeSet<String>| {
        let mut versions: Vec<String> = versions.into_iter().collect();
        versions.sort_by_cached_key(|version| Order::of(version));
        versions
    };
    Ok(Provider {
        project: second(key)?.to_owned(),
        versions: sorted(versions),
        yanked: sorted(yanked),
    })
}

/// How versions are ordered: those that are none by the rules come first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Other(String),
    Proper(Version),
}

impl Order {
    fn of(version: &str) -> Self {
        match Version::from_str(version) {
            Ok(version) => Self::Proper(version),
            Err(_) => Self::Other(version.to_owned()),
        }
    }
}
