//! Projects: which there are, which are due, and what their pages said.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use serde::Serialize;

/// A project as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Normalised.
    pub name: String,
    /// As the index spells it.
    pub shown: String,
    /// `active`, `archived`, `quarantined`, `deprecated`, `gone`, or what else the index says;
    /// `unread` until its page was read.
    pub status: String,
    /// Why.
    pub status_reason: Option<String>,
    /// Of the page that was read last.
    pub serial: Option<i64>,
    /// The page must be at least as new; none when nothing is due.
    pub required: Option<i64>,
    /// Over all that the page says.
    pub digest: Option<String>,
    /// When it was last asked for.
    pub asked_at: Option<Timestamp>,
}

/// A project that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueProject {
    /// Normalised.
    pub name: String,
    /// As the index spells it.
    pub shown: String,
    /// Its page must be at least as new as this; 0 where serials are not told.
    pub required: i64,
}

/// What is known of a project, for a comparison with the root of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProject {
    /// Normalised.
    pub name: String,
    /// Of the page that was read last.
    pub serial: Option<i64>,
    /// As in [`Project`].
    pub status: String,
    /// It is not read yet since it changed.
    pub due: bool,
    /// When it was last asked for.
    pub asked_at: Option<Timestamp>,
}

/// What the page of a project said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// Normalised.
    pub name: String,
    /// As the index spells it.
    pub shown: Option<String>,
    /// As in [`Project`].
    pub status: String,
    /// Why.
    pub status_reason: Option<String>,
    /// Of the page.
    pub serial: Option<i64>,
    /// Over all that the page says; none if it is to be compared again.
    pub digest: Option<String>,
    /// How many it lists.
    pub files: i64,
    /// It is as new as was required up to this serial.
    pub satisfied: Option<i64>,
    /// Something is another than before.
    pub changed: bool,
}

/// Something that happened to a project or a file of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Normalised.
    pub project: String,
    /// None for what happened to the project.
    pub filename: Option<String>,
    /// `added`, `removed`, `returned`, `replaced`, `yanked`, `unyanked`, `status`.
    pub what: String,
    /// More about it.
    pub detail: Option<String>,
    /// Of the page that told it.
    pub serial: Option<i64>,
    /// When it was seen.
    pub observed_at: Timestamp,
}

/// Marks projects as due. Those that nobody knew are entered.
pub async fn due(tx: &mut Tx, projects: &[DueProject], now: Timestamp) -> Result<(), DbError> {
    if projects.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("name", projects.iter().map(|one| one.name.clone()))
        .texts("shown", projects.iter().map(|one| one.shown.clone()))
        .ints("required", projects.iter().map(|one| one.required));
    tx.execute_bulk(
        sql!(
            "INSERT INTO pypi_project (name, shown, status, required, due_since, files)
             SELECT r.name, r.shown, 'unread', r.required, $1, 0 FROM {rows} WHERE TRUE
             ON CONFLICT (name) DO UPDATE SET due_since = excluded.due_since,
                required = CASE WHEN pypi_project.required > excluded.required
                    THEN pypi_project.required ELSE excluded.required END",
            now
        ),
        bulk,
    )
    .await?;
    Ok(())
}

/// Names of projects that became due at `since` or later, behind `after` in the order of names.
pub async fn due_names(
    db: &Db,
    since: Timestamp,
    after: &str,
    limit: usize,
) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name FROM pypi_project
             WHERE required IS NOT NULL AND due_since >= $1 AND name > $2 ORDER BY name LIMIT $3",
            since,
            after,
            limit
        ))
        .await?;
    rows.iter().map(|row| row.get("name")).collect()
}

/// How many projects that became due at `since` or later still are.
pub async fn due_count(db: &Db, since: Timestamp) -> Result<i64, DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS due FROM pypi_project
             WHERE required IS NOT NULL AND due_since >= $1",
            since
        ))
        .await?;
    row.get("due")
}

/// Projects that have been due since before then: they failed, and are asked for once more.
pub async fn due_since_before(
    db: &Db,
    before: Timestamp,
    after: &str,
    limit: usize,
) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name FROM pypi_project
             WHERE required IS NOT NULL AND due_since < $1 AND name > $2 ORDER BY name LIMIT $3",
            before,
            after,
            limit
        ))
        .await?;
    rows.iter().map(|row| row.get("name")).collect()
}

/// One project, by its normalised name.
pub async fn project(db: &Db, name: &str) -> Result<Option<Project>, DbError> {
    let row = db
        .fetch_optional(sql!("SELECT * FROM pypi_project WHERE name = $1", name))
        .await?;
    row.as_ref().map(read).transpose()
}

/// What is known of projects behind `after`, in the order of their names.
pub async fn projects(db: &Db, after: &str, limit: usize) -> Result<Vec<KnownProject>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name, serial, status, required IS NOT NULL AS due, asked_at FROM pypi_project
             WHERE name > $1 ORDER BY name LIMIT $2",
            after,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(KnownProject {
                name: row.get("name")?,
                serial: row.get("serial")?,
                status: row.get("status")?,
                due: row.get("due")?,
                asked_at: row.get("asked_at")?,
            })
        })
        .collect()
}

fn read(row: &Row) -> Result<Project, DbError> {
    Ok(Project {
        name: row.get("name")?,
        shown: row.get("shown")?,
        status: row.get("status")?,
        status_reason: row.get("status_reason")?,
        serial: row.get("serial")?,
        required: row.get("required")?,
        digest: row.get("digest")?,
        asked_at: row.get("asked_at")?,
    })
}

/// Writes down what the page of a project said of the project itself.
pub async fn page_read(tx: &mut Tx, page: &PageRead, now: Timestamp) -> Result<(), DbError> {
    let gone = (page.status == "gone").then_some(now);
    let changed = page.changed.then_some(now);
    tx.execute(sql!(
        "INSERT INTO pypi_project (name, shown, status, files) VALUES ($1, $1, 'unread', 0)
         ON CONFLICT (name) DO NOTHING",
        &page.name
    ))
    .await?;
    tx.execute(sql!(
        "UPDATE pypi_project SET shown = COALESCE($2, shown), status = $3, status_reason = $4,
            serial = $5, digest = $6, files = $7, asked_at = $8,
            changed_at = COALESCE($9, changed_at),
            gone_at = CASE WHEN $10 IS NULL THEN NULL ELSE COALESCE(gone_at, $10) END,
            required = CASE WHEN required <= $11 THEN NULL ELSE required END
         WHERE name = $1",
        &page.name,
        page.shown.as_deref(),
        &page.status,
        page.status_reason.as_deref(),
        page.serial,
        page.digest.as_deref(),
        page.files,
        now,
        changed,
        gone,
        page.satisfied
    ))
    .await?;
    Ok(())
}

/// Appends to what happened.
pub async fn write_events(tx: &mut Tx, events: &[Event]) -> Result<(), DbError> {
    if events.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("project", events.iter().map(|one| one.project.clone()))
        .texts("filename", events.iter().map(|one| one.filename.clone()))
        .texts("what", events.iter().map(|one| one.what.clone()))
        .texts("detail", events.iter().map(|one| one.detail.clone()))
        .ints("serial", events.iter().map(|one| one.serial))
        .times("observed_at", events.iter().map(|one| one.observed_at));
    tx.execute_bulk(
        sql!(
            "INSERT INTO pypi_event (project, filename, what, detail, serial, observed_at)
             SELECT r.project, r.filename, r.what, r.detail, r.serial, r.observed_at FROM {rows}"
        ),
        bulk,
    )
    .await?;
    Ok(())
}

/// What happened to a project and its files, the newest first.
pub async fn events(db: &Db, project: &str, limit: usize) -> Result<Vec<Event>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT project, filename, what, detail, serial, observed_at FROM pypi_event
             WHERE project = $1 ORDER BY id DESC LIMIT $2",
            project,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Event {
                project: row.get("project")?,
                filename: row.get("filename")?,
                what: row.get("what")?,
                detail: row.get("detail")?,
                serial: row.get("serial")?,
                observed_at: row.get("observed_at")?,
            })
        })
        .collect()
}
