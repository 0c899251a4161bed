//! Who senders are: contributors, as far as that can be told.
//!
//! An address that a contributor is known by is theirs. One that GitHub gives out to those who hide
//! theirs names the account. A forge may know an account by its address; until then, somebody who
//! writes is a contributor of whom nothing but the address is known, and becomes one with the
//! contributor they turn out to be. Robots, trackers and lists are nobody.

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use facts::contributor::{Address, Contributor};

use crate::contributors;

/// At the end of the addresses that hide another.
const HIDDEN: &str = "@users.noreply.github.com";
/// Senders in one pass.
const MOST: usize = 1_000;

/// What looking senders up came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendersFound {
    /// Those that turned out to be a known contributor.
    pub known: u64,
    /// Those of whom only the address is known.
    pub email_only: u64,
    /// There are more to look up.
    pub more: bool,
}

/// A sender whom a forge may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub id: i64,
    pub email: String,
}

/// Looks senders up among all that is known here; of those whom nobody knows, so many as fit into one
/// transaction.
pub async fn resolve_senders(tx: &mut Tx, now: Timestamp) -> Result<SendersFound, DbError> {
    refuse_lists(tx).await?;
    let mut found = SendersFound {
        known: tx
            .execute(sql!(
                "UPDATE mail_sender SET contributor = a.contributor, identity = 'address'
                 FROM contributor_address a
                 WHERE a.key = mail_sender.email AND mail_sender.contributor IS NULL
                   AND NOT mail_sender.automation"
            ))
            .await?,
        ..SendersFound::default()
    };
    let rows = tx
        .fetch_all(sql!(
            "SELECT id, email, name FROM mail_sender
             WHERE contributor IS NULL AND NOT automation AND identity IS NULL
             ORDER BY id LIMIT $1",
            MOST
        ))
        .await?;
    found.more = rows.len() == MOST;
    let mut people = Vec::with_capacity(rows.len());
    let mut ways = Vec::with_capacity(rows.len());
    for row in &rows {
        let (email, name): (String, Option<String>) = (row.get("email")?, row.get("name")?);
        let account = hidden_account(&email);
        ways.push(if account.is_some() {
            "noreply"
        } else {
            "email-only"
        });
        let account = account.as_deref().map(account_address);
        let addresses = account.into_iter().chain([email]);
        let addresses = addresses.filter_map(|one| Address::parse(&one).ok());
        people.push(Contributor {
            name,
            addresses: addresses.collect(),
        });
    }
    let contributors = contributors::upsert_many(tx, &people, now).await?;
    let ids: Vec<i64> = rows
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    for (way, contributor) in ways.iter().zip(&contributors) {
        match (contributor, *way) {
            (None, _) => {}
            (_, "noreply") => found.known += 1,
            _ => found.email_only += 1,
        }
    }
    tx.execute_bulk(
        sql!(
            "UPDATE mail_sender SET contributor = r.contributor, identity = r.way FROM {rows}
             WHERE mail_sender.id = r.id"
        ),
        Bulk::new()
            .ints("id", ids)
            .ints("contributor", contributors)
            .texts("way", ways.iter().map(|way| (*way).to_owned())),
    )
    .await?;
    Ok(found)
}

/// Lists that write in the place of people are nobody, whenever they turn out to be lists.
async fn refuse_lists(tx: &mut Tx) -> Result<(), DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT s.id, s.contributor, s.identity FROM mail_sender s
             WHERE NOT s.automation AND s.email IN (SELECT l.address FROM mail_list l)"
        ))
        .await?;
    for row in &rows {
        let id: i64 = row.get("id")?;
        tx.execute(sql!(
            "UPDATE mail_sender SET automation = TRUE, contributor = NULL, identity = NULL
             WHERE id = $1",
            id
        ))
        .await?;
        let identity: Option<String> = row.get("identity")?;
        if identity.as_deref() == Some("email-only")
            && let Some(contributor) = row.get::<Option<i64>>("contributor")?
        {
            contributors::forget_unshared(tx, contributor).await?;
        }
    }
    Ok(())
}

/// Senders of whom only the address is known, who wrote at least so many messages, and about whom no
/// forge was asked since; those with most messages first.
pub async fn strangers(
    db: &Db,
    messages: i64,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<Stranger>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT s.id, s.email, COUNT(m.id) AS messages FROM mail_sender s
             JOIN mail_message m ON m.sender = s.id
             WHERE s.identity = 'email-only' AND NOT s.automation
               AND (s.asked_at IS NULL OR s.asked_at <= $2)
             GROUP BY s.id, s.email HAVING COUNT(m.id) >= $1
             ORDER BY messages DESC, s.id LIMIT $3",
            messages,
            before,
            limit
        ))
        .await?;
    let read = |row: &Row| {
        Ok(Stranger {
            id: row.get("id")?,
            email: row.get("email")?,
        })
    };
    rows.iter().map(read).collect()
}

/// A forge said whose address it is: the contributor known by the address becomes one with the one
/// known by the account.
pub async fn identified(
    tx: &mut Tx,
    sender: i64,
    login: &str,
    way: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let row = tx
        .fetch_optional(sql!(
            "SELECT email, name, contributor FROM mail_sender
             WHERE id = $1 AND identity = 'email-only' AND NOT automation",
            sender
        ))
        .await?;
    let (Some(row), Ok(account)) = (row, Address::parse(&account_address(login))) else {
        return Ok(());
    };
    let person = Contributor {
        name: None,
        addresses: vec![account],
    };
    let made = contributors::upsert_many(tx, &[person], now).await?;
    let (Some(&Some(known)), Some(stranger)) =
        (made.first(), row.get::<Option<i64>>("contributor")?)
    else {
        return Ok(());
    };
    if known != stranger {
        contributors::merge(tx, stranger, known).await?;
    }
    tx.execute(sql!(
        "UPDATE mail_sender SET contributor = $2, identity = $3, asked_at = $4 WHERE id = $1",
        sender,
        known,
        way,
        now
    ))
    .await
    .map(drop)
}

/// A forge said that it knows nobody by this address.
pub async fn not_identified(tx: &mut Tx, sender: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE mail_sender SET asked_at = $2 WHERE id = $1",
        sender,
        now
    ))
    .await
    .map(drop)
}

/// The account behind an address that hides another: `12345+ada@…` or `ada@…`.
fn hidden_account(email: &str) -> Option<String> {
    let user = email.strip_suffix(HIDDEN)?;
    let login = user.split_once('+').map_or(user, |(_, login)| login);
    (!login.is_empty()).then(|| login.to_owned())
}

/// The address that stands for an account.
fn account_address(login: &str) -> String {
    format!("{}{HIDDEN}", login.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_addresses_name_their_account() {
        let account = |email| hidden_account(email);
        assert_eq!(
            account("12345+ada@users.noreply.github.com").as_deref(),
            Some("ada")
        );
        assert_eq!(
            account("ada@users.noreply.github.com").as_deref(),
            Some("ada")
        );
        assert_eq!(account("@users.noreply.github.com"), None);
        assert_eq!(account("ada@example.org"), None);
        assert_eq!(account_address("Ada"), "ada@users.noreply.github.com");
    }
}
