//! One forge's repositories and owners, with the names they had before.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;

use super::{
    ChangeError, File, Issue, Owner, OwnerKind, Person, Presence, Repository, Tree, files,
};

/// Which software a forge runs, as far as the world must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// Owners are flat.
    Flat,
    /// Groups nest.
    Nested,
}

/// A forge. Paths are compared without regard to case, as all three do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    pub(super) kind: ForgeKind,
    repositories: BTreeMap<u64, Repository>,
    /// By lower-case path.
    owners: BTreeMap<String, Owner>,
    /// Lower-case path to id, for those that are there.
    paths: HashMap<String, u64>,
    /// Former lower-case paths; one that is taken again no longer leads on.
    moved: HashMap<String, u64>,
    /// Files that somebody put there, in place of those that follow from the repository.
    planted: HashMap<u64, Arc<Tree>>,
    /// Issues and pull requests, by repository.
    issues: HashMap<u64, Vec<Issue>>,
    people: Vec<Person>,
    next_id: u64,
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) enum Lookup<'a> {
    Here(&'a Repository),
    Moved(&'a Repository),
    Nothing,
}

impl Forge {
    pub(super) fn new(kind: ForgeKind) -> Self {
        Self {
            kind,
            repositories: BTreeMap::new(),
            owners: BTreeMap::new(),
            paths: HashMap::new(),
            moved: HashMap::new(),
            planted: HashMap::new(),
            issues: HashMap::new(),
            people: Vec::new(),
            next_id: 500_000_000,
        }
    }

    /// Every repository that ever was, by id.
    pub fn repositories(&self) -> impl DoubleEndedIterator<Item = &Repository> {
        self.repositories.values()
    }

    /// Every owner, by path.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.owners.values()
    }

    /// The repository with this number, whatever became of it.
    pub fn by_id(&self, id: u64) -> Option<&Repository> {
        self.repositories.get(&id)
    }

    /// The owner of this name.
    pub fn owner(&self, path: &str) -> Option<&Owner> {
        self.owners.get(&path.to_lowercase())
    }

    pub(crate) fn owner_by_id(&self, id: u64) -> Option<&Owner> {
        self.owners.values().find(|owner| owner.id == id)
    }

    /// Where a path leads now.
    pub(crate) fn look_up(&self, path: &str) -> Lookup<'_> {
        let path = path.to_lowercase();
        let found = |ids: &HashMap<String, u64>| ids.get(&path).and_then(|id| self.by_id(*id));
        if let Some(repository) = found(&self.paths) {
            return Lookup::Here(repository);
        }
        match found(&self.moved) {
            Some(repository) if repository.presence != Presence::Deleted => {
                Lookup::Moved(repository)
            }
            _ => Lookup::Nothing,
        }
    }

    /// The files of a repository.
    pub(crate) fn tree(&self, repository: &Repository) -> Arc<Tree> {
        match self.planted.get(&repository.id) {
            Some(planted) if !repository.empty => Arc::clone(planted),
            _ => Arc::new(Tree::of(files(repository))),
        }
    }

    pub(super) fn plant(
        &mut self,
        named: &str,
        mut planted: Vec<File>,
        now: Timestamp,
    ) -> Result<(), ChangeError> {
        let id = self
            .find(named)
            .ok_or_else(|| ChangeError::NoRepository(named.to_owned()))?;
        planted.sort_by(|a, b| a.path.cmp(&b.path));
        self.planted.insert(id, Arc::new(Tree::of(planted)));
        self.edit(id, |found| {
            (found.pushed_at, found.updated_at, found.empty) = (now, now, false);
        });
        Ok(())
    }

    /// The issues and pull requests of a repository.
    pub(crate) fn issues(&self, repository: &Repository) -> &[Issue] {
        self.issues
            .get(&repository.id)
            .map_or(&[], |issues| issues.as_slice())
    }

    /// Everybody with an account of whom more is known than their name.
    pub(crate) fn people(&self) -> &[Person] {
        &self.people
    }

    pub(super) fn report(&mut self, named: &str, issues: Vec<Issue>) -> Result<(), ChangeError> {
        let id = self
            .find(named)
            .ok_or_else(|| ChangeError::NoRepository(named.to_owned()))?;
        self.issues.insert(id, issues);
        Ok(())
    }

    pub(super) fn join(&mut self, person: Person) {
        self.people.push(person);
    }

    /// Takes planted files away again, so that a repository has those that follow from it.
    pub(super) fn unplant(&mut self, id: u64, now: Timestamp) {
        if self.planted.remove(&id).is_some() {
            self.edit(id, |found| (found.pushed_at, found.updated_at) = (now, now));
        }
    }

    pub(super) fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn settle(&mut self, path: &str, kind: OwnerKind, id: u64) {
        self.owners
            .entry(path.to_lowercase())
            .or_insert_with(|| Owner {
                id,
                path: path.to_owned(),
                kind,
            });
    }

    pub(super) fn is_free(&self, path: &str) -> bool {
        !self.paths.contains_key(&path.to_lowercase())
    }

    pub(super) fn insert(&mut self, repository: Repository) {
        if repository.presence != Presence::Deleted {
            self.claim(&repository.path(), repository.id);
        }
        self.repositories.insert(repository.id, repository);
    }

    /// Lets a former path lead to `id`.
    pub(super) fn remember(&mut self, former: &str, id: u64) {
        self.moved.insert(former.to_lowercase(), id);
    }

    /// The id behind a path, present or former, or a number written out.
    pub(super) fn find(&self, named: &str) -> Option<u64> {
        if let Ok(id) = named.parse::<u64>() {
            return self.by_id(id).map(|repository| repository.id);
        }
        match self.look_up(named) {
            Lookup::Here(repository) | Lookup::Moved(repository) => Some(repository.id),
            Lookup::Nothing => None,
        }
    }

    /// Changes a repository in place, but not its path.
    pub(super) fn edit(&mut self, id: u64, change: impl FnOnce(&mut Repository)) {
        if let Some(repository) = self.repositories.get_mut(&id) {
            change(repository);
        }
    }

    /// Gives a repository another path; the old one leads on.
    pub(super) fn relocate(&mut self, id: u64, owner: &str, name: &str) {
        let Some(repository) = self.repositories.get_mut(&id) else {
            return;
        };
        let former = repository.path().to_lowercase();
        owner.clone_into(&mut repository.owner);
        name.clone_into(&mut repository.name);
        let path = repository.path();
        if self.paths.get(&former) == Some(&id) {
            self.paths.remove(&former);
            self.moved.insert(former, id);
            self.claim(&path, id);
        }
    }

    /// Frees the path of a deleted repository.
    pub(super) fn release(&mut self, id: u64) {
        self.paths.retain(|_, held| *held != id);
    }

    pub(super) fn claim(&mut self, path: &str, id: u64) {
        let path = path.to_lowercase();
        self.moved.remove(&path);
        self.paths.insert(path, id);
    }

    pub(super) fn rename_owner(&mut self, from: &str, to: &str) {
        if let Some(mut owner) = self.owners.remove(&from.to_lowercase()) {
            to.clone_into(&mut owner.path);
            self.owners.insert(to.to_lowercase(), owner);
        }
    }
}
