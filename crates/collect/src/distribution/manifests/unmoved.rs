//! A repository whose tree takes many questions to list, and one question to find unchanged.

use engine::{Run, RunError};
use facts::{kept::Kept, manifest::ManifestFact};
use store::sources::{self, SourceState};

use super::{SOURCE, Snapshot, visit::Visit, written};
use crate::{
    distribution::at_forge::{AtForge, Question},
    forge::Asked,
};

/// What the last visit saw, if the forge says that nothing was pushed since; none if the tree must
/// be listed.
pub(super) async fn look(
    at: &AtForge,
    last: Option<&Visit>,
    question: Question,
    cx: &Run,
) -> Result<Asked<Option<Snapshot>>, RunError> {
    let Some((visit, pinned)) = last
        .filter(|visit| visit.is_of_today())
        .and_then(|visit| Some((visit, visit.pinned.as_deref()?)))
    else {
        return Ok(Ok(None));
    };
    let states = sources::states(cx.db(), question.repository).await?;
    let is_whole = |state: &SourceState| {
        let version = state.collector_version == Some(question.collector_version);
        state.source == SOURCE && state.complete && version
    };
    if !states.iter().any(is_whole) {
        return Ok(Ok(None));
    }
    match at.client.commit(&at.which).await {
        Ok(Some(commit)) if commit == pinned => {}
        Ok(_) => return Ok(Ok(None)),
        Err(why) => return Ok(Err(why)),
    }
    let known = written::known(cx.db(), question.repository).await?;
    Ok(Ok(Some(as_before(known, visit))))
}

fn as_before(known: Vec<Kept<ManifestFact>>, visit: &Visit) -> Snapshot {
    Snapshot {
        commit: visit.pinned.clone().unwrap_or_default(),
        pinned: visit.pinned.clone(),
        facts: known.into_iter().map(|kept| kept.fact).collect(),
        silent: visit.silent.clone(),
        ..Snapshot::default()
    }
}
