//! What is known of the remote services, shared by all processes.
//!
//! An error of a request says little of whose fault it is. It is a strike for
//! the unit only if the upstream has served somebody else since this unit's
//! last failure; as long as it has not, the fault is taken to be the
//! upstream's, and the unit simply comes back later.

use std::{collections::HashMap, time::Duration};

use db::{Bulk, Clock, Db, DbError, Timestamp, Tx, sql, transact};

/// A success is written down at most this often: it is a hot row.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// What one process remembers, so that it writes seldom.
#[derive(Debug, Default)]
pub(crate) struct Notebook {
    noted: HashMap<String, Duration>,
}

impl Notebook {
    /// Writes down who answered and who failed, in a transaction of its own:
    /// a unit's commit must not queue behind another's on a shared row.
    pub(crate) async fn note(
        &mut self,
        db: &Db,
        clock: &Clock,
        succeeded: &[String],
        failed: &[(String, String)],
    ) -> Result<(), DbError> {
        let monotonic = clock.monotonic();
        let mut fresh: Vec<String> = succeeded
            .iter()
            .filter(|name| !name.is_empty())
            .filter(|name| {
                self.noted
                    .get(*name)
                    .is_none_or(|noted| monotonic.saturating_sub(*noted) >= NOTE_EVERY)
            })
            .cloned()
            .collect();
        fresh.sort();
        fresh.dedup();
        if fresh.is_empty() && failed.is_empty() {
            return Ok(());
        }
        let now = clock.now();
        transact!(db, |tx| {
            let rows = Bulk::new().texts("name", fresh.clone());

            tx.execute_bulk(
                sql!(
                    "INSERT INTO upstream (name, succeeded_at, failures, openings)
                         SELECT r.name, $1, 0, 0 FROM {rows} WHERE TRUE
                         ON CONFLICT (name) DO UPDATE SET
                            succeeded_at = excluded.succeeded_at, failures = 0",
                    now
                ),
                rows,
            )
            .await?;
            for (name, error) in failed {
                fail(tx, name, error, now).await?;
            }
            Ok::<_, DbError>(())
        })?;
        for name in fresh {
            self.noted.insert(name, monotonic);
        }
        for (name, _) in failed {
            // The next success must be written at once: it is news.
            self.noted.remove(name);
        }
        Ok(())
    }
}

async fn fail(tx: &mut Tx, name: &str, error: &str, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO upstream (name, failed_at, failures, last_error, openings)
         VALUES ($1, $2, 1, $3, 0)
         ON CONFLICT (name) DO UPDATE SET failed_at = excluded.failed_at,
            failures = upstream.failures + 1, last_error = excluded.last_error",
        name,
        now,
        error
    ))
    .await?;
    Ok(())
}

/// When each of these upstreams last served anybody.
pub(crate) async fn last_successes(
    tx: &mut Tx,
    names: Vec<String>,
) -> Result<HashMap<String, Timestamp>, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT upstream.name AS name, succeeded_at FROM {rows}
                 JOIN upstream ON upstream.name = r.name WHERE succeeded_at IS NOT NULL"
            ),
            Bulk::new().texts("name", names),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("name")?, row.get("succeeded_at")?)))
        .collect()
}

/// Upstreams that must not be asked now.
pub(crate) async fn blocked(db: &Db, now: Timestamp) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name FROM upstream WHERE paused_at IS NOT NULL OR open_until > $1",
            now
        ))
        .await?;
    rows.iter().map(|row| row.get("name")).collect()
}
