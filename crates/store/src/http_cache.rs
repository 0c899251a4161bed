//! Answers of upstreams that can be asked "has it changed?".
//!
//! The cache is a convenience: it is bounded by bytes and by age, whatever was used longest ago
//! goes first, and a row that is gone only means that the whole answer is fetched again. It is
//! written outside the transactions of runs, since it holds no facts.

use std::time::Duration;

use db::{Db, DbError, Timestamp, sql, transact};

/// What to ask with: "only if it is no longer this".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// The address the validators belong to, after redirects.
    pub path: String,
    /// The answer's entity tag.
    pub etag: Option<String>,
    /// The answer's date, as the server wrote it.
    pub last_modified: Option<String>,
    /// When the answer was kept: an answer that is replaced meanwhile has another.
    pub stored_at: Timestamp,
}

/// An answer to keep.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The address that answered, after redirects.
    pub path: String,
    /// The answer's entity tag.
    pub etag: Option<String>,
    /// The answer's date, as the server wrote it.
    pub last_modified: Option<String>,
    /// The headers worth keeping, a JSON object.
    pub headers: String,
    /// The compressed body.
    pub body: Vec<u8>,
}

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// All rows together.
    pub bytes: i64,
    /// A row that nobody used for so long goes.
    pub unused_for: Duration,
}

/// A use is written down at most this often: reading must not cost a write.
const NOTE_USE_EVERY: Duration = Duration::from_hours(1);

/// What a row weighs beside its texts and its body.
const ROW_WEIGHT: usize = 200;

/// What to ask with, if the answer is kept.
pub async fn validators(db: &Db, key: &str) -> Result<Option<Validators>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT path, etag, last_modified, stored_at FROM http_cache WHERE key = $1",
            key
        ))
        .await?;
    row.map(|row| {
        Ok(Validators {
            path: row.get("path")?,
            etag: row.get("etag")?,
            last_modified: row.get("last_modified")?,
            stored_at: row.get("stored_at")?,
        })
    })
    .transpose()
}

/// The kept answer, if it still is the one that was kept at `stored_at`; notes that it was used.
pub async fn take_up(
    db: &Db,
    key: &str,
    stored_at: Timestamp,
    now: Timestamp,
) -> Result<Option<(String, Vec<u8>)>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT headers, body, used_at FROM http_cache WHERE key = $1 AND stored_at = $2",
            key,
            stored_at
        ))
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let used_at: Timestamp = row.get("used_at")?;
    if now.since(used_at) >= NOTE_USE_EVERY {
        db.execute(sql!(
            "UPDATE http_cache SET used_at = $2 WHERE key = $1 AND used_at < $2",
            key,
            now
        ))
        .await?;
    }
    Ok(Some((row.get("headers")?, row.get("body")?)))
}

/// Keeps an answer in place of an earlier one; returns what the row weighs.
pub async fn keep(db: &Db, key: &str, kept: &Kept, now: Timestamp) -> Result<i64, DbError> {
    let texts = [&kept.etag, &kept.last_modified]
        .into_iter()
        .flatten()
        .map(String::len)
        .sum::<usize>();
    let bytes = ROW_WEIGHT + key.len() + kept.path.len() + texts + kept.headers.len();
    let bytes = i64::try_from(bytes + kept.body.len()).unwrap_or(i64::MAX);
    db.execute(sql!(
        "INSERT INTO http_cache
            (key, path, etag, last_modified, headers, body, bytes, stored_at, used_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
         ON CONFLICT (key) DO UPDATE SET path = excluded.path, etag = excluded.etag,
            last_modified = excluded.last_modified, headers = excluded.headers,
            body = excluded.body, bytes = excluded.bytes,
            stored_at = excluded.stored_at, used_at = excluded.used_at",
        key,
        &kept.path,
        kept.etag.as_ref(),
        kept.last_modified.as_ref(),
        &kept.headers,
        kept.body.as_slice(),
        bytes,
        now
    ))
    .await?;
    Ok(bytes)
}

/// Forgets one answer.
pub async fn forget(db: &Db, key: &str) -> Result<(), DbError> {
    db.execute(sql!("DELETE FROM http_cache WHERE key = $1", key))
        .await
        .map(drop)
}

/// Brings the cache within its bounds; returns how many answers went.
pub async fn sweep(db: &Db, bounds: Bounds, now: Timestamp) -> Result<u64, DbError> {
    let unused = now.minus(bounds.unused_for);
    let mut gone = 0;
    loop {
        let step = transact!(db, |tx| {
            tx.execute(sql!(
                "DELETE FROM http_cache WHERE key IN
                    (SELECT key FROM http_cache WHERE used_at < $1 ORDER BY used_at LIMIT $2)",
                unused,
                crate::MAX_ROWS
            ))
            .await
        })?;
        gone += step;
        if step < crate::MAX_ROWS as u64 {
            break;
        }
    }
    loop {
        // The running sum counts from what was used last: all beyond the bound is the oldest-used
        // rest. The index of times does not hold the sizes, but a cache has thousands of rows.
        let step = transact!(db, |tx| {
            tx.execute(sql!(
                "DELETE FROM http_cache WHERE key IN (
                    SELECT key FROM (
                        SELECT key, SUM(bytes) OVER (ORDER BY used_at DESC, key
                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far
                        FROM http_cache) AS weighed
                    WHERE so_far > $1 ORDER BY so_far DESC LIMIT $2)",
                bounds.bytes,
                crate::MAX_ROWS
            ))
            .await
        })?;
        gone += step;
        if step < crate::MAX_ROWS as u64 {
            return Ok(gone);
        }
    }
}

/// How many answers are kept, and what they weigh together.
pub async fn size(db: &Db) -> Result<(i64, i64), DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS answers, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes
             FROM http_cache"
        ))
        .await?;
    Ok((row.get("answers")?, row.get("bytes")?))
}
