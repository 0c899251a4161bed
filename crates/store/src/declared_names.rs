//! Whose the names are that a repository's manifests declare, as a view of the registries says.
//!
//! A verdict is written only when it was learned: a name that could not be asked about keeps the
//! one it had, with its time. Names that no manifest declares any longer are dropped.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use serde::Serialize;

/// What is known of one declared name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeclaredName {
    /// The ecosystem word.
    pub ecosystem: String,
    /// As the manifest spells it.
    pub name: String,
    /// Whose it is.
    pub verdict: Verdict,
    /// The address it says it comes from, where that is not this repository's; none if it does not
    /// say, and then it may well be ours.
    pub linked_repository: Option<String>,
    /// When this was learned.
    pub checked_at: Timestamp,
}

/// Whose a declared name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// There is no such package.
    Absent,
    /// There is one, and it says that it comes from this repository.
    Ours,
    /// There is one, and it does not say so.
    Other,
    /// There is one, and what it says may be this repository at another address.
    Unclear,
}

impl Verdict {
    /// The word used in output and storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Ours => "ours",
            Self::Other => "other",
            Self::Unclear => "unclear",
        }
    }

    /// The verdict of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "absent" => Some(Self::Absent),
            "ours" => Some(Self::Ours),
            "other" => Some(Self::Other),
            "unclear" => Some(Self::Unclear),
            _ => None,
        }
    }
}

/// Writes down what was learned.
pub async fn record(tx: &mut Tx, repository: i64, learned: &[DeclaredName]) -> Result<(), DbError> {
    let learned = || learned.iter();
    let rows = Bulk::new()
        .texts("ecosystem", learned().map(|one| one.ecosystem.clone()))
        .texts("name", learned().map(|one| one.name.clone()))
        .texts(
            "verdict",
            learned().map(|one| one.verdict.as_str().to_owned()),
        )
        .texts("linked", learned().map(|one| one.linked_repository.clone()))
        .times("checked_at", learned().map(|one| one.checked_at));
    tx.execute_bulk(
        sql!(
            "INSERT INTO declared_name
                (repository, ecosystem, name, verdict, linked_repository, checked_at)
             SELECT $1, r.ecosystem, r.name, r.verdict, r.linked, r.checked_at FROM {rows} WHERE TRUE
             ON CONFLICT (repository, ecosystem, name) DO UPDATE SET
                verdict = excluded.verdict, linked_repository = excluded.linked_repository,
                checked_at = excluded.checked_at",
            repository
        ),
        rows,
    )
    .await?;
    Ok(())
}

/// Drops what was known of these names: no manifest declares them now.
pub async fn forget(
    tx: &mut Tx,
    repository: i64,
    names: &[(String, String)],
) -> Result<(), DbError> {
    let rows = Bulk::new()
        .texts("ecosystem", names.iter().map(|(word, _)| word.clone()))
        .texts("name", names.iter().map(|(_, name)| name.clone()));
    tx.execute_bulk(
        sql!(
            "DELETE FROM declared_name WHERE repository = $1 AND EXISTS (
                SELECT 1 FROM {rows}
                WHERE r.ecosystem = declared_name.ecosystem AND r.name = declared_name.name)",
            repository
        ),
        rows,
    )
    .await?;
    Ok(())
}

/// All that is known of a repository's declared names, by ecosystem and name.
pub async fn of(db: &Db, repository: i64) -> Result<Vec<DeclaredName>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT ecosystem, name, verdict, linked_repository, checked_at
             FROM declared_name WHERE repository = $1 ORDER BY ecosystem, name",
            repository
        ))
        .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<DeclaredName, DbError> {
    let word: String = row.get("verdict")?;
    Ok(DeclaredName {
        ecosystem: row.get("ecosystem")?,
        name: row.get("name")?,
        verdict: Verdict::from_word(&word).ok_or_else(|| DbError::Value {
            column: "verdict".into(),
            why: format!("`{word}` is not one of its words"),
        })?,
        linked_repository: row.get("linked_repository")?,
        checked_at: row.get("checked_at")?,
    })
}
