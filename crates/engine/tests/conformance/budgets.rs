//! Budgets: nothing beyond what a service allows, and all of that.

use std::{collections::BTreeMap, time::Duration};

use db::{
    Clock, FakeClock, Timestamp,
    testing::{TestDb, both},
};
use engine::{Announced, Engine, Grant, Outcome, Selection, UpstreamPolicy, Upstreams};
use futures_util::future::join_all;

use crate::drill::{Drill, once};

const HOUR: Duration = Duration::from_hours(1);
/// A window is over a second later than announced.
const SLACK: Duration = Duration::from_secs(1);

/// A service that counts, and complains when it is asked too often.
struct Service {
    limit: i64,
    left: BTreeMap<String, i64>,
    reset_at: Timestamp,
    served: i64,
}

impl Service {
    fn new(limit: i64, tokens: &[String], reset_at: Timestamp) -> Self {
        let left = tokens.iter().map(|token| (token.clone(), limit)).collect();
        Self {
            limit,
            left,
            reset_at,
            served: 0,
        }
    }

    fn serve(&mut self, token: &str) -> Announced {
        let left = self.left.get_mut(token).unwrap();
        assert!(*left > 0, "a request beyond the limit of {token}");
        *left -= 1;
        self.served += 1;
        Announced {
            limit: Some(self.limit),
            remaining: *left,
            reset_at: self.reset_at,
        }
    }

    fn spent(&self) -> bool {
        self.left.values().all(|left| *left == 0)
    }
}

fn names(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|token| (*token).to_owned()).collect()
}

fn clock() -> (Clock, FakeClock) {
    Clock::fake("2026-03-01T12:00:00Z".parse().unwrap())
}

fn policy(reserve: f64) -> UpstreamPolicy {
    UpstreamPolicy {
        reserve,
        ..UpstreamPolicy::default()
    }
}

/// A process without a reserve.
fn process(db: &TestDb, clock: &Clock) -> Upstreams {
    let upstreams = Upstreams::new((**db).clone(), clock.clone());
    upstreams.set_policy("u", policy(0.0));
    upstreams
}

/// Sends one request if it may; false if it may not.
async fn send(upstreams: &Upstreams, service: &mut Service, tokens: &[String]) -> bool {
    let Grant::Go { token } = upstreams.take("u", tokens).await.unwrap() else {
        return false;
    };
    let token = &tokens[token.unwrap()];
    let said = service.serve(token);
    upstreams.announce("u", Some(token), said).await;
    true
}

/// Sends as many as it may.
async fn send_all(upstreams: &Upstreams, service: &mut Service, tokens: &[String]) -> i64 {
    let mut sent = 0;
    while send(upstreams, service, tokens).await {
        sent += 1;
    }
    sent
}

async fn not_before(upstreams: &Upstreams, tokens: &[String]) -> (Timestamp, String) {
    match upstreams.take("u", tokens).await.unwrap() {
        Grant::NotBefore { at, why } => (at, why),
        go @ Grant::Go { .. } => panic!("{go:?}"),
    }
}

async fn goes(upstreams: &Upstreams) -> bool {
    matches!(
        upstreams.take("u", &[]).await.unwrap(),
        Grant::Go { token: None }
    )
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn two_processes_use_two_tokens_up_and_no_more(db: TestDb) {
        let (clock, time) = clock();
        let tokens = names(&["one", "two"]);
        let processes = [process(&db, &clock), process(&db, &clock)];
        let mut service = Service::new(300, &tokens, clock.now().plus(HOUR));
        for round in 1..=2 {
            let mut silent = 0;
            for turn in 0.. {
                let sent = send(&processes[turn % 2], &mut service, &tokens).await;
                silent = if sent { 0 } else { silent + 1 };
                if silent == 2 {
                    break;
                }
            }
            assert!(service.spent(), "{:?} were left over", service.left);
            assert_eq!(service.served, 600 * round);
            for process in &processes {
                let (at, why) = not_before(process, &tokens).await;
                assert_eq!(at, service.reset_at.plus(SLACK));
                assert!(why.contains("budget is spent"), "{why}");
            }
            time.advance(HOUR);
            not_before(&processes[0], &tokens).await;
            time.advance(SLACK);
            service.left.values_mut().for_each(|left| *left = 300);
            service.reset_at = clock.now().plus(HOUR);
        }
    }

    async fn a_crowd_gets_what_there_is(db: TestDb) {
        let (clock, _) = clock();
        let processes = [process(&db, &clock), process(&db, &clock)];
        let said = Announced { limit: Some(5_000), remaining: 20, reset_at: clock.now().plus(HOUR) };
        processes[0].announce("u", None, said).await;
        let crowd = (0..60).map(|n| goes(&processes[n % 2]));
        let gone = join_all(crowd).await.into_iter().filter(|went| *went).count();
        assert!((19..=20).contains(&gone), "{gone}");
        // What one holds and does not use it gives back, and the other gets it.
        processes[0].give_back().await;
        processes[1].give_back().await;
        let more = usize::from(goes(&processes[1]).await);
        assert_eq!(gone + more, 20);
        assert!(!goes(&processes[0]).await);
    }

    async fn what_is_not_used_goes_back_when_its_lease_is_over(db: TestDb) {
        let (clock, time) = clock();
        let tokens = names(&["one"]);
        let (idle, busy) = (process(&db, &clock), process(&db, &clock));
        let mut service = Service::new(100, &tokens, clock.now().plus(HOUR));
        assert!(send(&idle, &mut service, &tokens).await);
        assert!(send(&idle, &mut service, &tokens).await, "it has a slice now");
        let sent = send_all(&busy, &mut service, &tokens).await;
        assert!((80..98).contains(&sent), "{sent}");
        let (at, _) = not_before(&busy, &tokens).await;
        assert!(at <= clock.now().plus(Duration::from_mins(1)), "not only with the next window");
        time.advance(Duration::from_secs(31));
        idle.give_back().await;
        send_all(&busy, &mut service, &tokens).await;
        assert!(service.spent(), "{:?}", service.left);
    }

    async fn a_process_that_dies_and_comes_back_exceeds_nothing(db: TestDb) {
        let (clock, time) = clock();
        let tokens = names(&["one"]);
        let mut service = Service::new(400, &tokens, clock.now().plus(HOUR));
        for _ in 0..10 {
            // It dies with most of its slice.
            let process = process(&db, &clock);
            for _ in 0..7 {
                assert!(send(&process, &mut service, &tokens).await);
            }
        }
        // Their slices are lost, but the service itself says what is left.
        time.advance(Duration::from_secs(61));
        let last = process(&db, &clock);
        send_all(&last, &mut service, &tokens).await;
        assert!(service.spent(), "{:?} were lost", service.left);
    }

    async fn without_headers_the_configured_budget_holds(db: TestDb) {
        let (clock, time) = clock();
        let with_budget = || {
            let upstreams = Upstreams::new((*db).clone(), clock.clone());
            let budget = Some((60, HOUR));
            upstreams.set_policy("u", UpstreamPolicy { budget, ..policy(0.0) });
            upstreams
        };
        let processes = [with_budget(), with_budget()];
        for _ in 0..2 {
            let mut sent = 0;
            for n in 0..200 {
                sent += i64::from(goes(&processes[n % 2]).await);
            }
            assert_eq!(sent, 60);
            let restarted = with_budget();
            assert!(!goes(&restarted).await, "a restart gives nothing back");
            let (at, why) = not_before(&restarted, &[]).await;
            assert_eq!(why, "u: its budget is spent");
            assert!(at > clock.now() && at <= clock.now().plus(HOUR + SLACK));
            time.advance(HOUR + SLACK);
        }
    }

    async fn what_the_service_has_left_wins(db: TestDb) {
        let (clock, _) = clock();
        let (ours, other) = (process(&db, &clock), process(&db, &clock));
        let reset_at = clock.now().plus(HOUR);
        let said = |remaining| Announced { limit: Some(100), remaining, reset_at };
        ours.announce("u", None, said(90)).await;
        assert!(goes(&ours).await && goes(&other).await);
        // Somebody else draws on it as well.
        ours.announce("u", None, said(3)).await;
        let mut sent = 0;
        while goes(&ours).await {
            sent += 1;
        }
        assert_eq!(sent, 3);
        ours.announce("u", None, said(0)).await;
        assert!(!goes(&other).await, "its slice is void");
    }

    async fn silence_is_kept_by_all(db: TestDb) {
        let (clock, time) = clock();
        let tokens = names(&["one", "two"]);
        let (ours, other) = (process(&db, &clock), process(&db, &clock));
        let mut service = Service::new(100, &tokens, clock.now().plus(HOUR));
        assert!(send(&other, &mut service, &tokens).await);
        let minute = clock.now().plus(Duration::from_mins(1));
        ours.hold("u", Some("one"), minute, "secondary limit").await;
        for _ in 0..5 {
            assert_eq!(other.take("u", &tokens).await.unwrap(), Grant::Go { token: Some(1) });
        }
        let one = names(&["one"]);
        assert_eq!(not_before(&other, &one).await, (minute, "u (token one): secondary limit".into()));
        let two_minutes = clock.now().plus(Duration::from_mins(2));
        ours.hold("u", None, two_minutes, "Retry-After: 120").await;
        ours.hold("u", None, minute, "Retry-After: 60").await;
        assert_eq!(not_before(&other, &tokens).await, (two_minutes, "u wants silence: Retry-After: 120".into()));
        let engine = Engine::new((*db).clone(), clock.clone());
        let views = engine.upstream_views().await.unwrap();
        assert_eq!(views[0].held_until, Some(two_minutes));
        let one = &views[0].budgets[0];
        assert_eq!((one.token.as_deref(), one.limit, one.held_until), (Some("one"), Some(100), Some(minute)));
        assert!(engine.reset_upstream("u").await.unwrap());
        assert_eq!(other.take("u", &names(&["one"])).await.unwrap(), Grant::Go { token: Some(0) });
        time.advance(HOUR);
        // Nobody is believed who says "next year".
        ours.hold("u", None, Timestamp::FAR_FUTURE, "go away").await;
        let (at, _) = not_before(&ours, &tokens).await;
        assert_eq!(at, clock.now().plus(Duration::from_hours(24)));
    }

    async fn units_of_a_spent_upstream_are_not_claimed(db: TestDb) {
        let drill = Drill::new(&db).await;
        drill.enqueue(once("a").upstream("u")).await;
        drill.enqueue(once("b").upstream("u")).await;
        let upstreams = drill.hand.upstreams();
        let reset_at = drill.now().plus(HOUR);
        let said = |remaining| Announced { limit: Some(100), remaining, reset_at };
        upstreams.announce("u", None, said(2)).await;
        assert!(drill.claim(10).await.is_empty(), "the reserve is not for them");
        let id = drill.id("test/once:a").await;
        let why = drill.engine.why(id).await.unwrap().unwrap();
        let why = serde_json::to_value(&why[0]).unwrap();
        assert_eq!((why["reason"].as_str(), why["until"].as_str()), (Some("budget-spent"), Some(reset_at.to_string().as_str())));
        let due = drill.unit("test/once:b").await.unit.due_at;
        // A person waits for this one.
        let which = Selection { ids: Some(vec![id]), ..Selection::default() };
        drill.engine.run_now(&which, false).await.unwrap();
        let held = drill.claim_one().await;
        assert_eq!(held.key(), "a");
        assert!(goes(&drill.hand.run(&held).upstreams()).await);
        assert!(!goes(upstreams).await, "the rest is reserved");
        assert!(drill.end(held, Outcome::Done).await);
        assert!(drill.claim(10).await.is_empty());
        assert_eq!(drill.unit("test/once:b").await.unit.due_at, due);
        drill.time.advance(HOUR + SLACK);
        assert_eq!(drill.claim_one().await.key(), "b");
    }

    async fn another_token_keeps_the_upstream_going(db: TestDb) {
        let drill = Drill::new(&db).await;
        let upstreams = drill.hand.upstreams();
        let reset_at = drill.now().plus(HOUR);
        let said = Announced { limit: Some(100), remaining: 0, reset_at };
        upstreams.announce("u", Some("one"), said).await;
        drill.enqueue(once("a").upstream("u")).await;
        assert!(drill.claim(1).await.is_empty());
        let tokens = names(&["one", "two"]);
        upstreams.set_policy("u", UpstreamPolicy { tokens: tokens.clone(), ..UpstreamPolicy::default() });
        assert_eq!(drill.claim(1).await.len(), 1, "nobody has tried the other one");
        assert_eq!(upstreams.take("u", &tokens).await.unwrap(), Grant::Go { token: Some(1) });
    }

    async fn the_fleet_keeps_its_distance(db: TestDb) {
        let (clock, time) = clock();
        let gap = Duration::from_secs(2);
        let processes = [process(&db, &clock), process(&db, &clock)];
        for process in &processes {
            process.set_policy("u", UpstreamPolicy { min_gap: gap, ..policy(0.0) });
        }
        for _ in 0..3 {
            assert!(goes(&processes[0]).await);
            for process in &processes {
                assert_eq!(not_before(process, &[]).await.0, clock.now().plus(gap));
            }
            time.advance(gap);
            assert!(goes(&processes[1]).await, "whoever comes first");
            assert!(!goes(&processes[0]).await);
            time.advance(gap);
        }
        time.jump(-3_600_000_000);
        assert!(goes(&processes[0]).await, "a clock that is set back stops nobody");
        // Short gaps are booked several at a time.
        let gap = Duration::from_millis(10);
        time.advance(HOUR);
        processes[0].set_policy("u", UpstreamPolicy { min_gap: gap, ..policy(0.0) });
        let before = db.statements();
        for _ in 0..10 {
            assert!(goes(&processes[0]).await && !goes(&processes[0]).await);
            time.advance(gap);
        }
        assert!(db.statements() - before <= 8, "{}", db.statements() - before);
    }

    async fn most_requests_cost_no_statement(db: TestDb) {
        let (clock, _) = clock();
        let upstreams = process(&db, &clock);
        let tokens = names(&["one"]);
        let mut service = Service::new(5_000, &tokens, clock.now().plus(HOUR));
        send(&upstreams, &mut service, &tokens).await;
        let before = db.statements();
        for _ in 0..500 {
            assert!(send(&upstreams, &mut service, &tokens).await);
            upstreams.succeeded("u").await;
        }
        let spent = db.statements() - before;
        assert!(spent <= 250, "{spent} statements for 500 requests");
    }
}
