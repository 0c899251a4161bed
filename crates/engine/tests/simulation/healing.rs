//! After the chaos: no more faults, everybody does their duty, and the world
//! must come to rest where the rules say.

use std::time::Duration;

use db::{Timestamp, sql};
use engine::{State, UnitId};

use crate::model::{Intent, POOLS, UPSTREAMS, World};

/// More rounds than any seed needs: one per due time, and thirteen per poison.
const ROUNDS: usize = 600;

impl World {
    pub(crate) async fn heal(&mut self) {
        self.log.push("-- healing".into());
        self.db.commit_faults().clear();
        self.down.clear();
        for pool in std::mem::take(&mut self.paused) {
            self.engine.resume_pool(pool).await.unwrap();
        }
        self.blocked.clear();
        for upstream in &UPSTREAMS[1..] {
            self.engine.reset_upstream(upstream).await.unwrap();
        }
        self.broken = self.breakers().await;
        assert!(self.broken.is_empty());
        let healed_at = self.clock.now();
        for round in 0.. {
            assert!(
                round < ROUNDS,
                "the world does not come to rest: {:#?}",
                self.restless(healed_at)
            );
            self.everybody_works().await;
            if self.restless(healed_at).is_empty() {
                break;
            }
            self.wait_for_work();
        }
        self.check_history().await;
        self.check_graph().await;
        self.check_rest().await;
    }

    async fn everybody_works(&mut self) {
        while self.processes.len() < 2 {
            self.start_process().await;
        }
        let mut index = 0;
        while index < self.processes.len() {
            if self.beat_of(index).await {
                index += 1;
            }
        }
        for index in 0..self.processes.len() {
            self.look_of(index).await;
        }
        self.check_step().await;
        for index in 0..self.processes.len() {
            self.compare_of(index).await;
        }
        self.check_step().await;
        for pool in POOLS {
            for _ in 0..20 {
                if !self.work_in(pool).await {
                    break;
                }
            }
            assert!(
                self.claimable(&self.table, pool, false).is_none(),
                "somebody starves in {pool}"
            );
        }
        while self.engine.step_fold().await.unwrap() > 0 {}
        while self.engine.step_expire().await.unwrap() > 0 {}
        self.engine.step_unpark().await.unwrap();
        self.check_step().await;
        assert!(
            !self.engine.step_repair().await.unwrap(),
            "the repair found something to mend"
        );
    }

    /// Everybody ends what they have and claims more; false when nothing was to be had.
    async fn work_in(&mut self, pool: &'static str) -> bool {
        let mut busy = false;
        let mut index = 0;
        while index < self.processes.len() {
            let doomed: Vec<bool> = self.processes[index]
                .jobs
                .iter()
                .map(|job| {
                    self.table
                        .get(&job.held.id())
                        .is_some_and(crate::model::Row::is_doomed)
                })
                .collect();
            for (job, doomed) in self.processes[index].jobs.iter_mut().zip(doomed) {
                let healthy = if doomed {
                    Intent::UnitError
                } else {
                    Intent::Done
                };
                // Ends that were decided before keep their word, but nobody
                // starts to wait for more.
                match job.intent {
                    None | Some(Intent::Wait(_)) => job.intent = Some(healthy),
                    Some(_) => {}
                }
            }
            let free = self.processes[index].jobs.is_empty();
            let alone = free && self.claimable(&self.table, pool, true).is_some();
            if free && !alone && self.claimable(&self.table, pool, false).is_none() {
                index += 1;
                continue;
            }
            let processes = self.processes.len();
            let want = if alone { 1 } else { 8 };
            self.turn(index, pool, want, alone).await;
            if self.processes.len() < processes {
                // A poison unit: whoever claimed it is gone.
                busy = true;
                continue;
            }
            busy |= !self.processes[index].jobs.is_empty();
            index += 1;
        }
        if self.processes.is_empty() {
            self.start_process().await;
        }
        busy
    }

    /// Units that have not found their rest.
    fn restless(&self, healed_at: Timestamp) -> Vec<String> {
        self.table
            .values()
            .filter(|row| match row.state {
                State::Waiting | State::Running => true,
                State::Ready => {
                    row.kind().cadence.is_none()
                        || row.succeeded_at.is_none_or(|at| at < healed_at)
                        || row.due_at <= self.clock.now()
                }
                State::Parked if row.strikes < 10 => !self.has_culprit(row.id),
                State::Parked => row.due_at != Timestamp::FAR_FUTURE,
                State::Done | State::Cancelled => false,
            })
            .map(|row| format!("{row:?} {:?}", self.edges.get(&row.id)))
            .collect()
    }

    /// Whether it waits for something that is set aside, so that it stays parked.
    fn has_culprit(&self, parent: UnitId) -> bool {
        let edges = self.edges.get(&parent).map_or(&[][..], Vec::as_slice);
        edges.iter().any(|edge| {
            let child = &self.table[&edge.child];
            edge.hard && matches!(child.state, State::Parked | State::Cancelled)
        })
    }

    /// Lets time pass until something is due, or a dead process is found.
    fn wait_for_work(&mut self) {
        let now = self.clock.now();
        let orphans = self.table.values().any(|row| {
            row.worker
                .is_some_and(|worker| self.crashed.contains_key(&worker))
        });
        let next = self
            .table
            .values()
            .filter(|row| matches!(row.state, State::Ready | State::Parked))
            .map(|row| row.due_at.since(now))
            .min()
            .unwrap_or(Duration::from_mins(30));
        let most = if orphans {
            Duration::from_secs(31)
        } else {
            Duration::from_hours(25)
        };
        self.fake.advance(next.clamp(Duration::from_secs(2), most));
    }

    /// Where everything ended up.
    async fn check_rest(&self) {
        let left = self
            .db
            .fetch_all(sql!("SELECT seq FROM unfolded"))
            .await
            .unwrap();
        assert!(left.is_empty(), "notes were left unfolded");
        let failed = self
            .db
            .fetch_all(sql!(
                "SELECT requirement.parent AS parent, unit.state AS state FROM requirement
                 JOIN unit ON unit.id = requirement.child WHERE requirement.state = 'failed'"
            ))
            .await
            .unwrap();
        for row in self.table.values() {
            let culprits: Vec<String> = failed
                .iter()
                .filter(|edge| edge.get::<i64>("parent").unwrap() == row.id)
                .map(|edge| edge.get("state").unwrap())
                .collect();
            match row.state {
                State::Parked if row.strikes == 10 => {
                    assert!(
                        row.is_doomed() || row.is_poison(),
                        "parked by strikes: {row:?}"
                    );
                }
                State::Parked => {
                    assert!(
                        culprits
                            .iter()
                            .any(|state| state == "parked" || state == "cancelled"),
                        "{row:?} is parked for nothing: {culprits:?}"
                    );
                }
                State::Done => assert!(!row.is_doomed() && !row.is_poison(), "{row:?}"),
                State::Ready => assert!(row.kind().cadence.is_some() && culprits.is_empty()),
                State::Cancelled => assert!(culprits.is_empty()),
                State::Waiting | State::Running => panic!("{row:?} did not come to rest"),
            }
        }
    }
}
