//! Changing repositories: renames, what their forges say, removal.

use db::{Db, DbError, Statement, Timestamp, Tx, sql};
use facts::repository::RepositoryUrl;

use super::slug_key;
use crate::MAX_ROWS;

/// What a rename came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// There is no such repository.
    Unknown,
    /// It has this name already, perhaps in another case.
    Same {
        /// The repository.
        id: i64,
    },
    /// It has a new name; the old one still finds it.
    Renamed {
        /// The repository.
        id: i64,
    },
    /// It had been added under both names. The older entry stays, with the groups and former names
    /// of both; the other is gone with its facts, and its units should be cancelled.
    Merged {
        /// The repository.
        id: i64,
        /// The id that is no more.
        dropped: i64,
    },
    /// Another repository bore the name before; it is marked gone until its forge tells where it
    /// went.
    Displaced {
        /// The repository.
        id: i64,
        /// The one that lost its name.
        other: i64,
    },
}

/// Gives a repository the address it has now.
pub async fn rename(
    tx: &mut Tx,
    id: i64,
    to: &RepositoryUrl,
    now: Timestamp,
) -> Result<Renamed, DbError> {
    let Some(row) = tx
        .fetch_optional(sql!(
            "SELECT key, slug_key, url, forge_id FROM repository WHERE id = $1",
            id
        ))
        .await?
    else {
        return Ok(Renamed::Unknown);
    };
    let (old_key, old_slug_key, old_url): (String, String, String) =
        (row.get("key")?, row.get("slug_key")?, row.get("url")?);
    let forge_id: Option<String> = row.get("forge_id")?;
    let new_key = to.key();
    if new_key == old_key {
        write_address(tx, id, to).await?;
        return Ok(Renamed::Same { id });
    }

    let other = tx
        .fetch_optional(sql!(
            "SELECT id, forge_id FROM repository WHERE key = $1",
            &new_key
        ))
        .await?;
    let outcome = match other {
        None => Renamed::Renamed { id },
        Some(row) => {
            let other: i64 = row.get("id")?;
            let other_forge_id: Option<String> = row.get("forge_id")?;
            if other_forge_id.is_some() && forge_id.is_some() && other_forge_id != forge_id {
                displace(tx, other, now).await?;
                Renamed::Displaced { id, other }
            } else {
                merge(tx, id, other).await?;
                Renamed::Merged { id, dropped: other }
            }
        }
    };
    tx.execute(sql!("DELETE FROM repository_name WHERE key = $1", &new_key))
        .await?;
    // A displaced repository has no former key of its own to remember.
    if !old_key.contains('#') {
        tx.execute(sql!(
            "INSERT INTO repository_name (key, slug_key, repository, url, until)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (key) DO UPDATE SET
                repository = excluded.repository, url = excluded.url, until = excluded.until",
            old_key,
            old_slug_key,
            id,
            old_url,
            now
        ))
        .await?;
    }
    write_address(tx, id, to).await?;
    Ok(outcome)
}

/// Gives the repository that the forge knows by this number the address it has now.
pub async fn rename_by_forge_id(
    tx: &mut Tx,
    forge_id: &str,
    to: &RepositoryUrl,
    now: Timestamp,
) -> Result<Renamed, DbError> {
    let row = tx
        .fetch_optional(sql!(
            "SELECT id FROM repository WHERE host = $1 AND forge_id = $2",
            to.host(),
            forge_id
        ))
        .await?;
    match row {
        Some(row) => rename(tx, row.get("id")?, to, now).await,
        None => Ok(Renamed::Unknown),
    }
}

/// Sets the forge's own number. Where another entry has it already, the two are one repository:
/// answers that other entry's id and changes nothing; [`rename`] that one to this address, and
/// they are merged.
pub async fn set_forge_id(tx: &mut Tx, id: i64, forge_id: &str) -> Result<Option<i64>, DbError> {
    let holder = tx
        .fetch_optional(sql!(
            "SELECT o.id FROM repository r JOIN repository o ON o.host = r.host
             WHERE r.id = $1 AND o.forge_id = $2 AND o.id <> r.id",
            id,
            forge_id
        ))
        .await?;
    if let Some(row) = holder {
        return Ok(Some(row.get("id")?));
    }
    tx.execute(sql!(
        "UPDATE repository SET forge_id = $2 WHERE id = $1",
        id,
        forge_id
    ))
    .await?;
    Ok(None)
}

/// Archives or un-archives; answers whether that changed anything.
pub async fn set_archived(tx: &mut Tx, id: i64, archived: bool) -> Result<bool, DbError> {
    let touched = tx
        .execute(sql!(
            "UPDATE repository SET archived = $2 WHERE id = $1 AND archived <> $2",
            id,
            archived
        ))
        .await?;
    Ok(touched > 0)
}

/// Notes what the default branch is called.
pub async fn set_default_branch(tx: &mut Tx, id: i64, branch: Option<&str>) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE repository SET default_branch = $2 WHERE id = $1",
        id,
        branch
    ))
    .await?;
    Ok(())
}

/// Notes that the forge knows the repository no more (the first time counts), or knows it again.
pub async fn mark_gone(tx: &mut Tx, id: i64, gone: Option<Timestamp>) -> Result<(), DbError> {
    tx.execute(match gone {
        Some(now) => sql!(
            "UPDATE repository SET gone_at = COALESCE(gone_at, $2) WHERE id = $1",
            id,
            now
        ),
        None => sql!("UPDATE repository SET gone_at = NULL WHERE id = $1", id),
    })
    .await?;
    Ok(())
}

/// Removes a repository with all its facts, in transactions of at most [`MAX_ROWS`]; answers
/// whether there was one. Interrupted, it can be run again.
pub async fn remove(db: &Db, id: i64) -> Result<bool, DbError> {
    for (table, of) in [
        (
            "manifest_history",
            "manifest IN (SELECT id FROM manifest WHERE repository = $1)",
        ),
        ("manifest", "repository = $1"),
        (
            "evidence_history",
            "evidence IN (SELECT id FROM evidence WHERE repository = $1)",
        ),
        ("evidence", "repository = $1"),
    ] {
        loop {
            let text = format!(
                "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {of} LIMIT {MAX_ROWS})"
            );
            if db.execute(Statement::built(text).bind(id)).await? < MAX_ROWS as u64 {
                break;
            }
        }
    }
    // The rest is small and goes with the row.
    let removed = db
        .execute(sql!("DELETE FROM repository WHERE id = $1", id))
        .await?;
    Ok(removed > 0)
}

/// Takes a repository's name away because another one bears it now.
pub(super) async fn displace(tx: &mut Tx, id: i64, now: Timestamp) -> Result<(), DbError> {
    // No address has a `#` in its key, so nothing finds the row by name any more.
    tx.execute(sql!(
        "UPDATE repository SET key = key || '#' || CAST(id AS TEXT), gone_at = COALESCE(gone_at, $2)
         WHERE id = $1",
        id,
        now
    ))
    .await?;
    Ok(())
}

/// Makes one entry of two that turned out to be the same repository: `dropped` goes, and its
/// address finds `kept`.
pub async fn absorb(tx: &mut Tx, kept: i64, dropped: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO repository_name (key, slug_key, repository, url, until)
         SELECT key, slug_key, $1, url, $3 FROM repository WHERE id = $2 AND key NOT LIKE '%#%'
         ON CONFLICT (key) DO UPDATE SET repository = excluded.repository, until = excluded.until",
        kept,
        dropped,
        now
    ))
    .await?;
    merge(tx, kept, dropped).await
}

/// Moves names, groups and history of one entry to another and drops it.
async fn merge(tx: &mut Tx, kept: i64, dropped: i64) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE repository_name SET repository = $1 WHERE repository = $2",
        kept,
        dropped
    ))
    .await?;
    tx.execute(sql!(
        "INSERT INTO repo_group_member (repo_group, repository, added_at)
         SELECT repo_group, $1, added_at FROM repo_group_member WHERE repository = $2
         ON CONFLICT (repo_group, repository) DO NOTHING",
        kept,
        dropped
    ))
    .await?;
    tx.execute(sql!(
        "INSERT INTO repo_group_source_member (source, repository, joined, listed_at)
         SELECT source, $1, joined, listed_at FROM repo_group_source_member WHERE repository = $2
         ON CONFLICT (source, repository) DO NOTHING",
        kept,
        dropped
    ))
    .await?;
    // Its tags are read again under the entry that stays; the versions keep their places.
    tx.execute(sql!(
        "INSERT INTO go_repository (repository, added_at)
         SELECT $1, added_at FROM go_repository WHERE repository = $2
         ON CONFLICT (repository) DO UPDATE SET ref_digest = NULL",
        kept,
        dropped
    ))
    .await?;
    tx.execute(sql!(
        "UPDATE go_version SET repository = $1 WHERE repository = $2",
        kept,
        dropped
    ))
    .await?;
    tx.execute(sql!(
        "UPDATE repository_event SET repository = $1 WHERE repository = $2",
        kept,
        dropped
    ))
    .await?;
    let row = tx
        .fetch_one(sql!(
            "SELECT forge_id FROM repository WHERE id = $1",
            dropped
        ))
        .await?;
    let forge_id: Option<String> = row.get("forge_id")?;
    tx.execute(sql!("DELETE FROM repository WHERE id = $1", dropped))
        .await?;
    tx.execute(sql!(
        "UPDATE repository SET forge_id = COALESCE(forge_id, $2) WHERE id = $1",
        kept,
        forge_id
    ))
    .await?;
    Ok(())
}

async fn write_address(tx: &mut Tx, id: i64, to: &RepositoryUrl) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE repository SET forge = $2, host = $3, owner = $4, name = $5, key = $6,
            slug_key = $7, name_key = $8, url = $9, gone_at = NULL
         WHERE id = $1",
        id,
        to.forge().as_str(),
        to.host(),
        to.owner(),
        to.name(),
        to.key(),
        slug_key(to),
        to.name().to_lowercase(),
        to.url()
    ))
    .await?;
    Ok(())
}
