//! Brings the datasets up to the dumps that there are.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{
    Builder, DatasetError, Datasets, Input, MEMORY, Manifest, Published,
    generation::{newest, publish, write_input_list},
    library,
};
use crate::{
    dumps::{self, Dump, ShardReader},
    objects::Objects,
};

/// How often a builder begins again after another was faster.
const TRIES: usize = 5;

/// What an update did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updated {
    /// There is a new generation.
    Published {
        /// It.
        manifest: Manifest,
        /// Whether it was built on the one before it.
        incremental: bool,
        /// Rows that were read for it.
        rows: u64,
    },
    /// The newest generation knows all there is.
    Current(Manifest),
    /// A new full dump is there whose followers do not reach as far as the newest generation yet:
    /// the next incremental dump will.
    Behind {
        /// Up to which change the dumps reach.
        dumps: i64,
        /// Up to which change the newest generation knows.
        newest: i64,
    },
}

/// Where and with how much memory to build.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// Files grow here.
    pub scratch: PathBuf,
    /// About so many bytes.
    pub memory: usize,
    /// Everything is built anew, whatever is there.
    pub anew: bool,
}

impl Workshop {
    /// Builds in a directory.
    pub fn new(scratch: impl Into<PathBuf>) -> Self {
        Self {
            scratch: scratch.into(),
            memory: MEMORY,
            anew: false,
        }
    }
}

/// Builds and publishes the next generation, if the dumps have news.
pub async fn update(objects: &Objects, shop: &Workshop) -> Result<Updated, DatasetError> {
    for _ in 0..TRIES {
        match try_update(objects, shop).await {
            Ok(Some(updated)) => return Ok(updated),
            Ok(None) => {}
            // The dumps that were chosen are no longer needed: there is something newer.
            Err(DatasetError::Dump(dumps::DumpError::Missing(name))) => {
                tracing::info!(%name, "an input was collected; looking again");
            }
            Err(error) => return Err(error),
        }
    }
    Err(DatasetError::Busy)
}

/// None if somebody else published meanwhile.
async fn try_update(objects: &Objects, shop: &Workshop) -> Result<Option<Updated>, DatasetError> {
    let before = newest(objects).await?;
    let chain = dumps::chain(&dumps::ranges(objects).await?);
    let Some(end) = dumps::end(&chain) else {
        return Err(dumps::DumpError::NoFullDump.into());
    };
    let mut inputs = Vec::new();
    for range in &chain {
        let dump = Dump::read(objects, *range).await?;
        let dump = dump.ok_or_else(|| dumps::DumpError::Missing(range.manifest()))?;
        inputs.push(Input::from(&dump));
    }
    if let Some(before) = &before {
        // Its builder may have died just before.
        write_input_list(objects, before).await?;
        if end < before.up_to() {
            let newest = before.up_to();
            return Ok(Some(Updated::Behind { dumps: end, newest }));
        }
        if before.inputs == inputs && !shop.anew {
            return Ok(Some(Updated::Current(before.clone())));
        }
    }
    // What the newest generation was made of must be the beginning of what there is: else there was
    // a re-dump, and all is built anew.
    let base = before
        .as_ref()
        .filter(|before| !shop.anew && inputs.starts_with(&before.inputs));
    let place = tempfile::tempdir_in(&shop.scratch)?;
    let files = match base {
        Some(base) => Some(library::local_files(objects, base, place.path()).await?),
        None => None,
    };
    let known = base.map_or(0, |base| base.inputs.len());
    let mut builder = Builder::new(place.path(), shop.memory);
    let mut rows = 0;
    for (name, sha256) in inputs[known..].iter().flat_map(|input| &input.files) {
        let (file, is_copy) = input_file(objects, name, place.path()).await?;
        let (name, sha256) = (name.clone(), sha256.clone());
        let read = tokio::task::spawn_blocking(move || {
            let count = add_rows(&mut builder, &file, &name, &sha256)?;
            if is_copy {
                std::fs::remove_file(&file)?;
            }
            Ok::<_, DatasetError>((builder, count))
        });
        let (next, count) = read.await.map_err(std::io::Error::from)??;
        builder = next;
        rows += count;
    }
    let build = tokio::task::spawn_blocking(move || {
        let before = files.map(|files| Datasets::open(&files)).transpose()?;
        builder.finish(before.as_ref())
    });
    let built = build.await.map_err(std::io::Error::from)??;
    if built.skipped > 0 {
        tracing::warn!(
            skipped = built.skipped,
            "rows have names that cannot be keys"
        );
    }
    let after = before.as_ref().map_or(0, |before| before.generation);
    let incremental = base.is_some();
    Ok(match publish(objects, &built, inputs, after).await? {
        Published::Beaten { .. } => None,
        Published::As(manifest) => Some(Updated::Published {
            manifest,
            incremental,
            rows,
        }),
    })
}

/// The file of an input, and whether it is a copy of ours.
async fn input_file(
    objects: &Objects,
    name: &str,
    place: &Path,
) -> Result<(PathBuf, bool), DatasetError> {
    if let Some(file) = objects.local_file(name) {
        return if file.is_file() {
            Ok((file, false))
        } else {
            Err(dumps::DumpError::Missing(name.to_owned()).into())
        };
    }
    let copy = place.join("input");
    if objects.fetch(name, &copy).await? {
        Ok((copy, true))
    } else {
        Err(dumps::DumpError::Missing(name.to_owned()).into())
    }
}

fn add_rows(
    builder: &mut Builder,
    file: &Path,
    name: &str,
    sha256: &str,
) -> Result<u64, DatasetError> {
    if hash(file)? != sha256 {
        let why = "its SHA-256 is not the one that its dump tells".to_owned();
        let name = name.to_owned();
        return Err(dumps::DumpError::Damaged { name, why }.into());
    }
    let mut rows = ShardReader::open(file, name)?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        builder.push(row)?;
        count += 1;
    }
    Ok(count)
}

/// The SHA-256 of a file, in hexadecimal.
pub fn hash(file: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut file = std::fs::File::open(file)?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer)?;
        if read == 0 {
            return Ok(facts::hex::lower(digest.finalize()));
        }
        digest.update(&buffer[..read]);
    }
}
