//! The lists whose archives are read.

use db::{Db, DbError, Row, Timestamp, Tx, sql};
use facts::mail::Archive;
use serde::Serialize;

/// A list to be registered.
#[derive(Clone, Debug)]
pub struct NewList {
    pub archive: Archive,
    /// Whose rules hold.
    pub system: String,
    /// In lower case.
    pub address: String,
    /// The archive's address; none for an import.
    pub base: Option<String>,
    /// Its name within the archive.
    pub inbox: Option<String>,
    pub description: Option<String>,
    pub repo_group: Option<i64>,
    pub repository: Option<i64>,
}

/// A list as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptList {
    pub id: i64,
    pub address: String,
    pub archive: String,
    pub system: String,
    pub base: Option<String>,
    pub inbox: Option<String>,
    pub description: Option<String>,
    pub repo_group: Option<i64>,
    pub repository: Option<i64>,
    pub began_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub failures: i64,
    pub failure: Option<String>,
    /// Copies that became messages, that wait, that were skipped, that could not be written.
    pub messages: i64,
    pub staged: i64,
    pub skipped: i64,
    pub dead: i64,
}

/// What registering did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    pub id: i64,
    /// It was not there before.
    pub fresh: bool,
}

impl NewList {
    /// Equal when the list is: the same address in the same archive.
    pub fn key(&self) -> String {
        format!(
            "{} {} {}",
            self.archive,
            self.base.as_deref().unwrap_or_default(),
            self.address
        )
    }
}

/// Registers a list; one that is there gets the new words, and keeps what nothing is said about.
pub async fn register(tx: &mut Tx, list: &NewList, now: Timestamp) -> Result<Registered, DbError> {
    let known = tx
        .fetch_optional(sql!("SELECT id FROM mail_list WHERE key = $1", list.key()))
        .await?;
    let row = tx
        .fetch_one(sql!(
            "INSERT INTO mail_list (key, archive, system, address, base, inbox, description,
                repo_group, repository, added_at, failures)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)
             ON CONFLICT (key) DO UPDATE SET system = excluded.system,
                inbox = COALESCE(excluded.inbox, mail_list.inbox),
                description = COALESCE(excluded.description, mail_list.description),
                repo_group = COALESCE(excluded.repo_group, mail_list.repo_group),
                repository = COALESCE(excluded.repository, mail_list.repository)
             RETURNING id",
            list.key(),
            list.archive.as_str(),
            &list.system,
            &list.address,
            list.base.as_ref(),
            list.inbox.as_ref(),
            list.description.as_ref(),
            list.repo_group,
            list.repository,
            now
        ))
        .await?;
    Ok(Registered {
        id: row.get("id")?,
        fresh: known.is_none(),
    })
}

/// A list by its number.
pub async fn by_id(db: &Db, id: i64) -> Result<Option<KeptList>, DbError> {
    let rows = select(db, "l.id = $1", id).await?;
    Ok(rows.into_iter().next())
}

/// The lists of an address, in whichever archives.
pub async fn find(db: &Db, address: &str) -> Result<Vec<KeptList>, DbError> {
    select(db, "l.address = $1", address.to_lowercase()).await
}

/// At most `limit` lists behind a number, in the order of their numbers.
pub async fn lists(db: &Db, after: i64, limit: usize) -> Result<Vec<KeptList>, DbError> {
    let statement = format!("{LISTS} WHERE l.id > $1 ORDER BY l.id LIMIT $2");
    let statement = db::Statement::built(statement).bind(after).bind(limit);
    db.fetch_all(statement).await?.iter().map(read).collect()
}

/// A run over the archive begins.
pub async fn began(tx: &mut Tx, list: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE mail_list SET began_at = $2 WHERE id = $1",
        list,
        now
    ))
    .await
    .map(drop)
}

/// A run has read all there is.
pub async fn finished(tx: &mut Tx, list: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE mail_list SET finished_at = $2, failures = 0, failure = NULL WHERE id = $1",
        list,
        now
    ))
    .await
    .map(drop)
}

/// A run could not read all, and why.
pub async fn failed(tx: &mut Tx, list: i64, why: &str, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE mail_list SET failures = failures + 1, failed_at = $3, failure = $2 WHERE id = $1",
        list,
        why,
        now
    ))
    .await
    .map(drop)
}

const LISTS: &str = "SELECT l.id, l.address, l.archive, l.system, l.base, l.inbox, l.description,
    l.repo_group, l.repository, l.began_at, l.finished_at, l.failures, l.failure,
    (SELECT COUNT(*) FROM mail_copy c WHERE c.list = l.id AND c.message IS NOT NULL) AS messages,
    (SELECT COUNT(*) FROM mail_copy c WHERE c.list = l.id AND c.state = 'staged') AS staged,
    (SELECT COUNT(*) FROM mail_copy c WHERE c.list = l.id AND c.state = 'skipped') AS skipped,
    (SELECT COUNT(*) FROM mail_copy c WHERE c.list = l.id AND c.state = 'dead') AS dead
 FROM mail_list l";

async fn select(db: &Db, which: &str, value: impl db::IntoArg) -> Result<Vec<KeptList>, DbError> {
    let statement = format!("{LISTS} WHERE {which} ORDER BY l.id");
    let statement = db::Statement::built(statement).bind(value);
    db.fetch_all(statement).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<KeptList, DbError> {
    Ok(KeptList {
        id: row.get("id")?,
        address: row.get("address")?,
        archive: row.get("archive")?,
        system: row.get("system")?,
        base: row.get("base")?,
        inbox: row.get("inbox")?,
        description: row.get("description")?,
        repo_group: row.get("repo_group")?,
        repository: row.get("repository")?,
        began_at: row.get("began_at")?,
        finished_at: row.get("finished_at")?,
        failures: row.get("failures")?,
        failure: row.get("failure")?,
        messages: row.get("messages")?,
        staged: row.get("staged")?,
        skipped: row.get("skipped")?,
        dead: row.get("dead")?,
    })
}
