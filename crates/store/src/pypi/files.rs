//! Files: what pages say of them, and what was extracted from them.

use std::fmt::Write as _;

use db::{Bulk, Db, DbError, Statement, Timestamp, Tx, sql};

use super::changes::{FileKind, FileRow, array};

/// What is known of a file, for a comparison with the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub filename: String,
    /// Where it lay.
    pub url: String,
    /// When it came.
    pub upload_time: Option<Timestamp>,
    /// In bytes.
    pub size: Option<i64>,
    /// In hexadecimal.
    pub sha256: Option<String>,
    /// Of the metadata beside it; empty where its digest is not told.
    pub metadata_sha256: Option<String>,
    /// As the index had it.
    pub requires_python: Option<String>,
    /// Why it was yanked.
    pub yanked: Option<String>,
    /// It was not listed any more.
    pub removed: bool,
    /// It was withheld.
    pub quarantined: bool,
    /// Whether it is to be read.
    pub unread: bool,
}

/// What a page says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// Its name.
    pub filename: String,
    /// By its name.
    pub version: String,
    /// By its name.
    pub kind: FileKind,
    /// Where it lies.
    pub url: String,
    /// When it came.
    pub upload_time: Option<Timestamp>,
    /// In bytes.
    pub size: Option<i64>,
    /// In hexadecimal.
    pub sha256: Option<String>,
    /// Of the metadata beside it; empty where its digest is not told.
    pub metadata_sha256: Option<String>,
    /// As the index has it.
    pub requires_python: Option<String>,
    /// Why it was yanked.
    pub yanked: Option<String>,
    /// Of the page.
    pub serial: Option<i64>,
    /// By its name.
    pub tags: Vec<String>,
    /// It has other bytes than before: what was extracted no longer holds.
    pub replaced: bool,
}

/// What is needed to read a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAsked {
    /// Its id.
    pub id: i64,
    /// Where it lies.
    pub url: String,
    /// In bytes.
    pub size: Option<i64>,
    /// In hexadecimal.
    pub sha256: Option<String>,
    /// Of the metadata beside it; empty where its digest is not told.
    pub metadata_sha256: Option<String>,
    /// The version of the extractor that read it last; none if it is to be read again.
    pub extractor_version: Option<i64>,
    /// It was not read since it came.
    pub unread: bool,
    /// It is not there any more, or withheld.
    pub out_of_reach: bool,
}

/// What reading a file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extraction {
    /// The version of the extractor.
    pub extractor_version: i64,
    /// What it holds, or why it was refused.
    pub verdict: Verdict,
    /// How much came over the wire.
    pub bytes_fetched: i64,
    /// The length of the whole.
    pub size: Option<i64>,
    /// Of the whole, if it was read.
    pub sha256: Option<String>,
}

/// What a file holds, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was read.
    Read {
        /// The project as its metadata have it.
        name: Option<String>,
        /// The version as its metadata have it.
        version: Option<String>,
        /// As its metadata have it.
        requires_python: Option<String>,
        /// As they stand in the metadata.
        requires_dist: Vec<String>,
        /// The extras that it offers.
        extras: Vec<String>,
        /// What a user would import.
        import_names: Vec<String>,
        /// All that can be imported.
        modules: Vec<String>,
        /// What is odd about it.
        warnings: Vec<String>,
    },
    /// It was refused.
    Refused {
        /// A stable word.
        code: String,
        /// The whole reason.
        reason: String,
    },
}

/// Which files to read again.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this project, normalised.
    pub project: Option<String>,
    /// Of this version.
    pub version: Option<String>,
    /// Of this name.
    pub filename: Option<String>,
    /// `wheel`, `egg`, `sdist`.
    pub kind: Option<String>,
    /// `ok`, `refused`, `not-yet`.
    pub extracted: Option<String>,
    /// Refused for this, by its word.
    pub refusal: Option<String>,
    /// Read by an older extractor than this.
    pub extractor_below: Option<i64>,
}

/// All files of a project that were ever seen, by name.
pub async fn known_files(db: &Db, project: &str) -> Result<Vec<KnownFile>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT id, filename, url, upload_time, size, sha256, metadata_sha256, requires_python,
                yanked, removed, quarantined, extracted = 'not-yet' AS unread
             FROM pypi_files WHERE project = $1 ORDER BY filename",
            project
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(KnownFile {
                id: row.get("id")?,
                filename: row.get("filename")?,
                url: row.get("url")?,
                upload_time: row.get("upload_time")?,
                size: row.get("size")?,
                sha256: row.get("sha256")?,
                metadata_sha256: row.get("metadata_sha256")?,
                requires_python: row.get("requires_python")?,
                yanked: row.get("yanked")?,
                removed: row.get("removed")?,
                quarantined: row.get("quarantined")?,
                unread: row.get("unread")?,
            })
        })
        .collect()
}

/// All files of a project as readers of changes see them, by name.
pub async fn file_rows(db: &Db, project: &str) -> Result<Vec<FileRow>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT * FROM pypi_files WHERE project = $1 ORDER BY filename",
            project
        ))
        .await?;
    rows.iter().map(FileRow::read).collect()
}

/// Writes down what a page says of files that are new, or other than before.
pub async fn write_files(
    tx: &mut Tx,
    project: &str,
    files: &[FileWrite],
    now: Timestamp,
) -> Result<(), DbError> {
    if files.is_empty() {
        return Ok(());
    }
    let text = |of: fn(&FileWrite) -> Option<String>| files.iter().map(of);
    let bulk = Bulk::new()
        .texts("filename", text(|one| Some(one.filename.clone())))
        .texts("version", text(|one| Some(one.version.clone())))
        .texts("kind", text(|one| Some(one.kind.as_str().to_owned())))
        .texts("url", text(|one| Some(one.url.clone())))
        .times("upload_time", files.iter().map(|one| one.upload_time))
        .ints("size", files.iter().map(|one| one.size))
        .texts("sha256", text(|one| one.sha256.clone()))
        .texts("metadata_sha256", text(|one| one.metadata_sha256.clone()))
        .texts("requires_python", text(|one| one.requires_python.clone()))
        .texts("yanked", text(|one| one.yanked.clone()))
        .ints("serial", files.iter().map(|one| one.serial))
        .texts("tags", text(|one| Some(array(&one.tags))));
    tx.execute_bulk(
        sql!(
            "INSERT INTO pypi_files (unnumbered, project, version, filename, kind, url, upload_time,
                size, sha256, metadata_sha256, requires_python, yanked, removed, quarantined, serial,
                extracted, requires_dist, extras, import_names, modules, tags, warnings,
                first_seen, changed_at)
             SELECT TRUE, $1, r.version, r.filename, r.kind, r.url, r.upload_time, r.size, r.sha256,
                r.metadata_sha256, r.requires_python, r.yanked, FALSE, FALSE, r.serial,
                'not-yet', '[]', '[]', '[]', '[]', r.tags, '[]', $2, $2
             FROM {rows} WHERE TRUE
             ON CONFLICT (project, filename) DO UPDATE SET unnumbered = TRUE,
                version = excluded.version, kind = excluded.kind, url = excluded.url,
                upload_time = excluded.upload_time,
                size = COALESCE(excluded.size, pypi_files.size),
                sha256 = COALESCE(excluded.sha256, pypi_files.sha256),
                metadata_sha256 = excluded.metadata_sha256,
                requires_python = COALESCE(excluded.requires_python, pypi_files.requires_python),
                yanked = excluded.yanked, removed = FALSE, quarantined = FALSE,
                tags = excluded.tags, changed_at = excluded.changed_at",
            project,
            now
        ),
        bulk,
    )
    .await?;
    let replaced = files.iter().filter(|one| one.replaced);
    let replaced = Bulk::new().texts("filename", replaced.map(|one| one.filename.clone()));
    if !replaced.is_empty() {
        tx.execute_bulk(
            sql!(
                "UPDATE pypi_files SET extracted = 'not-yet', refusal = NULL, detail = NULL,
                    extractor_version = NULL, metadata_name = NULL, metadata_version = NULL,
                    requires_dist = '[]', extras = '[]', import_names = '[]', modules = '[]',
                    warnings = '[]'
                 FROM {rows} WHERE pypi_files.project = $1 AND pypi_files.filename = r.filename",
                project
            ),
            replaced,
        )
        .await?;
    }
    Ok(())
}

/// Marks files as removed.
pub async fn remove_files(tx: &mut Tx, ids: &[i64], now: Timestamp) -> Result<(), DbError> {
    set(tx, "removed = TRUE", ids, now).await
}

/// Marks files as withheld by the index.
pub async fn withhold_files(tx: &mut Tx, ids: &[i64], now: Timestamp) -> Result<(), DbError> {
    set(tx, "quarantined = TRUE", ids, now).await
}

async fn set(tx: &mut Tx, what: &str, ids: &[i64], now: Timestamp) -> Result<(), DbError> {
    if ids.is_empty() {
        return Ok(());
    }
    let text = format!(
        "UPDATE pypi_files SET {what}, unnumbered = TRUE, changed_at = $1
         FROM {{rows}} WHERE pypi_files.id = r.id"
    );
    let statement = Statement::built(text).bind(now);
    tx.execute_bulk(statement, Bulk::new().ints("id", ids.iter().copied()))
        .await?;
    Ok(())
}

/// What is needed to read a file; none if nobody listed it.
pub async fn file(db: &Db, project: &str, filename: &str) -> Result<Option<FileAsked>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT id, url, size, sha256, metadata_sha256, extractor_version,
                extracted = 'not-yet' AS unread, (removed OR quarantined) AS out_of_reach
             FROM pypi_files WHERE project = $1 AND filename = $2",
            project,
            filename
        ))
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(FileAsked {
        id: row.get("id")?,
        url: row.get("url")?,
        size: row.get("size")?,
        sha256: row.get("sha256")?,
        metadata_sha256: row.get("metadata_sha256")?,
        extractor_version: row.get("extractor_version")?,
        unread: row.get("unread")?,
        out_of_reach: row.get("out_of_reach")?,
    }))
}

/// Writes down what reading a file came to, unless the index has other bytes under its name by now.
pub async fn extracted(
    tx: &mut Tx,
    file: i64,
    sha256: Option<&str>,
    found: &Extraction,
    now: Timestamp,
) -> Result<(), DbError> {
    let blank = Vec::new();
    let (state, code, reason) = match &found.verdict {
        Verdict::Read { .. } => ("ok", None, None),
        Verdict::Refused { code, reason } => ("refused", Some(code), Some(reason)),
    };
    let (mut names, mut python, mut lists) = ((None, None), None, [&blank; 5]);
    if let Verdict::Read {
        name,
        version,
        requires_python,
        requires_dist,
        extras,
        import_names,
        modules,
        warnings,
    } = &found.verdict
    {
        names = (name.as_deref(), version.as_deref());
        python = requires_python.as_deref();
        lists = [requires_dist, extras, import_names, modules, warnings];
    }
    let [requires, extras, imports, modules, warnings] = lists.map(|list| array(list));
    tx.execute(sql!(
        "UPDATE pypi_files SET unnumbered = TRUE, extracted = $3, refusal = $4, detail = $5,
            extractor_version = $6, extracted_at = $7, changed_at = $7, bytes_fetched = $8,
            size = COALESCE(size, $9), sha256 = COALESCE(sha256, $10),
            metadata_name = $11, metadata_version = $12,
            requires_python = COALESCE(requires_python, $13),
            requires_dist = $14, extras = $15, import_names = $16, modules = $17, warnings = $18
         WHERE id = $1 AND sha256 IS NOT DISTINCT FROM $2",
        file,
        sha256,
        state,
        code.map(String::as_str),
        reason.map(String::as_str),
        found.extractor_version,
        now,
        found.bytes_fetched,
        found.size,
        found.sha256.as_deref(),
        names.0,
        names.1,
        python,
        requires,
        extras,
        imports,
        modules,
        warnings
    ))
    .await?;
    Ok(())
}

/// Keeps the parts of a file that were fetched, up to `bound` bytes of all files together.
pub async fn keep(
    tx: &mut Tx,
    file: i64,
    sha256: &str,
    body: &[u8],
    bound: i64,
) -> Result<(), DbError> {
    let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let room = tx
        .fetch_optional(sql!(
            "SELECT kept FROM pypi_index WHERE id = 1 AND kept + $1 <= $2",
            size,
            bound
        ))
        .await?;
    if room.is_none() {
        return Ok(());
    }
    let added = tx
        .execute(sql!(
            "INSERT INTO pypi_kept (file, sha256, body) VALUES ($1, $2, $3)
             ON CONFLICT (file) DO UPDATE SET sha256 = excluded.sha256, body = excluded.body
             WHERE pypi_kept.sha256 <> excluded.sha256",
            file,
            sha256,
            body.to_vec()
        ))
        .await?;
    if added > 0 {
        tx.execute(sql!(
            "UPDATE pypi_index SET kept = kept + $1 WHERE id = 1",
            size
        ))
        .await?;
    }
    Ok(())
}

/// The parts of a file with these bytes that are kept.
pub async fn kept(db: &Db, file: i64, sha256: &str) -> Result<Option<Vec<u8>>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT body FROM pypi_kept WHERE file = $1 AND sha256 = $2",
            file,
            sha256
        ))
        .await?;
    row.map(|row| row.get("body")).transpose()
}

/// Files that came or changed at `since` or later and were not read yet, behind `after`: their ids,
/// projects, names and addresses.
pub async fn unread(
    db: &Db,
    since: Timestamp,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String, String, String)>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT id, project, filename, url FROM pypi_files
             WHERE extracted = 'not-yet' AND id > $1 AND changed_at >= $2 AND NOT removed
               AND NOT quarantined AND kind IN ('wheel', 'egg', 'sdist')
             ORDER BY id LIMIT $3",
            after,
            since,
            limit
        ))
        .await?;
    rows.iter().map(place).collect()
}

/// Files that an older extractor has read, behind `after`.
pub async fn outdated(
    db: &Db,
    version: i64,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String, String, String)>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT id, project, filename, url FROM pypi_files
             WHERE extractor_version < $1 AND id > $2 AND NOT removed AND NOT quarantined
             ORDER BY id LIMIT $3",
            version,
            after,
            limit
        ))
        .await?;
    rows.iter().map(place).collect()
}

fn place(row: &db::Row) -> Result<(i64, String, String, String), DbError> {
    Ok((
        row.get("id")?,
        row.get("project")?,
        row.get("filename")?,
        row.get("url")?,
    ))
}

/// Has files read again, at most `limit` of those behind `after`; what is known of them stays until
/// then. Returns them as [`unread`] does.
pub async fn forget_extraction(
    tx: &mut Tx,
    filter: &Filter,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String, String, String)>, DbError> {
    let mut text = String::from(
        "SELECT id, project, filename, url FROM pypi_files
         WHERE id > $1 AND NOT removed AND NOT quarantined AND kind IN ('wheel', 'egg', 'sdist')",
    );
    let texts = [
        ("project", &filter.project),
        ("version", &filter.version),
        ("filename", &filter.filename),
        ("kind", &filter.kind),
        ("extracted", &filter.extracted),
        ("refusal", &filter.refusal),
    ];
    let given: Vec<(&str, &String)> = texts
        .into_iter()
        .filter_map(|(column, value)| Some((column, value.as_ref()?)))
        .collect();
    let mut place = 2;
    for (column, _) in &given {
        place += 1;
        let _ = write!(text, " AND {column} = ${place}");
    }
    if filter.extractor_below.is_some() {
        place += 1;
        let _ = write!(text, " AND extractor_version < ${place}");
    }
    text.push_str(" ORDER BY id LIMIT $2");
    let mut statement = Statement::built(text).bind(after).bind(limit);
    for (_, value) in given {
        statement = statement.bind(value);
    }
    if let Some(version) = filter.extractor_below {
        statement = statement.bind(version);
    }
    let rows = tx.fetch_all(statement).await?;
    let found: Vec<(i64, String, String, String)> =
        rows.iter().map(self::place).collect::<Result<_, _>>()?;
    let ids = Bulk::new().ints("id", found.iter().map(|one| one.0));
    if !ids.is_empty() {
        tx.execute_bulk(
            sql!(
                "UPDATE pypi_files SET extractor_version = NULL FROM {rows}
                 WHERE pypi_files.id = r.id"
            ),
            ids,
        )
        .await?;
    }
    Ok(found)
}
