//! Results of repositories: staged, made current, replaced.

use db::{Bulk, Db, DbError, Timestamp, Tx, sql};

/// The current result of a repository, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultHead {
    /// The row.
    pub id: i64,
    /// The scanner's key.
    pub scanner: String,
    /// The commit.
    pub commit: String,
    /// What to do although nothing has changed.
    pub again: Option<Again>,
}

/// What a person wants done once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Put the answers together again.
    Tree,
    /// Scan the files again.
    Files,
}

impl Again {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Files => "files",
        }
    }
}

/// A result that is being put together.
#[derive(Clone, Debug)]
pub struct NewResult {
    /// The repository.
    pub repository: i64,
    /// The scanner's number.
    pub scanner: i64,
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// `files` or `whole-tree`.
    pub mode: &'static str,
    /// When the run began.
    pub began_at: Timestamp,
    /// Files of the tree.
    pub files: i64,
    /// Those in which something was found.
    pub files_found: i64,
    /// Those that this run scanned.
    pub files_scanned: i64,
    /// Those that could not be scanned.
    pub files_failed: i64,
    /// What this run scanned.
    pub bytes_scanned: i64,
    /// JSON: what was left out, by the reason.
    pub skipped: Option<String>,
    /// JSON: how many files are empty, binary, lfs-pointer, vendored or generated.
    pub told_apart: Option<String>,
    /// The license of the whole.
    pub primary_spdx: Option<String>,
    /// Where that stands.
    pub primary_from: Option<String>,
}

/// A file of a result.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// From the top.
    pub path: String,
    /// The id of its contents.
    pub blob: String,
    /// The answer.
    pub answer: Option<i64>,
    /// The expression in this tree, where it is another one.
    pub spdx: Option<String>,
    /// JSON: the files that references led to.
    pub spdx_from: Option<String>,
    /// `ordinary`, `vendored` or `generated`.
    pub place: &'static str,
    /// Why there is no answer, in a word and in full.
    pub problem: Option<(&'static str, String)>,
}

/// How often something stands in a result.
#[derive(Clone, Debug)]
pub struct NewTally {
    /// `license` or `holder`.
    pub what: &'static str,
    /// What.
    pub value: String,
    /// In how many files.
    pub files: i64,
    /// For a license.
    pub osi_approved: Option<bool>,
}

/// A package of a result.
#[derive(Clone, Debug)]
pub struct NewPackage {
    /// Its package URL.
    pub purl: Option<String>,
    /// Its manifest.
    pub path: String,
    /// Its license.
    pub spdx: Option<String>,
}

/// The current result of a repository.
pub async fn head(db: &Db, repository: i64) -> Result<Option<ResultHead>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT s.id, c.key, s.commit_id, s.again
             FROM license_result s JOIN license_scanner c ON c.id = s.scanner
             WHERE s.repository = $1 AND s.state = 'current'",
            repository
        ))
        .await?;
    row.map(|row| {
        let again: Option<String> = row.get("again")?;
        Ok(ResultHead {
            id: row.get("id")?,
            scanner: row.get("key")?,
            commit: row.get("commit_id")?,
            again: again.map(|word| match word.as_str() {
                "files" => Again::Files,
                _ => Again::Tree,
            }),
        })
    })
    .transpose()
}

/// Nothing has changed.
pub async fn stamp(tx: &mut Tx, result: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE license_result SET checked_at = $2 WHERE id = $1",
        result,
        now
    ))
    .await?;
    Ok(())
}

/// What runs that came to nothing have left. In steps: at most [`crate::MAX_ROWS`] files go at once.
pub async fn discard_staged(tx: &mut Tx, repository: i64) -> Result<bool, DbError> {
    let gone = tx
        .execute(sql!(
            "DELETE FROM license_file WHERE id IN (
                SELECT f.id FROM license_file f JOIN license_result s ON s.id = f.result
                WHERE s.repository = $1 AND s.state = 'staged' LIMIT $2)",
            repository,
            crate::MAX_ROWS
        ))
        .await?;
    if gone >= crate::MAX_ROWS as u64 {
        return Ok(true);
    }
    tx.execute(sql!(
        "DELETE FROM license_result WHERE repository = $1 AND state = 'staged'",
        repository
    ))
    .await?;
    Ok(false)
}

/// Begins a result; nobody sees it yet.
pub async fn begin(tx: &mut Tx, new: &NewResult, now: Timestamp) -> Result<i64, DbError> {
    let row = tx
        .fetch_one(sql!(
            "INSERT INTO license_result (repository, scanner, commit_id, tree_id, state, mode,
                began_at, scanned_at, checked_at, files, files_found, files_scanned, files_failed,
                bytes_scanned, skipped, told_apart, primary_spdx, primary_from)
             VALUES ($1, $2, $3, $4, 'staged', $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
             RETURNING id",
            new.repository,
            new.scanner,
            &new.commit,
            &new.tree,
            new.mode,
            new.began_at,
            now,
            new.files,
            new.files_found,
            new.files_scanned,
            new.files_failed,
            new.bytes_scanned,
            new.skipped.clone(),
            new.told_apart.clone(),
            new.primary_spdx.clone(),
            new.primary_from.clone()
        ))
        .await?;
    row.get("id")
}

/// The staged result of a repository.
const STAGED: &str =
    "(SELECT MAX(id) FROM license_result WHERE repository = $1 AND state = 'staged')";

/// Adds files to the staged result of a repository.
pub async fn add_files(tx: &mut Tx, repository: i64, files: &[NewFile]) -> Result<(), DbError> {
    if files.is_empty() {
        return Ok(());
    }
    let text = |field: fn(&NewFile) -> Option<String>| files.iter().map(field).collect::<Vec<_>>();
    let bulk = Bulk::new()
        .texts("path", text(|one| Some(one.path.clone())))
        .texts("blob", text(|one| Some(one.blob.clone())))
        .ints("answer", files.iter().map(|one| one.answer))
        .texts("spdx", text(|one| one.spdx.clone()))
        .texts("spdx_from", text(|one| one.spdx_from.clone()))
        .texts("place", text(|one| Some(one.place.to_owned())))
        .texts(
            "problem",
            text(|one| one.problem.as_ref().map(|(word, _)| (*word).to_owned())),
        )
        .texts(
            "detail",
            text(|one| one.problem.as_ref().map(|(_, why)| why.clone())),
        );
    let statement = db::Statement::built(format!(
        "INSERT INTO license_file (result, path, blob, answer, spdx, spdx_from, place, problem, detail)
         SELECT {STAGED}, r.path, r.blob, r.answer, r.spdx, r.spdx_from, r.place, r.problem, r.detail
         FROM {{rows}} WHERE TRUE ON CONFLICT (result, path) DO NOTHING"
    ))
    .bind(repository);
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}

/// Adds tallies to the staged result of a repository.
pub async fn add_tallies(
    tx: &mut Tx,
    repository: i64,
    tallies: &[NewTally],
) -> Result<(), DbError> {
    if tallies.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("what", tallies.iter().map(|one| one.what.to_owned()))
        .texts("value", tallies.iter().map(|one| one.value.clone()))
        .ints("files", tallies.iter().map(|one| one.files))
        .bools("osi", tallies.iter().map(|one| one.osi_approved));
    let statement = db::Statement::built(format!(
        "INSERT INTO license_tally (result, what, value, files, osi_approved)
         SELECT {STAGED}, r.what, r.value, r.files, r.osi FROM {{rows}} WHERE TRUE
         ON CONFLICT (result, what, value) DO NOTHING"
    ))
    .bind(repository);
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}

/// Adds packages to the staged result of a repository.
pub async fn add_packages(
    tx: &mut Tx,
    repository: i64,
    packages: &[NewPackage],
) -> Result<(), DbError> {
    if packages.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("purl", packages.iter().map(|one| one.purl.clone()))
        .texts("path", packages.iter().map(|one| one.path.clone()))
        .texts("spdx", packages.iter().map(|one| one.spdx.clone()));
    let statement = db::Statement::built(format!(
        "INSERT INTO license_package (result, purl, path, spdx)
         SELECT {STAGED}, r.purl, r.path, r.spdx FROM {{rows}} WHERE TRUE"
    ))
    .bind(repository);
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}

/// The staged result takes the place of the current one, which becomes history.
pub async fn make_current(tx: &mut Tx, repository: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE license_result SET state = 'replaced', replaced_at = $2, again = NULL
         WHERE repository = $1 AND state = 'current'",
        repository,
        now
    ))
    .await?;
    tx.execute(sql!(
        "UPDATE license_result SET state = 'current', scanned_at = $2, checked_at = $2
         WHERE id = (SELECT MAX(id) FROM license_result WHERE repository = $1 AND state = 'staged')",
        repository,
        now
    ))
    .await?;
    Ok(())
}

/// Repositories whose results are wanted once more: one, all that a version made, or all. Their
/// current results stay what they are until they are replaced.
pub async fn again(
    tx: &mut Tx,
    repository: Option<i64>,
    version: Option<&str>,
    what: Again,
) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "UPDATE license_result SET again = $1
             WHERE state = 'current' AND ($2 IS NULL OR repository = $2)
               AND ($3 IS NULL OR scanner IN
                   (SELECT c.id FROM license_scanner c WHERE c.version = $3 OR c.key = $3))
             RETURNING repository",
            what.as_str(),
            repository,
            version
        ))
        .await?;
    let mut ids: Vec<i64> = rows
        .iter()
        .map(|row| row.get("repository"))
        .collect::<Result<_, _>>()?;
    ids.sort_unstable();
    Ok(ids)
}
