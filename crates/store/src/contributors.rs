//! Contributors and the addresses they write from.
//!
//! An address belongs to one contributor. Somebody who shows up with a known address and new ones
//! brings the new ones along; addresses that belong to different contributors are never merged by
//! this module, since a shared mailbox would make one person of many.

use std::collections::HashMap;

use db::{Bulk, Db, DbError, Timestamp, Tx, sql};
use facts::contributor::{Address, Contributor};
use serde::Serialize;

/// A contributor as they are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptContributor {
    /// Ours.
    pub id: i64,
    /// The name they used last.
    pub name: Option<String>,
    /// The addresses they write from, the first known first.
    pub addresses: Vec<String>,
}

/// Writes contributors down; answers their ids in the order given, and none for one without any
/// address: nothing would ever find them again. Where addresses of one belong to several, the
/// contributor known longest is meant.
pub async fn upsert_many(
    tx: &mut Tx,
    contributors: &[Contributor],
    now: Timestamp,
) -> Result<Vec<Option<i64>>, DbError> {
    let mut owner_of = owners(tx, contributors).await?;

    // Decide who is new. Within a batch the first to show an address has it.
    let mut new: Vec<(String, Option<String>)> = Vec::new();
    let mut owners_found = Vec::with_capacity(contributors.len());
    for contributor in contributors {
        let keys: Vec<String> = contributor.addresses.iter().map(Address::key).collect();
        let known = keys
            .iter()
            .filter_map(|key| owner_of.get(key))
            .min()
            .cloned();
        let owner = known.or_else(|| {
            let key = keys.first()?.clone();
            new.push((key.clone(), contributor.name.clone()));
            Some(Owner::New(key))
        });
        for key in keys {
            if let Some(owner) = &owner {
                owner_of.entry(key).or_insert_with(|| owner.clone());
            }
        }
        owners_found.push(owner);
    }

    let made = insert(tx, new, now).await?;
    let id_of = |owner: &Owner| match owner {
        Owner::Known(id) => Some(*id),
        Owner::New(key) => made.get(key).copied(),
    };
    let ids: Vec<Option<i64>> = owners_found
        .iter()
        .map(|owner| owner.as_ref().and_then(id_of))
        .collect();
    write_names(tx, contributors, &ids).await?;
    write_addresses(tx, contributors, &owner_of, id_of, now).await?;
    Ok(ids)
}

/// The contributor who writes from an address.
pub async fn by_address(db: &Db, address: &Address) -> Result<Option<KeptContributor>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT c.id, c.name, a.address FROM contributor_address w
             JOIN contributor c ON c.id = w.contributor
             JOIN contributor_address a ON a.contributor = c.id
             WHERE w.key = $1 ORDER BY a.first_seen, a.key",
            address.key()
        ))
        .await?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    Ok(Some(KeptContributor {
        id: first.get("id")?,
        name: first.get("name")?,
        addresses: rows
            .iter()
            .map(|row| row.get("address"))
            .collect::<Result<_, _>>()?,
    }))
}

/// Makes one contributor of two: what belonged to `from` belongs to `into`. For those who know that
/// both are one person.
pub async fn merge(tx: &mut Tx, from: i64, into: i64) -> Result<(), DbError> {
    for statement in [
        "UPDATE contributor_address SET contributor = $2 WHERE contributor = $1",
        "UPDATE mail_sender SET contributor = $2 WHERE contributor = $1",
        "UPDATE forge_issue SET reporter = $2 WHERE reporter = $1",
        "UPDATE contributor SET name = COALESCE(name, (SELECT o.name FROM contributor o WHERE o.id = $1))
         WHERE id = $2",
    ] {
        tx.execute(sql!(statement, from, into)).await?;
    }
    tx.execute(sql!("DELETE FROM contributor WHERE id = $1", from))
        .await
        .map(drop)
}

/// Removes a contributor whom nothing refers to and who is known by one address at most.
pub async fn forget_unshared(tx: &mut Tx, contributor: i64) -> Result<(), DbError> {
    tx.execute(sql!(
        "DELETE FROM contributor WHERE id = $1
           AND NOT EXISTS (SELECT 1 FROM mail_sender s WHERE s.contributor = contributor.id)
           AND NOT EXISTS (SELECT 1 FROM forge_issue i WHERE i.reporter = contributor.id)
           AND (SELECT COUNT(*) FROM contributor_address a WHERE a.contributor = contributor.id) < 2",
        contributor
    ))
    .await
    .map(drop)
}

/// Whose an address is. Known ones are older than new ones, and sort so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Known(i64),
    /// To be made under this key.
    New(String),
}

async fn owners(
    tx: &mut Tx,
    contributors: &[Contributor],
) -> Result<HashMap<String, Owner>, DbError> {
    let keys = contributors
        .iter()
        .flat_map(|contributor| &contributor.addresses)
        .map(Address::key);
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT a.key, a.contributor FROM contributor_address a
                 WHERE a.key IN (SELECT r.key FROM {rows})"
            ),
            Bulk::new().texts("key", keys),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("key")?, Owner::Known(row.get("contributor")?))))
        .collect()
}

async fn insert(
    tx: &mut Tx,
    new: Vec<(String, Option<String>)>,
    now: Timestamp,
) -> Result<HashMap<String, i64>, DbError> {
    let (keys, names): (Vec<String>, Vec<Option<String>>) = new.into_iter().unzip();
    let rows = tx
        .fetch_bulk(
            // Updating nothing makes RETURNING answer for a row somebody else has just made.
            sql!(
                "INSERT INTO contributor (key, name, added_at)
                 SELECT r.key, r.name, $1 FROM {rows} WHERE TRUE
                 ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING id, key",
                now
            ),
            Bulk::new().texts("key", keys).texts("name", names),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("key")?, row.get("id")?)))
        .collect()
}

/// The name used last counts; no name changes nothing.
async fn write_names(
    tx: &mut Tx,
    contributors: &[Contributor],
    ids: &[Option<i64>],
) -> Result<(), DbError> {
    let names: HashMap<i64, String> = ids
        .iter()
        .zip(contributors)
        .filter_map(|(id, contributor)| Some(((*id)?, contributor.name.clone()?)))
        .collect();
    let (ids, names): (Vec<i64>, Vec<String>) = names.into_iter().unzip();
    tx.execute_bulk(
        sql!(
            "UPDATE contributor SET name = r.name FROM {rows}
             WHERE contributor.id = r.id AND (contributor.name IS NULL OR contributor.name <> r.name)"
        ),
        Bulk::new().ints("id", ids).texts("name", names),
    )
    .await?;
    Ok(())
}

async fn write_addresses(
    tx: &mut Tx,
    contributors: &[Contributor],
    owner_of: &HashMap<String, Owner>,
    id_of: impl Fn(&Owner) -> Option<i64>,
    now: Timestamp,
) -> Result<(), DbError> {
    let mut written: HashMap<String, (i64, String)> = HashMap::new();
    for address in contributors
        .iter()
        .flat_map(|contributor| &contributor.addresses)
    {
        let key = address.key();
        if let Some(id) = owner_of.get(&key).and_then(&id_of) {
            written
                .entry(key)
                .or_insert((id, address.as_str().to_owned()));
        }
    }
    let mut rows: Vec<(String, i64, String)> = written
        .into_iter()
        .map(|(key, (id, address))| (key, id, address))
        .collect();
    // One order for all writers, so that two of them cannot lock each other out.
    rows.sort();
    tx.execute_bulk(
        sql!(
            "INSERT INTO contributor_address (key, contributor, address, first_seen, last_seen)
             SELECT r.key, r.contributor, r.address, $1, $1 FROM {rows} WHERE TRUE
             ON CONFLICT (key) DO UPDATE SET last_seen = excluded.last_seen",
            now
        ),
        Bulk::new()
            .texts("key", rows.iter().map(|(key, _, _)| key.clone()))
            .ints("contributor", rows.iter().map(|(_, id, _)| *id))
            .texts(
                "address",
                rows.iter().map(|(_, _, address)| address.clone()),
            ),
    )
    .await?;
    Ok(())
}
