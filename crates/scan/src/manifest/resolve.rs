//! What one file cannot say but another file of the same tree can.

use std::collections::HashMap;

use super::{Intent, Manifest, parent};

/// What a manifest inherits, and what others may inherit from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hints {
    pub(super) inherits_version: bool,
    pub(super) inherits_repository: bool,
    pub(super) inherits_publish: bool,
    pub(super) cargo_workspace: Option<CargoWorkspace>,
}

/// The values of `[workspace.package]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CargoWorkspace {
    pub(super) version: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) refusal: Option<&'static str>,
}

/// Fills in names, versions and intents that are inherited within one tree.
///
/// `tree` holds every manifest of one commit with its path. Values a file declares itself are never
/// replaced.
pub fn resolve(tree: &mut [(String, Manifest)]) {
    cargo_workspaces(tree);
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
            match workspace.refusal {
                Some(reason) => manifest.deny(reason),
                None => {
                    manifest.intent = Intent::Yes;
                    manifest.reason = None;
                }
            }
        }
    }
}

/// The directories above a path, nearest first, ending with the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |directory| parent(directory))
}
