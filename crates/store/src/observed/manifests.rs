//! Manifests as they are kept.

use db::{Bulk, Db, DbError, Row, Statement};
use facts::{
    json::Attributes,
    kept::{Kept, Span},
    manifest::{Intent, ManifestFact, Place},
};

use super::{
    Fact,
    evidence::{read_span, spans_text},
    kept,
};

impl Fact for ManifestFact {
    const TABLE: &'static str = "manifest";
    const KEY: &'static [&'static str] = &["path"];
    const STATE: &'static [&'static str] = &[
        "manifest_type",
        "name",
        "effective_name",
        "version",
        "intent",
        "reason",
        "place",
        "link",
        "directory",
        "attributes",
        "error",
    ];
    const BESIDE: &'static [&'static str] = &["blob"];

    fn key(&self) -> (String, String) {
        (self.path.clone(), String::new())
    }

    fn same(&self, other: &Self) -> bool {
        let plain = |fact: &Self| Self {
            blob: None,
            ..fact.clone()
        };
        plain(self) == plain(other)
    }

    fn columns(bulk: Bulk, facts: &[&Self]) -> Bulk {
        let facts = || facts.iter();
        bulk.texts("path", facts().map(|fact| fact.path.clone()))
            .texts(
                "manifest_type",
                facts().map(|fact| fact.manifest_type.clone()),
            )
            .texts("name", facts().map(|fact| fact.name.clone()))
            .texts(
                "effective_name",
                facts().map(|fact| fact.effective_name.clone()),
            )
            .texts("version", facts().map(|fact| fact.version.clone()))
            .texts(
                "intent",
                facts().map(|fact| fact.intent.as_str().to_owned()),
            )
            .texts("reason", facts().map(|fact| fact.reason.clone()))
            .texts("place", facts().map(|fact| fact.place.as_str().to_owned()))
            .texts("link", facts().map(|fact| fact.repository.clone()))
            .texts("directory", facts().map(|fact| fact.directory.clone()))
            .texts(
                "attributes",
                facts().map(|fact| fact.attributes.as_str().to_owned()),
            )
            .texts("error", facts().map(|fact| fact.error.clone()))
            .texts("blob", facts().map(|fact| fact.blob.clone()))
    }

    fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            path: row.get("path")?,
            manifest_type: row.get("manifest_type")?,
            name: row.get("name")?,
            effective_name: row.get("effective_name")?,
            version: row.get("version")?,
            intent: word(row, "intent", Intent::from_word)?,
            reason: row.get("reason")?,
            place: word(row, "place", Place::from_word)?,
            repository: row.get("link")?,
            directory: row.get("directory")?,
            attributes: attributes(row)?,
            error: row.get("error")?,
            blob: row.get("blob")?,
        })
    }
}

/// The manifests of a repository by path.
pub async fn manifests(
    db: &Db,
    repository: i64,
    with_gone: bool,
    limit: usize,
) -> Result<Vec<Kept<ManifestFact>>, DbError> {
    kept(db, repository, with_gone, limit).await
}

/// Every state of one manifest, the oldest first; the last one is the present.
pub async fn manifest_history(
    db: &Db,
    repository: i64,
    source: &str,
    path: &str,
) -> Result<Vec<Span<ManifestFact>>, DbError> {
    let statement = Statement::built(spans_text::<ManifestFact>("x.path = $3"))
        .bind(repository)
        .bind(source)
        .bind(path);
    let rows = db.fetch_all(statement).await?;
    rows.iter().map(read_span).collect()
}

pub(super) fn attributes(row: &Row) -> Result<Attributes, DbError> {
    let text: String = row.get("attributes")?;
    text.parse().map_err(|error| DbError::Value {
        column: "attributes".into(),
        why: format!("{error}"),
    })
}

pub(crate) fn word<T>(row: &Row, column: &str, read: fn(&str) -> Option<T>) -> Result<T, DbError> {
    let word: String = row.get(column)?;
    read(&word).ok_or_else(|| DbError::Value {
        column: column.to_owned(),
        why: format!("`{word}` is not one of its words"),
    })
}
