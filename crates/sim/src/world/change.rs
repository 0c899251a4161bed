//! What can happen to a world while it runs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Forge, OwnerKind, Presence, generate};

/// One event on a forge. `repository` is a path, present or former, or an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Change {
    /// Another name under the same owner; the old path leads on.
    Rename { repository: String, name: String },
    /// Another owner; the old path leads on.
    Transfer { repository: String, owner: String },
    /// Every repository of the owner moves along, sub-groups too.
    RenameOwner { owner: String, name: String },
    /// Read-only from now on.
    Archive { repository: String },
    /// Writable again.
    Unarchive { repository: String },
    /// Gone; the path is free.
    Delete { repository: String },
    /// The owner had it restored, under its id.
    Restore { repository: String },
    /// Taken down for legal reasons.
    Block { repository: String },
    /// Put back after a take-down.
    Unblock { repository: String },
    /// Hidden from all but tokens that may see it.
    Hide { repository: String },
    /// Public again.
    Publish { repository: String },
    /// A push to the default branch.
    Push { repository: String },
    /// Its releases are taken back.
    Retract { repository: String },
    /// And are there again.
    Release { repository: String },
    /// Its packages are taken out of the forge's own registry, images excepted.
    Unpackage { repository: String },
    /// And are there again.
    Package { repository: String },
    /// Another default branch.
    DefaultBranch { repository: String, branch: String },
    /// A new owner.
    AddOwner { owner: String, kind: OwnerKind },
    /// A new, public repository with a commit.
    Add { owner: String, name: String },
    /// Many of them.
    AddMany { owner: String, count: u32 },
}

/// Why a change was refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The world has no such forge.
    #[error("there is no forge {0}")]
    NoForge(String),
    /// The forge has no such repository.
    #[error("there is no repository {0}")]
    NoRepository(String),
    /// The forge has no such owner.
    #[error("there is no owner {0}")]
    NoOwner(String),
    /// Something else is there.
    #[error("{0} is taken")]
    Taken(String),
    /// No registry has or had such a package.
    #[error("there is no publication {0}")]
    NoPublication(String),
    /// The world has no such token.
    #[error("there is no token {0}")]
    NoToken(String),
}

impl Forge {
    pub(super) fn apply(&mut self, change: &Change, now: Timestamp) -> Result<(), ChangeError> {
        match change {
            Change::Rename { repository, name } => {
                let id = self.named(repository)?;
                let owner = self.owner_of(id);
                self.move_to(id, &owner, name, now)
            }
            Change::Transfer { repository, owner } => {
                let id = self.named(repository)?;
                let owner = self.known_owner(owner)?;
                let name = self.by_id(id).map(|found| found.name.clone());
                self.move_to(id, &owner, &name.unwrap_or_default(), now)
            }
            Change::RenameOwner { owner, name } => self.move_owner(owner, name, now),
            Change::Archive { repository } => {
                self.mark(repository, now, |found| found.archived = true)
            }
            Change::Unarchive { repository } => {
                self.mark(repository, now, |found| found.archived = false)
            }
            Change::Delete { repository } => {
                let id = self.named(repository)?;
                self.release(id);
                self.edit(id, |found| found.presence = Presence::Deleted);
                Ok(())
            }
            Change::Restore { repository } => self.restore(repository, now),
            Change::Block { repository } => {
                self.mark(repository, now, |found| found.presence = Presence::Blocked)
            }
            Change::Unblock { repository } => {
                self.mark(repository, now, |found| found.presence = Presence::Here)
            }
            Change::Hide { repository } => self.mark(repository, now, |found| found.private = true),
            Change::Publish { repository } => {
                self.mark(repository, now, |found| found.private = false)
            }
            Change::Push { repository } => self.mark(repository, now, |found| {
                found.pushed_at = now;
                found.empty = false;
            }),
            Change::Retract { repository } => {
                self.mark(repository, now, |found| found.retracted = true)
            }
            Change::Release { repository } => {
                self.mark(repository, now, |found| found.retracted = false)
            }
            Change::Unpackage { repository } => {
                self.mark(repository, now, |found| found.unpackaged = true)
            }
            Change::Package { repository } => {
                self.mark(repository, now, |found| found.unpackaged = false)
            }
            Change::DefaultBranch { repository, branch } => self.mark(repository, now, |found| {
                branch.clone_into(&mut found.default_branch);
            }),
            Change::AddOwner { owner, kind } => {
                if self.owner(owner).is_some() {
                    return Err(ChangeError::Taken(owner.clone()));
                }
                let id = self.fresh_id();
                self.settle(owner, *kind, id);
                Ok(())
            }
            Change::Add { owner, name } => {
                let owner = self.known_owner(owner)?;
                self.must_be_free(&format!("{owner}/{name}"))?;
                let id = self.fresh_id();
                self.insert(generate::newborn(id, owner, name.clone(), now));
                Ok(())
            }
            Change::AddMany { owner, count } => {
                let owner = self.known_owner(owner)?;
                for _ in 0..*count {
                    let id = self.fresh_id();
                    self.insert(generate::newborn(
                        id,
                        owner.clone(),
                        format!("sprout-{id}"),
                        now,
                    ));
                }
                Ok(())
            }
        }
    }

    fn named(&self, repository: &str) -> Result<u64, ChangeError> {
        self.find(repository)
            .ok_or_else(|| ChangeError::NoRepository(repository.to_owned()))
    }

    fn known_owner(&self, owner: &str) -> Result<String, ChangeError> {
        self.owner(owner)
            .map(|found| found.path.clone())
            .ok_or_else(|| ChangeError::NoOwner(owner.to_owned()))
    }

    fn owner_of(&self, id: u64) -> String {
        self.by_id(id)
            .map(|found| found.owner.clone())
            .unwrap_or_default()
    }

    fn must_be_free(&self, path: &str) -> Result<(), ChangeError> {
        if self.is_free(path) {
            Ok(())
        } else {
            Err(ChangeError::Taken(path.to_owned()))
        }
    }

    fn mark(
        &mut self,
        repository: &str,
        now: Timestamp,
        change: impl FnOnce(&mut super::Repository),
    ) -> Result<(), ChangeError> {
        let id = self.named(repository)?;
        self.edit(id, |found| {
            change(found);
            found.updated_at = now;
        });
        Ok(())
    }

    fn move_to(
        &mut self,
        id: u64,
        owner: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<(), ChangeError> {
        self.must_be_free(&format!("{owner}/{name}"))?;
        self.relocate(id, owner, name);
        self.edit(id, |found| found.updated_at = now);
        Ok(())
    }

    fn move_owner(&mut self, owner: &str, name: &str, now: Timestamp) -> Result<(), ChangeError> {
        let from = self.known_owner(owner)?;
        if self.owner(name).is_some() {
            return Err(ChangeError::Taken(name.to_owned()));
        }
        let within = |path: &str| {
            path.strip_prefix(from.as_str())
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
                .map(|rest| format!("{name}{rest}"))
        };
        let owners: Vec<_> = self
            .owners()
            .filter_map(|found| Some((found.path.clone(), within(&found.path)?)))
            .collect();
        for (old, new) in owners {
            self.rename_owner(&old, &new);
        }
        let moves: Vec<_> = self
            .repositories()
            .filter_map(|found| Some((found.id, within(&found.owner)?, found.name.clone())))
            .collect();
        for (id, owner, name) in moves {
            self.relocate(id, &owner, &name);
            self.edit(id, |found| found.updated_at = now);
        }
        Ok(())
    }

    fn restore(&mut self, repository: &str, now: Timestamp) -> Result<(), ChangeError> {
        // The path of a deleted repository leads nowhere, so it is looked for by hand.
        let id = self
            .repositories()
            .find(|found| {
                found.presence == Presence::Deleted
                    && (found.path().eq_ignore_ascii_case(repository)
                        || found.id.to_string() == repository)
            })
            .map(|found| found.id)
            .ok_or_else(|| ChangeError::NoRepository(repository.to_owned()))?;
        let path = self.by_id(id).map(super::Repository::path);
        let path = path.unwrap_or_default();
        self.must_be_free(&path)?;
        self.claim(&path, id);
        self.edit(id, |found| {
            found.presence = Presence::Here;
            found.updated_at = now;
        });
        Ok(())
    }
}
