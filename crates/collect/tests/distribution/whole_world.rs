//! The whole simulated world, all collectors, and a clock that both follow.

use std::{sync::Arc, time::Duration};

use collect::{
    http::{Http, Limits, Settings, Token, UpstreamSettings},
    registry::{self, Outside},
};
use db::{Clock, FakeClock, Part, testing::TestDb};
use engine::{Engine, Pool, Timing, Worker};
use facts::repository::RepositoryUrl;
use sim::{Config, ORGANISATION, Repository, Server, WorldClock, WorldSize};
use store::repositories::{self, NewRepository};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const DAY: Duration = Duration::from_hours(24);

pub(crate) struct WholeWorld {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    pub(crate) watched: Vec<Watched>,
    outside: Outside,
}

/// A repository that is watched, as it was when it was added.
pub(crate) struct Watched {
    pub(crate) host: &'static str,
    pub(crate) id: i64,
    pub(crate) truth: Repository,
}

impl WholeWorld {
    /// A world whose organisations have so many repositories on each forge.
    pub(crate) async fn new(db: &TestDb, organisation: usize) -> Self {
        let epoch = db::Timestamp::from_micros(sim::EPOCH.as_microsecond());
        let (clock, hand) = Clock::fake(epoch);
        let follows = clock.clone();
        let server = Server::start(Config {
            size: WorldSize {
                repositories: 0,
                organisation,
            },
            clock: WorldClock::given(1.0, move || follows.now().as_micros()),
            ..Config::default()
        })
        .await
        .unwrap();
        let mut settings = Settings::new("https://gleaner.example/contact");
        for name in server.upstreams() {
            let upstream = UpstreamSettings {
                allow_private: true,
                tokens: vec![Token::new("ours", "s3cret-of-ours")],
                limits: Limits {
                    total: Duration::from_secs(20),
                    idle: Duration::from_secs(10),
                    ..Limits::default()
                },
                ..UpstreamSettings::at(server.host_url(name).unwrap())
            };
            settings.upstreams.insert(name.to_owned(), upstream);
        }
        let engine = Engine::new((**db).clone(), clock.clone());
        let upstreams = engine.upstreams().clone();
        let http = Http::new(&settings, (**db).clone(), clock, upstreams).unwrap();
        let outside = Outside {
            http,
            distribution: collect::distribution::Settings::default(),
            goindex: collect::goindex::Settings::new(collect::git::remote::Settings::new(
                std::env::temp_dir(),
                "nobody",
            )),
            mail: collect::mail::Settings::new(
                std::env::temp_dir(),
                collect::git::remote::Settings::new(std::env::temp_dir(), "nobody"),
            ),
        };
        Self {
            server,
            engine,
            hand,
            watched: Vec::new(),
            outside,
        }
    }

    /// Adds all repositories of the organisation on these forges that are not archived.
    pub(crate) async fn watch_all(&mut self, hosts: &[&'static str]) {
        for &host in hosts {
            for truth in self.server.world().public_repositories(host, ORGANISATION) {
                if truth.archived {
                    continue;
                }
                let address = format!("https://{host}/{}", truth.path());
                let url = RepositoryUrl::parse(&address).unwrap();
                let (db, now) = (self.engine.db(), self.engine.clock().now());
                let new = NewRepository::from(url.clone());
                let id = repositories::add_many(db, &[new], now).await.unwrap()[0].id();
                let units = registry::of_repository(id, &url);
                self.engine.enqueue(units).await.unwrap();
                self.watched.push(Watched { host, id, truth });
            }
        }
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let mut worker = Worker::new(self.engine.clone())
            .probe(Arc::new(self.outside.http.clone()))
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            });
        for one in registry::all(&self.outside) {
            let pool = Pool::new(one.kind.pool, 8);
            worker = worker.pool(pool).boxed_kind(one.kind, one.handler);
        }
        let mut work = std::pin::pin!(worker.run_until_idle(CancellationToken::new()));
        // The clock goes on as in life: the engine looks again after a while, by that clock.
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        loop {
            tokio::select! {
                done = &mut work => {
                    done.unwrap();
                    return;
                }
                _ = ticks.tick() => self.hand.advance(Duration::from_millis(5)),
            }
        }
    }

    /// Runs all that is due, and what comes back soon: an answer may have waited for another.
    pub(crate) async fn settle(&self) {
        for _ in 0..3 {
            self.run().await;
            self.hand.advance(Duration::from_mins(20));
        }
    }
}
