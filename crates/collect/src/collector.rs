//! What a collector is.
//!
//! A collector asks one upstream about one subject, lets `scan` read the
//! answer, and commits facts through the engine. It declares its contract as
//! constants, is read from top to bottom, and lives in one directory plus one
//! line in [`crate::registry`].

use std::{sync::Arc, time::Duration};

use engine::{Ending, Handler, Kind, Outcome, Run, RunError};
use serde::{Serialize, de::DeserializeOwned};

/// What a collector must have around it. Shown by the command line, checked by `doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "need", content = "name")]
pub enum Need {
    /// A program on the PATH.
    Tool(&'static str),
    /// The network.
    Network,
    /// A token for the forge it asks.
    Token,
}

/// Work of one kind, typed.
pub trait Collector: Send + Sync + 'static {
    /// `round/what`: the kind of its units, also its directory. Stable for ever.
    const NAME: &'static str;
    /// One line for people: what it asks and what it answers.
    const SUMMARY: &'static str;
    /// Bumped when its output changes; older facts then become due.
    const VERSION: i64;
    /// Least time between two complete runs; none for a one-off.
    const CADENCE: Option<Duration>;
    /// The slots it uses; the round's name unless there is a reason.
    const POOL: &'static str;
    /// After this a run has hung.
    const MAX_RUN: Duration;
    /// What it must have around it. Empty for derived work that asks nobody.
    const NEEDS: &'static [Need];

    /// What a unit is about, as it stands in its payload.
    type Subject: Serialize + DeserializeOwned + Send + Sync;
    /// Progress within a run, committed with the facts it covers.
    type Cursor: Serialize + DeserializeOwned + Send + Sync;

    /// One attempt at one subject.
    fn run(
        &self,
        subject: Self::Subject,
        cursor: Option<Self::Cursor>,
        cx: &Run,
    ) -> impl Future<Output = Result<Ending, RunError>> + Send;
}

/// The end of a run about a repository that nobody watches any more.
pub(crate) fn untracked(cx: &Run) -> Ending {
    let why = "the repository is no longer tracked".to_owned();
    cx.end(Outcome::Gone { why }, ())
}

/// The engine's view of a collector.
pub const fn kind<C: Collector>() -> Kind {
    let mut kind = Kind::one_off(C::NAME);
    kind.version = C::VERSION;
    kind.pool = C::POOL;
    kind.cadence = C::CADENCE;
    kind.max_run = C::MAX_RUN;
    // Runs are few and long compared with their rows: keep their history for a quarter.
    kind.keep_runs = Some(Duration::from_hours(90 * 24));
    kind
}

/// A collector whose types are forgotten.
#[derive(Clone)]
pub struct Registered {
    /// Its policy, with the defaults that its constants declare.
    pub kind: Kind,
    /// One line for people.
    pub summary: &'static str,
    /// What it must have around it.
    pub needs: &'static [Need],
    /// What runs its units.
    pub handler: Arc<dyn Handler>,
}

impl Registered {
    /// Forgets the types of a collector.
    pub fn new<C: Collector>(collector: C) -> Self {
        Self {
            kind: kind::<C>(),
            summary: C::SUMMARY,
            needs: C::NEEDS,
            handler: Arc::new(Untyped(collector)),
        }
    }

    /// The round it belongs to: the part of its name before the slash.
    pub fn round(&self) -> &'static str {
        self.kind
            .name
            .split_once('/')
            .map_or(self.kind.name, |(round, _)| round)
    }
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered")
            .field("kind", &self.kind)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

struct Untyped<C>(C);

impl<C: Collector> Handler for Untyped<C> {
    fn run<'a>(
        &'a self,
        run: &'a Run,
    ) -> futures_util::future::BoxFuture<'a, Result<Ending, RunError>> {
        Box::pin(async move {
            let subject = run.payload()?;
            self.0.run(subject, run.cursor(), run).await
        })
    }
}
