//! Who writes next on SQLite.
//!
//! SQLite has one writer at a time. Inside one process the order is decided
//! here instead of by the busy handler, which is blind: first come, first
//! served, except that heartbeats go before everybody, since a process that
//! cannot beat for 25 s cancels its own runs.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// The queue in front of the one writing connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteQueue(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    busy: bool,
    urgent: VecDeque<oneshot::Sender<Turn>>,
    ordinary: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to write; the next in the queue gets it when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn(WriteQueue);

impl WriteQueue {
    pub(crate) async fn wait(&self, urgent: bool) -> Turn {
        let receiver = {
            let mut waiting = self.lock();
            if !waiting.busy {
                waiting.busy = true;
                return Turn(self.clone());
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut waiting = self.0.lock();
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
            if next.is_none() {
                waiting.busy = false;
            }
            next
        };
        if let Some(sender) = next {
            // Should the waiter give up right now, the turn comes back as the
            // error, is dropped here, and goes on to the one behind.
            drop(sender.send(Turn(self.0.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn urgent_writers_go_first_and_those_who_give_up_are_skipped() {
        let queue = WriteQueue::default();
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
}
