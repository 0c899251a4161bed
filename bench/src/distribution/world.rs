//! The simulated world, and the product in it with its usual settings.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use collect::{
    http::{Http, Settings, Token, UpstreamSettings},
    registry::{self, Outside},
};
use db::{Clock, Db, FakeClock, Timestamp};
use engine::{Pool, Timing, Worker};
use facts::repository::RepositoryUrl;
use sim::{Config, ORGANISATION, Repository, Rule, Server, WorldClock, WorldSize};
use store::repositories::{self, NewRepository};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::calls::FORGES;
use crate::database::{Fresh, Place};

/// Slots of a pool that nothing is set about: those of the rounds' sections.
const SLOTS: [(&str, usize); 2] = [("repo-metadata", 2), ("organisation", 1)];
const OTHER_SLOTS: usize = 4;
/// The world's time is moved on so often.
const TICK: Duration = Duration::from_millis(2);

/// The world, and the product that watches it.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) watched: Vec<Watched>,
    fresh: Fresh,
    outside: Outside,
    hand: FakeClock,
    speed: u32,
    ticking: JoinHandle<()>,
}

/// A repository that is watched.
pub(super) struct Watched {
    pub(super) host: &'static str,
    pub(super) owner: String,
    pub(super) number: u64,
}

impl World {
    pub(super) async fn new(
        place: &Place,
        repositories: usize,
        latency_ms: u64,
        speed: u32,
    ) -> anyhow::Result<Self> {
        let (clock, hand) = Clock::fake(Timestamp::from_micros(sim::EPOCH.as_microsecond()));
        let each = repositories.div_ceil(FORGES.len());
        let follows = clock.clone();
        let server = Server::start(Config {
            size: WorldSize {
                // Some of them are archived, deleted, private or taken down.
                repositories: each * 3 / 2,
                organisation: each / 2,
            },
            clock: WorldClock::given(f64::from(speed), move || follows.now().as_micros()),
            ..Config::default()
        })
        .await?;
        for upstream in server.upstreams() {
            let delay = latency_ms / u64::from(speed);
            server.plan().add(Rule::slow(upstream, delay))?;
        }
        let parts = [engine::PART, store::PART];
        let fresh = place
            .fresh_with("distribution", &parts, clock.clone())
            .await?;
        let outside = outside(&server, &fresh, clock, speed)?;
        let ticking = tokio::spawn(tick(hand.clone(), speed));
        let mut world = Self {
            server,
            watched: Vec::new(),
            fresh,
            outside,
            hand,
            speed,
            ticking,
        };
        world.watch(repositories, each).await?;
        Ok(world)
    }

    /// Puts repositories into the catalogue, as many on each forge: a fifth of one large
    /// organisation, the others of many small owners.
    async fn watch(&mut self, most: usize, each: usize) -> anyhow::Result<()> {
        for host in FORGES {
            let all = self.server.world().repositories(host).into_iter();
            let (large, small): (Vec<Repository>, Vec<Repository>) = all
                .filter(|found| found.is_public() && !found.archived)
                .partition(|found| is_large(&found.owner));
            let chosen = large.into_iter().take(each / 5).chain(small);
            for found in chosen.take(each.min(most - self.watched.len())) {
                let url = RepositoryUrl::parse(&format!("https://{host}/{}", found.path()))?;
                let now = self.clock().now();
                let new = NewRepository::from(url.clone());
                let added = repositories::add_many(self.db(), &[new], now).await?;
                let units = registry::of_repository(added[0].id(), &url);
                self.fresh.engine.enqueue(units).await?;
                self.watched.push(Watched {
                    host,
                    owner: found.owner,
                    number: found.id,
                });
            }
        }
        Ok(())
    }

    pub(super) fn db(&self) -> &Db {
        self.fresh.db()
    }

    pub(super) fn clock(&self) -> &Clock {
        self.fresh.engine.clock()
    }

    /// Lets time pass at once.
    pub(super) fn let_pass(&self, span: Duration) {
        self.hand.advance(span);
    }

    /// Runs all that is due, with the usual slots; how long that took in the world.
    pub(super) async fn run(&self) -> anyhow::Result<Duration> {
        // Heartbeats and polls follow the world's time as well.
        let usual = Timing::default();
        let mut worker = Worker::new(self.fresh.engine.clone())
            .probe(Arc::new(self.outside.http.clone()))
            .timing(Timing {
                poll: usual.poll / self.speed,
                ..Timing::dead_after(usual.dead_after * self.speed)
            });
        let slots: BTreeMap<&str, usize> = SLOTS.into_iter().collect();
        for one in registry::all(&self.outside) {
            let pool = one.kind.pool;
            let workers = slots.get(pool).copied().unwrap_or(OTHER_SLOTS);
            worker = worker
                .pool(Pool::new(pool, workers))
                .boxed_kind(one.kind, one.handler);
        }
        let begun = self.clock().now();
        worker.run_until_idle(CancellationToken::new()).await?;
        Ok(self.clock().now().since(begun))
    }

    /// Repositories of which every source has given its whole answer.
    pub(super) async fn complete(&self) -> anyhow::Result<usize> {
        let row = self
            .db()
            .fetch_one(db::sql!(
                "SELECT COUNT(*) AS n FROM repos WHERE distribution_scan_complete"
            ))
            .await?;
        Ok(usize::try_from(row.get::<i64>("n")?)?)
    }

    pub(super) async fn remove(self) -> anyhow::Result<()> {
        self.ticking.abort();
        self.fresh.remove().await
    }
}

fn is_large(owner: &str) -> bool {
    owner.split('/').next() == Some(ORGANISATION)
}

/// The client, with the world's addresses in place of the real ones and one token for each.
fn outside(server: &Server, fresh: &Fresh, clock: Clock, speed: u32) -> anyhow::Result<Outside> {
    let mut settings = Settings::new("https://gleaner.example/contact");
    for name in server.upstreams() {
        let usual = UpstreamSettings::named(name);
        let upstream = UpstreamSettings {
            base: server.host_url(name).unwrap_or_default(),
            allow_private: true,
            tokens: vec![Token::new("bench", "a-token-of-the-bench")],
            gap: usual.gap / speed,
            ..usual
        };
        settings.upstreams.insert(name.to_owned(), upstream);
    }
    let upstreams = fresh.engine.upstreams().clone();
    // Neither a Go index nor mail here: nobody is asked by git.
    let git = collect::git::remote::Settings::new(std::env::temp_dir(), "bench");
    Ok(Outside {
        http: Http::new(&settings, fresh.db().clone(), clock, upstreams)?,
        distribution: collect::distribution::Settings::default(),
        goindex: collect::goindex::Settings::new(git.clone()),
        mail: collect::mail::Settings::new(std::env::temp_dir(), git),
    })
}

/// Moves the world's time on, so many times as fast as life.
async fn tick(hand: FakeClock, speed: u32) {
    let mut last = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        let now = Instant::now();
        hand.advance(now.duration_since(last) * speed);
        last = now;
    }
}
