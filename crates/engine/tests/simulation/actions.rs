//! What may happen next.

use std::time::Duration;

use db::{sql, testing::CommitFault};
use engine::{EnqueueError, Kind, Requirement, Selection, State};
use rand::RngExt as _;

use crate::model::{Intent, POOLS, UPSTREAMS, Wish, World};

impl World {
    /// One random step, checked.
    pub(crate) async fn step(&mut self) {
        self.fault = match self.rng.random_range(0..20) {
            0 => Some(CommitFault::Before),
            1 => Some(CommitFault::After),
            _ => None,
        };
        let choice = self.rng.random_range(0..100);
        self.log.push(format!(
            "{} step {choice} fault {:?}",
            self.clock.now(),
            self.fault
        ));
        match choice {
            0..18 => self.enqueue().await,
            18..42 => self.claim_and_end().await,
            42..52 => self.decide_an_end(),
            52..60 => self.commit_a_page().await,
            60..64 => self.beat().await,
            64..68 => self.look().await,
            68..71 => self.compare().await,
            71..76 => self.fold().await,
            76..78 => self.duties().await,
            78..86 => self.time_passes(),
            86..88 => self.crash_or_start().await,
            88..94 => self.steer().await,
            94..97 => self.pause_or_resume().await,
            _ => self.weather(),
        }
        self.db.commit_faults().clear();
        self.fault = None;
        self.check_step().await;
    }

    /// Arms the fault of this step: it hits the next commit.
    pub(crate) fn arm(&self) {
        if let Some(fault) = self.fault {
            self.db.commit_faults().push(Some(fault));
        }
    }

    async fn enqueue(&mut self) {
        let names = self.names.clone();
        let (kind, key) = self.pick(&names);
        let mut unit = Self::unit(&kind, &key);
        let now = self.rng.random_bool(0.25);
        if now {
            unit = unit.now();
        } else if self.rng.random_bool(0.2) {
            let later = Duration::from_mins(self.rng.random_range(0..300));
            unit = unit.due_at(self.clock.now().plus(later));
        }
        let wishes = self.wishes(0.4);
        for wish in &wishes {
            unit = unit.requires(requirement(wish));
        }
        let company = self.company(&kind, &key);
        self.log.push(format!(
            "enqueue {key} now={now} {wishes:?} with {company:?}"
        ));
        let before = self.table.clone();
        self.arm();
        let mut units = vec![unit];
        units.extend(company.iter().map(|(kind, key)| Self::unit(kind, key)));
        let count = units.len();
        let result = self.engine.enqueue(units).await;
        let after = self.read_table().await;
        match result {
            Ok(done) => assert_eq!(done.created + done.existing, count),
            Err(EnqueueError::Database(error)) => {
                self.settle::<()>(Err(error));
            }
            Err(EnqueueError::Cycle(_)) => {
                assert_eq!(before, after, "a refused cycle leaves nothing behind");
                return;
            }
            Err(other) => panic!("{other:?}"),
        }
        self.check_enqueue(&before, &after, &kind, &key, now, &wishes);
        for (kind, key) in &company {
            self.check_enqueue(&before, &after, kind, key, false, &[]);
        }
    }

    /// Others that come by the same call, and so may share their place in the queue.
    fn company(&mut self, kind: &Kind, key: &str) -> Vec<(Kind, String)> {
        let mut company: Vec<(Kind, String)> = Vec::new();
        if self.rng.random_bool(0.3) {
            let names = self.names.clone();
            for _ in 0..self.rng.random_range(1..6) {
                let (other, name) = self.pick(&names);
                let taken = company
                    .iter()
                    .any(|(kind, key)| (kind.name, key) == (other.name, &name));
                if !taken && (other.name, name.as_str()) != (kind.name, key) {
                    company.push((other, name));
                }
            }
        }
        company
    }

    /// Requirements on random other units, cycles not excluded.
    fn wishes(&mut self, chance: f64) -> Vec<Wish> {
        if !self.rng.random_bool(chance) {
            return Vec::new();
        }
        let names = self.names.clone();
        (0..self.rng.random_range(1..4))
            .map(|_| {
                let (kind, key) = self.pick(&names);
                let now = self.clock.now();
                let mut around = |chance: f64, from: i64, to: i64| {
                    self.rng.random_bool(chance).then(|| {
                        let minutes = self.rng.random_range(from..to);
                        db::Timestamp::from_micros(now.as_micros() + minutes * 60_000_000)
                    })
                };
                let since = around(0.25, -90, 30);
                let deadline = around(0.25, 1, 600);
                Wish {
                    kind,
                    key,
                    hard: self.rng.random_bool(0.6),
                    since,
                    deadline,
                }
            })
            .collect()
    }

    async fn claim_and_end(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.processes.len());
        let pool = self.pick(&POOLS);
        let jobs = &self.processes[index].jobs;
        let alone = jobs.is_empty() && self.rng.random_bool(0.3);
        let want = if alone {
            1
        } else {
            self.rng.random_range(0..4)
        };
        self.turn(index, pool, want, alone).await;
    }

    /// Some run somewhere comes to its end, and says so at the next turn.
    fn decide_an_end(&mut self) {
        let Some((process, job)) = self.some_job() else {
            return;
        };
        let id = self.processes[process].jobs[job].held.id();
        let Some(row) = self.table.get(&id).cloned() else {
            return;
        };
        let now = self.clock.now();
        let minutes = Duration::from_mins(self.rng.random_range(0..240));
        let intent = if row.is_doomed() {
            Intent::UnitError
        } else if self.down.contains(row.upstream.as_str()) {
            Intent::UpstreamError
        } else {
            match self.rng.random_range(0..20) {
                0..8 => Intent::Done,
                8 => Intent::Gone,
                9 => Intent::Partial(Some(now.plus(minutes))),
                10 | 11 => Intent::Partial(None),
                12 => Intent::Retry(now.plus(minutes)),
                13 | 14 => Intent::Wait(self.wishes(0.9)),
                15 => Intent::Refused,
                16 => Intent::UnitError,
                17 => Intent::UpstreamError,
                18 => Intent::DatabaseError,
                _ => Intent::Interrupted,
            }
        };
        self.log.push(format!("{} will end {intent:?}", row.key));
        self.processes[process].jobs[job]
            .intent
            .get_or_insert(intent);
    }

    fn some_job(&mut self) -> Option<(usize, usize)> {
        let open: Vec<(usize, usize)> = self
            .processes
            .iter()
            .enumerate()
            .flat_map(|(process, found)| {
                found
                    .jobs
                    .iter()
                    .enumerate()
                    .filter(|(_, job)| job.intent.is_none())
                    .map(move |(job, _)| (process, job))
            })
            .collect();
        (!open.is_empty()).then(|| self.pick(&open))
    }

    async fn commit_a_page(&mut self) {
        if let Some((process, job)) = self.some_job() {
            self.commit(process, job).await;
        }
    }

    fn time_passes(&mut self) {
        let by = match self.rng.random_range(0..10) {
            0..4 => Duration::from_secs(self.rng.random_range(1..40)),
            4..7 => Duration::from_mins(self.rng.random_range(1..30)),
            7 | 8 => Duration::from_mins(self.rng.random_range(30..400)),
            _ => {
                // Somebody sets the wall clock, either way.
                let minutes: i64 = self.rng.random_range(-120..120);
                self.log.push(format!("the clock jumps by {minutes} min"));
                self.fake.jump(minutes * 60_000_000);
                return;
            }
        };
        self.fake.advance(by);
    }

    async fn crash_or_start(&mut self) {
        if self.processes.len() > 1 && self.rng.random_bool(0.6) {
            let index = self.rng.random_range(0..self.processes.len());
            self.crash(index);
        } else if self.processes.len() < 4 {
            self.start_process().await;
        }
    }

    /// A person retries, cancels or runs something now.
    async fn steer(&mut self) {
        let names = self.names.clone();
        let (kind, key) = self.pick(&names);
        let Some(row) = Self::find(&self.table, &kind, &key).cloned() else {
            return;
        };
        let which = Selection {
            ids: Some(vec![row.id]),
            ..Selection::default()
        };
        self.arm();
        let action = self.rng.random_range(0..4);
        let result = match action {
            0 => self.engine.retry(&which, false).await,
            1 => self.engine.cancel(&which, false).await,
            _ => self.engine.run_now(&which, false).await,
        };
        let changed = self.settle(result);
        self.log.push(format!("steer {action} {key}: {changed:?}"));
        let after = self.read_table().await;
        if action == 1 && changed.is_some() && !matches!(row.state, State::Done) {
            assert_eq!(after[&row.id].state, State::Cancelled);
        }
    }

    async fn pause_or_resume(&mut self) {
        let pool = self.pick(&POOLS);
        let upstream = self.pick(&UPSTREAMS[1..]);
        let (of_pool, on) = (self.rng.random_bool(0.5), self.rng.random_bool(0.4));
        if of_pool {
            if self.paused.remove(pool) {
                self.engine.resume_pool(pool).await.unwrap();
            } else if on {
                self.paused.insert(pool);
                self.engine.pause_pool(pool, "drill").await.unwrap();
            }
        } else if self.blocked.remove(upstream) {
            self.engine.reset_upstream(upstream).await.unwrap();
        } else if on {
            self.blocked.insert(upstream);
            self.block(upstream).await;
        }
    }

    async fn block(&self, upstream: &str) {
        self.db
            .execute(sql!(
                "INSERT INTO upstream (name, failures, openings, paused_at) VALUES ($1, 0, 0, $2)
                 ON CONFLICT (name) DO UPDATE SET paused_at = excluded.paused_at",
                upstream,
                self.clock.now()
            ))
            .await
            .unwrap();
    }

    /// An upstream begins or ceases to fail for everybody.
    fn weather(&mut self) {
        let upstream = self.pick(&UPSTREAMS[1..]);
        if !self.down.remove(upstream) {
            self.down.insert(upstream);
        }
    }
}

pub(crate) fn requirement(wish: &Wish) -> Requirement {
    let unit = World::unit(&wish.kind, &wish.key);
    let mut one = if wish.hard {
        Requirement::hard(unit)
    } else {
        Requirement::soft(unit)
    };
    one.since = wish.since;
    one.deadline = wish.deadline;
    one
}
