//! Everything about one repository, for a person to look at.

use db::{Db, DbError, sql};
use facts::{evidence::Evidence, kept::Kept, manifest::ManifestFact};
use serde::Serialize;

use crate::{
    groups, observed,
    repositories::{self, Repository},
    sources::{self, SourceState},
};

/// A repository with what is known about it.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The repository.
    #[serde(flatten)]
    pub repository: Repository,
    /// The addresses it had before, the last one first.
    pub former_names: Vec<String>,
    /// The groups it is in.
    pub groups: Vec<String>,
    /// Who was asked about it.
    pub sources: Vec<SourceState>,
    /// How many manifests it has; the list may be shorter.
    pub manifest_count: i64,
    /// Its manifests by path, without those that are gone.
    pub manifests: Vec<Kept<ManifestFact>>,
    /// How much evidence there is; the list may be shorter.
    pub evidence_count: i64,
    /// Evidence of published packages, without what is gone.
    pub evidence: Vec<Kept<Evidence>>,
}

/// All about one repository, with at most `limit` manifests and as much evidence.
pub async fn overview(db: &Db, id: i64, limit: usize) -> Result<Option<Overview>, DbError> {
    let Some(repository) = repositories::by_id(db, id).await? else {
        return Ok(None);
    };
    let counts = db
        .fetch_one(sql!(
            "SELECT
                (SELECT count(*) FROM manifest WHERE repository = $1 AND gone_at IS NULL) AS manifests,
                (SELECT count(*) FROM evidence WHERE repository = $1 AND gone_at IS NULL) AS evidence",
            id
        ))
        .await?;
    Ok(Some(Overview {
        repository,
        former_names: repositories::former_names(db, id).await?,
        groups: groups::of_repository(db, id).await?,
        sources: sources::states(db, id).await?,
        manifest_count: counts.get("manifests")?,
        manifests: observed::manifests(db, id, false, limit).await?,
        evidence_count: counts.get("evidence")?,
        evidence: observed::evidence(db, id, false, limit).await?,
    }))
}
