//! How far the round has come, in figures.

use db::{Db, DbError, Row, sql};
use serde::Serialize;

/// Figures of all repositories that are not archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// All of them.
    pub total: i64,
    /// At least one source has answered.
    pub scanned: i64,
    /// Something is published in a registry; assets of releases do not count.
    pub with_registry: i64,
    /// There is a manifest.
    pub with_manifest: i64,
    /// There is a manifest, and nothing is published.
    pub manifest_without_registry: i64,
    /// Open gaps by grade.
    pub gaps: Vec<GradeCount>,
    /// By ecosystem.
    pub ecosystems: Vec<EcosystemCount>,
}

/// How many gaps have a grade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GradeCount {
    /// The grade.
    pub grade: String,
    /// How many gaps.
    pub gaps: i64,
    /// In how many repositories.
    pub repositories: i64,
}

/// How an ecosystem is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EcosystemCount {
    /// Its word.
    pub ecosystem: String,
    /// Repositories that publish in it.
    pub with_registry: i64,
    /// Repositories that declare something for it.
    pub with_manifest: i64,
    /// Packages that are published in it.
    pub packages: i64,
}

/// The figures.
pub async fn stats(db: &Db) -> Result<Stats, DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT count(*) AS total,
                COALESCE(SUM(CASE WHEN scanned THEN 1 ELSE 0 END), 0) AS scanned,
                COALESCE(SUM(CASE WHEN registry THEN 1 ELSE 0 END), 0) AS with_registry,
                COALESCE(SUM(CASE WHEN manifest THEN 1 ELSE 0 END), 0) AS with_manifest,
                COALESCE(SUM(CASE WHEN manifest AND NOT registry THEN 1 ELSE 0 END), 0) AS without_registry
             FROM (SELECT
                EXISTS (SELECT 1 FROM source_state s
                        WHERE s.repository = r.id AND s.last_answered IS NOT NULL) AS scanned,
                EXISTS (SELECT 1 FROM evidence e WHERE e.repository = r.id
                        AND e.gone_at IS NULL AND e.source <> 'releases') AS registry,
                EXISTS (SELECT 1 FROM manifest m
                        WHERE m.repository = r.id AND m.gone_at IS NULL) AS manifest
                FROM repository r WHERE NOT r.archived) AS seen"
        ))
        .await?;
    let grades = db
        .fetch_all(sql!(
            "SELECT grade, count(*) AS gaps, count(DISTINCT repository) AS repositories
             FROM gap WHERE gone_at IS NULL GROUP BY grade ORDER BY grade"
        ))
        .await?;
    let ecosystems = db
        .fetch_all(sql!(
            "SELECT ecosystem, CAST(SUM(registry) AS BIGINT) AS with_registry,
                CAST(SUM(manifests) AS BIGINT) AS with_manifest, CAST(SUM(packages) AS BIGINT) AS packages
             FROM (
                SELECT e.ecosystem AS ecosystem, count(DISTINCT e.repository) AS registry, 0 AS manifests,
                    count(DISTINCT e.package) AS packages
                FROM evidence e JOIN repository r ON r.id = e.repository
                WHERE e.gone_at IS NULL AND e.source <> 'releases' AND NOT r.archived GROUP BY e.ecosystem
                UNION ALL
                SELECT m.manifest_type, 0, count(DISTINCT m.repository), 0
                FROM manifest m JOIN repository r ON r.id = m.repository
                WHERE m.gone_at IS NULL AND NOT r.archived GROUP BY m.manifest_type
             ) AS used GROUP BY ecosystem ORDER BY ecosystem"
        ))
        .await?;
    Ok(Stats {
        total: row.get("total")?,
        scanned: row.get("scanned")?,
        with_registry: row.get("with_registry")?,
        with_manifest: row.get("with_manifest")?,
        manifest_without_registry: row.get("without_registry")?,
        gaps: grades.iter().map(grade).collect::<Result<_, _>>()?,
        ecosystems: ecosystems.iter().map(ecosystem).collect::<Result<_, _>>()?,
    })
}

fn grade(row: &Row) -> Result<GradeCount, DbError> {
    Ok(GradeCount {
        grade: row.get("grade")?,
        gaps: row.get("gaps")?,
        repositories: row.get("repositories")?,
    })
}

fn ecosystem(row: &Row) -> Result<EcosystemCount, DbError> {
    Ok(EcosystemCount {
        ecosystem: row.get("ecosystem")?,
        with_registry: row.get("with_registry")?,
        with_manifest: row.get("with_manifest")?,
        packages: row.get("packages")?,
    })
}
