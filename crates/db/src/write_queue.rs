//! Who writes next on SQLite, and the one connection that writes.
//!
//! SQLite has one writer at a time. Inside one process the order is decided
//! here instead of by the busy handler, which is blind: first come, first
//! served, except that heartbeats go before everybody, since a process that
//! cannot beat for 25 s cancels its own runs.
//!
//! The connection goes from hand to hand with the turn. A pool of one would have
//! to be given it back and asked for it each time, by a task of its own: 1.2 ms
//! between two transactions of 5.5 ms, on a busy machine with two cores.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::oneshot;

/// The queue in front of the one writing connection.
#[derive(Clone, Debug)]
pub(crate) struct WriteQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: SqliteConnectOptions,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    busy: bool,
    closed: bool,
    /// While nobody writes.
    connection: Option<SqliteConnection>,
    urgent: VecDeque<oneshot::Sender<Turn>>,
    ordinary: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to write; the next in the queue gets it when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    queue: WriteQueue,
    connection: Option<SqliteConnection>,
}

impl WriteQueue {
    pub(crate) fn new(options: SqliteConnectOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            waiting: Mutex::default(),
        }))
    }

    pub(crate) async fn wait(&self, urgent: bool) -> Turn {
        let receiver = {
            let mut waiting = self.lock();
            if !waiting.busy {
                waiting.busy = true;
                let connection = waiting.connection.take();
                return Turn {
                    queue: self.clone(),
                    connection,
                };
            }
            let (sender, receiver) = oneshot::channel();
            if urgent {
                waiting.urgent.push_back(sender);
            } else {
                waiting.ordinary.push_back(sender);
            }
            receiver
        };
        match receiver.await {
            Ok(turn) => turn,
            // Senders are only dropped with the queue itself, and we hold it.
            Err(_) => unreachable!("the write queue outlives its waiters"),
        }
    }

    /// Waits for those who write and closes the connection. Nobody writes after that.
    pub(crate) async fn close(&self) {
        let mut turn = self.wait(false).await;
        self.lock().closed = true;
        if let Some(connection) = turn.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::debug!(%error, "the database did not close well");
        }
    }

    /// Whether there is a connection that nobody uses.
    pub(crate) fn is_resting(&self) -> bool {
        self.lock().connection.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        let lock = self.0.waiting.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The connection, which is made when there is none.
    pub(crate) async fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None if self.queue.lock().closed => return Err(sqlx::Error::PoolClosed),
            None => SqliteConnection::connect_with(&self.queue.0.options).await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Takes the connection out, which may be in any state. Unless it is put back, it is closed,
    /// and the next in the queue gets another.
    pub(crate) fn take(&mut self) -> Option<SqliteConnection> {
        self.connection.take()
    }

    /// Puts it back.
    pub(crate) fn put(&mut self, connection: SqliteConnection) {
        self.connection = Some(connection);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let connection = self.connection.take();
        let next = {
            let mut waiting = self.queue.lock();
            let next = loop {
                let sender = waiting
                    .urgent
                    .pop_front()
                    .or_else(|| waiting.ordinary.pop_front());
                match sender {
                    // A waiter that gave up has closed its end: skip it.
                    Some(sender) if sender.is_closed() => {}
                    other => break other,
                }
            };
            let Some(next) = next else {
                waiting.busy = false;
                waiting.connection = connection;
                return;
            };
            next
        };
        // Should the waiter give up right now, the turn comes back as the error, is dropped here,
        // and goes on to the one behind.
        drop(next.send(Self {
            queue: self.queue.clone(),
            connection,
        }));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn urgent_writers_go_first_and_those_who_give_up_are_skipped() {
        let queue = WriteQueue::new(SqliteConnectOptions::new().in_memory(true));
        let first = queue.wait(false).await;
        let mut ordinary = Box::pin(queue.wait(false));
        let mut gives_up = Box::pin(queue.wait(true));
        let mut urgent = Box::pin(queue.wait(true));
        assert!(ordinary.as_mut().now_or_never().is_none());
        assert!(gives_up.as_mut().now_or_never().is_none());
        assert!(urgent.as_mut().now_or_never().is_none());
        drop(gives_up);
        drop(first);
        assert!(ordinary.as_mut().now_or_never().is_none());
        let turn = urgent.as_mut().now_or_never().unwrap();
        drop(turn);
        assert!(ordinary.as_mut().now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_connection_goes_with_the_turn() {
        let queue = WriteQueue::new(SqliteConnectOptions::new().in_memory(true));
        let mut first = queue.wait(false).await;
        // A database in memory is gone with its connection.
        let connection = first.connection().await.unwrap();
        sqlx::query("CREATE TABLE t (n)")
            .execute(connection)
            .await
            .unwrap();
        let second = queue.wait(false);
        let (mut second, ()) = tokio::join!(second, async { drop(first) });
        let connection = second.connection().await.unwrap();
        sqlx::query("INSERT INTO t VALUES (1)")
            .execute(connection)
            .await
            .unwrap();
        drop(second);
        assert!(queue.is_resting());
        queue.close().await;
        let mut late = queue.wait(false).await;
        assert!(matches!(
            late.connection().await,
            Err(sqlx::Error::PoolClosed)
        ));
    }
}
