//! Evidence as it is kept, and questions about its history.

use db::{Bulk, Db, DbError, Row, Statement, Timestamp, sql};
use facts::{
    evidence::Evidence,
    kept::{Kept, Span},
};
use serde::Serialize;

use super::{Fact, all_columns, joined, kept};

impl Fact for Evidence {
    const TABLE: &'static str = "evidence";
    const KEY: &'static [&'static str] = &["ecosystem", "package"];
    const STATE: &'static [&'static str] = &[
        "version",
        "version_count",
        "first_published_at",
        "latest_published_at",
        "path",
        "attributes",
    ];
    const BESIDE: &'static [&'static str] = &[];

    fn key(&self) -> (String, String) {
        (self.ecosystem.clone(), self.package.clone())
    }

    fn same(&self, other: &Self) -> bool {
        // The database keeps microseconds; what is finer is no change.
        let micros = |moment: Option<jiff::Timestamp>| moment.map(Timestamp::from);
        let plain = |fact: &Self| Self {
            first_published_at: None,
            latest_published_at: None,
            ..fact.clone()
        };
        micros(self.first_published_at) == micros(other.first_published_at)
            && micros(self.latest_published_at) == micros(other.latest_published_at)
            && plain(self) == plain(other)
    }

    fn columns(bulk: Bulk, facts: &[&Self]) -> Bulk {
        let facts = || facts.iter();
        bulk.texts("ecosystem", facts().map(|fact| fact.ecosystem.clone()))
            .texts("package", facts().map(|fact| fact.package.clone()))
            .texts("version", facts().map(|fact| fact.version.clone()))
            .ints("version_count", facts().map(|fact| fact.version_count))
            .times(
                "first_published_at",
                facts().map(|fact| fact.first_published_at.map(Timestamp::from)),
            )
            .times(
                "latest_published_at",
                facts().map(|fact| fact.latest_published_at.map(Timestamp::from)),
            )
            .texts("path", facts().map(|fact| fact.path.clone()))
            .texts(
                "attributes",
                facts().map(|fact| fact.attributes.as_str().to_owned()),
            )
    }

    fn read(row: &Row) -> Result<Self, DbError> {
        let moment =
            |column: &str| Ok::<_, DbError>(row.get::<Option<Timestamp>>(column)?.map(Into::into));
        Ok(Self {
            ecosystem: row.get("ecosystem")?,
            package: row.get("package")?,
            version: row.get("version")?,
            version_count: row.get("version_count")?,
            first_published_at: moment("first_published_at")?,
            latest_published_at: moment("latest_published_at")?,
            path: row.get("path")?,
            attributes: super::manifests::attributes(row)?,
        })
    }
}

/// The evidence of a repository by ecosystem, package and source.
pub async fn evidence(
    db: &Db,
    repository: i64,
    with_gone: bool,
    limit: usize,
) -> Result<Vec<Kept<Evidence>>, DbError> {
    kept(db, repository, with_gone, limit).await
}

/// A package's first appearance in a source's view of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Appearance {
    /// The repository.
    pub repository: i64,
    /// The source.
    pub source: String,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// When it was found gone.
    pub gone_at: Option<Timestamp>,
}

/// When a package first appeared, in which source's view of which repository, the earliest first.
/// `source` and `repository` narrow the question.
pub async fn first_appearances(
    db: &Db,
    ecosystem: &str,
    package: &str,
    source: Option<&str>,
    repository: Option<i64>,
) -> Result<Vec<Appearance>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT repository, source, first_seen, last_seen, gone_at FROM evidence
             WHERE ecosystem = $1 AND package = $2
               AND ($3 IS NULL OR source = $3) AND ($4 IS NULL OR repository = $4)
             ORDER BY first_seen, id LIMIT 1000",
            ecosystem,
            package,
            source,
            repository
        ))
        .await?;
    let read = |row: &Row| {
        Ok(Appearance {
            repository: row.get("repository")?,
            source: row.get("source")?,
            first_seen: row.get("first_seen")?,
            last_seen: row.get("last_seen")?,
            gone_at: row.get("gone_at")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Every state of one piece of evidence, the oldest first; the last one is the present.
pub async fn evidence_history(
    db: &Db,
    repository: i64,
    source: &str,
    ecosystem: &str,
    package: &str,
) -> Result<Vec<Span<Evidence>>, DbError> {
    let text = spans_text::<Evidence>("x.ecosystem = $3 AND x.package = $4");
    let statement = Statement::built(text)
        .bind(repository)
        .bind(source)
        .bind(ecosystem)
        .bind(package);
    let rows = db.fetch_all(statement).await?;
    rows.iter().map(read_span).collect()
}

/// Earlier states and the present one, of the fact that the condition on `x` picks.
pub(crate) fn spans_text<F: Fact>(condition: &str) -> String {
    let table = F::TABLE;
    let kept = |prefix| joined(prefix, F::STATE.iter().chain(F::BESIDE));
    format!(
        "SELECT * FROM (
           SELECT {key}, {old}, h.collector_version, h.seen_from, h.seen_until, h.gone_at, 0 AS present, h.id AS nth
           FROM {table} x JOIN {table}_history h ON h.{table} = x.id
           WHERE x.repository = $1 AND x.source = $2 AND {condition}
           UNION ALL
           SELECT {columns}, x.collector_version, x.changed_at, x.last_seen, x.gone_at, 1, x.id
           FROM {table} x WHERE x.repository = $1 AND x.source = $2 AND {condition}
         ) AS spans ORDER BY present, nth",
        key = joined("x.", F::KEY),
        old = kept("h."),
        columns = all_columns::<F>("x."),
    )
}

pub(crate) fn read_span<F: Fact>(row: &Row) -> Result<Span<F>, DbError> {
    Ok(Span {
        fact: F::read(row)?,
        collector_version: row.get("collector_version")?,
        seen_from: row.get::<Timestamp>("seen_from")?.into(),
        seen_until: row.get::<Timestamp>("seen_until")?.into(),
        gone_at: row.get::<Option<Timestamp>>("gone_at")?.map(Into::into),
    })
}
