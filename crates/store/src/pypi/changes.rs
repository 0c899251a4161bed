//! The sequence of changes: given by one writer, read by anybody.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use serde_json::Value;

/// A file of the index, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Its id.
    pub id: i64,
    /// The number of its last change.
    pub change_seq: i64,
    /// The project, normalised.
    pub project: String,
    /// By the name of the file.
    pub version: String,
    /// Its name; together with the project it is the file's identity.
    pub filename: String,
    /// What sort of distribution.
    pub kind: FileKind,
    /// Where it lies.
    pub url: String,
    /// When it came, if the index tells.
    pub upload_time: Option<Timestamp>,
    /// In bytes, if the index tells or it was fetched.
    pub size: Option<i64>,
    /// In hexadecimal, if the index tells.
    pub sha256: Option<String>,
    /// As the index has it, else as its own metadata has it.
    pub requires_python: Option<String>,
    /// Why it was yanked, empty without a reason; none for a file that is not.
    pub yanked: Option<String>,
    /// The index does not list it any more.
    pub removed: bool,
    /// The index withholds its project as unsafe.
    pub quarantined: bool,
    /// The serial of the page that first listed it.
    pub serial: Option<i64>,
    /// The version of the extractor that read it last.
    pub extractor_version: Option<i64>,
    /// Whether it was read.
    pub extracted: Extracted,
    /// The project as its metadata have it.
    pub metadata_name: Option<String>,
    /// The version as its metadata have it.
    pub metadata_version: Option<String>,
    /// As they stand in the metadata.
    pub requires_dist: Vec<String>,
    /// The extras that it offers.
    pub extras: Vec<String>,
    /// What a user would import.
    pub import_names: Vec<String>,
    /// All that can be imported, dotted and sorted.
    pub modules: Vec<String>,
    /// `python-abi-platform`, each combination once; empty but for wheels and eggs.
    pub tags: Vec<String>,
}

/// What sort of distribution a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `.whl`.
    Wheel,
    /// `.egg`.
    Egg,
    /// The sources.
    Sdist,
    /// `.exe`, `.msi` and the like: listed, not read.
    Installer,
    /// No distribution by its name.
    Other,
}

impl FileKind {
    /// As it stands in the column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wheel => "wheel",
            Self::Egg => "egg",
            Self::Sdist => "sdist",
            Self::Installer => "installer",
            Self::Other => "other",
        }
    }

    pub(super) fn read(word: &str) -> Self {
        match word {
            "wheel" => Self::Wheel,
            "egg" => Self::Egg,
            "sdist" => Self::Sdist,
            "installer" => Self::Installer,
            _ => Self::Other,
        }
    }
}

/// Whether a file was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// Not yet, or not since it was replaced.
    NotYet,
    /// It was.
    Ok,
    /// Something is wrong with it.
    Refused {
        /// A stable word.
        code: String,
        /// The whole reason.
        reason: String,
    },
}

impl Extracted {
    pub(super) fn read(row: &Row) -> Result<Self, DbError> {
        Ok(match row.get::<String>("extracted")?.as_str() {
            "ok" => Self::Ok,
            "refused" => Self::Refused {
                code: row.get::<Option<String>>("refusal")?.unwrap_or_default(),
                reason: row.get::<Option<String>>("detail")?.unwrap_or_default(),
            },
            _ => Self::NotYet,
        })
    }
}

/// The last number that was given; 0 when there is none. Everything up to it can be read.
pub async fn last_seq(db: &Db) -> Result<i64, DbError> {
    let row = db
        .fetch_one(sql!("SELECT last_seq FROM pypi_index WHERE id = 1"))
        .await?;
    row.get("last_seq")
}

/// Files whose last change has a number above `after_seq` and up to `up_to_seq`, in the order of
/// those numbers, at most `limit` of them. To go on, ask again after the last one's number.
pub async fn changed_files(
    db: &Db,
    after_seq: i64,
    up_to_seq: i64,
    limit: usize,
) -> Result<Vec<FileRow>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT * FROM pypi_files WHERE change_seq > $1 AND change_seq <= $2
             ORDER BY change_seq LIMIT $3",
            after_seq,
            up_to_seq,
            limit
        ))
        .await?;
    rows.iter().map(FileRow::read).collect()
}

/// Gives numbers to at most `limit` changes that were committed before; returns how many they were.
/// Whoever calls this must be alone, as one unit of the engine is.
pub async fn number(tx: &mut Tx, limit: usize) -> Result<usize, DbError> {
    let last = tx
        .fetch_one(sql!("SELECT last_seq FROM pypi_index WHERE id = 1"))
        .await?;
    let last: i64 = last.get("last_seq")?;
    let rows = tx
        .fetch_all(sql!(
            "SELECT id FROM pypi_files WHERE unnumbered ORDER BY id LIMIT $1",
            limit
        ))
        .await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let ids = rows
        .iter()
        .map(|row| row.get::<i64>("id"))
        .collect::<Result<Vec<_>, _>>()?;
    let count = ids.len();
    let end = last + i64::try_from(count).unwrap_or(i64::MAX);
    let bulk = Bulk::new().ints("id", ids).ints("seq", last + 1..=end);
    tx.execute_bulk(
        sql!(
            "UPDATE pypi_files SET change_seq = r.seq, unnumbered = FALSE FROM {rows}
             WHERE pypi_files.id = r.id"
        ),
        bulk,
    )
    .await?;
    tx.execute(sql!(
        "UPDATE pypi_index SET last_seq = $1 WHERE id = 1",
        end
    ))
    .await?;
    Ok(count)
}

impl FileRow {
    pub(super) fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            id: row.get("id")?,
            change_seq: row.get::<Option<i64>>("change_seq")?.unwrap_or(0),
            project: row.get("project")?,
            version: row.get("version")?,
            filename: row.get("filename")?,
            kind: FileKind::read(&row.get::<String>("kind")?),
            url: row.get("url")?,
            upload_time: row.get("upload_time")?,
            size: row.get("size")?,
            sha256: row.get("sha256")?,
            requires_python: row.get("requires_python")?,
            yanked: row.get("yanked")?,
            removed: row.get("removed")?,
            quarantined: row.get("quarantined")?,
            serial: row.get("serial")?,
            extractor_version: row.get("extractor_version")?,
            extracted: Extracted::read(row)?,
            metadata_name: row.get("metadata_name")?,
            metadata_version: row.get("metadata_version")?,
            requires_dist: list(row, "requires_dist")?,
            extras: list(row, "extras")?,
            import_names: list(row, "import_names")?,
            modules: list(row, "modules")?,
            tags: list(row, "tags")?,
        })
    }
}

/// A column that holds a JSON array of strings.
pub(super) fn list(row: &Row, column: &str) -> Result<Vec<String>, DbError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| DbError::Value {
        column: column.to_owned(),
        why: error.to_string(),
    })
}

/// The other way round.
pub(super) fn array(texts: &[String]) -> String {
    Value::from(texts).to_string()
}
