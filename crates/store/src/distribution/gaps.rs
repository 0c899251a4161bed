//! Gaps as they are kept, and lists of them.

use db::{Bulk, Db, DbError, Row, Statement, Timestamp, sql};
use facts::{
    distribution::{Gap, Grade},
    kept::Span,
};
use serde::Serialize;

use crate::{
    observed::{Fact, read_span, spans_text, word},
    repositories::Page,
};

/// The observer under which gaps are kept.
const SOURCE: &str = "pairing";

impl Fact for Gap {
    const TABLE: &'static str = "gap";
    const KEY: &'static [&'static str] = &["ecosystem", "name"];
    // Only another grade is another state, so that "since" tells how long it has been so.
    const STATE: &'static [&'static str] = &["grade"];
    const BESIDE: &'static [&'static str] = &["purl", "path", "package", "linked", "reason"];

    fn key(&self) -> (String, String) {
        (self.ecosystem.clone(), self.name.clone())
    }

    fn same(&self, other: &Self) -> bool {
        self.grade == other.grade
    }

    fn columns(bulk: Bulk, facts: &[&Self]) -> Bulk {
        let facts = || facts.iter();
        bulk.texts("ecosystem", facts().map(|fact| fact.ecosystem.clone()))
            .texts("name", facts().map(|fact| fact.name.clone()))
            .texts("grade", facts().map(|fact| fact.grade.as_str().to_owned()))
            .texts("purl", facts().map(|fact| fact.purl.clone()))
            .texts("path", facts().map(|fact| fact.path.clone()))
            .texts("package", facts().map(|fact| fact.package.clone()))
            .texts("linked", facts().map(|fact| fact.linked.clone()))
            .texts("reason", facts().map(|fact| fact.reason.clone()))
    }

    fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            ecosystem: row.get("ecosystem")?,
            name: row.get("name")?,
            grade: word(row, "grade", Grade::from_word)?,
            purl: row.get("purl")?,
            path: row.get("path")?,
            package: row.get("package")?,
            linked: row.get("linked")?,
            reason: row.get("reason")?,
        })
    }
}

/// A gap that is open now, with the repository it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptGap {
    /// Ours.
    pub id: i64,
    /// The repository's id.
    pub repository: i64,
    /// What people call the repository.
    pub repo: String,
    /// What it is.
    #[serde(flatten)]
    pub gap: Gap,
    /// Since when with this grade.
    pub since: Timestamp,
    /// When it was first noticed, with whatever grade.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
}

/// Which gaps to list.
#[derive(Clone, Debug, Default)]
pub struct GapFilter {
    /// Of these grades; of all when empty.
    pub grades: Vec<Grade>,
    /// Of this ecosystem.
    pub ecosystem: Option<String>,
    /// In this repository.
    pub repository: Option<i64>,
    /// Only what a manifest declares.
    pub declared: bool,
    /// After this id.
    pub after: Option<i64>,
}

/// At most `limit` gaps in the order of their ids.
pub async fn gaps(db: &Db, filter: &GapFilter, limit: usize) -> Result<Page<KeptGap>, DbError> {
    let limit = limit.max(1);
    let grades: Vec<String> = filter
        .grades
        .iter()
        .map(|grade| format!("'{}'", grade.as_str()))
        .collect();
    let of_grades = match grades.as_slice() {
        [] => String::new(),
        some => format!("AND g.grade IN ({})", some.join(", ")),
    };
    let text = format!(
        "SELECT g.id, g.repository, {REPO} AS repo, g.ecosystem, g.name, g.grade, g.purl, g.path,
            g.package, g.linked, g.reason, g.changed_at, g.first_seen, g.last_seen
         FROM gap g JOIN repository r ON r.id = g.repository
         WHERE g.gone_at IS NULL AND g.id > $1 {of_grades}
           AND ($2 IS NULL OR g.ecosystem = $2)
           AND ($3 IS NULL OR g.repository = $3)
           AND (NOT $4 OR g.path IS NOT NULL)
         ORDER BY g.id LIMIT $5"
    );
    let statement = Statement::built(text)
        .bind(filter.after.unwrap_or(0))
        .bind(filter.ecosystem.clone())
        .bind(filter.repository)
        .bind(filter.declared)
        .bind(limit + 1);
    let rows = db.fetch_all(statement).await?;
    let read = |row: &Row| {
        Ok(KeptGap {
            id: row.get("id")?,
            repository: row.get("repository")?,
            repo: row.get("repo")?,
            gap: Gap::read(row)?,
            since: row.get("changed_at")?,
            first_seen: row.get("first_seen")?,
            last_seen: row.get("last_seen")?,
        })
    };
    let mut items: Vec<KeptGap> = rows.iter().map(read).collect::<Result<_, DbError>>()?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| last.id);
    Ok(Page { items, next })
}

/// What people call the repository `r`: owner and name; for a local one, its path.
pub(super) const REPO: &str = "CASE WHEN r.local THEN '/' ELSE '' END \
     || CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END";

/// Every state of one gap, the oldest first; the last one is the present.
pub async fn gap_history(
    db: &Db,
    repository: i64,
    ecosystem: &str,
    name: &str,
) -> Result<Vec<Span<Gap>>, DbError> {
    let statement = Statement::built(spans_text::<Gap>("x.ecosystem = $3 AND x.name = $4"))
        .bind(repository)
        .bind(SOURCE)
        .bind(ecosystem)
        .bind(name);
    let rows = db.fetch_all(statement).await?;
    rows.iter().map(read_span).collect()
}

/// A manifest of an ecosystem in which nothing is published from its repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestWithoutRegistry {
    /// What people call the repository.
    pub repo: String,
    /// The ecosystem word.
    pub manifest_type: String,
    /// Empty where the file does not show it.
    pub package_name_declared: String,
    /// The file.
    pub manifest_path: String,
}

/// The ungraded answer, as analysts have always asked for it: see the view
/// `repo_distribution_orphan`.
pub async fn orphan_candidates(
    db: &Db,
    limit: usize,
) -> Result<Vec<ManifestWithoutRegistry>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT repo, manifest_type, package_name_declared, manifest_path
             FROM repo_distribution_orphan ORDER BY repo, manifest_path LIMIT $1",
            limit
        ))
        .await?;
    let read = |row: &Row| {
        Ok(ManifestWithoutRegistry {
            repo: row.get("repo")?,
            manifest_type: row.get("manifest_type")?,
            package_name_declared: row.get("package_name_declared")?,
            manifest_path: row.get("manifest_path")?,
        })
    };
    rows.iter().map(read).collect()
}
