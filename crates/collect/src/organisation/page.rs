//! Writing a page of a listing down: repositories, their places in the group, their work.

use std::time::Duration;

use db::{Db, DbError, Timestamp, Tx, transact};
use engine::{Enqueue, RunError};
use store::{
    forge_hosts, goindex,
    group_sources::{self, Source},
    metadata::{self, Seen, Sight},
    repositories::{self, NewRepository},
};

use super::Organisation;
use crate::{
    collector::Collector as _,
    forge::Host,
    registry::Scans,
    repo_metadata::{self, Change, RepoMetadata, apply, enqueue},
};

/// So many that are no longer listed are asked about after one listing; the rest after the next.
const MOST_ASKED: usize = 1_000;

/// A page on its way into the store.
pub(super) struct Written {
    pub(super) source: Source,
    /// What the host runs.
    pub(super) host: Host,
    /// The owner's name, as its forge writes it.
    pub(super) owner: String,
    pub(super) sights: Vec<Sight>,
    /// When the listing began.
    pub(super) listing: Timestamp,
    pub(super) scans: Scans,
    /// The work is the Go index's.
    pub(super) go_index: bool,
    pub(super) now: Timestamp,
}

impl Written {
    /// All of the page commits together: what is new comes with its group and its work.
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        if self.host.learned {
            forge_hosts::remember(tx, &self.source.host, self.host.software, self.now).await?;
        }
        if !self.owner.eq_ignore_ascii_case(&self.source.owner) {
            group_sources::move_to(tx, self.source.id, &self.owner).await?;
        }
        let sights: Vec<&Sight> = self.sights.iter().collect();
        let known = metadata::recognise(tx, &self.source.host, &sights).await?;
        let (mut here, mut unwanted) = (Vec::new(), Vec::new());
        let (mut same, mut new) = (Vec::new(), Vec::new());
        let mut units = Vec::new();
        for (sight, known) in sights.into_iter().zip(known) {
            match known {
                Some((id, _)) if !self.wants(sight) => unwanted.push(id),
                Some((id, _)) => {
                    here.push(id);
                    if self.go_index {
                        units.extend((self.scans.units)(id, &sight.url));
                    }
                }
                None if self.wants(sight) => new.push(sight),
                None => {}
            }
            match known {
                Some((id, true)) => self.changed(tx, id, sight).await?,
                Some((id, false)) => same.push((id, sight)),
                None => {}
            }
        }
        metadata::unchanged(tx, &same, Organisation::NAME, self.now).await?;
        enqueue(tx, &units, self.now).await?;
        here.extend(self.add(tx, &new).await?);
        if self.go_index {
            goindex::enter(tx, &here, self.now).await?;
        }
        group_sources::listed(tx, &self.source, &here, self.listing, self.now).await?;
        group_sources::leave(tx, self.source.id, &unwanted).await?;
        Ok(())
    }

    /// The listing is over.
    pub(super) async fn finished(&self, tx: &mut Tx) -> Result<(), RunError> {
        if self.go_index {
            goindex::listing_finished(tx, self.source.id, self.now).await?;
        }
        Ok(())
    }

    /// Whether all of it is known already.
    pub(super) async fn is_no_news(&self, db: &Db) -> Result<bool, DbError> {
        let sights: Vec<&Sight> = self.sights.iter().collect();
        let (host, sights) = (self.source.host.as_str(), &sights);
        let known: Result<Vec<Option<(i64, bool)>>, DbError> =
            transact!(db, |tx| metadata::recognise(tx, host, sights).await);
        Ok(known?.iter().all(|known| matches!(known, Some((_, false)))))
    }

    /// After a whole listing: what it did not name is gone, or hidden, or somebody else's, or
    /// slipped from one page to another while it was read. The forge is asked about each by number,
    /// and that answer decides.
    pub(super) async fn ask_about_missing(&self, tx: &mut Tx) -> Result<(), RunError> {
        let missing =
            group_sources::not_listed_since(tx, self.source.id, self.listing, MOST_ASKED).await?;
        let units: Vec<Enqueue> = missing
            .into_iter()
            .map(|id| repo_metadata::ask(id, &self.source.host).now())
            .collect();
        enqueue(tx, &units, self.now).await
    }

    fn wants(&self, sight: &Sight) -> bool {
        let wanted = self.source.wanted;
        (wanted.forks || sight.fork != Some(true))
            && (wanted.archived || sight.archived != Some(true))
    }

    async fn changed(&self, tx: &mut Tx, id: i64, sight: &Sight) -> Result<(), RunError> {
        let change = Change {
            repository: id,
            seen: Seen::Here(Box::new(sight.clone())),
            scans: self.scans,
            source: Organisation::NAME,
            now: self.now,
        };
        apply(tx, &change).await
    }

    /// Adds what is not known by number; answers all their ids.
    async fn add(&self, tx: &mut Tx, sights: &[&Sight]) -> Result<Vec<i64>, RunError> {
        let rows: Vec<NewRepository> = sights
            .iter()
            .map(|sight| NewRepository {
                url: sight.url.clone(),
                forge_id: Some(sight.forge_id.clone()),
                archived: sight.archived.unwrap_or(false),
                default_branch: sight.default_branch.clone(),
            })
            .collect();
        let added = repositories::add_batch(tx, &rows, self.now).await?;
        let mut fresh = Vec::new();
        let mut units = Vec::new();
        for (sight, added) in sights.iter().zip(&added) {
            if added.is_new() {
                units.extend(self.units(added.id(), sight));
                if sight.archived.is_some() {
                    fresh.push((added.id(), *sight));
                }
            } else {
                // It was there by its name alone.
                self.changed(tx, added.id(), sight).await?;
                if self.go_index {
                    units.extend((self.scans.units)(added.id(), &sight.url));
                }
            }
        }
        metadata::first(tx, &fresh, Organisation::NAME, self.now).await?;
        enqueue(tx, &units, self.now).await?;
        Ok(added.iter().map(|added| added.id()).collect())
    }

    /// The work of a new repository. The list has told what `repo-metadata` would ask, so that
    /// thousands of new ones cost no call each; their next asking is spread over the cadence.
    fn units(&self, id: i64, sight: &Sight) -> Vec<Enqueue> {
        let cadence = RepoMetadata::CADENCE.unwrap_or(Duration::ZERO);
        let share = u32::try_from(id.rem_euclid(1_000)).unwrap_or_default();
        let again = self.now.plus(cadence / 2 + cadence / 2_000 * share);
        match sight.archived {
            Some(true) if !self.go_index => {
                vec![repo_metadata::ask(id, sight.url.host()).due_at(again)]
            }
            Some(_) => self.scans.of_described(id, &sight.url, again),
            None => self.scans.of_repository(id, &sight.url),
        }
    }
}
