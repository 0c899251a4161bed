//! Collects what nobody needs: old generations that nobody reads, and files and dumps that no
//! generation and no next one is made of.

use std::{collections::BTreeSet, time::Duration};

use db::Timestamp;
use serde::Serialize;

use super::{
    DatasetError, Manifest,
    generation::{FILES, generations, input_list_name, manifest_name},
    library::{PIN_HOLDS, PINS},
};
use crate::{
    dumps::{self, DUMPS},
    objects::Objects,
};

/// What is younger may belong to something that is not published yet.
const YOUNG: Duration = Duration::from_hours(2);

/// What was collected, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Generations.
    pub generations: Vec<u64>,
    /// Files of datasets.
    pub files: u64,
    /// Files of dumps.
    pub dump_files: u64,
    /// Pins that were left behind.
    pub pins: u64,
    /// In all.
    pub bytes: u64,
}

/// Collects all but the newest `keep` generations and those that are pinned; at least one stays.
/// Without `for_real` nothing is removed.
pub async fn collect(
    objects: &Objects,
    keep: usize,
    now: Timestamp,
    for_real: bool,
) -> Result<Collected, DatasetError> {
    let mut collected = Collected::default();
    let mut doomed: Vec<String> = Vec::new();
    let all = generations(objects).await?;
    let pinned = pinned(objects, now, &mut collected, &mut doomed).await?;
    let (old, new) = all.split_at(all.len().saturating_sub(keep.max(1)));
    let old: Vec<u64> = old
        .iter()
        .copied()
        .filter(|number| !pinned.contains(number))
        .collect();
    let mut stay: BTreeSet<String> = BTreeSet::new();
    let staying = all.iter().filter(|number| !old.contains(number));
    for number in staying {
        // One that was published with a manifest that cannot be read keeps everything.
        if let Some(manifest) = Manifest::read(objects, *number).await? {
            stay.extend(manifest.files.into_values().map(|file| file.name));
            let inputs = manifest.inputs.iter();
            stay.extend(inputs.map(|input| input.range.directory()));
        }
    }
    debug_assert!(new.iter().all(|number| !old.contains(number)));
    let chain = dumps::chain(&dumps::ranges(objects).await?);
    stay.extend(chain.iter().map(|range| range.directory()));
    let newest_full = chain.first().map_or(0, |range| range.to);

    // Manifests go first: what is named must be there.
    for number in &old {
        doomed.push(manifest_name(*number));
        doomed.push(input_list_name(*number));
    }
    let is_old = |written: Timestamp| now.since(written) > YOUNG;
    for file in objects.list(FILES).await? {
        if !stay.contains(&file.name) && is_old(file.written_at) {
            collected.files += 1;
            collected.bytes += file.size;
            doomed.push(file.name);
        }
    }
    for file in objects.list(DUMPS).await? {
        let Some((directory, _)) = file.name.rsplit_once('/') else {
            continue;
        };
        // One that reaches further than the newest full dump may still be on its way.
        let end = directory
            .rsplit_once('-')
            .map(|(_, end)| end.parse::<i64>());
        let on_its_way = !matches!(end, Some(Ok(end)) if end <= newest_full);
        if !stay.contains(directory) && !on_its_way && is_old(file.written_at) {
            collected.dump_files += 1;
            collected.bytes += file.size;
            doomed.push(file.name);
        }
    }
    collected.generations = old;
    if for_real {
        for name in doomed {
            objects.delete(&name).await?;
        }
    }
    Ok(collected)
}

/// The generations that somebody reads.
async fn pinned(
    objects: &Objects,
    now: Timestamp,
    collected: &mut Collected,
    doomed: &mut Vec<String>,
) -> Result<BTreeSet<u64>, DatasetError> {
    let mut pinned = BTreeSet::new();
    for pin in objects.list(PINS).await? {
        let name = pin.name.strip_prefix(PINS).unwrap_or_default();
        let number = name.trim_start_matches('/').split('-').next();
        let Some(Ok(number)) = number.map(str::parse) else {
            continue;
        };
        if now.since(pin.written_at) > PIN_HOLDS {
            collected.pins += 1;
            doomed.push(pin.name);
        } else {
            pinned.insert(number);
        }
    }
    Ok(pinned)
}
