//! Wiring: the collectors with the settings they run under, and the work that a repository brings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use collect::{
    collector::{Need, Registered},
    license,
    registry::{self, Outside},
};
use engine::{Engine, Enqueue, Pool, Selection, Timing, Worker};
use facts::repository::RepositoryUrl;
use store::repositories::Repository;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Settings,
    error::{Failure, Result, codes},
    outside,
};

/// Woken by others or asking others than their round does: its cadence is not theirs.
const KEEPS_CADENCE: &[&str] = &[
    "goindex/publish",
    "goindex/vanity",
    "pypi/audit",
    "pypi/number",
];

/// A worker for the rounds that are switched on, or for those of `only`: kinds, or whole rounds.
pub(crate) fn worker(engine: Engine, settings: &Settings, only: &[String]) -> Result<Worker> {
    let outside = outside::outside(&engine, settings)?;
    worker_in(outside, engine, settings, only)
}

/// Likewise, with this way to the outside.
pub(crate) fn worker_in(
    outside: Outside,
    engine: Engine,
    settings: &Settings,
    only: &[String],
) -> Result<Worker> {
    let chosen = choose(registry::all(&outside), settings, only)?;
    watch_scanner(&outside, &engine, &chosen);
    // A pool that is not set has the slots of its round.
    let pools: BTreeMap<&str, String> = chosen
        .iter()
        .map(|one| (one.kind.pool, section(one.kind.name)))
        .collect();
    let mut worker = Worker::new(engine)
        .probe(Arc::new(outside.http))
        .release(env!("CARGO_PKG_VERSION"))
        .timing(Timing {
            grace: settings.work.shutdown_grace,
            keep_done: settings.work.keep_done,
            ..Timing::dead_after(settings.work.dead_after)
        });
    for (name, round) in pools {
        let slots = settings.pools.get(name);
        let round = settings.rounds.get(round.as_str());
        let workers = slots.and_then(|slots| slots.workers);
        let workers = match name {
            "mail-resolve" => workers.or(Some(settings.mail.resolver_workers)),
            _ => workers.or_else(|| round.map(|round| round.workers)),
        };
        let workers = workers.unwrap_or(4);
        let mut pool = Pool::new(name, workers as usize);
        pool.min_start_gap = slots.map_or(pool.min_start_gap, |slots| slots.min_start_gap);
        worker = worker.pool(pool);
    }
    for Registered {
        mut kind, handler, ..
    } in chosen
    {
        if let Some(round) = settings.rounds.get(section(kind.name).as_str()) {
            // What the collector declares holds unless the operator says otherwise.
            let set = match kind.name {
                "goindex/list" => settings.goindex.listing_cadence,
                name if KEEPS_CADENCE.contains(&name) => None,
                _ => round.cadence,
            };
            kind.cadence = kind.cadence.map(|own| set.unwrap_or(own));
            kind.max_run = round.max_run.unwrap_or(kind.max_run);
        }
        kind.immediate_partial_retry &= settings.work.immediate_partial_retry;
        if section(kind.name) == "distribution" {
            kind.immediate_partial_retry &= settings.distribution.immediate_partial_retry;
        }
        worker = worker.boxed_kind(kind, handler);
    }
    Ok(worker)
}

/// Proves the license scanner now and every hour, for as long as the process lives.
fn watch_scanner(outside: &Outside, engine: &Engine, chosen: &[Registered]) {
    let scans = chosen.iter().any(|one| one.kind.pool == license::POOL);
    if scans && let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let watch = license::watch(
            outside.license.clone(),
            engine.clone(),
            CancellationToken::new(),
        );
        runtime.spawn(watch);
    }
}

/// The pools of the collectors that run by themselves.
pub(crate) fn pools() -> impl Iterator<Item = &'static str> {
    let all = registry::declared().into_iter();
    let own = all.filter(|one| one.kind.cadence.is_some());
    own.map(|one| one.kind.pool)
}

/// The programs that collectors call.
pub(crate) fn tools() -> BTreeSet<&'static str> {
    let needs = registry::declared().into_iter().flat_map(|one| one.needs);
    let tools = needs.filter_map(|need| match need {
        Need::Tool(name) => Some(*name),
        _ => None,
    });
    tools.collect()
}

/// The work of a repository, of all rounds there are.
pub(crate) fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    registry::of_repository(id, url)
}

/// The work of a repository, of the rounds that are switched on.
pub(crate) fn wanted_units(id: i64, url: &RepositoryUrl, settings: &Settings) -> Vec<Enqueue> {
    let units = if is_on(settings, registry::FIRST) {
        registry::of_repository(id, url)
    } else {
        // Nobody would ever end what the others wait for.
        (registry::SCANS.units)(id, url)
    };
    let on = |unit: &Enqueue| is_on(settings, unit.kind());
    units.into_iter().filter(on).collect()
}

/// Whether the round of a kind is switched on.
pub(crate) fn is_on(settings: &Settings, kind: &str) -> bool {
    let round = settings.rounds.get(section(kind).as_str());
    round.is_none_or(|round| round.enabled)
}

/// Begins the work on a repository again.
pub(crate) async fn start(
    engine: &Engine,
    repository: &Repository,
    settings: &Settings,
) -> Result<()> {
    let url = RepositoryUrl::parse(&repository.url).map_err(|error| {
        Failure::new(
            &codes::DB_DATA,
            "the database holds an address that is none",
        )
        .caused_by(&error)
    })?;
    let units = wanted_units(repository.id, &url, settings);
    engine
        .enqueue(units.into_iter().map(Enqueue::now).collect())
        .await?;
    Ok(())
}

/// Calls off all work on a repository.
pub(crate) async fn stop(engine: &Engine, id: i64) -> Result<()> {
    let mut units = Vec::new();
    for kind in registry::kinds_of_repository() {
        units.extend(engine.find(&format!("{kind}:{id}")).await?);
    }
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    engine.cancel(&which, false).await?;
    Ok(())
}

fn choose(all: Vec<Registered>, settings: &Settings, only: &[String]) -> Result<Vec<Registered>> {
    for wanted in only {
        if !all.iter().any(|one| is(one, wanted)) {
            let kinds: Vec<&str> = all.iter().map(|one| one.kind.name).collect();
            let message = format!("there is no kind `{wanted}`");
            return Err(Failure::new(&codes::NAME, message)
                .hint(format!("the kinds are {}", kinds.join(", "))));
        }
    }
    let enabled = |one: &Registered| is_on(settings, one.kind.name);
    let chosen: Vec<Registered> = all
        .into_iter()
        .filter(|one| enabled(one))
        .filter(|one| only.is_empty() || only.iter().any(|wanted| is(one, wanted)))
        .collect();
    if chosen.is_empty() {
        return Err(
            Failure::new(&codes::CONFIG_VALUE, "there is nothing to work on")
                .hint("every round that was asked for is switched off by `enabled = false`"),
        );
    }
    Ok(chosen)
}

fn is(one: &Registered, wanted: &str) -> bool {
    one.kind.name == wanted || one.round() == wanted
}

/// The section of a kind: `repo-metadata` is configured under `[repo_metadata]`.
fn section(kind: &str) -> String {
    let round = kind.split_once('/').map_or(kind, |(round, _)| round);
    round.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SECTIONS, Value::Duration};

    /// The example file and `config show` tell the truth about what holds.
    #[test]
    fn defaults_are_those_that_the_collectors_declare() {
        for one in registry::declared() {
            let name = section(one.kind.name);
            if name == "drill" {
                // Runs when a person starts one, and never by itself: nothing to set.
                continue;
            }
            let section = SECTIONS.iter().find(|known| known.name == name);
            let section = section.unwrap_or_else(|| panic!("no section for {name}"));
            assert!(section.is_round(), "{name}");
            let default = |key: &str| {
                let key = section.keys.iter().find(|known| known.name == key);
                key.and_then(crate::config::Key::default_value)
            };
            let key = match one.kind.name {
                "goindex/list" => "listing_cadence",
                _ => "cadence",
            };
            if let Some(cadence) = one.kind.cadence
                && !KEEPS_CADENCE.contains(&one.kind.name)
            {
                assert_eq!(default(key), Some(Duration(cadence)), "{name}");
            }
            assert_eq!(
                default("max_run"),
                Some(Duration(one.kind.max_run)),
                "{name}"
            );
        }
    }
}
