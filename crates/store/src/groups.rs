//! Groups: named sets of repositories. Members are listed by [`repositories::list`] with the
//! group's id in its filter.
//!
//! [`repositories::list`]: crate::repositories::list

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use facts::group::GroupName;
use serde::Serialize;

use crate::repositories::Added;

/// A group as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Ours.
    pub id: i64,
    /// As it was first written.
    pub name: String,
    /// When it was made.
    pub added_at: Timestamp,
    /// How many repositories are in it.
    pub repositories: i64,
}

/// Makes a group, or finds the one of that name.
pub async fn create(tx: &mut Tx, name: &GroupName, now: Timestamp) -> Result<Added, DbError> {
    let made = tx
        .fetch_optional(sql!(
            "INSERT INTO repo_group (key, name, added_at) VALUES ($1, $2, $3)
             ON CONFLICT (key) DO NOTHING RETURNING id",
            name.key(),
            name.as_str(),
            now
        ))
        .await?;
    if let Some(row) = made {
        return Ok(Added::Added(row.get("id")?));
    }
    let row = tx
        .fetch_one(sql!("SELECT id FROM repo_group WHERE key = $1", name.key()))
        .await?;
    Ok(Added::Already(row.get("id")?))
}

/// All groups by name.
pub async fn list(db: &Db) -> Result<Vec<Group>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT g.id, g.name, g.added_at,
                (SELECT count(*) FROM repo_group_member m WHERE m.repo_group = g.id) AS repositories
             FROM repo_group g ORDER BY g.key"
        ))
        .await?;
    rows.iter().map(read).collect()
}

/// The group of a name or an id.
pub async fn find(db: &Db, text: &str) -> Result<Option<Group>, DbError> {
    let text = text.trim();
    // No group's name is a number, so the two cannot be mistaken.
    let row = db
        .fetch_optional(sql!(
            "SELECT g.id, g.name, g.added_at,
                (SELECT count(*) FROM repo_group_member m WHERE m.repo_group = g.id) AS repositories
             FROM repo_group g WHERE g.key = $1 OR g.id = $2",
            text.to_lowercase(),
            text.parse::<i64>().ok()
        ))
        .await?;
    row.as_ref().map(read).transpose()
}

/// The names of the groups that a repository is in.
pub async fn of_repository(db: &Db, repository: i64) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT g.name FROM repo_group_member m JOIN repo_group g ON g.id = m.repo_group
             WHERE m.repository = $1 ORDER BY g.key",
            repository
        ))
        .await?;
    rows.iter().map(|row| row.get("name")).collect()
}

/// Removes a group; its repositories stay. Answers whether there was one.
pub async fn remove(tx: &mut Tx, id: i64) -> Result<bool, DbError> {
    let removed = tx
        .execute(sql!("DELETE FROM repo_group WHERE id = $1", id))
        .await?;
    Ok(removed > 0)
}

/// Puts repositories into a group; answers how many were not in it. Unknown ids are left out.
pub async fn add_members(
    tx: &mut Tx,
    group: i64,
    repositories: &[i64],
    now: Timestamp,
) -> Result<u64, DbError> {
    tx.execute_bulk(
        sql!(
            "INSERT INTO repo_group_member (repo_group, repository, added_at)
             SELECT DISTINCT $1, x.id, $2 FROM {rows} JOIN repository x ON x.id = r.id WHERE TRUE
             ON CONFLICT (repo_group, repository) DO NOTHING",
            group,
            now
        ),
        Bulk::new().ints("id", repositories.iter().copied()),
    )
    .await
}

/// Takes repositories out of a group; answers how many were in it.
pub async fn remove_members(tx: &mut Tx, group: i64, repositories: &[i64]) -> Result<u64, DbError> {
    tx.execute_bulk(
        sql!(
            "DELETE FROM repo_group_member
             WHERE repo_group = $1 AND repository IN (SELECT r.id FROM {rows})",
            group
        ),
        Bulk::new().ints("id", repositories.iter().copied()),
    )
    .await
}

fn read(row: &Row) -> Result<Group, DbError> {
    Ok(Group {
        id: row.get("id")?,
        name: row.get("name")?,
        added_at: row.get("added_at")?,
        repositories: row.get("repositories")?,
    })
}
