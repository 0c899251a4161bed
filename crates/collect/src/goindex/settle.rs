//! What all versions of a repository together decide: which `+incompatible` ones the go command
//! lists, and what the newest go.mod of each module says of the others.

use std::collections::{BTreeMap, HashSet};

use db::{Db, Timestamp, Tx};
use engine::RunError;
use scan::go::{GoMod, latest, visible_incompatible};
use store::goindex::{self, IncompatibleVersion, ModuleChange, OwnVersion};

/// What has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    modules: Vec<ModuleChange>,
    hidden: Vec<IncompatibleVersion>,
}

impl Changes {
    pub(super) async fn write(&self, tx: &mut Tx, now: Timestamp) -> Result<(), RunError> {
        Ok(goindex::settle(tx, &self.modules, &self.hidden, now).await?)
    }

    /// The same in pieces that fit into a transaction each, with room for what comes along. Each
    /// retraction stands for itself, so that nobody can tell that they came in pieces.
    pub(super) fn pieces(self) -> Vec<Self> {
        const MOST: usize = store::MAX_ROWS / 2;
        let mut pieces = vec![Self::default()];
        let mut left = MOST;
        for module in self.modules {
            let mut retractions = module.retractions.into_iter().peekable();
            loop {
                if left < 2 {
                    pieces.push(Self::default());
                    left = MOST;
                }
                let part: Vec<_> = retractions.by_ref().take(left - 1).collect();
                left -= 1 + part.len();
                if let Some(piece) = pieces.last_mut() {
                    piece.modules.push(ModuleChange {
                        path: module.path.clone(),
                        latest: module.latest.clone(),
                        deprecated: module.deprecated.clone(),
                        retractions: part,
                    });
                }
                if retractions.peek().is_none() {
                    break;
                }
            }
        }
        for hidden in self.hidden.chunks(MOST) {
            if hidden.len() > left {
                pieces.push(Self::default());
                left = MOST;
            }
            left -= hidden.len();
            if let Some(piece) = pieces.last_mut() {
                piece.hidden = hidden.to_vec();
            }
        }
        pieces
    }
}

/// Looks at all versions that the repository has. Its unit is the only one that writes them.
pub(super) async fn changes(db: &Db, repository: i64) -> Result<Changes, RunError> {
    let versions = goindex::own_versions(db, repository).await?;
    let mut by_path: BTreeMap<&str, Vec<&OwnVersion>> = BTreeMap::new();
    for version in &versions {
        by_path.entry(&version.path).or_default().push(version);
    }
    let mut modules = Vec::new();
    for (path, versions) in by_path {
        modules.push(module(db, path, &versions).await?);
    }
    Ok(Changes {
        modules,
        hidden: hidden(db, repository, &versions).await?,
    })
}

async fn module(db: &Db, path: &str, versions: &[&OwnVersion]) -> Result<ModuleChange, RunError> {
    // Tags that are gone speak for the module only if there are no others.
    let here: Vec<&str> = versions
        .iter()
        .filter(|one| !one.gone)
        .map(|one| one.version.as_str())
        .collect();
    let all = || versions.iter().map(|one| one.version.as_str());
    let newest = latest(here).or_else(|| latest(all())).unwrap_or_default();
    let id = versions
        .iter()
        .find(|one| one.version == newest)
        .and_then(|one| one.go_mod.as_deref());
    let file = match id {
        Some(id) => {
            let mut kept = goindex::contents(db, &[id]).await?;
            kept.remove(id).and_then(|body| GoMod::read(&body).ok())
        }
        None => None,
    };
    let retracted = |version: &str| {
        let found = file.as_ref().and_then(|file| file.retraction_of(version));
        found.map(|retraction| retraction.rationale.clone())
    };
    let retractions = versions
        .iter()
        .map(|one| (one, retracted(&one.version)))
        .filter(|(one, retracted)| one.retracted != *retracted)
        .map(|(one, retracted)| (one.version.clone(), retracted));
    Ok(ModuleChange {
        path: path.to_owned(),
        latest: newest.to_owned(),
        retractions: retractions.collect(),
        deprecated: file.as_ref().and_then(|file| file.deprecated.clone()),
    })
}

async fn hidden(
    db: &Db,
    repository: i64,
    versions: &[OwnVersion],
) -> Result<Vec<IncompatibleVersion>, RunError> {
    let incompatible: Vec<&OwnVersion> = versions
        .iter()
        .filter(|one| one.version.ends_with("+incompatible"))
        .collect();
    if incompatible.is_empty() {
        return Ok(Vec::new());
    }
    let tags = goindex::top_tags(db, repository).await?;
    let tagged: Vec<(&str, bool)> = tags
        .iter()
        .map(|tag| (tag.name.as_str(), tag.go_mod))
        .collect();
    let visible: HashSet<&str> = visible_incompatible(&tagged).into_iter().collect();
    let changed = incompatible.into_iter().filter_map(|one| {
        let hidden = !visible.contains(one.tag.as_str());
        (hidden != one.hidden).then(|| IncompatibleVersion {
            path: one.path.clone(),
            version: one.version.clone(),
            hidden,
        })
    });
    Ok(changed.collect())
}
