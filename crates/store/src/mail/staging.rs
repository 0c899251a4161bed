//! Copies on their way in and out: staged, set aside, forgotten; and how far archives were read.

use std::collections::{HashMap, HashSet};

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use serde::Serialize;

use super::{threads, write};

/// A mail as an archive holds it.
#[derive(Clone, Debug)]
pub struct NewCopy {
    /// The month, epoch or file it was found in.
    pub part: String,
    /// SHA-256 of its bytes, or the id that git gives them.
    pub digest: String,
    /// Of the bytes as they came.
    pub size: usize,
    /// The date of the archive's separator line.
    pub envelope_at: Option<Timestamp>,
    /// Compressed.
    pub raw: Vec<u8>,
}

/// A copy that waits to become a message.
#[derive(Clone, Debug)]
pub struct StagedCopy {
    pub id: i64,
    pub digest: String,
    pub envelope_at: Option<Timestamp>,
    /// Compressed.
    pub raw: Vec<u8>,
}

/// How far a part of an archive was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPart {
    pub part: String,
    /// `open`, `complete` or `incomplete`.
    pub state: String,
    pub expected: Option<i64>,
    pub found: i64,
    /// The commit up to which it was read.
    pub tip: Option<String>,
    pub read_at: Timestamp,
    pub why: Option<String>,
}

/// Stages copies; answers how many were not there before.
pub async fn stage(
    tx: &mut Tx,
    list: i64,
    copies: &[NewCopy],
    now: Timestamp,
) -> Result<usize, DbError> {
    // One statement must not meet a digest twice.
    let mut met = HashSet::new();
    let copies: Vec<&NewCopy> = copies
        .iter()
        .filter(|copy| met.insert(copy.digest.as_str()))
        .collect();
    let size = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let rows = tx
        .fetch_bulk(
            sql!(
                "INSERT INTO mail_copy (list, part, digest, size, envelope_at, state, staged_at)
                 SELECT $1, r.part, r.digest, r.size, r.envelope_at, 'staged', $2 FROM {rows}
                 WHERE TRUE ON CONFLICT (list, digest) DO NOTHING RETURNING id, digest",
                list,
                now
            ),
            Bulk::new()
                .texts("part", copies.iter().map(|copy| copy.part.clone()))
                .texts("digest", copies.iter().map(|copy| copy.digest.clone()))
                .ints("size", copies.iter().map(|copy| size(copy.size)))
                .times("envelope_at", copies.iter().map(|copy| copy.envelope_at)),
        )
        .await?;
    let by_digest: HashMap<&str, &NewCopy> = copies
        .iter()
        .map(|copy| (copy.digest.as_str(), *copy))
        .collect();
    let mut ids = Vec::with_capacity(rows.len());
    let mut raws = Vec::with_capacity(rows.len());
    for row in &rows {
        let digest: String = row.get("digest")?;
        if let Some(copy) = by_digest.get(digest.as_str()) {
            ids.push(row.get::<i64>("id")?);
            raws.push(copy.raw.clone());
        }
    }
    let count = ids.len();
    tx.execute_bulk(
        sql!("INSERT INTO mail_raw (copy, body) SELECT r.copy, r.body FROM {rows}"),
        Bulk::new().ints("copy", ids).bytes("body", raws),
    )
    .await?;
    Ok(count)
}

/// Writes down how far a part was read.
pub async fn read_part(tx: &mut Tx, list: i64, part: &KnownPart) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO mail_part (list, part, state, expected, found, tip, read_at, why)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (list, part) DO UPDATE SET state = excluded.state,
            expected = excluded.expected, found = excluded.found, tip = excluded.tip,
            read_at = excluded.read_at, why = excluded.why",
        list,
        &part.part,
        &part.state,
        part.expected,
        part.found,
        part.tip.as_ref(),
        part.read_at,
        part.why.as_ref()
    ))
    .await
    .map(drop)
}

/// How far all parts of a list were read.
pub async fn parts(db: &Db, list: i64) -> Result<Vec<KnownPart>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT part, state, expected, found, tip, read_at, why FROM mail_part
             WHERE list = $1 ORDER BY part",
            list
        ))
        .await?;
    let part = |row: &Row| {
        Ok(KnownPart {
            part: row.get("part")?,
            state: row.get("state")?,
            expected: row.get("expected")?,
            found: row.get("found")?,
            tip: row.get("tip")?,
            read_at: row.get("read_at")?,
            why: row.get("why")?,
        })
    };
    rows.iter().map(part).collect()
}

/// At most `limit` copies of a list that wait, behind a number.
pub async fn staged(
    db: &Db,
    list: i64,
    after: i64,
    limit: usize,
) -> Result<Vec<StagedCopy>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT c.id, c.digest, c.envelope_at, w.body FROM mail_copy c
             JOIN mail_raw w ON w.copy = c.id
             WHERE c.list = $1 AND c.state = 'staged' AND c.id > $2 ORDER BY c.id LIMIT $3",
            list,
            after,
            limit
        ))
        .await?;
    let copy = |row: &Row| {
        Ok(StagedCopy {
            id: row.get("id")?,
            digest: row.get("digest")?,
            envelope_at: row.get("envelope_at")?,
            raw: row.get("body")?,
        })
    };
    rows.iter().map(copy).collect()
}

/// The lists that have copies waiting.
pub async fn staged_lists(tx: &mut Tx) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT l.id FROM mail_list l WHERE EXISTS (
                SELECT 1 FROM mail_copy c WHERE c.list = l.id AND c.state = 'staged')
             ORDER BY l.id"
        ))
        .await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Those of these digests that the list has.
pub async fn known_digests(
    db: &Db,
    list: i64,
    digests: &[String],
) -> Result<HashSet<String>, DbError> {
    let rows = db
        .fetch_bulk(
            sql!(
                "SELECT c.digest FROM mail_copy c
                 WHERE c.list = $1 AND c.digest IN (SELECT r.digest FROM {rows})",
                list
            ),
            Bulk::new().texts("digest", digests.iter().cloned()),
        )
        .await?;
    rows.iter().map(|row| row.get("digest")).collect()
}

/// Copies that could not be written, each with the reason. Their bytes stay.
pub async fn set_aside(tx: &mut Tx, copies: &[(i64, String)]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "UPDATE mail_copy SET state = 'dead', failure = r.why FROM {rows}
             WHERE mail_copy.id = r.id AND mail_copy.state = 'staged'"
        ),
        Bulk::new()
            .ints("id", copies.iter().map(|(id, _)| *id))
            .texts("why", copies.iter().map(|(_, why)| why.clone())),
    )
    .await
    .map(drop)
}

/// Copies of mirror mail that nobody wants. Their bytes stay; messages that they alone told go.
pub async fn skip(tx: &mut Tx, copies: &[i64]) -> Result<(), DbError> {
    if copies.is_empty() {
        return Ok(());
    }
    let ids = || Bulk::new().ints("id", copies.iter().copied());
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT DISTINCT c.message FROM mail_copy c
                 WHERE c.id IN (SELECT r.id FROM {rows}) AND c.message IS NOT NULL"
            ),
            ids(),
        )
        .await?;
    let told: Vec<i64> = rows
        .iter()
        .map(|row| row.get("message"))
        .collect::<Result<_, _>>()?;
    tx.execute_bulk(
        sql!(
            "UPDATE mail_copy SET state = 'skipped', message = NULL, sent_at = NULL FROM {rows}
             WHERE mail_copy.id = r.id AND mail_copy.state = 'staged'"
        ),
        ids(),
    )
    .await?;
    if told.is_empty() {
        return Ok(());
    }
    write::take_turn(tx).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT m.id FROM mail_message m WHERE m.id IN (SELECT r.id FROM {rows})
                   AND NOT EXISTS (SELECT 1 FROM mail_copy c WHERE c.message = m.id)"
            ),
            Bulk::new().ints("id", told),
        )
        .await?;
    let alone: Vec<i64> = rows
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    let gone = write::remove(tx, &alone).await?;
    threads::rebuild(tx, &gone).await
}

/// A copy that could not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadLetter {
    pub copy: i64,
    pub list: String,
    pub part: String,
    pub digest: String,
    pub size: i64,
    pub failure: Option<String>,
    pub staged_at: Timestamp,
}

/// At most `limit` copies that could not be written, behind a number.
pub async fn dead_letters(db: &Db, after: i64, limit: usize) -> Result<Vec<DeadLetter>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT c.id, l.address, c.part, c.digest, c.size, c.failure, c.staged_at
             FROM mail_copy c JOIN mail_list l ON l.id = c.list
             WHERE c.state = 'dead' AND c.id > $1 ORDER BY c.id LIMIT $2",
            after,
            limit
        ))
        .await?;
    let letter = |row: &Row| {
        Ok(DeadLetter {
            copy: row.get("id")?,
            list: row.get("address")?,
            part: row.get("part")?,
            digest: row.get("digest")?,
            size: row.get("size")?,
            failure: row.get("failure")?,
            staged_at: row.get("staged_at")?,
        })
    };
    rows.iter().map(letter).collect()
}

/// Has all copies read again from their bytes; answers how many. Messages stay until they are told
/// anew, and then keep their numbers.
pub async fn read_again(tx: &mut Tx) -> Result<u64, DbError> {
    // No copy speaks for a message until one has told it anew.
    tx.execute(sql!("UPDATE mail_message SET speaker = '~'"))
        .await?;
    tx.execute(sql!(
        "UPDATE mail_copy SET state = 'staged', failure = NULL WHERE state <> 'staged'"
    ))
    .await
}

/// Forgets copies that left their archive. Messages that they alone spoke for go with them; where
/// another copy is left, that one is read again. Threads become what the rest makes of them.
/// Answers the lists that have copies to be read again.
pub async fn forget(tx: &mut Tx, list: i64, digests: &[String]) -> Result<Vec<i64>, DbError> {
    write::take_turn(tx).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "DELETE FROM mail_copy WHERE list = $1 AND digest IN (SELECT r.digest FROM {rows})
                 RETURNING id, message",
                list
            ),
            Bulk::new().texts("digest", digests.iter().cloned()),
        )
        .await?;
    let mut messages: Vec<i64> = Vec::new();
    for row in &rows {
        messages.extend(row.get::<Option<i64>>("message")?);
    }
    messages.sort_unstable();
    messages.dedup();
    // Whoever is left tells the message anew.
    let left = tx
        .fetch_bulk(
            sql!(
                "UPDATE mail_copy SET state = 'staged', message = NULL, sent_at = NULL
                 WHERE message IN (SELECT r.id FROM {rows}) RETURNING list"
            ),
            Bulk::new().ints("id", messages.iter().copied()),
        )
        .await?;
    let gone = write::remove(tx, &messages).await?;
    threads::rebuild(tx, &gone).await?;
    let lists: HashSet<i64> = left
        .iter()
        .map(|row| row.get("list"))
        .collect::<Result<_, _>>()?;
    Ok(lists.into_iter().collect())
}

/// Remembers that a part of the archive says of these mails that they were removed.
pub async fn bury(tx: &mut Tx, list: i64, part: &str, digests: &[String]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_tombstone (list, digest, part)
             SELECT DISTINCT $1, r.digest, $2 FROM {rows} WHERE TRUE
             ON CONFLICT (list, digest) DO UPDATE SET part = excluded.part",
            list,
            part
        ),
        Bulk::new().texts("digest", digests.iter().cloned()),
    )
    .await
    .map(drop)
}

/// Those of these mails that were removed, each with the part that says so.
pub async fn buried(
    db: &Db,
    list: i64,
    digests: &[String],
) -> Result<HashMap<String, String>, DbError> {
    let rows = db
        .fetch_bulk(
            sql!(
                "SELECT t.digest, t.part FROM mail_tombstone t
                 WHERE t.list = $1 AND t.digest IN (SELECT r.digest FROM {rows})",
                list
            ),
            Bulk::new().texts("digest", digests.iter().cloned()),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("digest")?, row.get("part")?)))
        .collect()
}

/// How many copies of a part there are.
pub async fn count_part(tx: &mut Tx, list: i64, part: &str) -> Result<i64, DbError> {
    let row = tx
        .fetch_one(sql!(
            "SELECT COUNT(*) AS n FROM mail_copy WHERE list = $1 AND part = $2",
            list,
            part
        ))
        .await?;
    row.get("n")
}

/// The digests of a part of a list, in the order of their numbers, behind a number; with it.
pub async fn digests_of(
    db: &Db,
    list: i64,
    part: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String)>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT id, digest FROM mail_copy WHERE list = $1 AND part = $2 AND id > $3
             ORDER BY id LIMIT $4",
            list,
            part,
            after,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("digest")?)))
        .collect()
}
