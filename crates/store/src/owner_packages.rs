//! What owners have in the registries of their forges, for as long as one round over the owner's
//! repositories may take. One listing serves all of them.
//!
//! It is written outside the transactions of runs, since it holds no facts: those are recorded for
//! each repository, as the evidence of the source `packages`.

use db::{Db, DbError, Timestamp, sql};

/// A listing and when it was asked for. Owners are compared in lower case.
pub async fn take_up(
    db: &Db,
    host: &str,
    owner: &str,
) -> Result<Option<(Timestamp, String)>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT asked_at, listing FROM owner_packages WHERE host = $1 AND owner = $2",
            host,
            owner.to_lowercase()
        ))
        .await?;
    row.map(|row| Ok((row.get("asked_at")?, row.get("listing")?)))
        .transpose()
}

/// Keeps a listing in place of an earlier one, and drops those of owners that were last asked for
/// before `forget`.
pub async fn keep(
    db: &Db,
    host: &str,
    owner: &str,
    listing: &str,
    now: Timestamp,
    forget: Timestamp,
) -> Result<(), DbError> {
    db.execute(sql!(
        "INSERT INTO owner_packages (host, owner, listing, asked_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (host, owner)
         DO UPDATE SET listing = excluded.listing, asked_at = excluded.asked_at",
        host,
        owner.to_lowercase(),
        listing,
        now
    ))
    .await?;
    db.execute(sql!(
        "DELETE FROM owner_packages WHERE asked_at < $1",
        forget
    ))
    .await?;
    Ok(())
}
