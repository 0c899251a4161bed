//! What one file cannot say but another file of the same tree can.

use std::collections::HashMap;

use super::{Intent, Manifest, file_name, parent};

/// How far a chain of parents is followed.
const MAX_PARENTS: usize = 16;

/// What a manifest inherits, and what others may inherit from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hints {
    pub(super) inherits_version: bool,
    pub(super) inherits_repository: bool,
    pub(super) inherits_publish: bool,
    pub(super) cargo_workspace: Option<CargoWorkspace>,
    pub(super) maven: Option<Box<Maven>>,
    pub(super) python: Option<Python>,
    pub(super) gradle: Option<Gradle>,
}

/// The values of `[workspace.package]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CargoWorkspace {
    pub(super) version: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) refusal: Option<&'static str>,
}

/// Which of Python's three files it is; the first that names the package decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Python {
    Project,
    SetupCfg,
    SetupPy,
}

/// What Gradle's files say about artifacts that are named after the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gradle {
    Build {
        /// The group of a build that publishes and leaves the artifact's name to the default.
        group: Option<String>,
    },
    Settings {
        /// The name of the root project.
        root_name: Option<String>,
    },
}

/// The coordinates of a `pom.xml` as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Maven {
    pub(super) group: Option<String>,
    pub(super) artifact: Option<String>,
    pub(super) version: Option<String>,
    pub(super) properties: Vec<(String, String)>,
    pub(super) parent: Option<MavenParent>,
}

/// A reference to a parent `pom.xml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MavenParent {
    pub(super) group: Option<String>,
    pub(super) artifact: Option<String>,
    pub(super) version: Option<String>,
    pub(super) relative_path: String,
}

/// Fills in names, versions and intents that are inherited within one tree.
///
/// `tree` holds every manifest of one commit with its path. Values a file declares itself are never
/// replaced.
pub fn resolve(tree: &mut [(String, Manifest)]) {
    cargo_workspaces(tree);
    python_siblings(tree);
    maven_parents(tree);
    gradle_builds(tree);
}

fn cargo_workspaces(tree: &mut [(String, Manifest)]) {
    let workspaces: HashMap<String, CargoWorkspace> = tree
        .iter()
        .filter_map(|(path, manifest)| {
            let workspace = manifest.hints.cargo_workspace.clone()?;
            Some((parent(path)?.to_owned(), workspace))
        })
        .collect();
    for (path, manifest) in tree.iter_mut() {
        let hints = &manifest.hints;
        if !(hints.inherits_version || hints.inherits_repository || hints.inherits_publish) {
            continue;
        }
        let Some(workspace) = ancestors(path).find_map(|directory| workspaces.get(directory))
        else {
            continue;
        };
        if manifest.hints.inherits_version {
            manifest.version.clone_from(&workspace.version);
        }
        if manifest.hints.inherits_repository {
            manifest.repository.clone_from(&workspace.repository);
        }
        if manifest.hints.inherits_publish && manifest.intent == Intent::Unknown {
            if let Some(reason) = workspace.refusal {
                manifest.deny(reason);
            } else {
                manifest.intent = Intent::Yes;
                manifest.reason = None;
            }
        }
    }
}

/// `pyproject.toml`, `setup.cfg` and `setup.py` in one directory describe one package.
fn python_siblings(tree: &mut [(String, Manifest)]) {
    let mut directories: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, (path, manifest)) in tree.iter().enumerate() {
        if manifest.hints.python.is_some()
            && let Some(directory) = parent(path)
        {
            directories
                .entry(directory.to_owned())
                .or_default()
                .push(index);
        }
    }
    for mut siblings in directories.into_values() {
        siblings.sort_by_key(|index| tree[*index].1.hints.python);
        let Some(named) = siblings
            .iter()
            .copied()
            .find(|index| tree[*index].1.name.is_some())
        else {
            continue;
        };
        let (name, version) = (tree[named].1.name.clone(), tree[named].1.version.clone());
        let denied = siblings
            .iter()
            .copied()
            .find(|index| tree[*index].1.intent == Intent::Denied);
        let reason = denied.and_then(|index| tree[index].1.reason.clone());
        for index in siblings {
            let manifest = &mut tree[index].1;
            if manifest.name.is_none() {
                manifest.name.clone_from(&name);
                manifest.effective_name.clone_from(&name);
                manifest.version = manifest.version.take().or_else(|| version.clone());
                manifest.intent = Intent::Yes;
                manifest.reason = None;
            }
            if denied.is_some() {
                manifest.intent = Intent::Denied;
                manifest.reason.clone_from(&reason);
            }
        }
    }
}

/// Groups, versions and properties that come from a parent in the tree.
fn maven_parents(tree: &mut [(String, Manifest)]) {
    let poms: HashMap<String, Maven> = tree
        .iter()
        .filter_map(|(path, manifest)| {
            Some((path.clone(), manifest.hints.maven.as_deref()?.clone()))
        })
        .collect();
    for (path, manifest) in tree.iter_mut() {
        let Some(maven) = manifest.hints.maven.as_deref() else {
            continue;
        };
        let chain = parents(&poms, path, maven);
        let property = |name: &str| chain.iter().find_map(|pom| pom.property(name));
        if manifest.name.is_none() && maven.artifact.is_some() {
            manifest.name = maven.name(&property).and_then(super::text::sound_name);
            manifest.effective_name.clone_from(&manifest.name);
        }
        if manifest.version.is_none() {
            manifest.version = maven.version(&property).and_then(super::text::sound_name);
        }
        // Whatever skips deployment in a parent skips it here, unless it is set again.
        let skips = std::iter::once(maven)
            .chain(chain.iter().copied())
            .find_map(|pom| pom.property("maven.deploy.skip"));
        if manifest.intent == Intent::Yes && skips == Some("true") {
            manifest.deny("maven.deploy.skip");
        }
    }
}

/// The parents of a pom that are in the tree, nearest first.
fn parents<'m>(poms: &'m HashMap<String, Maven>, path: &str, maven: &'m Maven) -> Vec<&'m Maven> {
    let mut chain = Vec::new();
    let mut place = path.to_owned();
    let mut reference = maven.parent.as_ref();
    while let Some(wanted) = reference {
        if wanted.relative_path.is_empty() || chain.len() >= MAX_PARENTS {
            break;
        }
        let Some(target) = join(parent(&place).unwrap_or_default(), &wanted.relative_path) else {
            break;
        };
        let nested = if target.is_empty() {
            "pom.xml".to_owned()
        } else {
            format!("{target}/pom.xml")
        };
        let Some((found, pom)) = poms
            .get_key_value(&target)
            .or_else(|| poms.get_key_value(&nested))
        else {
            break;
        };
        // The pom next door counts only if it is the one that is meant.
        if pom.artifact != wanted.artifact {
            break;
        }
        chain.push(pom);
        place.clone_from(found);
        reference = pom.parent.as_ref();
    }
    chain
}

/// The effective name of an artifact that is called after its build or directory.
fn gradle_builds(tree: &mut [(String, Manifest)]) {
    let settings: HashMap<String, Option<String>> = tree
        .iter()
        .filter_map(|(path, manifest)| match &manifest.hints.gradle {
            Some(Gradle::Settings { root_name }) => {
                Some((parent(path)?.to_owned(), root_name.clone()))
            }
            _ => None,
        })
        .collect();
    for (path, manifest) in tree.iter_mut() {
        let Some(Gradle::Build { group: Some(group) }) = &manifest.hints.gradle else {
            continue;
        };
        let directory = parent(path).unwrap_or_default();
        let artifact = match settings.get(directory) {
            Some(root) => root.clone(),
            None if ancestors(path).any(|above| settings.contains_key(above)) => {
                Some(file_name(directory).to_owned())
            }
            None => None,
        };
        if manifest.effective_name.is_none() {
            manifest.effective_name = artifact.map(|artifact| format!("{group}:{artifact}"));
        }
    }
}

impl Maven {
    /// `group:artifact`; `inherited` gives what parents in the tree define.
    pub(super) fn name<'m>(
        &'m self,
        inherited: &dyn Fn(&str) -> Option<&'m str>,
    ) -> Option<String> {
        let parent = self
            .parent
            .as_ref()
            .and_then(|parent| parent.group.as_deref());
        let group = self.expand(self.group.as_deref().or(parent)?, inherited, 0)?;
        let artifact = self.expand(self.artifact.as_deref()?, inherited, 0)?;
        Some(format!("{group}:{artifact}"))
    }

    pub(super) fn version<'m>(
        &'m self,
        inherited: &dyn Fn(&str) -> Option<&'m str>,
    ) -> Option<String> {
        let parent = self
            .parent
            .as_ref()
            .and_then(|parent| parent.version.as_deref());
        self.expand(self.version.as_deref().or(parent)?, inherited, 0)
    }

    pub(super) fn skips_deployment(&self) -> bool {
        self.property("maven.deploy.skip") == Some("true")
    }

    fn property(&self, name: &str) -> Option<&str> {
        let parent = self.parent.as_ref();
        match name
            .strip_prefix("project.")
            .or_else(|| name.strip_prefix("pom."))
            .unwrap_or(name)
        {
            "groupId" => self
                .group
                .as_deref()
                .or_else(|| parent.and_then(|parent| parent.group.as_deref())),
            "artifactId" => self.artifact.as_deref(),
            "version" => self
                .version
                .as_deref()
                .or_else(|| parent.and_then(|parent| parent.version.as_deref())),
            "parent.groupId" => parent.and_then(|parent| parent.group.as_deref()),
            "parent.artifactId" => parent.and_then(|parent| parent.artifact.as_deref()),
            "parent.version" => parent.and_then(|parent| parent.version.as_deref()),
            _ => {
                let mut found = self.properties.iter().filter(|(key, _)| key == name);
                found.next_back().map(|(_, value)| value.as_str())
            }
        }
    }

    /// Replaces `${…}` by properties, own ones first.
    fn expand<'m>(
        &'m self,
        text: &str,
        inherited: &dyn Fn(&str) -> Option<&'m str>,
        depth: usize,
    ) -> Option<String> {
        let Some((before, rest)) = text.split_once("${") else {
            return Some(text.to_owned());
        };
        if depth > 8 || text.len() > 512 {
            return None;
        }
        let (name, after) = rest.split_once('}')?;
        let value = self.property(name).or_else(|| inherited(name))?;
        let value = self.expand(value, inherited, depth + 1)?;
        let expanded = format!(
            "{before}{value}{}",
            self.expand(after, inherited, depth + 1)?
        );
        (expanded.len() <= 512).then_some(expanded)
    }
}

/// The directories above a path, nearest first, ending with the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |directory| parent(directory))
}

/// A path relative to a directory, without `.` and `..`; nothing if it leaves the tree.
fn join(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in relative.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
