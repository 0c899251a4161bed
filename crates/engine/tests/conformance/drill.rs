//! The parts that all tests are made of.

use std::{sync::Arc, time::Duration};

use db::{Clock, FakeClock, Timestamp, testing::TestDb};
use engine::{
    Ending, Engine, Enqueue, Handler, Kind, Outcome, Run, RunError, State, Timing, UnitDetail,
    UnitId,
    steps::{Hand, Held},
};
use futures_util::future::BoxFuture;

pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(30);
/// A second less.
pub(crate) const ALMOST_DEAD: Duration = Duration::from_secs(29);
pub(crate) const DAY: Duration = Duration::from_hours(24);

const fn in_pool(mut kind: Kind) -> Kind {
    kind.pool = "p";
    kind.keep_runs = Some(DAY);
    kind
}

pub(crate) const ONCE: Kind = in_pool(Kind::one_off("test/once"));
pub(crate) const ROUND: Kind = in_pool(Kind::recurring("test/round", DAY));

/// An engine under a fake clock, and one process driven by hand.
pub(crate) struct Drill {
    pub engine: Engine,
    pub time: FakeClock,
    pub hand: Hand,
}

impl Drill {
    pub(crate) async fn new(db: &TestDb) -> Self {
        Self::with(db, &[ONCE, ROUND]).await
    }

    pub(crate) async fn with(db: &TestDb, kinds: &[Kind]) -> Self {
        let (clock, time) = Clock::fake("2026-03-01T12:00:00Z".parse().unwrap());
        let engine = Engine::new((**db).clone(), clock);
        let hand = Hand::start(&engine, kinds, DEAD_AFTER).await.unwrap();
        Self { engine, time, hand }
    }

    /// Another process on the same database.
    pub(crate) async fn another(&self, kinds: &[Kind]) -> Hand {
        Hand::start(&self.engine, kinds, DEAD_AFTER).await.unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    pub(crate) async fn enqueue(&self, unit: Enqueue) {
        self.engine.enqueue(vec![unit]).await.unwrap();
    }

    /// Enqueues plain one-offs.
    pub(crate) async fn enqueue_once(&self, keys: &[&str]) {
        let units = keys.iter().map(|key| Enqueue::new(&ONCE, *key)).collect();
        self.engine.enqueue(units).await.unwrap();
    }

    pub(crate) async fn claim(&self, most: usize) -> Vec<Held> {
        claim(&self.hand, most).await
    }

    /// Claims the one unit that must be due.
    pub(crate) async fn claim_one(&self) -> Held {
        let claimed = self.claim(1).await;
        assert_eq!(claimed.len(), 1, "one unit is due");
        claimed.into_iter().next().unwrap()
    }

    /// Ends a run; true if the end was written.
    pub(crate) async fn end(&self, held: Held, outcome: Outcome) -> bool {
        let ending = self.hand.run(&held).end(outcome, "said");
        finish(&self.hand, held, Ok(ending)).await
    }

    pub(crate) async fn fail(&self, held: Held, error: RunError) -> bool {
        finish(&self.hand, held, Err(error)).await
    }

    /// Claims what is due and ends it.
    pub(crate) async fn run_one(&self, outcome: Outcome) -> Held {
        let held = self.claim_one().await;
        assert!(self.end(held.clone(), outcome).await);
        held
    }

    pub(crate) async fn fold(&self) {
        while self.engine.step_fold().await.unwrap() > 0 {}
        assert!(
            !self.engine.step_repair().await.unwrap(),
            "nothing to mend after a fold"
        );
    }

    pub(crate) async fn unit(&self, address: &str) -> UnitDetail {
        let id = self.engine.find(address).await.unwrap().unwrap();
        self.engine.unit(id).await.unwrap().unwrap()
    }

    pub(crate) async fn id(&self, address: &str) -> UnitId {
        self.engine.find(address).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, address: &str) -> State {
        self.unit(address).await.unit.state
    }

    /// How far the due time lies ahead.
    pub(crate) async fn due_in(&self, address: &str) -> Duration {
        let unit = self.unit(address).await.unit;
        unit.due_at.unwrap().since(self.now())
    }

    pub(crate) async fn sql(&self, text: &'static str) -> Vec<db::Row> {
        self.engine.db().fetch_all(db::sql!(text)).await.unwrap()
    }

    pub(crate) async fn count(&self, text: &'static str) -> i64 {
        self.sql(text).await[0].get("n").unwrap()
    }
}

pub(crate) async fn claim(hand: &Hand, most: usize) -> Vec<Held> {
    hand.turn("p", Vec::new(), most, false).await.unwrap().0
}

/// Ends one run; true if the end was written.
pub(crate) async fn finish(hand: &Hand, held: Held, result: Result<Ending, RunError>) -> bool {
    let (id, attempt) = (held.id(), held.attempt());
    let (_, kept) = hand
        .turn("p", vec![(held, result)], 0, false)
        .await
        .unwrap();
    kept.contains(&(id, attempt))
}

pub(crate) fn once(key: &str) -> Enqueue {
    Enqueue::new(&ONCE, key)
}

pub(crate) fn round(key: &str) -> Enqueue {
    Enqueue::new(&ROUND, key)
}

pub(crate) fn partial() -> Outcome {
    Outcome::Partial {
        why: "capped".into(),
        retry_at: None,
    }
}

type Deed = dyn for<'a> Fn(&'a Run) -> BoxFuture<'a, Result<Ending, RunError>> + Send + Sync;

/// A handler made of a closure.
pub(crate) struct Act(Arc<Deed>);

pub(crate) fn act(
    deed: impl for<'a> Fn(&'a Run) -> BoxFuture<'a, Result<Ending, RunError>> + Send + Sync + 'static,
) -> Act {
    Act(Arc::new(deed))
}

impl Handler for Act {
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>> {
        (self.0)(run)
    }
}

/// Times for workers in tests: quick, and still patient with a busy machine.
pub(crate) fn quick() -> Timing {
    Timing {
        beat: Duration::from_millis(100),
        give_up: Duration::from_secs(4),
        dead_after: Duration::from_secs(5),
        grace: Duration::from_millis(300),
        poll: Duration::from_millis(100),
        keep_done: DAY,
    }
}

/// Waits until `held` says yes, looking again at every signal.
pub(crate) async fn until<F>(db: &db::Db, what: &str, mut held: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let mut wakes = db.wakes().subscribe();
    let wait = async {
        while !held().await {
            let _ = tokio::time::timeout(Duration::from_millis(25), wakes.changed()).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait)
        .await
        .unwrap_or_else(|_| panic!("waited in vain until {what}"));
}
