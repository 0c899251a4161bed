//! Generations: which files are the datasets, and what they were made of.
//!
//! ```text
//! datasets/files/SHA256             files, named by their contents
//! datasets/generations/00042.json   one generation: its files and its inputs
//! datasets/input_lists/00042        its inputs as text, one address in each line
//! datasets/pins/00042-…             somebody reads it
//! ```
//!
//! A generation is published by creating its manifest under the next number, after its files are
//! there. Creating succeeds for one of many who try; the newest manifest is what holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DatasetError, build::Built};
use crate::{
    dumps::{Dump, Range},
    objects::{Created, Objects},
};

pub(super) const FILES: &str = "datasets/files";
pub(super) const GENERATIONS: &str = "datasets/generations";
pub(super) const INPUT_LISTS: &str = "datasets/input_lists";
/// The most that a manifest may have.
const MOST_MANIFEST: u64 = 64 << 20;

/// What holds a generation together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of this layout; 1.
    pub format: u32,
    /// Its number: the version of the data.
    pub generation: u64,
    /// The dumps that it was made of: from 0, without gap or overlap.
    pub inputs: Vec<Input>,
    /// The least and the greatest serial of the index in them.
    pub serials: Option<(i64, i64)>,
    /// The oldest and the newest extractor that read the files in them.
    pub extractors: Option<(i64, i64)>,
    /// The files: `depgraph`, `modules`, `dependents`.
    pub files: BTreeMap<String, DatasetFile>,
}

/// A dump that a generation was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Which changes.
    #[serde(flatten)]
    pub range: Range,
    /// Its rows.
    pub rows: u64,
    /// Its files with their SHA-256.
    pub files: Vec<(String, String)>,
    /// The least and the greatest serial in it.
    pub serials: Option<(i64, i64)>,
    /// The oldest and the newest extractor in it.
    pub extractors: Option<(i64, i64)>,
}

/// A file of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetFile {
    /// Its name among the objects.
    pub name: String,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// How many keys it has.
    pub keys: u64,
}

impl From<&Dump> for Input {
    fn from(dump: &Dump) -> Self {
        let files = dump.shards.iter();
        let files = files.map(|shard| (shard.json.name.clone(), shard.json.sha256.clone()));
        Self {
            range: dump.range,
            rows: dump.rows,
            files: files.collect(),
            serials: dump.serials,
            extractors: dump.extractors,
        }
    }
}

impl Manifest {
    /// Up to which change it knows.
    pub fn up_to(&self) -> i64 {
        self.inputs.last().map_or(0, |input| input.range.to)
    }

    /// Its inputs as text: the address of every file, one in each line.
    pub fn input_list(&self, objects: &Objects) -> String {
        let files = self.inputs.iter().flat_map(|input| &input.files);
        files.fold(String::new(), |mut text, (name, _)| {
            text.push_str(&objects.address(name));
            text.push('\n');
            text
        })
    }

    /// Reads the manifest of a generation; none if there is none.
    pub async fn read(objects: &Objects, number: u64) -> Result<Option<Self>, DatasetError> {
        let name = manifest_name(number);
        let Some(text) = objects.get(&name, MOST_MANIFEST).await? else {
            return Ok(None);
        };
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|error| DatasetError::Corrupt(format!("{name}: {error}")))?;
        manifest.check(number)?;
        Ok(Some(manifest))
    }

    fn check(&self, number: u64) -> Result<(), DatasetError> {
        let refuse = |what: &str| {
            let name = manifest_name(number);
            Err(DatasetError::Corrupt(format!("{name}: {what}")))
        };
        if self.format != 1 {
            return refuse("it is of a newer format");
        }
        if self.generation != number {
            return refuse("it tells of another generation");
        }
        let mut end = 0;
        for Input { range, .. } in &self.inputs {
            if range.from != end || range.to <= range.from {
                return refuse("its inputs have a gap or an overlap");
            }
            end = range.to;
        }
        Ok(())
    }
}

/// The numbers of all generations, in order.
pub async fn generations(objects: &Objects) -> Result<Vec<u64>, DatasetError> {
    let listed = objects.list(GENERATIONS).await?;
    let numbers = listed.iter().filter_map(|object| {
        let name = object.name.strip_prefix(GENERATIONS)?.strip_prefix('/')?;
        name.strip_suffix(".json")?.parse().ok()
    });
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The newest generation. One may be collected between the listing and the reading; then there is
/// a newer one.
pub async fn newest(objects: &Objects) -> Result<Option<Manifest>, DatasetError> {
    for _ in 0..5 {
        let Some(number) = generations(objects).await?.last().copied() else {
            return Ok(None);
        };
        if let Some(manifest) = Manifest::read(objects, number).await? {
            return Ok(Some(manifest));
        }
    }
    let what = "generations vanish while they are read".to_owned();
    Err(DatasetError::Corrupt(what))
}

/// What became of a generation that was to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is the newest now.
    As(Manifest),
    /// Another was published under its number first: it was built on what is no longer the newest.
    Beaten {
        /// That number.
        by: u64,
    },
}

/// Publishes files that were built on generation `after` (0 for none) as the next one.
pub async fn publish(
    objects: &Objects,
    built: &Built,
    inputs: Vec<Input>,
    after: u64,
) -> Result<Published, DatasetError> {
    let (mut serials, mut extractors) = (None, None);
    for input in &inputs {
        serials = crate::dumps::span(serials, input.serials);
        extractors = crate::dumps::span(extractors, input.extractors);
    }
    let files = built.files().map(|(name, written)| {
        let file = DatasetFile {
            name: format!("{FILES}/{}", written.sha256),
            sha256: written.sha256.clone(),
            bytes: written.bytes,
            keys: written.keys,
        };
        (name.to_owned(), file)
    });
    let manifest = Manifest {
        format: 1,
        generation: after + 1,
        inputs,
        serials,
        extractors,
        files: files.into(),
    };
    // Also those that are there: it makes them young, and what is young is not collected.
    for (name, written) in built.files() {
        let to = &manifest.files[name].name;
        objects.put_file(to, &written.path).await?;
    }
    let text = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::from)?;
    let name = manifest_name(manifest.generation);
    if objects.create(&name, text).await? == Created::Existed {
        let by = manifest.generation;
        return Ok(Published::Beaten { by });
    }
    // Who collected at the same moment may have looked before the files were young.
    for (name, written) in built.files() {
        let to = &manifest.files[name].name;
        if !objects.is_there(to).await? {
            objects.put_file(to, &written.path).await?;
        }
    }
    write_input_list(objects, &manifest).await?;
    Ok(Published::As(manifest))
}

/// Writes the list of a generation's inputs, unless it is there.
pub async fn write_input_list(objects: &Objects, manifest: &Manifest) -> Result<(), DatasetError> {
    let name = input_list_name(manifest.generation);
    let text = manifest.input_list(objects).into_bytes();
    objects.create(&name, text).await?;
    Ok(())
}

pub(super) fn manifest_name(number: u64) -> String {
    format!("{GENERATIONS}/{number:05}.json")
}

pub(super) fn input_list_name(number: u64) -> String {
    format!("{INPUT_LISTS}/{number:05}")
}
