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
    pub author: String,
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

/// At most `limit` authors whose patches are to be grouped again, each with how many there are.
pub async fn due_authors(db: &Db, limit: usize) -> Result<Vec<(String, i64)>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT d.author, (SELECT COUNT(*) FROM mail_patch p WHERE p.author = d.author) AS n
             FROM mail_series_due d ORDER BY d.author LIMIT $1",
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("author")?, row.get("n")?)))
        .collect()
}

/// All patches of some authors, one author's after the other's. Whoever reads them here is the only
/// one who writes series until the transaction ends.
pub async fn patches_of(tx: &mut Tx, authors: &[String]) -> Result<Vec<PatchRow>, DbError> {
    write::take_turn(tx).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT p.message_id, p.author, p.subject, p.sent_at, p.ancestors, p.has_diff
                 FROM mail_patch p WHERE p.author IN (SELECT r.author FROM {rows})
                 ORDER BY p.author, p.message_id"
            ),
            Bulk::new().texts("author", authors.iter().cloned()),
        )
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

/// Writes the series of some authors in place of those that were there.
pub async fn replace_series(
    tx: &mut Tx,
    authors: &[String],
    series: &[NewSeries],
) -> Result<(), DbError> {
    for table in ["mail_series", "mail_series_due"] {
        let text = format!("DELETE FROM {table} WHERE author IN (SELECT r.author FROM {{rows}})");
        tx.execute_bulk(
            db::Statement::built(text),
            Bulk::new().texts("author", authors.iter().cloned()),
        )
        .await?;
    }
    let texts = |part: fn(&NewSeries) -> Option<&String>| {
        series
            .iter()
            .map(move |one| part(one).cloned())
            .collect::<Vec<_>>()
    };
    let rows = Bulk::new()
        .texts("key", texts(|one| Some(&one.key)))
        .texts("author", texts(|one| Some(&one.author)))
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
             SELECT r.key, r.author, r.title, r.version, r.is_rfc, r.is_resend, r.total, r.found,
                r.is_complete, r.cover, r.sent_at, r.previous, r.chain FROM {rows}"
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
