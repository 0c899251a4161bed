//! Owners that the configuration names: whoever begins to work follows them.

use engine::Engine;
use store::{
    group_sources::{self, Wanted},
    groups,
};

use crate::{
    commands::{go, group},
    config::Settings,
    error::Result,
    rounds,
};

/// Lets the Go index follow what `[goindex] from` names; returns how many are new. What is followed
/// already stays as it is, and what no longer stands there is followed until somebody says
/// `gleaner go remove --from`.
pub(crate) async fn follow(engine: &Engine, settings: &Settings) -> Result<usize> {
    if settings.goindex.from.is_empty() || !rounds::is_on(settings, "goindex/list") {
        return Ok(0);
    }
    let sources = match groups::find(engine.db(), go::GROUP).await? {
        Some(group) => group_sources::of_group(engine.db(), group.id).await?,
        None => Vec::new(),
    };
    let mut new = 0;
    for text in &settings.goindex.from {
        let owner = group::parse_owner(text)
            .map_err(|failure| failure.hint("it stands in `from` under `[goindex]`"))?;
        let is_followed = sources.iter().any(|source| {
            source.host == owner.host && source.owner.eq_ignore_ascii_case(&owner.owner)
        });
        if !is_followed {
            new += usize::from(go::follow(engine, &owner, Wanted::default(), false).await?);
        }
    }
    Ok(new)
}
