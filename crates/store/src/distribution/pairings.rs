//! Pairings as they are kept.

use db::{Bulk, Db, DbError, Row};
use facts::{
    distribution::{Confidence, How, Pairing},
    kept::Kept,
};

use crate::observed::{Fact, kept, word};

impl Fact for Pairing {
    const TABLE: &'static str = "pairing";
    const KEY: &'static [&'static str] = &["ecosystem", "package"];
    const STATE: &'static [&'static str] = &["purl", "path", "directory", "how", "confidence"];
    const BESIDE: &'static [&'static str] = &[];

    fn key(&self) -> (String, String) {
        (self.ecosystem.clone(), self.package.clone())
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn columns(bulk: Bulk, facts: &[&Self]) -> Bulk {
        let facts = || facts.iter();
        bulk.texts("ecosystem", facts().map(|fact| fact.ecosystem.clone()))
            .texts("package", facts().map(|fact| fact.package.clone()))
            .texts("purl", facts().map(|fact| fact.purl.clone()))
            .texts("path", facts().map(|fact| fact.path.clone()))
            .texts("directory", facts().map(|fact| fact.directory.clone()))
            .texts("how", facts().map(|fact| fact.how.as_str().to_owned()))
            .texts(
                "confidence",
                facts().map(|fact| fact.confidence.as_str().to_owned()),
            )
    }

    fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            ecosystem: row.get("ecosystem")?,
            package: row.get("package")?,
            purl: row.get("purl")?,
            path: row.get("path")?,
            directory: row.get("directory")?,
            how: word(row, "how", How::from_word)?,
            confidence: word(row, "confidence", Confidence::from_word)?,
        })
    }
}

/// The pairings of a repository by ecosystem and package.
pub async fn pairings(
    db: &Db,
    repository: i64,
    limit: usize,
) -> Result<Vec<Kept<Pairing>>, DbError> {
    kept(db, repository, false, limit).await
}
