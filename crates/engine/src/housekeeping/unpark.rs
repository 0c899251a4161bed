//! Brings back parked units whose cadence has passed.

use db::{DbError, sql, transact};

use crate::{Engine, MOST_ROWS, Rank, queue};

impl Engine {
    /// Recurring units return after their cadence, with a clean slate; one-offs
    /// have no due time and stay until a person retries them. Returns how many came back.
    pub(crate) async fn unpark_once(&self) -> Result<u64, DbError> {
        let now = self.clock.now();
        let due = self
            .db
            .fetch_optional(sql!(
                "SELECT id FROM unit WHERE shelf = 'parked' AND due_at <= $1 LIMIT 1",
                now
            ))
            .await?;
        if due.is_none() {
            return Ok(0);
        }
        transact!(self.db, |tx| {
            let text = format!(
                "UPDATE unit SET state = 'ready', rank = $1, strikes = 0, lost = 0
                         WHERE id IN (
                            SELECT id FROM unit WHERE shelf = 'parked' AND due_at <= $2
                            ORDER BY due_at, id LIMIT {MOST_ROWS} {}
                         ) RETURNING id",
                tx.dialect().skip_locked()
            );
            let back = tx
                .fetch_all(
                    db::Statement::built(text)
                        .bind(Rank::Cadence.number())
                        .bind(now),
                )
                .await?;
            queue::note(tx, queue::ids(&back)?).await?;
            tx.wake();
            Ok::<_, DbError>(back.len() as u64)
        })
    }
}
