//! Which work a repository brings with it: the one place where the catalogue meets the engine.

use engine::{Engine, Enqueue, Kind, Selection};
use facts::repository::RepositoryUrl;
use store::repositories::Repository;

use crate::error::{Failure, Result, codes};

/// The kinds that every repository is worked on by. The unit's key is the repository's number.
const PER_REPOSITORY: &[Kind] = &[];

/// The units of a repository.
pub(crate) fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    let upstream = url.host();
    let unit = |kind: &Kind| Enqueue::new(kind, id.to_string()).upstream(upstream);
    PER_REPOSITORY.iter().map(unit).collect()
}

/// Begins the work on a repository, or begins it again.
pub(crate) async fn start(engine: &Engine, repository: &Repository) -> Result<()> {
    let url = RepositoryUrl::parse(&repository.url).map_err(|error| {
        Failure::new(
            &codes::DB_DATA,
            "the database holds an address that is none",
        )
        .caused_by(&error)
    })?;
    let units = units(repository.id, &url).into_iter().map(Enqueue::now);
    engine.enqueue(units.collect()).await?;
    Ok(())
}

/// Calls off all work on a repository.
pub(crate) async fn stop(engine: &Engine, id: i64) -> Result<()> {
    for kind in PER_REPOSITORY {
        let Some(unit) = engine.find(&format!("{}:{id}", kind.name)).await? else {
            continue;
        };
        let which = Selection {
            ids: Some(vec![unit]),
            ..Selection::default()
        };
        engine.cancel(&which, false).await?;
    }
    Ok(())
}
