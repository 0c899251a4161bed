//! The owners on forges whose repositories a group keeps up with.
//!
//! A source puts repositories into its group and takes out only those that it put there: what a
//! person added stays, whatever a forge says. What a source lists is noted with the beginning of
//! the listing, so that after a whole listing it is one query to tell what it no longer named.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use serde::Serialize;

use crate::repositories::Added;

/// An owner that a group follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Ours.
    pub id: i64,
    /// The group.
    pub group: i64,
    /// The forge.
    pub host: String,
    /// A user, an organisation, or groups within groups joined by `/`.
    pub owner: String,
    /// Which of its repositories are wanted.
    #[serde(flatten)]
    pub wanted: Wanted,
    /// When it was attached.
    pub added_at: Timestamp,
}

/// Which repositories of an owner are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// Forks too.
    pub forks: bool,
    /// Archived ones too. They are listed, and not scanned.
    pub archived: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            forks: true,
            archived: true,
        }
    }
}

/// Lets a group follow an owner. Attached again, it takes over what is wanted.
pub async fn attach(
    tx: &mut Tx,
    group: i64,
    host: &str,
    owner: &str,
    wanted: Wanted,
    now: Timestamp,
) -> Result<Added, DbError> {
    let key = format!("{host}/{}", owner.to_lowercase());
    let made = tx
        .fetch_optional(sql!(
            "INSERT INTO repo_group_source (repo_group, key, host, owner, forks, archived, added_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (repo_group, key) DO NOTHING RETURNING id",
            group,
            &key,
            host,
            owner,
            wanted.forks,
            wanted.archived,
            now
        ))
        .await?;
    if let Some(row) = made {
        return Ok(Added::Added(row.get("id")?));
    }
    let row = tx
        .fetch_one(sql!(
            "UPDATE repo_group_source SET forks = $3, archived = $4
             WHERE repo_group = $1 AND key = $2 RETURNING id",
            group,
            &key,
            wanted.forks,
            wanted.archived
        ))
        .await?;
    Ok(Added::Already(row.get("id")?))
}

/// The owner goes by another name now.
pub async fn move_to(tx: &mut Tx, id: i64, owner: &str) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE repo_group_source SET owner = $2, key = host || '/' || $3
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM repo_group_source other
            WHERE other.repo_group = repo_group_source.repo_group AND other.id <> $1
              AND other.key = repo_group_source.host || '/' || $3)",
        id,
        owner,
        owner.to_lowercase()
    ))
    .await?;
    Ok(())
}

/// The group no longer follows the owner; what came by it leaves the group. Answers whether there
/// was such a source.
pub async fn detach(tx: &mut Tx, id: i64) -> Result<bool, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT repository FROM repo_group_source_member WHERE source = $1",
            id
        ))
        .await?;
    let members: Vec<i64> = rows
        .iter()
        .map(|row| row.get("repository"))
        .collect::<Result<_, _>>()?;
    leave(tx, id, &members).await?;
    let removed = tx
        .execute(sql!("DELETE FROM repo_group_source WHERE id = $1", id))
        .await?;
    Ok(removed > 0)
}

/// The source of an id.
pub async fn by_id(db: &Db, id: i64) -> Result<Option<Source>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT id, repo_group, host, owner, forks, archived, added_at
             FROM repo_group_source WHERE id = $1",
            id
        ))
        .await?;
    row.as_ref().map(read).transpose()
}

/// The owners that a group follows, in the order they were attached.
pub async fn of_group(db: &Db, group: i64) -> Result<Vec<Source>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT id, repo_group, host, owner, forks, archived, added_at
             FROM repo_group_source WHERE repo_group = $1 ORDER BY id",
            group
        ))
        .await?;
    rows.iter().map(read).collect()
}

/// The source lists these repositories, in the listing that began at `listing`; those that were
/// not in its group join it. Answers how many did.
pub async fn listed(
    tx: &mut Tx,
    source: &Source,
    repositories: &[i64],
    listing: Timestamp,
    now: Timestamp,
) -> Result<u64, DbError> {
    let ids = || Bulk::new().ints("id", repositories.iter().copied());
    // Before anybody joins: whoever is in the group by now came without this source.
    tx.execute_bulk(
        sql!(
            "INSERT INTO repo_group_source_member (source, repository, joined, listed_at)
             SELECT DISTINCT $1, x.id,
                NOT EXISTS (SELECT 1 FROM repo_group_member m
                            WHERE m.repo_group = $2 AND m.repository = x.id),
                $3
             FROM {rows} JOIN repository x ON x.id = r.id WHERE TRUE
             ON CONFLICT (source, repository) DO UPDATE SET listed_at = excluded.listed_at",
            source.id,
            source.group,
            listing
        ),
        ids(),
    )
    .await?;
    crate::groups::add_members(tx, source.group, repositories, now).await
}

/// These repositories are no longer the source's. They leave its group, unless they were in it
/// before or another source holds them. Answers how many left.
pub async fn leave(tx: &mut Tx, source: i64, repositories: &[i64]) -> Result<u64, DbError> {
    let ids = || Bulk::new().ints("id", repositories.iter().copied());
    // Another source of the group takes over whoever joined by this one.
    tx.execute_bulk(
        sql!(
            "UPDATE repo_group_source_member SET joined = TRUE FROM {rows}
             WHERE repo_group_source_member.repository = r.id
               AND repo_group_source_member.source IN (
                   SELECT other.id FROM repo_group_source other
                   JOIN repo_group_source own ON own.repo_group = other.repo_group
                   WHERE own.id = $1 AND other.id <> $1)
               AND EXISTS (SELECT 1 FROM repo_group_source_member own
                           WHERE own.source = $1 AND own.repository = r.id AND own.joined)",
            source
        ),
        ids(),
    )
    .await?;
    let left = tx
        .execute_bulk(
            sql!(
                "DELETE FROM repo_group_member
                 WHERE repo_group = (SELECT repo_group FROM repo_group_source WHERE id = $1)
                   AND repository IN (SELECT r.id FROM {rows}
                       JOIN repo_group_source_member own ON own.repository = r.id
                       WHERE own.source = $1 AND own.joined)
                   AND NOT EXISTS (SELECT 1 FROM repo_group_source_member m
                       JOIN repo_group_source s ON s.id = m.source
                       WHERE m.repository = repo_group_member.repository
                         AND s.repo_group = repo_group_member.repo_group AND s.id <> $1)",
                source
            ),
            ids(),
        )
        .await?;
    tx.execute_bulk(
        sql!(
            "DELETE FROM repo_group_source_member
             WHERE source = $1 AND repository IN (SELECT r.id FROM {rows})",
            source
        ),
        ids(),
    )
    .await?;
    Ok(left)
}

/// A repository that is gone, or that another owner has now, leaves the groups it was in because
/// of its owner.
pub async fn leave_if_elsewhere(tx: &mut Tx, repository: i64) -> Result<(), DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT s.id, s.host AS source_host, s.owner AS source_owner,
                r.host, r.owner, r.gone_at IS NOT NULL AS gone
             FROM repo_group_source_member m JOIN repo_group_source s ON s.id = m.source
             JOIN repository r ON r.id = m.repository
             WHERE m.repository = $1",
            repository
        ))
        .await?;
    for row in rows {
        let text = |column| row.get::<String>(column);
        let gone: bool = row.get("gone")?;
        let there = text("source_host")? == text("host")?
            && is_within(&text("owner")?, &text("source_owner")?);
        if gone || !there {
            leave(tx, row.get("id")?, &[repository]).await?;
        }
    }
    Ok(())
}

/// At most `limit` repositories that the source had and did not list since `listing`.
pub async fn not_listed_since(
    tx: &mut Tx,
    source: i64,
    listing: Timestamp,
    limit: usize,
) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT repository FROM repo_group_source_member
             WHERE source = $1 AND listed_at < $2 ORDER BY listed_at, repository LIMIT $3",
            source,
            listing,
            limit
        ))
        .await?;
    rows.iter().map(|row| row.get("repository")).collect()
}

/// Whether `owner` is `of` or a group within it. What begins as no owner does is a list of another
/// sort, and only that list tells who is on it.
fn is_within(owner: &str, of: &str) -> bool {
    if of.starts_with(['*', '@', '?']) {
        return true;
    }
    let (owner, of) = (owner.to_lowercase(), of.to_lowercase());
    match owner.strip_prefix(&of) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

fn read(row: &Row) -> Result<Source, DbError> {
    Ok(Source {
        id: row.get("id")?,
        group: row.get("repo_group")?,
        host: row.get("host")?,
        owner: row.get("owner")?,
        wanted: Wanted {
            forks: row.get("forks")?,
            archived: row.get("archived")?,
        },
        added_at: row.get("added_at")?,
    })
}
