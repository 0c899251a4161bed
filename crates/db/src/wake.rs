//! Signals that work has become ready.
//!
//! A signal carries nothing and proves nothing: whoever hears one looks, and
//! whoever misses one looks a little later, since all workers poll as well. In
//! one process a signal is a counter that grows; between processes on
//! PostgreSQL it is a NOTIFY, at most one in 10 ms, because NOTIFY takes a lock
//! over the whole database at commit.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use sqlx::{PgPool, Postgres, Transaction, postgres::PgListener};
use tokio::sync::watch;

use crate::DbError;

const CHANNEL: &str = "gleaner_wake";
const LEAST_GAP: Duration = Duration::from_millis(10);

/// Rings when work may have become ready.
#[derive(Debug)]
pub struct Wakes {
    bell: watch::Sender<u64>,
    notified: Mutex<Option<Instant>>,
}

impl Default for Wakes {
    fn default() -> Self {
        Self {
            bell: watch::Sender::new(0),
            notified: Mutex::new(None),
        }
    }
}

impl Wakes {
    /// A receiver that changes at each signal from now on.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    /// Signals everybody in this process.
    pub fn ring(&self) {
        self.bell
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Signals the other processes, at the commit of `tx`.
    pub(crate) async fn notify_others(
        &self,
        tx: &mut Transaction<'static, Postgres>,
    ) -> Result<(), DbError> {
        {
            let mut notified = self
                .notified
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if notified.is_some_and(|last| last.elapsed() < LEAST_GAP) {
                return Ok(());
            }
            *notified = Some(Instant::now());
        }
        // Without arguments it is one round and prepares nothing, so a pooler does not mind.
        sqlx::raw_sql("NOTIFY gleaner_wake")
            .execute(&mut **tx)
            .await?;
        Ok(())
    }

    /// Turns notifications into signals, for ever.
    pub(crate) async fn listen(&self, pool: &PgPool) {
        loop {
            if let Err(error) = self.listen_once(pool).await {
                tracing::debug!(%error, "no notifications for now, polling goes on");
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }

    async fn listen_once(&self, pool: &PgPool) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        loop {
            listener.recv().await?;
            self.ring();
        }
    }
}
