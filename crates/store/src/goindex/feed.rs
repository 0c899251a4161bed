//! The feed: appended by one writer, read by anybody from any place.

use std::{fmt::Write as _, time::Duration};

use db::{Bulk, Db, DbError, Statement, Timestamp, Tx, sql};

/// One line of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub seq: i64,
    /// The module's path.
    pub path: String,
    /// Canonical.
    pub version: String,
    /// When it was published: later than every line before.
    pub published_at: Timestamp,
}

/// What a reader wants.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Published then or later.
    pub since: Option<Timestamp>,
    /// Behind this number.
    pub after: Option<i64>,
    /// Paths that begin so.
    pub prefix: Option<String>,
    /// Also what is no longer available.
    pub all: bool,
    /// At most so many.
    pub limit: usize,
}

/// What publishing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// So many were appended.
    pub count: usize,
    /// The number of the last line of the feed; 0 for an empty one.
    pub last: i64,
}

/// Appends at most `limit` versions that were committed before. Whoever calls this must be alone,
/// as one unit of the engine is: two at once would give one number twice, and one of them fails.
///
/// Moments are those of the clock, and always at least a microsecond behind the last line: clocks
/// may stand still or be set back, the feed may not.
pub async fn publish(tx: &mut Tx, limit: usize, now: Timestamp) -> Result<Published, DbError> {
    let last = tx
        .fetch_optional(sql!(
            "SELECT seq, published_at FROM go_feed ORDER BY seq DESC LIMIT 1"
        ))
        .await?;
    let (last, mut at): (i64, Timestamp) = match &last {
        Some(row) => {
            let previous: Timestamp = row.get("published_at")?;
            let next = previous.plus(Duration::from_micros(1));
            (row.get("seq")?, next.max(now))
        }
        None => (0, now),
    };
    let rows = tx
        .fetch_all(sql!(
            "SELECT id, path, version FROM go_version
             WHERE seq IS NULL AND NOT hidden AND gone_at IS NULL ORDER BY id LIMIT $1",
            limit
        ))
        .await?;
    if rows.is_empty() {
        return Ok(Published { count: 0, last });
    }
    let (mut ids, mut seqs) = (Vec::new(), Vec::new());
    let (mut paths, mut versions, mut moments) = (Vec::new(), Vec::new(), Vec::new());
    for (row, seq) in rows.iter().zip(last + 1..) {
        ids.push(row.get::<i64>("id")?);
        seqs.push(seq);
        paths.push(row.get::<String>("path")?);
        versions.push(row.get::<String>("version")?);
        moments.push(at);
        at = at.plus(Duration::from_micros(1));
    }
    let count = rows.len();
    let end = last + i64::try_from(count).unwrap_or(i64::MAX);
    let feed = Bulk::new()
        .ints("seq", seqs.clone())
        .texts("path", paths)
        .texts("version", versions)
        .times("published_at", moments);
    tx.execute_bulk(
        sql!(
            "INSERT INTO go_feed (seq, path, version, published_at, available)
             SELECT r.seq, r.path, r.version, r.published_at, TRUE FROM {rows}"
        ),
        feed,
    )
    .await?;
    tx.execute_bulk(
        sql!("UPDATE go_version SET seq = r.seq FROM {rows} WHERE go_version.id = r.id"),
        Bulk::new().ints("id", ids).ints("seq", seqs),
    )
    .await?;
    Ok(Published { count, last: end })
}

/// A page of the feed, oldest first. It costs what it holds, wherever it begins.
///
/// Whoever asks for one line from the moment of the last one they know would get that one line for
/// ever; then the next one comes along.
pub async fn page(db: &Db, asked: &Asked) -> Result<Vec<Entry>, DbError> {
    let (Some(since), 1) = (asked.since, asked.limit) else {
        return read(db, asked, asked.limit).await;
    };
    let mut entries = read(db, asked, 2).await?;
    if entries
        .first()
        .is_none_or(|first| first.published_at != since)
    {
        entries.truncate(1);
    }
    Ok(entries)
}

async fn read(db: &Db, asked: &Asked, limit: usize) -> Result<Vec<Entry>, DbError> {
    let mut text = String::from("SELECT seq, path, version, published_at FROM go_feed WHERE TRUE");
    let mut arguments = 0;
    let mut place = || {
        arguments += 1;
        arguments
    };
    if !asked.all {
        text.push_str(" AND available");
    }
    if asked.since.is_some() {
        let _ = write!(text, " AND published_at >= ${}", place());
    }
    if asked.after.is_some() {
        let _ = write!(text, " AND seq > ${}", place());
    }
    if asked.prefix.is_some() {
        let (from, to) = (place(), place());
        let _ = write!(text, " AND path >= ${from} AND path < ${to}");
    }
    // Both orders are the same; the one that there is an index for depends on the question.
    let order = if asked.after.is_some() {
        "seq"
    } else {
        "published_at"
    };
    let _ = write!(text, " ORDER BY {order} LIMIT ${}", place());
    let mut statement = Statement::built(text);
    if let Some(since) = asked.since {
        statement = statement.bind(since);
    }
    if let Some(after) = asked.after {
        statement = statement.bind(after);
    }
    if let Some(prefix) = &asked.prefix {
        // No path goes beyond the last character there is.
        statement = statement.bind(prefix).bind(format!("{prefix}\u{10ffff}"));
    }
    let rows = db.fetch_all(statement.bind(limit)).await?;
    rows.iter()
        .map(|row| {
            Ok(Entry {
                seq: row.get("seq")?,
                path: row.get("path")?,
                version: row.get("version")?,
                published_at: row.get("published_at")?,
            })
        })
        .collect()
}

/// Changes whenever any page may: the last number of the feed, and of what happened to tags.
pub async fn validator(db: &Db) -> Result<(i64, i64), DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT COALESCE((SELECT MAX(seq) FROM go_feed), 0) AS last,
                COALESCE((SELECT MAX(id) FROM go_event), 0) AS event"
        ))
        .await?;
    Ok((row.get("last")?, row.get("event")?))
}
