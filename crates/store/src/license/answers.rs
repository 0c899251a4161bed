//! What was found in files, by their contents.

use std::collections::HashMap;

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use facts::license::{Findings, ScannerIdentity};
use serde::{Serialize, de::DeserializeOwned};

/// So many keys are looked up at a time.
pub const KEYS_AT_ONCE: usize = 1_000;

/// A file as far as a scanner is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// The id of its contents.
    pub blob: String,
    /// As much of its name as can matter.
    pub name_class: String,
}

/// How a scan of a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Something was found.
    Found,
    /// Nothing was.
    Nothing,
    /// Something was found or not, but it took so long that the scanner may have cut it short:
    /// good until the next visit, no longer.
    Degraded,
    /// The scanner cannot do it, and is not asked again.
    Failed,
}

impl State {
    /// The word in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Nothing => "nothing",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }

    fn of(word: &str) -> Self {
        match word {
            "found" => Self::Found,
            "nothing" => Self::Nothing,
            "degraded" => Self::Degraded,
            _ => Self::Failed,
        }
    }
}

/// An answer to be kept.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Of which file.
    pub key: FileKey,
    /// How it ended.
    pub state: State,
    /// What was found; for a failure, the errors.
    pub findings: Findings,
    /// How long it took.
    pub elapsed_ms: i64,
}

/// An answer that is kept.
#[derive(Clone, Debug)]
pub struct Known {
    /// The row.
    pub id: i64,
    /// How it ended.
    pub state: State,
}

/// The number of a scanner; it gets one when it is first used.
pub async fn scanner(
    tx: &mut Tx,
    identity: &ScannerIdentity,
    now: Timestamp,
) -> Result<i64, DbError> {
    tx.execute(sql!(
        "INSERT INTO license_scanner (key, tool, version, options, first_used)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (key) DO NOTHING",
        identity.key(),
        &identity.tool,
        &identity.version,
        &identity.options,
        now
    ))
    .await?;
    let row = tx
        .fetch_one(sql!(
            "SELECT id FROM license_scanner WHERE key = $1",
            identity.key()
        ))
        .await?;
    row.get("id")
}

/// The number of a scanner that was used before.
pub async fn scanner_number(db: &Db, identity: &ScannerIdentity) -> Result<Option<i64>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT id FROM license_scanner WHERE key = $1",
            identity.key()
        ))
        .await?;
    row.map(|row| row.get("id")).transpose()
}

fn bulk(keys: &[FileKey]) -> Bulk {
    Bulk::new()
        .texts("blob", keys.iter().map(|key| key.blob.clone()))
        .texts("name_class", keys.iter().map(|key| key.name_class.clone()))
}

/// Which of these files have an answer that lasts.
pub async fn known(
    db: &Db,
    scanner: i64,
    keys: &[FileKey],
) -> Result<HashMap<FileKey, Known>, DbError> {
    let mut found = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(KEYS_AT_ONCE) {
        let statement = sql!(
            "SELECT a.id, a.blob, a.name_class, a.state FROM {rows}
             JOIN license_answer a ON a.scanner = $1 AND a.blob = r.blob AND a.name_class = r.name_class
             WHERE a.state <> 'degraded'",
            scanner
        );
        for row in db.fetch_bulk(statement, bulk(keys)).await? {
            let state: String = row.get("state")?;
            let known = Known {
                id: row.get("id")?,
                state: State::of(&state),
            };
            found.insert(key(&row)?, known);
        }
    }
    Ok(found)
}

/// The answers about these files, as far as there are some that say something.
pub async fn answers(
    db: &Db,
    scanner: i64,
    keys: &[FileKey],
) -> Result<HashMap<FileKey, (i64, Findings)>, DbError> {
    let mut found = HashMap::new();
    for keys in keys.chunks(KEYS_AT_ONCE) {
        let statement = sql!(
            "SELECT a.id, a.blob, a.name_class, a.size, a.programming_language, a.file_type,
                a.mime_type, a.sort, a.expression, a.spdx, a.percentage, a.detections, a.clues, a.copyrights, a.holders,
                a.authors, a.packages, a.errors
             FROM {rows}
             JOIN license_answer a ON a.scanner = $1 AND a.blob = r.blob AND a.name_class = r.name_class
             WHERE a.state <> 'nothing'",
            scanner
        );
        for row in db.fetch_bulk(statement, bulk(keys)).await? {
            found.insert(key(&row)?, (row.get("id")?, findings(&row)?));
        }
    }
    Ok(found)
}

/// What sort of file those of these are that cannot be read as text.
pub async fn sorts(
    db: &Db,
    scanner: i64,
    keys: &[FileKey],
) -> Result<HashMap<FileKey, String>, DbError> {
    let mut found = HashMap::new();
    for keys in keys.chunks(KEYS_AT_ONCE) {
        let statement = sql!(
            "SELECT a.blob, a.name_class, a.sort FROM {rows}
             JOIN license_answer a ON a.scanner = $1 AND a.blob = r.blob AND a.name_class = r.name_class
             WHERE a.sort IS NOT NULL",
            scanner
        );
        for row in db.fetch_bulk(statement, bulk(keys)).await? {
            found.insert(key(&row)?, row.get("sort")?);
        }
    }
    Ok(found)
}

fn key(row: &Row) -> Result<FileKey, DbError> {
    Ok(FileKey {
        blob: row.get("blob")?,
        name_class: row.get("name_class")?,
    })
}

/// Reads the columns of an answer.
pub(super) fn findings(row: &Row) -> Result<Findings, DbError> {
    let size: Option<i64> = row.get("size")?;
    Ok(Findings {
        expression: row.get("expression")?,
        spdx: row.get("spdx")?,
        license_detections: list(row, "detections")?,
        license_clues: list(row, "clues")?,
        percentage_of_license_text: row.get("percentage")?,
        copyrights: list(row, "copyrights")?,
        holders: list(row, "holders")?,
        authors: list(row, "authors")?,
        package_data: list(row, "packages")?,
        programming_language: row.get("programming_language")?,
        file_type: row.get("file_type")?,
        mime_type: row.get("mime_type")?,
        sort: row.get("sort")?,
        size: size.and_then(|size| u64::try_from(size).ok()),
        scan_errors: list(row, "errors")?,
    })
}

fn list<T: DeserializeOwned>(row: &Row, column: &str) -> Result<Vec<T>, DbError> {
    let text: Option<String> = row.get(column)?;
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    serde_json::from_str(&text).map_err(|error| DbError::Value {
        column: column.to_owned(),
        why: error.to_string(),
    })
}

/// Keeps answers. Two that scanned the same file say the same: the first stays, unless it was
/// cut short. At most
/// [`crate::MAX_ROWS`].
pub async fn keep(
    tx: &mut Tx,
    scanner: i64,
    answers: &[Answer],
    now: Timestamp,
) -> Result<(), DbError> {
    if answers.is_empty() {
        return Ok(());
    }
    let text = |field: fn(&Answer) -> Option<String>| answers.iter().map(field).collect::<Vec<_>>();
    let bulk = Bulk::new()
        .texts("blob", text(|one| Some(one.key.blob.clone())))
        .texts("name_class", text(|one| Some(one.key.name_class.clone())))
        .texts("state", text(|one| Some(one.state.as_str().to_owned())))
        .ints(
            "size",
            answers
                .iter()
                .map(|one| one.findings.size.and_then(|size| i64::try_from(size).ok())),
        )
        .texts(
            "language",
            text(|one| one.findings.programming_language.clone()),
        )
        .texts("file_type", text(|one| one.findings.file_type.clone()))
        .texts("mime_type", text(|one| one.findings.mime_type.clone()))
        .texts("sort", text(|one| one.findings.sort.clone()))
        .texts("expression", text(|one| one.findings.expression.clone()))
        .texts("spdx", text(|one| one.findings.spdx.clone()))
        .reals(
            "percentage",
            answers
                .iter()
                .map(|one| one.findings.percentage_of_license_text),
        )
        .texts(
            "detections",
            text(|one| json(&one.findings.license_detections)),
        )
        .texts("clues", text(|one| json(&one.findings.license_clues)))
        .texts("copyrights", text(|one| json(&one.findings.copyrights)))
        .texts("holders", text(|one| json(&one.findings.holders)))
        .texts("authors", text(|one| json(&one.findings.authors)))
        .texts("packages", text(|one| json(&one.findings.package_data)))
        .texts("errors", text(|one| json(&one.findings.scan_errors)))
        .ints("elapsed_ms", answers.iter().map(|one| one.elapsed_ms));
    let statement = sql!(
        "INSERT INTO license_answer (scanner, blob, name_class, state, size, programming_language,
            file_type, mime_type, sort, expression, spdx, percentage, detections, clues, copyrights, holders, authors,
            packages, errors, elapsed_ms, scanned_at)
         SELECT $1, r.blob, r.name_class, r.state, r.size, r.language, r.file_type, r.mime_type, r.sort, r.expression,
            r.spdx, r.percentage, r.detections, r.clues, r.copyrights, r.holders, r.authors,
            r.packages, r.errors, r.elapsed_ms, $2
         FROM {rows} WHERE TRUE
         ON CONFLICT (scanner, blob, name_class) DO UPDATE SET state = excluded.state,
            size = excluded.size, programming_language = excluded.programming_language,
            file_type = excluded.file_type, expression = excluded.expression, spdx = excluded.spdx,
            percentage = excluded.percentage, detections = excluded.detections,
            clues = excluded.clues, copyrights = excluded.copyrights, holders = excluded.holders,
            authors = excluded.authors, packages = excluded.packages, errors = excluded.errors,
            elapsed_ms = excluded.elapsed_ms, scanned_at = excluded.scanned_at
         WHERE license_answer.state = 'degraded'",
        scanner,
        now
    );
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}

fn json<T: Serialize>(list: &[T]) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    serde_json::to_string(list).ok()
}

/// Forgets answers, so that their files are scanned again. Results that used them keep their
/// expressions; at most [`crate::MAX_ROWS`] keys.
pub async fn forget_answers(tx: &mut Tx, scanner: i64, keys: &[FileKey]) -> Result<u64, DbError> {
    if keys.is_empty() {
        return Ok(0);
    }
    let statement = sql!(
        "DELETE FROM license_answer WHERE id IN (
            SELECT a.id FROM {rows} JOIN license_answer a
            ON a.scanner = $1 AND a.blob = r.blob AND a.name_class = r.name_class)",
        scanner
    );
    tx.execute_bulk(statement, bulk(keys)).await
}
