//! What follows when a forge says how a repository is: facts, work, groups.

use db::{Timestamp, Tx};
use engine::{Engine, Enqueue, EnqueueError, Run, RunError, Selection, enqueue_in};
use store::{
    group_sources,
    metadata::{self, Seen},
};

use super::RepoMetadata;
use crate::{collector::Collector as _, registry::Scans};

/// How a forge sees a repository, on its way into the store.
pub(crate) struct Change {
    pub(crate) repository: i64,
    pub(crate) seen: Seen,
    pub(crate) scans: Scans,
    /// Who noticed.
    pub(crate) source: &'static str,
    pub(crate) now: Timestamp,
}

/// Calls off the work on a repository that is archived. It is no part of the transaction of
/// [`apply`], so it is done whenever a repository is seen archived, and not only the first time.
pub(crate) async fn prepare(
    cx: &Run,
    scans: Scans,
    repository: i64,
    seen: &Seen,
) -> Result<(), RunError> {
    if !matches!(seen, Seen::Here(sight) if sight.archived == Some(true)) {
        return Ok(());
    }
    let engine = Engine::new(cx.db().clone(), cx.clock().clone());
    let mut units = Vec::new();
    for kind in scans.kinds {
        units.extend(engine.find(&format!("{kind}:{repository}")).await?);
    }
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    engine.cancel(&which, false).await?;
    Ok(())
}

/// Writes the change down and lets the work follow it.
pub(crate) async fn apply(tx: &mut Tx, change: &Change) -> Result<(), RunError> {
    let Change {
        repository,
        seen,
        scans,
        source,
        now,
    } = change;
    let observed = metadata::observe(tx, *repository, seen, source, *now).await?;
    let mut units = Vec::new();
    if let Seen::Here(sight) = seen {
        let scanned = sight.archived != Some(true);
        if scanned && (observed.has("unarchived") || observed.has("returned")) {
            let back = (scans.units)(observed.id, &sight.url).into_iter();
            units.extend(back.map(Enqueue::now));
        }
        // It has its first commit: what lies in it is not known for want of asking.
        if scanned && observed.has("empty") && sight.empty == Some(false) {
            let all = (scans.units)(observed.id, &sight.url).into_iter();
            units.extend(all.map(Enqueue::now));
        }
        // Somebody else has its name now; its own number tells where it went.
        let displaced = observed.displaced.into_iter();
        units.extend(displaced.map(|other| super::ask(other, sight.url.host()).now()));
        // A list tells that it is archived; calling its work off is the business of `repo-metadata`.
        if observed.has("archived") && *source != RepoMetadata::NAME {
            units.push(super::ask(observed.id, sight.url.host()).now());
        }
    }
    enqueue(tx, &units, *now).await?;
    group_sources::leave_if_elsewhere(tx, observed.id).await?;
    Ok(())
}

/// Enqueues in the run's transaction.
pub(crate) async fn enqueue(
    tx: &mut Tx,
    units: &[Enqueue],
    now: Timestamp,
) -> Result<(), RunError> {
    match enqueue_in(tx, units, now).await {
        Ok(_) => Ok(()),
        Err(EnqueueError::Database(error)) => Err(error.into()),
        Err(other) => Err(RunError::unit(other)),
    }
}
