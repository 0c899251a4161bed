//! Reads changes from the database and writes the shards of a dump.

use std::path::Path;

use db::Db;
use sha2::{Digest as _, Sha256};

use super::{
    Contents, Dump, DumpError, DumpRow, Range, ShardWriter,
    catalogue::{Shard, ShardFile, chain, end, ranges},
};
use crate::{
    objects::{Created, MOST_AT_ONCE, Objects},
    pypi::{FileRow, changed_files},
};

/// Rows that are read at once.
const PAGE: usize = 1_000;
/// The most that the word of a shard may have.
const MOST_WORD: u64 = 1 << 20;

/// How many shards a full dump has: `shards`, unless somebody began the same dump with another
/// number.
pub async fn plan(objects: &Objects, range: Range, shards: u32) -> Result<u32, DumpError> {
    let name = format!("{}/plan.json", range.directory());
    let text = format!("{{\"shards\": {shards}}}\n");
    if objects.create(&name, text.into_bytes()).await? == Created::New {
        return Ok(shards);
    }
    let text = objects.get(&name, MOST_WORD).await?.unwrap_or_default();
    let plan: Result<Plan, _> = serde_json::from_slice(&text);
    plan.map(|plan| plan.shards)
        .map_err(|error| DumpError::Damaged {
            name,
            why: error.to_string(),
        })
}

#[derive(serde::Deserialize)]
struct Plan {
    shards: u32,
}

/// Writes one shard of a full dump, unless it is there; files grow in `scratch` first.
///
/// Rows that change meanwhile get a new number above the dump's end, and are in the next dump:
/// see [`incremental`].
pub async fn shard(
    db: &Db,
    objects: &Objects,
    range: Range,
    number: u32,
    shards: u32,
    scratch: &Path,
) -> Result<Shard, DumpError> {
    let planned = plan(objects, range, shards).await?;
    if planned != shards || number >= shards {
        return Err(DumpError::Plan { range, planned });
    }
    if let Some(shard) = read_shard(objects, range, number).await? {
        return Ok(shard);
    }
    let part = range.part(number, shards);
    let place = tempfile::tempdir_in(scratch)?;
    let mut writer = ShardWriter::create(place.path())?;
    let mut after = part.from;
    while after < part.to {
        let rows = changed_files(db, after, part.to, PAGE).await?;
        let is_last = rows.len() < PAGE;
        (writer, after) = tokio::task::spawn_blocking(move || write_page(writer, rows, after))
            .await
            .map_err(std::io::Error::from)??;
        if is_last {
            break;
        }
    }
    put_shard(objects, range, number, writer).await
}

/// The word of a shard that is complete.
pub async fn read_shard(
    objects: &Objects,
    range: Range,
    number: u32,
) -> Result<Option<Shard>, DumpError> {
    let name = range.shard(number, "meta.json");
    let Some(text) = objects.get(&name, MOST_WORD).await? else {
        return Ok(None);
    };
    let shard = serde_json::from_slice(&text).map_err(|error| DumpError::Damaged {
        name,
        why: error.to_string(),
    })?;
    Ok(Some(shard))
}

/// Dumps everything that changed since the last dump ended, in one shard; none if nothing did.
///
/// Changes are read in the order of their numbers until there are no more, and only then the end of
/// the dump is known. Whatever changes while it is read comes up again under a greater number, so
/// at its end nothing that has a number is missing: together with what is before it, the dump is
/// everything at one moment.
pub async fn incremental(
    db: &Db,
    objects: &Objects,
    scratch: &Path,
) -> Result<Option<Dump>, DumpError> {
    let chain = chain(&ranges(objects).await?);
    let from = end(&chain).ok_or(DumpError::NoFullDump)?;
    changes_after(db, objects, from, scratch).await
}

/// Makes a full dump of which all shards are there count. What changed while they were written is
/// dumped first, so that from the moment the full dump counts, nothing is missing.
pub async fn complete(
    db: &Db,
    objects: &Objects,
    range: Range,
    shards: Vec<Shard>,
    scratch: &Path,
) -> Result<Dump, DumpError> {
    if let Some(dump) = Dump::read(objects, range).await? {
        return Ok(dump);
    }
    changes_after(db, objects, range.to, scratch).await?;
    let dump = Dump::of(range, shards);
    dump.publish(objects).await?;
    Ok(dump)
}

async fn changes_after(
    db: &Db,
    objects: &Objects,
    from: i64,
    scratch: &Path,
) -> Result<Option<Dump>, DumpError> {
    let place = tempfile::tempdir_in(scratch)?;
    let mut writer = ShardWriter::create(place.path())?;
    let mut to = from;
    loop {
        let rows = changed_files(db, to, i64::MAX, PAGE).await?;
        let is_last = rows.len() < PAGE;
        (writer, to) = tokio::task::spawn_blocking(move || write_page(writer, rows, to))
            .await
            .map_err(std::io::Error::from)??;
        if is_last {
            break;
        }
    }
    if to == from {
        return Ok(None);
    }
    let range = Range { from, to };
    let shard = put_shard(objects, range, 0, writer).await?;
    let dump = Dump::of(range, vec![shard]);
    dump.publish(objects).await?;
    Ok(Some(dump))
}

fn write_page(
    mut writer: ShardWriter,
    rows: Vec<FileRow>,
    mut after: i64,
) -> Result<(ShardWriter, i64), DumpError> {
    for row in rows {
        after = row.change_seq;
        writer.push(DumpRow::from(row))?;
    }
    Ok((writer, after))
}

/// Ends a shard and puts its files where they belong.
pub async fn put_shard(
    objects: &Objects,
    range: Range,
    number: u32,
    writer: ShardWriter,
) -> Result<Shard, DumpError> {
    let (json, parquet) = (writer.json_path.clone(), writer.parquet_path.clone());
    let contents = tokio::task::spawn_blocking(move || writer.finish())
        .await
        .map_err(std::io::Error::from)??;
    put_files(objects, range, number, contents, &json, &parquet).await
}

/// Creates the files of a shard and then its word. What is there already stays: then the word is
/// about that, and of all that race to write a shard, every one says the same of it.
async fn put_files(
    objects: &Objects,
    range: Range,
    number: u32,
    contents: Contents,
    json: &Path,
    parquet: &Path,
) -> Result<Shard, DumpError> {
    let (json, is_ours) = put_file(objects, range.shard(number, "json.gz"), json).await?;
    let (parquet, _) = put_file(objects, range.shard(number, "parquet"), parquet).await?;
    let contents = if is_ours {
        contents
    } else {
        recount(objects, &json.name).await?
    };
    let shard = Shard {
        shard: number,
        rows: contents.rows,
        serials: contents.serials,
        extractors: contents.extractors,
        json,
        parquet,
    };
    let text = serde_json::to_vec_pretty(&shard).map_err(std::io::Error::from)?;
    objects
        .create(&range.shard(number, "meta.json"), text)
        .await?;
    // Whoever was first has said it.
    let said = read_shard(objects, range, number).await?;
    Ok(said.unwrap_or(shard))
}

async fn put_file(
    objects: &Objects,
    name: String,
    file: &Path,
) -> Result<(ShardFile, bool), DumpError> {
    let bytes = tokio::fs::read(file).await?;
    let mut told = ShardFile {
        sha256: facts::hex::lower(Sha256::digest(&bytes)),
        bytes: bytes.len() as u64,
        name,
    };
    if objects.create(&told.name, bytes).await? == Created::New {
        return Ok((told, true));
    }
    let there = objects.get(&told.name, MOST_AT_ONCE).await?;
    let there = there.ok_or_else(|| DumpError::Missing(told.name.clone()))?;
    told.sha256 = facts::hex::lower(Sha256::digest(&there));
    told.bytes = there.len() as u64;
    Ok((told, false))
}

async fn recount(objects: &Objects, name: &str) -> Result<Contents, DumpError> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("shard");
    if !objects.fetch(name, &file).await? {
        return Err(DumpError::Missing(name.to_owned()));
    }
    let name = name.to_owned();
    let counted = move || {
        let mut rows = super::ShardReader::open(&file, &name)?;
        let mut contents = Contents::default();
        while let Some(row) = rows.next()? {
            contents.add(&row);
        }
        Ok(contents)
    };
    let counted = tokio::task::spawn_blocking(counted);
    let contents: Result<Contents, DumpError> = counted.await.map_err(std::io::Error::from)?;
    drop(place);
    contents
}
