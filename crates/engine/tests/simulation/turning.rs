//! The steps of processes, each with its checks.

use std::collections::{HashMap, HashSet};

use db::{DbError, sql, testing::CommitFault};
use engine::{Ending, Outcome, Run, RunError, UnitId, steps::Held};
use rand::RngExt as _;

use crate::{
    actions::requirement,
    model::{DEAD_AFTER, Intent, Job, World},
};

impl World {
    /// Ends what is over in one process and claims more, in one turn.
    pub(crate) async fn turn(
        &mut self,
        index: usize,
        pool: &'static str,
        want: usize,
        alone: bool,
    ) {
        let before = self.table.clone();
        let jobs = &mut self.processes[index].jobs;
        let (over, open): (Vec<Job>, Vec<Job>) =
            jobs.drain(..).partition(|job| job.intent.is_some());
        *jobs = open;
        let hand = &self.processes[index].hand;
        let ends: Vec<(Held, Result<Ending, RunError>)> = over
            .iter()
            .map(|job| {
                let run = hand.run(&job.held);
                (job.held.clone(), ending(&run, job))
            })
            .collect();
        self.log.push(format!(
            "process {} turns: ends {:?}, wants {want} of {pool}, alone {alone}",
            hand.worker(),
            over.iter()
                .map(|job| (job.held.key(), job.held.attempt()))
                .collect::<Vec<_>>()
        ));
        let asks = over
            .iter()
            .any(|job| matches!(job.intent, Some(Intent::UpstreamError)));
        let last = if asks {
            self.last_successes().await
        } else {
            Vec::new()
        };
        let broken = self.breakers().await;
        let hand = &self.processes[index].hand;
        self.arm();
        let result = hand.turn(pool, ends, want, alone).await;
        self.db.commit_faults().clear();
        let after = self.read_table().await;
        self.broken = self.breakers().await;
        let happened = self.fault != Some(CommitFault::Before) || result.is_ok();
        if happened {
            for job in &over {
                self.check_end(&before, &after, job, &last);
            }
        }
        let Some((claimed, kept)) = self.settle(result) else {
            // Nobody knows what happened: it will say the same again.
            self.processes[index].jobs.extend(over);
            self.table = after;
            self.keep_books(&before);
            return;
        };
        let kept: HashSet<(UnitId, i64)> = kept.into_iter().collect();
        for job in &over {
            let held = before
                .get(&job.held.id())
                .is_some_and(|row| has_lease(row, &job.held));
            assert_eq!(
                kept.contains(&(job.held.id(), job.held.attempt())),
                held,
                "the end of {} attempt {} must be written exactly if its fence holds",
                job.held.key(),
                job.held.attempt()
            );
        }
        self.check_breakers(&before, &claimed, &broken);
        // What was broken before the turn or is now was not to be claimed.
        let mended = self.broken.clone();
        self.broken.extend(broken);
        let ended: HashSet<UnitId> = over.iter().map(|job| job.held.id()).collect();
        self.check_claims(
            index,
            &before,
            &after,
            &claimed,
            &ended,
            (pool, want, alone),
        );
        self.broken = mended;
        let poisoned = claimed.iter().any(|held| held.key().starts_with("poison"));
        let process = &mut self.processes[index];
        for held in claimed {
            let cursor = process.hand.run(&held).cursor::<i64>().unwrap_or(0);
            process.jobs.push(Job {
                held,
                cursor,
                intent: None,
            });
        }
        self.table = after;
        self.keep_books(&before);
        if poisoned {
            self.crash(index);
        }
    }

    /// When each upstream last served anybody, as the engine wrote it down.
    async fn last_successes(&self) -> Vec<(String, Option<db::Timestamp>)> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT name, succeeded_at FROM upstream WHERE open_until IS NULL"
            ))
            .await
            .unwrap();
        rows.iter()
            .map(|row| (row.get("name").unwrap(), row.get("succeeded_at").unwrap()))
            .collect()
    }

    /// Upstreams whose breaker is not closed.
    pub(crate) async fn breakers(&self) -> HashMap<String, db::Timestamp> {
        let rows = self
            .db
            .fetch_all(sql!(
                "SELECT name, open_until FROM upstream WHERE open_until IS NOT NULL"
            ))
            .await
            .unwrap();
        rows.iter()
            .map(|row| (row.get("name").unwrap(), row.get("open_until").unwrap()))
            .collect()
    }

    /// A run writes a page of facts and its cursor, if it still may.
    pub(crate) async fn commit(&mut self, process: usize, job: usize) {
        let worker = &self.processes[process];
        let it = &worker.jobs[job];
        let run = worker.hand.run(&it.held);
        let (id, attempt, page) = (it.held.id(), it.held.attempt(), it.cursor + 1);
        let may = self
            .table
            .get(&id)
            .is_some_and(|row| has_lease(row, &it.held));
        self.log
            .push(format!("commit {} page {page} may {may}", it.held.key()));
        self.arm();
        let result = run
            .commit(&page, &(id, page, attempt), |tx, fact| {
                Box::pin(async move { Ok(write_page(tx, *fact).await?) })
            })
            .await;
        let job = &mut self.processes[process].jobs[job];
        match result {
            Ok(()) => {
                assert!(may, "a run without its lease wrote facts");
                job.cursor = page;
            }
            Err(RunError::LeaseLost) => assert!(!may, "a run with its lease was refused"),
            Err(RunError::Database(error)) => {
                assert!(self.fault.is_some() && error.is_unreachable(), "{error:?}");
                // As `?` would: the run is over, and knows nothing of its page.
                job.intent = Some(Intent::DatabaseError);
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    pub(crate) async fn beat(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.processes.len());
        self.beat_of(index).await;
    }

    /// One beat; a process that was declared dead starts over.
    pub(crate) async fn beat_of(&mut self, index: usize) -> bool {
        self.arm();
        let result = self.processes[index].hand.beat().await;
        self.db.commit_faults().clear();
        match self.settle(result) {
            Some(true) => self.processes[index].last_beat = self.clock.monotonic(),
            None => {}
            Some(false) => {
                self.crash(index);
                self.start_process().await;
                return false;
            }
        }
        true
    }

    pub(crate) async fn look(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.processes.len());
        self.look_of(index).await;
    }

    /// One look at the others: the dead are freed in time, and nobody else is.
    pub(crate) async fn look_of(&mut self, index: usize) {
        let now = self.clock.monotonic();
        let before = self.workers().await;
        self.arm();
        let result = self.processes[index].hand.look().await;
        self.db.commit_faults().clear();
        let freed = self.settle(result);
        self.log.push(format!("look: freed {freed:?}"));
        let there = self.workers().await;
        for process in &self.processes {
            let worker = process.hand.worker();
            assert!(
                there.contains(&worker)
                    || !before.contains(&worker)
                    || now.saturating_sub(process.last_beat) >= DEAD_AFTER,
                "process {worker} was buried alive"
            );
        }
        if freed.is_none() {
            return;
        }
        let orphans = self.table.values().any(|row| {
            row.worker
                .is_some_and(|worker| self.crashed.contains_key(&worker))
        });
        let after = if orphans {
            self.read_table().await
        } else {
            crate::model::Table::new()
        };
        for worker in self.crashed.keys() {
            let since = *self.processes[index].looks.entry(*worker).or_insert(now);
            if now.saturating_sub(since) >= DEAD_AFTER {
                assert!(
                    !after.values().any(|row| row.worker == Some(*worker)),
                    "a lease outlived its process {worker} by more than the limit"
                );
            }
        }
    }

    async fn workers(&self) -> HashSet<i64> {
        let rows = self
            .db
            .fetch_all(sql!("SELECT id FROM worker"))
            .await
            .unwrap();
        rows.iter().map(|row| row.get("id").unwrap()).collect()
    }

    pub(crate) async fn compare(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.processes.len());
        self.compare_of(index).await;
    }

    /// A process compares its books with the table: what it lost it stops.
    pub(crate) async fn compare_of(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let holds: Vec<Held> = process.jobs.iter().map(|job| job.held.clone()).collect();
        if let Some(fault) = self.fault {
            self.db.commit_faults().push(Some(fault));
        }
        let result = process.hand.compare(&holds).await;
        self.db.commit_faults().clear();
        let Some(gone) = self.settle(result) else {
            return;
        };
        let gone: HashSet<UnitId> = gone.into_iter().collect();
        let lost: HashSet<UnitId> = holds
            .iter()
            .filter(|held| !self.has_lease(held))
            .map(Held::id)
            .collect();
        assert_eq!(gone, lost, "what it lost");
        if self.rng.random_bool(0.5) {
            let table = &self.table;
            self.processes[index].jobs.retain(|job| {
                table
                    .get(&job.held.id())
                    .is_some_and(|row| has_lease(row, &job.held))
            });
        }
    }

    fn has_lease(&self, held: &Held) -> bool {
        self.table
            .get(&held.id())
            .is_some_and(|row| has_lease(row, held))
    }

    pub(crate) async fn fold(&mut self) {
        self.arm();
        let result = self.engine.step_fold().await;
        let folded = self.settle(result);
        self.log.push(format!("fold: {folded:?}"));
    }

    pub(crate) async fn duties(&mut self) {
        self.arm();
        let result = match self.rng.random_range(0..2) {
            0 => self.engine.step_expire().await.map(|n| n as u64),
            _ => self.engine.step_unpark().await,
        };
        self.db.commit_faults().clear();
        let done = self.settle(result);
        self.log.push(format!("duties: {done:?}"));
        let found = self.engine.step_repair().await.unwrap();
        assert!(!found, "the repair found something to mend");
    }
}

/// Whether this attempt may write.
pub(crate) fn has_lease(row: &crate::model::Row, held: &Held) -> bool {
    row.state == engine::State::Running && row.attempt == held.attempt()
}

/// What the handler returns, made anew each time it is asked for.
fn ending(run: &Run, job: &Job) -> Result<Ending, RunError> {
    let outcome = match job.intent.as_ref().unwrap() {
        Intent::Done | Intent::Refused => Outcome::Done,
        Intent::Gone => Outcome::Gone {
            why: "drill".into(),
        },
        Intent::Partial(retry_at) => Outcome::Partial {
            why: "drill".into(),
            retry_at: *retry_at,
        },
        Intent::Retry(at) => Outcome::Retry {
            at: *at,
            why: "drill".into(),
        },
        Intent::Wait(wishes) => Outcome::Wait {
            requirements: wishes.iter().map(requirement).collect(),
        },
        Intent::UnitError => return Err(RunError::unit("the unit's fault")),
        Intent::UpstreamError => return Err(RunError::upstream("the upstream's fault")),
        Intent::DatabaseError => {
            return Err(RunError::Database(DbError::Value {
                column: "drill".into(),
                why: "drill".into(),
            }));
        }
        Intent::Interrupted => return Err(RunError::Interrupted),
    };
    let refused = matches!(job.intent, Some(Intent::Refused));
    let page = job.cursor + 1;
    let fact = (job.held.id(), page, job.held.attempt());
    Ok(run
        .finish(outcome, "drill", (fact, refused), |tx, (fact, refused)| {
            Box::pin(async move {
                write_page(tx, *fact).await?;
                tx.execute(sql!("INSERT INTO mark VALUES ($1, $2)", fact.0, fact.2))
                    .await?;
                if *refused {
                    return Err(RunError::unit("refused"));
                }
                Ok(())
            })
        })
        .cursor(page))
}

async fn write_page(
    tx: &mut db::Tx,
    (unit, page, attempt): (UnitId, i64, i64),
) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO fact VALUES ($1, $2, $3)",
        unit,
        page,
        attempt
    ))
    .await
    .map(drop)
}
