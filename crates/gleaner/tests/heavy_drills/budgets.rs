//! Two processes share two tokens: what is allowed is used, and nothing beyond what was announced.

use std::time::{Duration, Instant};

use db::testing::TestDb;
use sim::{
    Config, Fault, Limit, Request, RetryAfter, Rule, Token, WorldSize,
    upstreams::{GitHub, GitHubLimits},
};

use crate::fleet::{Fleet, PARTS, Process};

/// An hour in eighteen seconds.
const FACTOR: f64 = 200.0;
/// Announces a budget for each hour.
const HOURLY: &str = "github.com";
/// Announces nothing until somebody asks too much at once.
const HASTY: &str = "github.example.org";
/// Has no headers about limits at all, and says so when it is enough.
const SILENT: &str = "codeberg.org";

/// Requests in an hour, by token.
const PER_HOUR: u64 = 100;
const HOUR: Duration = Duration::from_hours(1);
/// Shut out for so long after haste.
const PENALTY: Duration = Duration::from_mins(8);
const RETRY_AFTER: Duration = Duration::from_mins(15);
/// What was on its way, and what another process sends before it hears of it: a second of life.
const HEARD: Duration = Duration::from_secs(200);
/// Added to what is announced: clocks of processes agree to some milliseconds of life.
const AT_THE_END: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn heavy_budget_drill_sqlite() {
    budgets(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_budget_drill_postgres() {
    budgets(TestDb::postgres(PARTS).await).await;
}

async fn budgets(db: TestDb) {
    let begun = Instant::now();
    let fleet = Fleet::new(db, FACTOR, world(), "[repo_metadata]\nworkers = 16\n").await;
    let enough = Fault::too_many(RetryAfter::Seconds((RETRY_AFTER + AT_THE_END).as_secs()));
    let enough = Rule::on(SILENT, enough).requests(30..=30);
    fleet.server.plan().add(enough).unwrap();
    // Answers that take a while are on their way together.
    fleet.server.plan().add(Rule::slow(HASTY, 100)).unwrap();
    for (host, repositories) in [(HOURLY, 280), (HASTY, 40), (SILENT, 60)] {
        fleet.add(&fleet.addresses(host)[..repositories]);
    }
    let start = fleet.clock.now();
    let journal = fleet.server.journal();

    let processes = two(&fleet);
    let patience = Duration::from_secs(30);
    let nearly = async || journal.counts(HOURLY).requests >= PER_HOUR * 2 * 8 / 10;
    fleet
        .until("most of the budget is used", patience, nearly)
        .await;
    // Whatever they had leased, and whatever they knew, dies with them.
    drop(processes);
    let processes = two(&fleet);
    for host in [SILENT, HASTY, HOURLY] {
        let answered = async || fleet.unanswered(host, start).await == 0;
        fleet.until(host, Duration::from_secs(45), answered).await;
    }
    drop(processes);

    let hourly = journal.counts(HOURLY);
    assert_eq!((hourly.over_primary, hourly.over_secondary), (0, 0));
    let requests = journal.requests(HOURLY);
    let used = requests
        .iter()
        .filter(|request| within(request, &requests[0], HOUR));
    let used = used.count() as u64;
    let haste = journal.requests(HASTY);
    let refused: Vec<&Request> = haste
        .iter()
        .filter(|one| one.limit == Some(Limit::Secondary))
        .collect();
    eprintln!(
        "{used} of {} in the first hour; shut out {} times in {} requests; {:?}",
        PER_HOUR * 2,
        refused.len(),
        haste.len(),
        begun.elapsed()
    );
    assert!(used >= PER_HOUR * 2 * 9 / 10, "only {used} were used");
    assert!(!refused.is_empty(), "nobody was too fast: no drill");
    for token in ["first", "second"] {
        let mut first: Option<&Request> = None;
        for refusal in refused
            .iter()
            .filter(|one| one.token.as_deref() == Some(token))
        {
            // The first tells all that follows from it.
            match first.filter(|first| within(refusal, first, PENALTY)) {
                None => first = Some(refusal),
                Some(first) => {
                    assert!(within(refusal, first, HEARD), "{refusal:?} after {first:?}");
                }
            }
        }
    }
    let silent = journal.requests(SILENT);
    let refusals = silent.iter().filter(|one| one.status == Some(429));
    let refusals: Vec<&Request> = refusals.collect();
    assert_eq!(refusals.len(), 1);
    let early = silent.iter().find(|later| {
        within(later, refusals[0], RETRY_AFTER) && !within(later, refusals[0], HEARD)
    });
    assert!(early.is_none(), "{early:?} after {:?}", refusals[0]);
}

/// Whether a request came no earlier than another, and before `span` had passed.
fn within(request: &Request, first: &Request, span: Duration) -> bool {
    let passed = request.at.as_microsecond() - first.at.as_microsecond();
    u128::try_from(passed).is_ok_and(|passed| passed < span.as_micros())
}

fn two(fleet: &Fleet) -> [Process; 2] {
    [(); 2].map(|()| fleet.work(&[(HOURLY, "secret-1,secret-2"), (HASTY, "secret-1,secret-2")]))
}

fn world() -> Config {
    let hasty = GitHub::enterprise(HASTY).with_limits(GitHubLimits {
        concurrent: 4,
        penalty: (PENALTY + AT_THE_END).as_secs(),
        ..GitHubLimits::default()
    });
    let tokens = [("first", "secret-1"), ("second", "secret-2")];
    let tokens = tokens.into_iter().flat_map(|(name, secret)| {
        [
            Token::new(HOURLY, name, secret).with_limit(PER_HOUR),
            Token::new(HASTY, name, secret),
        ]
    });
    Config {
        size: WorldSize {
            repositories: 0,
            organisation: 320,
        },
        tokens: tokens.collect(),
        ..Config::default()
    }
    .with(hasty)
}
