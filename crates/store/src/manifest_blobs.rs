//! Contents of manifests by the id that git gives them, so that none is asked for twice and a
//! better parser can read them again without the network.
//!
//! Only manifests are kept, each at most as large as one may be; all together are bounded by bytes
//! and by age, and whatever was used longest ago goes first. It is written outside the
//! transactions of runs, since it holds no facts. Whoever keeps something has checked that it has
//! the id, and has packed it: this module does not look inside.

use std::{collections::HashMap, time::Duration};

use db::{Bulk, Db, DbError, Timestamp, sql, transact};

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// All rows together.
    pub bytes: i64,
    /// A row that nobody used for so long goes. Longer than any cadence, or the second visit to a
    /// repository would find nothing.
    pub unused_for: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            unused_for: Duration::from_hours(400 * 24),
        }
    }
}

/// A use is written down at most this often: reading must not cost a write.
const NOTE_USE_EVERY: Duration = Duration::from_hours(24);

/// What a row weighs beside its body.
const ROW_WEIGHT: usize = 150;

/// So many at a time: their bodies go through memory together.
pub const BATCH: usize = 500;

/// Those of the ids that are kept, with their packed contents. At most [`BATCH`] ids.
pub async fn take_up(
    db: &Db,
    ids: &[&str],
    now: Timestamp,
) -> Result<HashMap<String, Vec<u8>>, DbError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted = || Bulk::new().texts("id", ids.iter().map(|id| (*id).to_owned()));
    let rows = db
        .fetch_bulk(
            sql!("SELECT b.id, b.body, b.used_at FROM {rows} JOIN manifest_blob b ON b.id = r.id"),
            wanted(),
        )
        .await?;
    let mut found = HashMap::with_capacity(rows.len());
    let mut stale = Vec::new();
    for row in &rows {
        let id: String = row.get("id")?;
        if now.since(row.get("used_at")?) >= NOTE_USE_EVERY {
            stale.push(id.clone());
        }
        found.insert(id, row.get("body")?);
    }
    if !stale.is_empty() {
        let stale = &Bulk::new().texts("id", stale);
        transact!(db, |tx| {
            let statement = sql!(
                "UPDATE manifest_blob SET used_at = $1 FROM {rows} WHERE manifest_blob.id = r.id",
                now
            );
            tx.execute_bulk(statement, stale.clone()).await
        })?;
    }
    Ok(found)
}

/// Keeps packed contents under their ids; returns what the rows weigh. At most [`BATCH`] of them.
pub async fn keep(db: &Db, blobs: Vec<(String, Vec<u8>)>, now: Timestamp) -> Result<i64, DbError> {
    if blobs.is_empty() {
        return Ok(0);
    }
    let weights: Vec<i64> = blobs
        .iter()
        .map(|(id, body)| i64::try_from(ROW_WEIGHT + id.len() + body.len()).unwrap_or(i64::MAX))
        .collect();
    let total = weights.iter().sum();
    let (ids, bodies): (Vec<String>, Vec<Vec<u8>>) = blobs.into_iter().unzip();
    let bulk = &Bulk::new()
        .texts("id", ids)
        .bytes("body", bodies)
        .ints("bytes", weights);
    transact!(db, |tx| {
        // Contents under one id are the same, whoever was first. `WHERE TRUE` tells SQLite that
        // `ON` begins no join.
        let statement = sql!(
            "INSERT INTO manifest_blob (id, body, bytes, used_at)
             SELECT r.id, r.body, r.bytes, $1 FROM {rows} WHERE TRUE
             ON CONFLICT (id) DO NOTHING",
            now
        );
        tx.execute_bulk(statement, bulk.clone()).await
    })?;
    Ok(total)
}

/// Brings what is kept within its bounds; returns how many went.
pub async fn sweep(db: &Db, bounds: Bounds, now: Timestamp) -> Result<u64, DbError> {
    let unused = now.minus(bounds.unused_for);
    let mut gone = 0;
    loop {
        let step = transact!(db, |tx| {
            tx.execute(sql!(
                "DELETE FROM manifest_blob WHERE id IN
                    (SELECT id FROM manifest_blob WHERE used_at < $1 ORDER BY used_at LIMIT $2)",
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
    while size(db).await?.1 > bounds.bytes {
        // Whole steps of the oldest: a running sum over a million rows would cost more than
        // asking again for a few of them.
        let step = transact!(db, |tx| {
            tx.execute(sql!(
                "DELETE FROM manifest_blob WHERE id IN
                    (SELECT id FROM manifest_blob ORDER BY used_at, id LIMIT $1)",
                BATCH
            ))
            .await
        })?;
        gone += step;
        if step == 0 {
            break;
        }
    }
    Ok(gone)
}

/// How many are kept, and what they weigh together.
pub async fn size(db: &Db) -> Result<(i64, i64), DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS blobs, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes
             FROM manifest_blob"
        ))
        .await?;
    Ok((row.get("blobs")?, row.get("bytes")?))
}
