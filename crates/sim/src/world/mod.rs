//! The ground truth: what exists in the world, and what becomes of it.
//!
//! A world is made from a seed and a size, is the same for the same pair, and
//! changes only by [`World::apply`], at once, and [`World::schedule`], at a world
//! time. A scheduled change happens when the world is next looked at, and bears
//! the time it was scheduled for.

mod change;
mod declared;
mod files;
mod forge;
mod generate;
mod issues;
mod later;
mod licenses;
mod origin;
mod packages;
mod publication;
mod releases;
mod repository;
mod token;
mod tree;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

pub use {
    change::{Change, ChangeError},
    declared::{Declared, declared},
    files::{File, files},
    forge::{Forge, ForgeKind},
    generate::{EPOCH, ORGANISATION},
    issues::{Issue, Person},
    later::Turn,
    packages::{Packaged, packages},
    publication::{Fate, Publication, Registration, Registries, Version},
    releases::{Release, releases},
    repository::{Owner, OwnerKind, Presence, Repository},
    token::Token,
};
pub(crate) use {forge::Lookup, tree::Tree};

use crate::{clock::WorldClock, dice::fingerprint};

/// How much there is on each forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldSize {
    /// Repositories of many small owners, of every sort: archived, forked,
    /// renamed, private, empty, deleted, blocked.
    pub repositories: usize,
    /// Repositories in the one organisation called [`ORGANISATION`].
    pub organisation: usize,
}

/// A world. Doubles and tests share it.
#[derive(Debug)]
pub struct World {
    clock: WorldClock,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    forges: BTreeMap<String, Forge>,
    registries: Registries,
    tokens: Vec<Token>,
    /// Ordered by time; equal times in the order they were given.
    scheduled: VecDeque<(Timestamp, String, Change)>,
}

impl World {
    /// The world of this seed and size, with these forges.
    pub fn new(
        seed: u64,
        size: WorldSize,
        clock: WorldClock,
        forges: impl IntoIterator<Item = (String, ForgeKind)>,
    ) -> Self {
        let forges: BTreeMap<String, Forge> = forges
            .into_iter()
            .map(|(host, kind)| {
                let forge = generate::forge(seed, &host, kind, size);
                (host, forge)
            })
            .collect();
        Self {
            clock,
            seed,
            state: Mutex::new(State {
                registries: Registries::of(seed, &forges),
                forges,
                tokens: Vec::new(),
                scheduled: VecDeque::new(),
            }),
        }
    }

    /// The seed it grew from: parts of the world that are not stored derive
    /// themselves from it.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The world's time.
    pub fn clock(&self) -> &WorldClock {
        &self.clock
    }

    /// Lets something happen now.
    pub fn apply(&self, forge: &str, change: &Change) -> Result<(), ChangeError> {
        let now = self.clock.now();
        self.state().apply(forge, change, now)
    }

    /// Lets something happen at `at`. A change that turns out to be impossible
    /// then does not happen.
    pub fn schedule(&self, at: Timestamp, forge: &str, change: Change) {
        let mut state = self.state();
        let place = state.scheduled.partition_point(|(due, ..)| *due <= at);
        state
            .scheduled
            .insert(place, (at, forge.to_owned(), change));
    }

    /// Looks at a forge; `None` if the world has none of this name.
    pub fn look<T>(&self, forge: &str, look: impl FnOnce(&Forge) -> T) -> Option<T> {
        self.state().forges.get(forge).map(look)
    }

    /// Looks at all that is published.
    pub fn published<T>(&self, look: impl FnOnce(&Registries) -> T) -> T {
        look(&self.state().registries)
    }

    /// One publication by its name, whatever became of it.
    pub fn publication(&self, ecosystem: &str, package: &str) -> Option<Publication> {
        self.published(|all| all.get(ecosystem, package).cloned())
    }

    /// Lets something happen to a publication now.
    pub fn register(&self, change: &Registration) -> Result<(), ChangeError> {
        let now = self.clock.now();
        self.state().registries.apply(change, now)
    }

    /// All repositories that ever were on a forge, by id.
    pub fn repositories(&self, forge: &str) -> Vec<Repository> {
        self.look(forge, |forge| forge.repositories().cloned().collect())
            .unwrap_or_default()
    }

    /// One repository, by its present path.
    pub fn repository(&self, forge: &str, path: &str) -> Option<Repository> {
        self.look(forge, |forge| match forge.look_up(path) {
            Lookup::Here(repository) => Some(repository.clone()),
            Lookup::Moved(_) | Lookup::Nothing => None,
        })?
    }

    /// What everyone may see of an owner, sub-groups included, by id.
    pub fn public_repositories(&self, forge: &str, owner: &str) -> Vec<Repository> {
        self.look(forge, |forge| {
            forge
                .repositories()
                .filter(|found| found.is_public() && is_within(&found.owner, owner))
                .cloned()
                .collect()
        })
        .unwrap_or_default()
    }

    /// The files that a repository has now; none if it is not there under this path.
    pub fn files_now(&self, forge: &str, path: &str) -> Vec<File> {
        self.look(forge, |forge| match forge.look_up(path) {
            Lookup::Here(found) if !found.empty => forge.tree(found).files().cloned().collect(),
            _ => Vec::new(),
        })
        .unwrap_or_default()
    }

    /// Puts these files into a repository, in place of all it had.
    pub fn plant(
        &self,
        forge: &str,
        repository: &str,
        files: Vec<File>,
    ) -> Result<(), ChangeError> {
        let now = self.clock.now();
        let mut state = self.state();
        let forge = state
            .forges
            .get_mut(forge)
            .ok_or_else(|| ChangeError::NoForge(forge.to_owned()))?;
        forge.plant(repository, files, now)
    }

    /// Puts these issues and pull requests into a repository, in place of all it had.
    pub fn report(
        &self,
        forge: &str,
        repository: &str,
        issues: Vec<Issue>,
    ) -> Result<(), ChangeError> {
        let mut state = self.state();
        let forge = state
            .forges
            .get_mut(forge)
            .ok_or_else(|| ChangeError::NoForge(forge.to_owned()))?;
        forge.report(repository, issues)
    }

    /// Lets somebody have an account.
    pub fn join(&self, forge: &str, person: Person) -> Result<(), ChangeError> {
        let mut state = self.state();
        let forge = state
            .forges
            .get_mut(forge)
            .ok_or_else(|| ChangeError::NoForge(forge.to_owned()))?;
        forge.join(person);
        Ok(())
    }

    /// Gives a token out. As soon as an upstream has given out one, it refuses
    /// those it does not know; before, it takes any.
    pub fn add_token(&self, token: Token) {
        self.state().tokens.push(token);
    }

    /// Makes a token worthless.
    pub fn revoke_token(&self, upstream: &str, name: &str) -> Result<(), ChangeError> {
        let mut state = self.state();
        let found = state
            .tokens
            .iter_mut()
            .find(|token| token.upstream == upstream && token.name == name)
            .ok_or_else(|| ChangeError::NoToken(name.to_owned()))?;
        // It stays listed, so that the upstream goes on to check.
        found.secret.clear();
        Ok(())
    }

    pub(crate) fn token(&self, upstream: &str, secret: &str) -> Result<Token, String> {
        let state = self.state();
        let mut known = state
            .tokens
            .iter()
            .filter(|token| token.upstream == upstream)
            .peekable();
        let unnamed = format!("token-{:016x}", fingerprint(secret.as_bytes()));
        if known.peek().is_none() {
            return Ok(Token::new(upstream, &unnamed, secret));
        }
        known
            .find(|token| !secret.is_empty() && token.secret == secret)
            .cloned()
            .ok_or(unnamed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        while state.scheduled.front().is_some_and(|(at, ..)| *at <= now) {
            if let Some((at, forge, change)) = state.scheduled.pop_front() {
                let _impossible_by_now = state.apply(&forge, &change, at);
            }
        }
        state
    }
}

/// Two worlds are equal when everything in them is.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        let mine = self.state().clone();
        mine == *other.state()
    }
}

impl State {
    fn apply(&mut self, forge: &str, change: &Change, at: Timestamp) -> Result<(), ChangeError> {
        self.forges
            .get_mut(forge)
            .ok_or_else(|| ChangeError::NoForge(forge.to_owned()))?
            .apply(change, at)
    }
}

/// Whether the group `path` is `owner` or lies below it.
pub(crate) fn is_within(path: &str, owner: &str) -> bool {
    path.len() >= owner.len()
        && path.is_char_boundary(owner.len())
        && path[..owner.len()].eq_ignore_ascii_case(owner)
        && (path.len() == owner.len() || path.as_bytes()[owner.len()] == b'/')
}
