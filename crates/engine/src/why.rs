//! Why is this unit not running?

use db::{DbError, Timestamp, sql};
use serde::Serialize;

use crate::{Engine, RequirementView, State, UnitId, inspect};

/// One reason why a unit does not run just now. Several can hold at once.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// It is running.
    Running {
        /// The process that has it.
        worker: Option<i64>,
    },
    /// It is a one-off that ended well.
    Done,
    /// A person called it off.
    Cancelled,
    /// It waits for other units.
    Requirement {
        /// The first of those that are open or failed.
        requirements: Vec<RequirementView>,
        /// How many there are in all.
        open: i64,
    },
    /// Its time has not come.
    DueLater {
        /// When it comes.
        due_at: Timestamp,
        /// Why then: the rank.
        rank: &'static str,
    },
    /// It was set aside.
    Parked {
        /// After this error.
        error: Option<String>,
        /// When it returns by itself; never, for a one-off.
        returns_at: Option<Timestamp>,
    },
    /// A host has a subprocess for it and takes it up again; others wait.
    Subprocess {
        /// What it is.
        name: String,
        /// The host.
        host: String,
        /// Its process id there.
        pid: Option<i64>,
        /// Others may run it after this.
        until: Timestamp,
    },
    /// Somebody paused its pool.
    PoolPaused {
        /// The pool.
        pool: String,
        /// Since when.
        since: Timestamp,
        /// What they said.
        why: Option<String>,
    },
    /// Its pool has no free slot, or nobody runs that pool.
    PoolFull {
        /// The pool.
        pool: String,
        /// What runs in it.
        running: i64,
        /// How many units of this pool were due before it.
        ahead: i64,
    },
    /// No process that is alive can run its kind.
    NoWorker {
        /// The kind.
        kind: String,
    },
    /// Its upstream has failed too often.
    BreakerOpen {
        /// The upstream.
        upstream: String,
        /// Asked again after this.
        until: Timestamp,
        /// The last thing that went wrong.
        error: Option<String>,
    },
    /// Its upstream wants silence.
    UpstreamHeld {
        /// The upstream.
        upstream: String,
        /// Until then.
        until: Timestamp,
        /// What it said.
        why: String,
    },
    /// Its upstream allows no more for now, with any token.
    BudgetSpent {
        /// The upstream.
        upstream: String,
        /// Until then.
        until: Timestamp,
    },
    /// Somebody paused its upstream.
    UpstreamPaused {
        /// The upstream.
        upstream: String,
        /// What they said.
        why: Option<String>,
    },
}

impl Engine {
    /// All reasons why a unit does not run; `None` if there is no such unit.
    pub async fn why(&self, id: UnitId) -> Result<Option<Vec<Why>>, DbError> {
        let Some(detail) = self.unit(id).await? else {
            return Ok(None);
        };
        let unit = detail.unit;
        let now = self.clock.now();
        let mut reasons = Vec::new();
        match unit.state {
            State::Running => reasons.push(Why::Running {
                worker: unit.worker,
            }),
            State::Done => reasons.push(Why::Done),
            State::Cancelled => reasons.push(Why::Cancelled),
            State::Waiting => reasons.push(self.requirement_reason(id).await?),
            State::Parked => {
                reasons.push(Why::Parked {
                    error: unit.error.clone(),
                    returns_at: unit.due_at,
                });
                let reason = self.requirement_reason(id).await?;
                if matches!(&reason, Why::Requirement { open, .. } if *open > 0) {
                    reasons.push(reason);
                }
            }
            State::Ready => {
                if let Some(due_at) = unit.due_at.filter(|due| *due > now) {
                    reasons.push(Why::DueLater {
                        due_at,
                        rank: unit.rank,
                    });
                }
            }
        }
        if unit.state == State::Ready {
            let due_now = reasons.is_empty();
            self.subprocess_reason(&unit, &mut reasons).await?;
            // Upstreams first: what they hold back does not wait for a slot.
            self.upstream_reasons(&unit, &mut reasons).await?;
            self.pool_reasons(&unit, due_now, &mut reasons).await?;
        }
        Ok(Some(reasons))
    }

    async fn requirement_reason(&self, id: UnitId) -> Result<Why, DbError> {
        let mut requirements = inspect::requirements(&self.db, id, 20).await?;
        requirements.retain(|edge| edge.state != "missed");
        let row = self
            .db
            .fetch_one(sql!(
                "SELECT count(*) AS n FROM requirement WHERE parent = $1 AND state <> 'missed'",
                id
            ))
            .await?;
        Ok(Why::Requirement {
            requirements,
            open: row.get("n")?,
        })
    }

    /// Instead of a bare due time: what the unit is kept for.
    async fn subprocess_reason(
        &self,
        unit: &crate::UnitView,
        reasons: &mut Vec<Why>,
    ) -> Result<(), DbError> {
        if reasons.is_empty() {
            return Ok(());
        }
        for held in self.subprocesses(Some(unit.id)).await? {
            if let Some(until) = held.held_until.filter(|until| Some(*until) == unit.due_at) {
                *reasons = vec![Why::Subprocess {
                    name: held.name,
                    host: held.host,
                    pid: held.pid,
                    until,
                }];
            }
        }
        Ok(())
    }

    async fn pool_reasons(
        &self,
        unit: &crate::UnitView,
        due_now: bool,
        reasons: &mut Vec<Why>,
    ) -> Result<(), DbError> {
        let paused = self
            .db
            .fetch_optional(sql!(
                "SELECT paused_at, paused_why FROM pool WHERE name = $1 AND paused_at IS NOT NULL",
                &unit.pool
            ))
            .await?;
        if let Some(row) = paused {
            reasons.push(Why::PoolPaused {
                pool: unit.pool.clone(),
                since: row.get("paused_at")?,
                why: row.get("paused_why")?,
            });
        }
        let workers = self.workers().await?;
        if !workers
            .iter()
            .any(|worker| worker.kinds.split(' ').any(|kind| kind == unit.kind))
        {
            reasons.push(Why::NoWorker {
                kind: unit.kind.clone(),
            });
        } else if due_now && reasons.is_empty() {
            let row = self
                .db
                .fetch_one(sql!(
                    "SELECT COALESCE(sum(size), 0) AS ahead FROM (SELECT size FROM ready
                        WHERE pool = $1 AND due_at < $2 LIMIT 10000) AS before",
                    &unit.pool,
                    unit.due_at.unwrap_or(self.clock.now())
                ))
                .await?;
            let running = crate::holding::running_now(&self.db).await?;
            reasons.push(Why::PoolFull {
                pool: unit.pool.clone(),
                running: running.values().filter(|one| one.pool == unit.pool).count() as i64,
                ahead: row.get("ahead")?,
            });
        }
        Ok(())
    }

    async fn upstream_reasons(
        &self,
        unit: &crate::UnitView,
        reasons: &mut Vec<Why>,
    ) -> Result<(), DbError> {
        let Some(name) = &unit.upstream else {
            return Ok(());
        };
        let upstream = inspect::upstream_view(self, name).await?;
        let Some(upstream) = upstream else {
            return Ok(());
        };
        if upstream.paused_at.is_some() {
            reasons.push(Why::UpstreamPaused {
                upstream: name.clone(),
                why: upstream.paused_why,
            });
        }
        // Also when the pause is over: then it waits for the probe.
        if let Some(until) = upstream.open_until {
            reasons.push(Why::BreakerOpen {
                upstream: name.clone(),
                until,
                error: upstream.last_error,
            });
        }
        if let Some(until) = upstream.held_until {
            reasons.push(Why::UpstreamHeld {
                upstream: name.clone(),
                until,
                why: upstream.held_why.unwrap_or_default(),
            });
        }
        if let Some(until) = upstream.spent_until {
            reasons.push(Why::BudgetSpent {
                upstream: name.clone(),
                until,
            });
        }
        Ok(())
    }
}
