//! All about the distribution of one repository.

use db::{Db, DbError};
use facts::{distribution::Pairing, evidence::Evidence, kept::Kept, manifest::ManifestFact};
use serde::Serialize;

use super::{Event, EventFilter, GapFilter, KeptGap, events, gaps, pairings};
use crate::{
    metadata::{self, Metadata},
    observed,
    repositories::{self, Repository},
    sources::{self, SourceState},
};

/// The most events of one repository that are told; the list of all events has the rest.
const MOST_EVENTS: usize = 100;

/// Where a repository is published, how it declares itself, and where the two disagree.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The repository.
    pub repository: Repository,
    /// What its forge says of it, if it has one that was asked: a fork, taken down, gone.
    pub metadata: Option<Metadata>,
    /// How every source stands.
    pub sources: Vec<SourceState>,
    /// What is published, by ecosystem, package and source.
    pub evidence: Vec<Kept<Evidence>>,
    /// How it declares itself, by path.
    pub manifests: Vec<Kept<ManifestFact>>,
    /// Which package comes from which manifest.
    pub pairings: Vec<Kept<Pairing>>,
    /// Where the two disagree.
    pub gaps: Vec<KeptGap>,
    /// What became of its packages, the newest first.
    pub events: Vec<Event>,
}

/// All of it, with at most `limit` of each.
pub async fn report(db: &Db, id: i64, limit: usize) -> Result<Option<Report>, DbError> {
    let Some(repository) = repositories::by_id(db, id).await? else {
        return Ok(None);
    };
    let of_this = GapFilter {
        repository: Some(id),
        ..GapFilter::default()
    };
    let noticed = EventFilter {
        repository: Some(id),
        ..EventFilter::default()
    };
    Ok(Some(Report {
        repository,
        metadata: metadata::of(db, id).await?,
        sources: sources::states(db, id).await?,
        evidence: observed::evidence(db, id, false, limit).await?,
        manifests: observed::manifests(db, id, false, limit).await?,
        pairings: pairings(db, id, limit).await?,
        gaps: gaps(db, &of_this, limit).await?.items,
        events: events(db, &noticed, limit.min(MOST_EVENTS)).await?.0,
    }))
}
