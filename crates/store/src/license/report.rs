//! Reading the license round back, for people and for the API.

use db::{Db, DbError, Row, Statement, Timestamp, sql};
use facts::license::Findings;
use serde::Serialize;

use super::answers::findings;

/// Figures about everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Repositories with a result.
    pub repositories: i64,
    /// Repositories that have none.
    pub without: i64,
    /// Results in history.
    pub history: i64,
    /// Files of all current results.
    pub files: i64,
    /// Those in which something was found.
    pub files_found: i64,
    /// Those that could not be scanned.
    pub files_failed: i64,
    /// Distinct files with an answer.
    pub answers: i64,
    /// Those whose answer is "nothing".
    pub nothing: i64,
    /// Those that no scanner can do.
    pub failed: i64,
    /// Files that two scanners looked at.
    pub cross_checked: i64,
    /// How often they disagreed about the license, 0 to 1; none where nothing was compared.
    pub disagreement: Option<f64>,
    /// The oldest check of a current result.
    pub oldest: Option<Timestamp>,
    /// The newest.
    pub newest: Option<Timestamp>,
}

/// Figures about one scanner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScannerStats {
    /// Its key.
    pub scanner: String,
    /// Its name.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Current results by it.
    pub repositories: i64,
    /// Distinct files it has answered.
    pub answers: i64,
    /// What those took in all.
    pub elapsed_ms: i64,
}

/// The current result of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Current {
    /// The number of the result.
    pub id: i64,
    /// The repository.
    pub repository: i64,
    /// `builtin`, `scancode` or `provenant`.
    pub scanner: String,
    /// Its version.
    pub version: String,
    /// All that tells it apart.
    pub scanner_key: String,
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// `files` or `whole-tree`.
    pub mode: String,
    /// When it was put together.
    pub scanned_at: Timestamp,
    /// When it was last seen to be up to date.
    pub last_run: Timestamp,
    /// The license of the whole.
    pub license: Option<String>,
    /// Where that stands: `manifest`, `license-file` or `readme`.
    pub license_from: Option<String>,
    /// Files of the tree.
    pub files: i64,
    /// Those in which something was found.
    pub files_found: i64,
    /// Those that the last run scanned.
    pub files_scanned: i64,
    /// Those that could not be scanned.
    pub files_failed: i64,
    /// JSON: what was left out, by the reason.
    pub skipped: Option<String>,
    /// JSON: how many files are empty, binary, lfs-pointer, vendored or generated.
    pub told_apart: Option<String>,
}

/// How often a license or a holder stands in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LicenseCount {
    /// What.
    pub value: String,
    /// In how many files.
    pub files: i64,
    /// For a license: approved by the Open Source Initiative.
    pub osi_approved: Option<bool>,
}

/// A package of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackageReport {
    /// Its package URL.
    pub purl: Option<String>,
    /// Its manifest.
    pub path: String,
    /// Its license.
    pub license: Option<String>,
}

/// Which files.
#[derive(Clone, Debug, Default)]
pub struct FileFilter {
    /// Behind this path.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whose expression contains this.
    pub license: Option<String>,
    /// Those that could not be scanned only.
    pub problems: bool,
}

/// A file of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    /// From the top.
    pub path: String,
    /// The id of its contents.
    pub blob: String,
    /// The expression, in SPDX identifiers, references followed.
    pub spdx: Option<String>,
    /// The files that references led to.
    pub spdx_from: Vec<String>,
    /// `ordinary`, `vendored` or `generated`.
    pub place: String,
    /// Why there is no answer, in a word.
    pub problem: Option<String>,
    /// In full.
    pub detail: Option<String>,
    /// What was found.
    pub findings: Findings,
}

/// Figures about everything, and about each scanner.
pub async fn stats(db: &Db) -> Result<(Stats, Vec<ScannerStats>), DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS repositories,
                (SELECT COUNT(*) FROM repository) AS known,
                (SELECT COUNT(*) FROM license_result WHERE state = 'replaced') AS history,
                CAST(COALESCE(SUM(files), 0) AS BIGINT) AS files,
                CAST(COALESCE(SUM(files_found), 0) AS BIGINT) AS files_found,
                CAST(COALESCE(SUM(files_failed), 0) AS BIGINT) AS files_failed,
                (SELECT COUNT(*) FROM license_answer) AS answers,
                (SELECT COUNT(*) FROM license_answer WHERE state = 'nothing') AS empty,
                (SELECT COUNT(*) FROM license_answer WHERE state = 'failed') AS failed,
                (SELECT COUNT(*) FROM license_cross_check) AS checked,
                (SELECT COUNT(*) FROM license_cross_check WHERE NOT same_license) AS differ,
                MIN(checked_at) AS oldest, MAX(checked_at) AS newest
             FROM license_result WHERE state = 'current'"
        ))
        .await?;
    let repositories: i64 = row.get("repositories")?;
    let known: i64 = row.get("known")?;
    let (checked, differ): (i64, i64) = (row.get("checked")?, row.get("differ")?);
    let stats = Stats {
        repositories,
        without: known - repositories,
        history: row.get("history")?,
        files: row.get("files")?,
        files_found: row.get("files_found")?,
        files_failed: row.get("files_failed")?,
        answers: row.get("answers")?,
        nothing: row.get("empty")?,
        failed: row.get("failed")?,
        cross_checked: checked,
        disagreement: (checked > 0).then(|| differ as f64 / checked as f64),
        oldest: row.get("oldest")?,
        newest: row.get("newest")?,
    };
    let rows = db
        .fetch_all(sql!(
            "SELECT c.key, c.tool, c.version,
                (SELECT COUNT(*) FROM license_result s
                 WHERE s.scanner = c.id AND s.state = 'current') AS repositories,
                (SELECT COUNT(*) FROM license_answer a WHERE a.scanner = c.id) AS answers,
                (SELECT CAST(COALESCE(SUM(a.elapsed_ms), 0) AS BIGINT) FROM license_answer a
                 WHERE a.scanner = c.id) AS elapsed_ms
             FROM license_scanner c ORDER BY c.key"
        ))
        .await?;
    let scanners = rows
        .iter()
        .map(|row| {
            Ok(ScannerStats {
                scanner: row.get("key")?,
                tool: row.get("tool")?,
                version: row.get("version")?,
                repositories: row.get("repositories")?,
                answers: row.get("answers")?,
                elapsed_ms: row.get("elapsed_ms")?,
            })
        })
        .collect::<Result<_, DbError>>()?;
    Ok((stats, scanners))
}

/// The current result of a repository.
pub async fn current(db: &Db, repository: i64) -> Result<Option<Current>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT s.*, c.tool, c.version, c.key AS scanner_key
             FROM license_result s JOIN license_scanner c ON c.id = s.scanner
             WHERE s.repository = $1 AND s.state = 'current'",
            repository
        ))
        .await?;
    row.map(|row| {
        Ok(Current {
            id: row.get("id")?,
            repository: row.get("repository")?,
            scanner: row.get("tool")?,
            version: row.get("version")?,
            scanner_key: row.get("scanner_key")?,
            commit: row.get("commit_id")?,
            tree: row.get("tree_id")?,
            mode: row.get("mode")?,
            scanned_at: row.get("scanned_at")?,
            last_run: row.get("checked_at")?,
            license: row.get("primary_spdx")?,
            license_from: row.get("primary_from")?,
            files: row.get("files")?,
            files_found: row.get("files_found")?,
            files_scanned: row.get("files_scanned")?,
            files_failed: row.get("files_failed")?,
            skipped: row.get("skipped")?,
            told_apart: row.get("told_apart")?,
        })
    })
    .transpose()
}

/// The licenses of a result, the most frequent first.
pub async fn licenses(db: &Db, result: i64) -> Result<Vec<LicenseCount>, DbError> {
    counts(db, result, "license", 10_000).await
}

/// The holders of a result, the most frequent first.
pub async fn holders(db: &Db, result: i64, limit: usize) -> Result<Vec<LicenseCount>, DbError> {
    counts(db, result, "holder", limit).await
}

async fn counts(
    db: &Db,
    result: i64,
    what: &str,
    limit: usize,
) -> Result<Vec<LicenseCount>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT value, files, osi_approved FROM license_tally
             WHERE result = $1 AND what = $2 ORDER BY files DESC, value LIMIT $3",
            result,
            what,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(LicenseCount {
                value: row.get("value")?,
                files: row.get("files")?,
                osi_approved: row.get("osi_approved")?,
            })
        })
        .collect()
}

/// The packages of a result, by their manifests.
pub async fn packages(db: &Db, result: i64, limit: usize) -> Result<Vec<PackageReport>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT purl, path, spdx FROM license_package WHERE result = $1 ORDER BY path, id LIMIT $2",
            result,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(PackageReport {
                purl: row.get("purl")?,
                path: row.get("path")?,
                license: row.get("spdx")?,
            })
        })
        .collect()
}

/// The files of a result in which something was found, or that could not be scanned, by path.
pub async fn files(db: &Db, result: i64, filter: &FileFilter) -> Result<Vec<FileReport>, DbError> {
    let problems = if filter.problems {
        "AND f.problem IS NOT NULL"
    } else {
        ""
    };
    let pattern = filter.license.as_ref().map(|text| {
        let text = text.replace(['%', '_'], "");
        format!("%{text}%")
    });
    let text = format!(
        "SELECT f.path, f.blob, COALESCE(f.spdx, a.spdx) AS settled, f.spdx_from, f.place, f.problem,
            f.detail, a.size, a.programming_language, a.file_type, a.mime_type, a.sort, a.expression, a.spdx, a.percentage,
            a.detections, a.clues, a.copyrights, a.holders, a.authors, a.packages, a.errors
         FROM license_file f LEFT JOIN license_answer a ON a.id = f.answer
         WHERE f.result = $1 AND f.path > $2
           AND ($3 IS NULL OR COALESCE(f.spdx, a.spdx) LIKE $3) {problems}
         ORDER BY f.path LIMIT $4"
    );
    let statement = Statement::built(text)
        .bind(result)
        .bind(filter.after.as_deref().unwrap_or(""))
        .bind(pattern)
        .bind(filter.limit);
    let rows = db.fetch_all(statement).await?;
    rows.iter().map(file).collect()
}

fn file(row: &Row) -> Result<FileReport, DbError> {
    let from: Option<String> = row.get("spdx_from")?;
    Ok(FileReport {
        path: row.get("path")?,
        blob: row.get("blob")?,
        spdx: row.get("settled")?,
        spdx_from: from
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
        place: row.get("place")?,
        problem: row.get("problem")?,
        detail: row.get("detail")?,
        findings: findings(row)?,
    })
}
