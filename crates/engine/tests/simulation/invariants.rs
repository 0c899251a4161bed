//! What must hold, at every step.

use std::{collections::HashMap, time::Duration};

use db::{Timestamp, sql};
use engine::{Kind, State, UnitId, steps::Held};
use rand::RngExt as _;

use crate::{
    model::{Edge, Intent, Job, Row, Table, Wish, World},
    turning::has_lease,
};

const RUN_NOW: i64 = 0;
const PARTIAL: i64 = 1;
const FIRST: i64 = 2;
const CADENCE: i64 = 3;
const STRIKE: i64 = 4;
const ALONE: i64 = 5;

fn square(count: i64) -> Duration {
    Duration::from_secs(120 * (count * count) as u64)
}

impl World {
    /// After each step: reads what happened, keeps the books, and now and then
    /// looks at everything.
    pub(crate) async fn check_step(&mut self) {
        let before = std::mem::take(&mut self.table);
        self.table = self.read_table().await;
        self.keep_books(&before);
        self.check_queue().await;
        if self.rng.random_bool(0.1) {
            self.check_history().await;
            self.check_graph().await;
        }
        if self.rng.random_bool(0.1) {
            let found = self.engine.step_repair().await.unwrap();
            assert!(!found, "the repair found something to mend");
        }
    }

    /// Every ready unit is named in a hint at its place. (On PostgreSQL the repair looks.)
    async fn check_queue(&self) {
        if self.db.dialect() == db::Dialect::Postgres {
            return;
        }
        let rows = self
            .db
            .fetch_all(db::sql!(
                "SELECT key FROM unit WHERE state = 'ready' AND NOT EXISTS (
                    SELECT 1 FROM ready
                    JOIN json_each('[' || COALESCE(ready.units, ready.unit) || ']') AS named
                    WHERE ready.pool = unit.pool AND ready.upstream = unit.upstream
                      AND ready.rank = unit.rank AND ready.due_at = unit.due_at
                      AND ready.version <= unit.version AND named.value = unit.id)"
            ))
            .await
            .unwrap();
        let forgotten: Vec<String> = rows.iter().map(|row| row.get("key").unwrap()).collect();
        assert!(forgotten.is_empty(), "{forgotten:?} are in no hint");
    }

    /// Notes successes and ends, and checks what holds for any two tables in a row.
    pub(crate) fn keep_books(&mut self, before: &Table) {
        let now = self.clock.now();
        for (id, old) in before {
            let new = self
                .table
                .get(id)
                .unwrap_or_else(|| panic!("unit {} is lost", old.key));
            assert!(
                new.attempt >= old.attempt,
                "the fence of {} went back",
                old.key
            );
            assert!(new.strikes <= 10 && new.strikes >= 0);
            let claimed = new.attempt > old.attempt;
            if old.state == State::Waiting && new.state == State::Parked && !claimed {
                let edges = self.edges.get(id).map_or(&[][..], Vec::as_slice);
                assert!(
                    edges.iter().any(|edge| edge.hard
                        && (edge.fell || edge.late || self.is_set_aside(edge, now))),
                    "{} was parked without a culprit",
                    old.key
                );
            }
            if new.state == State::Cancelled {
                self.edges.remove(id);
            }
        }
        for row in self.table.values() {
            assert_eq!(row.worker.is_some(), row.state == State::Running, "{row:?}");
            if let Some(at) = row.succeeded_at {
                let best = self.succeeded.entry(row.id).or_insert(at);
                *best = at.max(*best);
            }
            if let Some(at) = row.ended_at {
                let best = self.ended.entry(row.id).or_insert(at);
                *best = at.max(*best);
            }
        }
        for edge in self.edges.values_mut().flatten() {
            let child = &self.table[&edge.child];
            edge.fell |= matches!(child.state, State::Parked | State::Cancelled);
            edge.late |= edge.deadline.is_some_and(|deadline| deadline <= now);
        }
    }

    fn is_set_aside(&self, edge: &Edge, now: Timestamp) -> bool {
        let child = &self.table[&edge.child];
        matches!(child.state, State::Parked | State::Cancelled)
            || edge.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// The truth table of enqueue x state.
    pub(crate) fn check_enqueue(
        &mut self,
        before: &Table,
        after: &Table,
        kind: &Kind,
        key: &str,
        now: bool,
        wishes: &[Wish],
    ) {
        let Some(new) = Self::find(after, kind, key) else {
            assert!(self.fault.is_some(), "{key} was not enqueued");
            return;
        };
        let Some(old) = Self::find(before, kind, key) else {
            let expected = if wishes.is_empty() {
                State::Ready
            } else {
                State::Waiting
            };
            assert_eq!(new.state, expected);
            self.add_edges(new.id, after, wishes);
            return;
        };
        if self.fault.is_some() {
            return;
        }
        let failed_edge = old.state == State::Parked && old.strikes < 10;
        match old.state {
            State::Running => assert!(new.again, "{key} must run once more"),
            State::Ready | State::Done | State::Parked | State::Cancelled
                if now && !failed_edge =>
            {
                assert_eq!((new.state, new.rank), (State::Ready, RUN_NOW));
                assert_eq!((new.strikes, new.partials, new.lost), (0, 0, 0));
                assert_eq!(new.due_at, self.clock.now());
            }
            _ => assert_eq!(old, new, "{key} keeps its place"),
        }
    }

    /// The parent waits for these now. Of two edges to one child the stricter counts.
    pub(crate) fn add_edges(&mut self, parent: UnitId, table: &Table, wishes: &[Wish]) {
        let mut edges: HashMap<UnitId, Edge> = HashMap::new();
        for wish in wishes {
            let child = Self::find(table, &wish.kind, &wish.key).unwrap().id;
            let edge = edges.entry(child).or_insert(Edge {
                child,
                hard: false,
                since: None,
                deadline: wish.deadline,
                fell: false,
                late: false,
            });
            edge.hard |= wish.hard;
            edge.since = edge.since.max(wish.since);
            edge.deadline = match (edge.deadline, wish.deadline) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        self.edges.insert(parent, edges.into_values().collect());
    }

    /// The transition table: how a unit must stand after its run has ended.
    pub(crate) fn check_end(
        &mut self,
        before: &Table,
        after: &Table,
        job: &Job,
        served: &[(String, Option<Timestamp>)],
    ) {
        let (old, new) = (&before[&job.held.id()], &after[&job.held.id()]);
        if !has_lease(old, &job.held) {
            return;
        }
        let now = self.clock.now();
        let recurring = old.kind().cadence;
        let mut intent = job.intent.clone().unwrap();
        if let Intent::UpstreamError = intent {
            // A strike only if the upstream has served others since this
            // unit's last failure.
            let served = served
                .iter()
                .find(|(name, _)| *name == old.upstream)
                .and_then(|(_, at)| *at);
            intent = match (old.failed_at, served) {
                (Some(failed), Some(served)) if served > failed => Intent::UnitError,
                _ => Intent::Retry(now.plus(square(1))),
            };
        }
        if let Intent::DatabaseError = intent {
            intent = Intent::Retry(now.plus(Duration::from_secs(5)));
        }
        if let Intent::Wait(wishes) = &intent {
            if new.strikes == old.strikes {
                if new.attempt == old.attempt {
                    assert_eq!(new.state, State::Waiting);
                    self.add_edges(old.id, after, &wishes.clone());
                }
                return;
            }
            // Its requirements would have made a cycle.
            intent = Intent::UnitError;
        }
        let kept_rank = if old.rank == ALONE { CADENCE } else { old.rank };
        let (state, rank, due, strikes, partials) = match intent {
            Intent::Done | Intent::Gone if old.again => (State::Ready, FIRST, now, 0, 0),
            Intent::Done | Intent::Gone => match recurring {
                Some(cadence) => (State::Ready, CADENCE, now.plus(cadence), 0, 0),
                None => (State::Done, CADENCE, now, 0, 0),
            },
            Intent::Partial(retry_at) => {
                let partials = old.partials + 1;
                let law = match recurring {
                    Some(cadence) if !old.kind().immediate_partial_retry => cadence,
                    Some(cadence) => square(partials).min(cadence),
                    None => square(partials),
                };
                (
                    State::Ready,
                    PARTIAL,
                    retry_at.unwrap_or(now.plus(law)),
                    0,
                    partials,
                )
            }
            Intent::Retry(at) => (State::Ready, kept_rank, at, old.strikes, old.partials),
            Intent::Interrupted => (State::Ready, old.rank, now, old.strikes, old.partials),
            _ if old.strikes + 1 >= 10 => {
                let back = recurring.map_or(Timestamp::FAR_FUTURE, |cadence| now.plus(cadence));
                (State::Parked, kept_rank, back, 10, old.partials)
            }
            _ => {
                let strikes = old.strikes + 1;
                (
                    State::Ready,
                    STRIKE,
                    now.plus(square(strikes)),
                    strikes,
                    old.partials,
                )
            }
        };
        assert_eq!(
            (new.strikes, new.partials),
            (strikes, partials),
            "{old:?}\n{new:?}"
        );
        if new.attempt == old.attempt {
            // What is done stays where it was in the order.
            let (rank, due) = match state {
                State::Done => (old.rank, old.due_at),
                _ => (rank, due),
            };
            assert_eq!(
                (new.state, new.rank, new.due_at),
                (state, rank, due),
                "{:?}\n{old:?}\n{new:?}",
                job.intent
            );
        }
    }

    /// What a claim may take: due units of its pool, oldest first, no more than
    /// it asked for, none that is blocked, none that waits, none that runs.
    pub(crate) fn check_claims(
        &mut self,
        index: usize,
        before: &Table,
        after: &Table,
        claimed: &[Held],
        ended: &std::collections::HashSet<UnitId>,
        (pool, want, alone): (&str, usize, bool),
    ) {
        let now = self.clock.now();
        let worker = self.processes[index].hand.worker();
        assert!(claimed.len() <= want, "claimed more than asked for");
        for row in after.values() {
            let old = before.get(&row.id).map_or(0, |old| old.attempt);
            let taken = claimed
                .iter()
                .any(|held| held.id() == row.id && held.attempt() == row.attempt);
            assert_eq!(row.attempt > old, taken, "{row:?}");
        }
        for held in claimed {
            let Some(old) = before.get(&held.id()) else {
                // Made by an end in the same turn, which waits for it.
                continue;
            };
            let new = &after[&held.id()];
            assert_eq!(new.attempt, old.attempt + 1);
            assert_eq!((new.state, new.worker), (State::Running, Some(worker)));
            assert_eq!(old.pool, pool);
            assert!(!self.paused.contains(pool), "claimed from a paused pool");
            assert!(
                !self.blocked.contains(old.upstream.as_str()),
                "claimed for a blocked upstream"
            );
            assert_eq!(new.rank == ALONE, alone, "suspects run alone");
            if !ended.contains(&old.id) {
                assert!(old.state == State::Ready && old.due_at <= now, "{old:?}");
                let passed_over = before.values().find(|other| {
                    other.state == State::Ready
                        && (&other.pool, &other.upstream, other.rank)
                            == (&old.pool, &old.upstream, old.rank)
                        // Of equal due time those go first that one hint names.
                        && other.due_at < old.due_at
                        && after[&other.id].attempt == other.attempt
                });
                // On PostgreSQL a turn that was broken off a moment ago may still hold its locks, and
                // what is locked is passed over.
                assert!(
                    passed_over.is_none() || self.db.dialect() == db::Dialect::Postgres,
                    "{passed_over:?} was due before {old:?}"
                );
            }
            self.check_requirements(old);
        }
        if want > 0 && claimed.is_empty() && self.db.dialect() == db::Dialect::Sqlite {
            let forgotten = self.claimable(before, pool, alone);
            assert!(forgotten.is_none(), "{forgotten:?} could have been claimed");
        }
    }

    /// Nothing is claimed for an upstream that is left alone, and one unit alone
    /// while its breaker is half-open.
    pub(crate) fn check_breakers(
        &self,
        before: &Table,
        claimed: &[Held],
        broken: &std::collections::HashMap<String, Timestamp>,
    ) {
        for (upstream, until) in broken {
            let asks = |held: &&Held| {
                let row = before.get(&held.id());
                row.is_some_and(|row| row.upstream == *upstream)
            };
            let asking = claimed.iter().filter(asks).count();
            if *until > self.clock.now() {
                assert_eq!(asking, 0, "claimed for {upstream}, which is left alone");
            } else if self.broken.contains_key(upstream) {
                assert!(asking <= 1, "{asking} were claimed to probe {upstream}");
            }
        }
    }

    /// A unit that a claim of this pool should find now.
    pub(crate) fn claimable<'t>(
        &self,
        table: &'t Table,
        pool: &str,
        alone: bool,
    ) -> Option<&'t Row> {
        table.values().find(|row| {
            row.state == State::Ready
                && row.due_at <= self.clock.now()
                && row.pool == pool
                && (row.rank == ALONE) == alone
                && !self.paused.contains(pool)
                && !self.blocked.contains(row.upstream.as_str())
                && !self.broken.contains_key(&row.upstream)
        })
    }

    /// A parent runs only when it may, and then waits for nothing any more.
    fn check_requirements(&mut self, parent: &Row) {
        for edge in self.edges.remove(&parent.id).unwrap_or_default() {
            let child = &self.table[&edge.child];
            let late_enough = |at: Option<&Timestamp>| match (at, edge.since) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(at), Some(since)) => *at >= since,
            };
            let met = if edge.hard {
                late_enough(self.succeeded.get(&edge.child))
            } else {
                edge.fell || edge.late || late_enough(self.ended.get(&edge.child))
            };
            assert!(
                met,
                "{} runs although {} is not met: {edge:?}",
                parent.key, child.key
            );
        }
    }

    /// Facts exactly once, cursors true to them, one end per attempt.
    pub(crate) async fn check_history(&self) {
        let pages = self.pairs("SELECT unit AS a, page AS b FROM fact").await;
        let mut by_unit: HashMap<i64, Vec<i64>> = HashMap::new();
        for (unit, page) in pages {
            by_unit.entry(unit).or_default().push(page);
        }
        for row in self.table.values() {
            let mut pages = by_unit.remove(&row.id).unwrap_or_default();
            pages.sort_unstable();
            let expected: Vec<i64> = (1..=row.cursor).collect();
            assert_eq!(
                pages, expected,
                "the facts of {} are not exactly once",
                row.key
            );
        }
        let mut ends = self.pairs("SELECT unit AS a, attempt AS b FROM run").await;
        ends.sort_unstable();
        let twice = ends.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(twice.is_none(), "an attempt ended twice: {twice:?}");
        let mut marks = self.pairs("SELECT unit AS a, attempt AS b FROM mark").await;
        let mut good = self
            .pairs(
                "SELECT unit AS a, attempt AS b FROM run
                 WHERE outcome IN ('done', 'gone', 'partial', 'wait')
                    OR (outcome = 'retry' AND report IS NOT NULL)",
            )
            .await;
        marks.sort_unstable();
        good.sort_unstable();
        assert_eq!(marks, good, "ends and their facts do not go together");
    }

    async fn pairs(&self, text: &'static str) -> Vec<(i64, i64)> {
        let rows = self.db.fetch_all(sql!(text)).await.unwrap();
        rows.iter()
            .map(|row| (row.get("a").unwrap(), row.get("b").unwrap()))
            .collect()
    }

    /// Nobody waits for itself, however long the way round.
    pub(crate) async fn check_graph(&self) {
        let edges = self
            .pairs("SELECT parent AS a, child AS b FROM requirement WHERE state <> 'missed'")
            .await;
        let mut left: Vec<(i64, i64)> = edges;
        loop {
            let leaves: Vec<(i64, i64)> = left
                .iter()
                .copied()
                .filter(|(_, child)| left.iter().any(|(parent, _)| parent == child))
                .collect();
            if leaves.len() == left.len() {
                assert!(
                    left.is_empty(),
                    "requirements wait for each other: {left:?}"
                );
                return;
            }
            left = leaves;
        }
    }
}
