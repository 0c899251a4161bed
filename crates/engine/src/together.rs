//! Turns that lanes of one unit each take together.
//!
//! Alone, each of them writes a transaction for every unit, and the disk decides how many there
//! are. Together they need one for all who are waiting: whoever comes first takes the turn, those
//! who come while it is being written take the next one. PostgreSQL, 4 lanes, units that do
//! nothing: see `bench/README.md`.
//!
//! Only ends without facts go together. Facts may take long to write, and may be in the way of
//! somebody else's: a lane that has some takes its turn alone.

use std::{
    collections::HashSet,
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use db::DbError;
use tokio::sync::oneshot;

use crate::{
    Outcome,
    desk::Desk,
    finish::{Attempt, Closing},
    holding::Holding,
    turn::{Process, Turned},
};

/// How often a turn lets others go first before it counts who is there. Those whose units take no
/// time come back at once, and would otherwise all miss the turn that the first of them takes.
const COURTESIES: usize = 4;

/// The lanes of one pool that share turns.
#[derive(Default)]
pub(crate) struct Together {
    waiting: Mutex<Vec<Request>>,
    /// Units of `holding` that ended in some lane's own turn.
    over: Mutex<Vec<Attempt>>,
    holding: tokio::sync::Mutex<Holding>,
}

/// What a lane wants of the next turn.
struct Request {
    closings: Vec<Closing>,
    want: usize,
    answer: oneshot::Sender<Answer>,
}

struct Answer {
    turned: Result<Turned, Arc<DbError>>,
    /// What could not be written.
    closings: Vec<Closing>,
}

impl Together {
    /// These ended in a turn that was not shared.
    pub(crate) fn forget(&self, over: impl Iterator<Item = Attempt>) {
        let mut list = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        list.extend(over);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Request>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> Vec<Attempt> {
        mem::take(&mut *self.over.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Together").finish_non_exhaustive()
    }
}

impl Closing {
    /// Whether its end may be written beside those of others.
    pub(crate) fn is_light(&self) -> bool {
        matches!(&self.result, Ok(ending)
            if ending.facts.is_none() && !matches!(ending.outcome, Outcome::Wait { .. }))
    }
}

impl Process {
    /// As [`Process::turn`], with whoever else is waiting for one.
    pub(crate) async fn turn_together(
        &self,
        desk: &Desk,
        closings: &mut Vec<Closing>,
        want: usize,
    ) -> Result<Turned, Arc<DbError>> {
        let (answer, mut mine) = oneshot::channel();
        desk.together.waiting().push(Request {
            closings: mem::take(closings),
            want,
            answer,
        });
        let answered = tokio::select! {
            biased;
            answered = &mut mine => answered.ok(),
            mut holding = desk.together.holding.lock() => {
                // The one before may have answered just now.
                match mine.try_recv() {
                    Ok(answered) => Some(answered),
                    Err(_) => {
                        for _ in 0..COURTESIES {
                            tokio::task::yield_now().await;
                        }
                        holding.forget(desk.together.over());
                        let requests = mem::take(&mut *desk.together.waiting());
                        self.serve(desk, &mut holding, requests).await;
                        mine.try_recv().ok()
                    }
                }
            }
        };
        // Without an answer the lane that took the turn has died. What it ended and claimed is
        // found by those who look after leases.
        let Some(answered) = answered else {
            return Ok(Turned::default());
        };
        *closings = answered.closings;
        answered.turned
    }

    /// One turn for all of them.
    async fn serve(&self, desk: &Desk, holding: &mut Holding, mut requests: Vec<Request>) {
        let mut closings = Vec::new();
        let mut ends = Vec::with_capacity(requests.len());
        for request in &mut requests {
            let attempts = request.closings.iter().map(|one| one.unit.attempt());
            ends.push(attempts.collect::<Vec<Attempt>>());
            closings.append(&mut request.closings);
        }
        let want = requests.iter().map(|request| request.want).sum();
        let turned = self.turn(desk, holding, &mut closings, want, false).await;
        let (mut claimed, kept, error) = match turned {
            Ok(turned) => (turned.claimed.into_iter(), turned.kept, None),
            Err(error) => (
                Vec::new().into_iter(),
                HashSet::new(),
                Some(Arc::new(error)),
            ),
        };
        // All or none of them are left over.
        let mut closings = closings.into_iter();
        for (request, ends) in requests.into_iter().zip(ends) {
            let answer = Answer {
                closings: closings.by_ref().take(ends.len()).collect(),
                turned: match &error {
                    Some(error) => Err(error.clone()),
                    None => Ok(Turned {
                        claimed: claimed.by_ref().take(request.want).collect(),
                        kept: ends.into_iter().filter(|end| kept.contains(end)).collect(),
                    }),
                },
            };
            // Nobody there: the lane has died, as above.
            let _ = request.answer.send(answer);
        }
    }
}
