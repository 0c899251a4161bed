//! What hosts run, where their name does not tell and somebody asked them.

use db::{Db, DbError, Timestamp, Tx, sql};
use facts::repository::Forge;

/// What a host is known to run.
pub async fn known(db: &Db, host: &str) -> Result<Option<Forge>, DbError> {
    let row = db
        .fetch_optional(sql!("SELECT forge FROM forge_host WHERE host = $1", host))
        .await?;
    let word: Option<String> = row.map(|row| row.get("forge")).transpose()?;
    Ok(word.and_then(|word| Forge::from_word(&word)))
}

/// Remembers it.
pub async fn remember(
    tx: &mut Tx,
    host: &str,
    forge: Forge,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO forge_host (host, forge, learned_at) VALUES ($1, $2, $3)
         ON CONFLICT (host) DO UPDATE SET forge = excluded.forge, learned_at = excluded.learned_at",
        host,
        forge.as_str(),
        now
    ))
    .await?;
    Ok(())
}
