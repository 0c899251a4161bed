//! Work of rounds that were switched on after their subjects came.
//!
//! A repository that is added while a round is switched off brings no units of it. So whoever
//! begins to work looks for repositories that a round of theirs has nothing of, and gives them
//! what they would have brought. One kind stands for its round: units come together or not at all.

use std::collections::HashSet;

use engine::{Engine, Enqueue};
use facts::repository::RepositoryUrl;
use store::repositories::{self, Filter, Page, Repository};

use crate::{config::Settings, error::Result, rounds};

/// Repositories that are asked about at once.
const PAGE: usize = 1_000;
/// The kinds that stand for their rounds: every repository brings them, or those on forges do.
const STANDS_FOR_ROUND: [&str; 2] = ["distribution/manifests", "repo-metadata"];

/// Enqueues what is missing; returns how many repositories missed something.
pub(crate) async fn catch_up(engine: &Engine, settings: &Settings) -> Result<usize> {
    let mut late = HashSet::new();
    for kind in STANDS_FOR_ROUND {
        if !rounds::is_on(settings, kind) {
            continue;
        }
        let mut filter = Filter {
            archived: Some(false),
            gone: Some(false),
            ..Filter::default()
        };
        loop {
            let Page { items, next } = repositories::list(engine.db(), &filter, PAGE).await?;
            let keys: Vec<String> = items.iter().map(|item| item.id.to_string()).collect();
            let missing = engine.missing(kind, &keys).await?;
            let missing: HashSet<String> = missing.into_iter().collect();
            let mut units = Vec::new();
            for (repository, _) in items
                .iter()
                .zip(&keys)
                .filter(|(_, key)| missing.contains(*key))
            {
                let brought = brought(repository, kind, settings);
                if !brought.is_empty() {
                    late.insert(repository.id);
                }
                units.extend(brought);
            }
            engine.enqueue(units).await?;
            match next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
    }
    Ok(late.len())
}

/// The units of a repository that belong to the round of this kind.
fn brought(repository: &Repository, kind: &str, settings: &Settings) -> Vec<Enqueue> {
    let Ok(url) = RepositoryUrl::parse(&repository.url) else {
        return Vec::new();
    };
    let round = round(kind);
    rounds::wanted_units(repository.id, &url, settings)
        .into_iter()
        .filter(|unit| self::round(unit.kind()) == round)
        .collect()
}

fn round(kind: &str) -> &str {
    kind.split_once('/').map_or(kind, |(round, _)| round)
}
