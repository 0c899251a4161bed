//! Patch series: what grouping reads and what it found. Grouping itself is `scan`'s.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};

use super::write;

/// A patch as grouping reads it.
#[derive(Clone, Debug)]
pub struct PatchRow {
    pub message_id: String,
    pub author: String,
    pub subject: String,
    pub sent_at: Option<Timestamp>,
    /// Nearest first.
    pub ancestors: Vec<String>,
    pub has_diff: bool,
}

/// A series that was found.
#[derive(Clone, Debug)]
pub struct NewSeries {
    /// The id of its cover letter, else of its first patch.
    pub key: String,
    pub title: String,
    pub version: i64,
    pub is_rfc: bool,
    pub is_resend: bool,
    pub total: Option<i64>,
    pub is_complete: bool,
    pub cover: Option<String>,
    pub sent_at: Option<Timestamp>,
    /// Keys of the version before and of the first.
    pub previous: Option<String>,
    pub chain: String,
    pub members: Vec<SeriesMember>,
}

/// A mail of a series.
#[derive(Clone, Debug)]
pub struct SeriesMember {
    /// 0 for the cover letter.
    pub number: i64,
    pub message_id: String,
    /// Taken over from the version before.
    pub inherited: bool,
}

/// At most `limit` authors whose patches are to be grouped again.
pub async fn due_authors(db: &Db, limit: usize) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT author FROM mail_series_due ORDER BY author LIMIT $1",
            limit
        ))
        .await?;
    rows.iter().map(|row| row.get("author")).collect()
}

/// All patches of an author. Whoever reads them here is the only one who writes series until the
/// transaction ends.
pub async fn patches_of(tx: &mut Tx, author: &str) -> Result<Vec<PatchRow>, DbError> {
    write::take_turn(tx).await?;
    let rows = tx
        .fetch_all(sql!(
            "SELECT message_id, author, subject, sent_at, ancestors, has_diff FROM mail_patch
             WHERE author = $1 ORDER BY message_id",
            author
        ))
        .await?;
    let patch = |row: &Row| {
        let ancestors: String = row.get("ancestors")?;
        Ok(PatchRow {
            message_id: row.get("message_id")?,
            author: row.get("author")?,
            subject: row.get("subject")?,
            sent_at: row.get("sent_at")?,
            ancestors: serde_json::from_str(&ancestors).unwrap_or_default(),
            has_diff: row.get("has_diff")?,
        })
    };
    rows.iter().map(patch).collect()
}

/// Writes the series of an author in place of those that were there.
pub async fn replace_series(
    tx: &mut Tx,
    author: &str,
    series: &[NewSeries],
) -> Result<(), DbError> {
    tx.execute(sql!("DELETE FROM mail_series WHERE author = $1", author))
        .await?;
    tx.execute(sql!(
        "DELETE FROM mail_series_due WHERE author = $1",
        author
    ))
    .await?;
    let texts = |part: fn(&NewSeries) -> Option<&String>| {
        series
            .iter()
            .map(move |one| part(one).cloned())
            .collect::<Vec<_>>()
    };
    let rows = Bulk::new()
        .texts("key", texts(|one| Some(&one.key)))
        .texts("title", texts(|one| Some(&one.title)))
        .ints("version", series.iter().map(|one| one.version))
        .bools("is_rfc", series.iter().map(|one| one.is_rfc))
        .bools("is_resend", series.iter().map(|one| one.is_resend))
        .ints("total", series.iter().map(|one| one.total))
        .ints(
            "found",
            series
                .iter()
                .map(|one| i64::try_from(one.members.len()).unwrap_or(i64::MAX)),
        )
        .bools("is_complete", series.iter().map(|one| one.is_complete))
        .texts("cover", texts(|one| one.cover.as_ref()))
        .times("sent_at", series.iter().map(|one| one.sent_at))
        .texts("previous", texts(|one| one.previous.as_ref()))
        .texts("chain", texts(|one| Some(&one.chain)));
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_series (key, author, title, version, is_rfc, is_resend, total, found,
                is_complete, cover, sent_at, previous, chain)
             SELECT r.key, $1, r.title, r.version, r.is_rfc, r.is_resend, r.total, r.found,
                r.is_complete, r.cover, r.sent_at, r.previous, r.chain FROM {rows}",
            author
        ),
        rows,
    )
    .await?;
    let members: Vec<(&str, &SeriesMember)> = series
        .iter()
        .flat_map(|one| one.members.iter().map(|member| (one.key.as_str(), member)))
        .collect();
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_series_member (series, number, message_id, inherited)
             SELECT s.id, r.number, r.message_id, r.inherited
             FROM {rows} JOIN mail_series s ON s.key = r.series"
        ),
        Bulk::new()
            .texts("series", members.iter().map(|(key, _)| (*key).to_owned()))
            .ints("number", members.iter().map(|(_, one)| one.number))
            .texts(
                "message_id",
                members.iter().map(|(_, one)| one.message_id.clone()),
            )
            .bools("inherited", members.iter().map(|(_, one)| one.inherited)),
    )
    .await
    .map(drop)
}
