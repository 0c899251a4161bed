#![doc = include_str!("../README.md")]

mod claim;
mod control;
mod desk;
mod enqueue;
mod finish;
mod heart;
mod holding;
mod housekeeping;
mod inspect;
mod kind;
mod lane;
mod lease;
mod outcome;
mod process;
mod queue;

mod requirement;
mod resolver;
mod run;
mod schema;
mod selection;
mod share;
mod transition;
mod turn;
mod upstream;
mod why;
mod words;
mod worker;

pub use control::{Changed, Selection};
pub use enqueue::{Enqueue, EnqueueError, Enqueued, MOST_ROWS, Mode, enqueue_in};
pub use inspect::{
    BudgetView, Count, PoolView, RequirementView, RunView, UnitDetail, UnitFilter, UnitView,
    UpstreamView, WorkerView,
};
pub use kind::{Kind, Pool};
pub use outcome::{BoxError, Outcome, Requirement, RunError};
pub use process::{
    Attached, Attachment, Detached, Ended, HostFacts, Place, Recovered, Subprocess, SubprocessView,
    Subprocesses, ThisHost,
};
pub use run::{Ending, Handler, Run};
pub use schema::PART;
pub use upstream::{Announced, Grant, Probe, UpstreamPolicy, Upstreams};
pub use why::Why;
pub use words::{NOBODY, Rank, State, UnitId, UnknownState};
pub use worker::{Idle, Timing, Worker};

/// Steps of the machinery, one call each, for drills that drive it by hand.
#[doc(hidden)]
pub mod steps;

use db::{Clock, Db};

/// The door for those who enqueue, look and steer; [`Worker`] runs units.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    upstreams: Upstreams,
}

impl Engine {
    /// An engine on a database that has the engine's [`PART`] of the schema.
    pub fn new(db: Db, clock: Clock) -> Self {
        Self {
            upstreams: Upstreams::new(db.clone(), clock.clone()),
            db,
            clock,
        }
    }

    /// The database.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The breakers and budgets of remote services.
    pub fn upstreams(&self) -> &Upstreams {
        &self.upstreams
    }
}
