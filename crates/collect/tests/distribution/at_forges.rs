//! Forges, a database, an engine that looks into repositories, and a clock that all of them follow.

use std::time::Duration;

use collect::{
    collector::Registered,
    distribution::{
        manifests::{self, Manifests},
        packages::{self, Packages},
        releases::{self, Releases},
    },
    http::{Http, Limits, Settings, Token, UpstreamSettings},
    registry::Scans,
    repo_metadata::RepoMetadata,
};
use db::{Clock, FakeClock, Part, testing::TestDb};
use engine::{Engine, Enqueue, Pool, Timing, UnitView, Worker};
use facts::{evidence::Evidence, kept::Kept, manifest::ManifestFact, repository::RepositoryUrl};
use sim::{Config, ORGANISATION, Repository, Server, WorldClock, WorldSize};
use store::{
    observed,
    repositories::{self, NewRepository},
    sources::{self, SourceState},
};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const DAY: Duration = Duration::from_hours(24);
pub(crate) const FORGES: [&str; 4] = [
    "github.com",
    "github.example.org",
    "gitlab.example.org",
    "codeberg.org",
];

const SCANS: Scans = Scans {
    kinds: &[
        "distribution/manifests",
        "distribution/releases",
        "distribution/packages",
    ],
    units: |id, url| {
        let units = [manifests::unit, releases::unit, packages::unit];
        units.iter().filter_map(|unit| unit(id, url)).collect()
    },
};

pub(crate) struct AtForges {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    http: Http,
}

/// A world whose organisation has so many repositories.
pub(crate) fn of_size(organisation: usize) -> Config {
    Config {
        size: WorldSize {
            repositories: 0,
            organisation,
        },
        ..Config::default()
    }
}

impl AtForges {
    pub(crate) async fn new(db: &TestDb, config: Config) -> Self {
        Self::with(db, config, true).await
    }

    /// Without a token.
    pub(crate) async fn anonymous(db: &TestDb, config: Config) -> Self {
        Self::with(db, config, false).await
    }

    async fn with(db: &TestDb, config: Config, token: bool) -> Self {
        let epoch = db::Timestamp::from_micros(sim::EPOCH.as_microsecond());
        let (clock, hand) = Clock::fake(epoch);
        let follows = clock.clone();
        let server = Server::start(Config {
            clock: WorldClock::given(1.0, move || follows.now().as_micros()),
            ..config
        })
        .await
        .unwrap();
        let mut settings = Settings::new("https://gleaner.example/contact");
        for name in server.upstreams() {
            let mut upstream = UpstreamSettings {
                allow_private: true,
                limits: Limits {
                    total: Duration::from_secs(20),
                    idle: Duration::from_secs(10),
                    ..Limits::default()
                },
                ..UpstreamSettings::at(server.host_url(name).unwrap())
            };
            if token {
                upstream.tokens = vec![Token::new("ours", "s3cret-of-ours")];
            }
            settings.upstreams.insert(name.to_owned(), upstream);
        }
        let engine = Engine::new((**db).clone(), clock.clone());
        let upstreams = engine.upstreams().clone();
        let http = Http::new(&settings, (**db).clone(), clock, upstreams).unwrap();
        Self {
            server,
            engine,
            hand,
            http,
        }
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let kinds = [
            Registered::new(RepoMetadata::new(self.http.clone()).scans(SCANS)),
            Registered::new(Manifests::new(self.http.clone())),
            Registered::new(Releases::new(self.http.clone())),
            Registered::new(Packages::new(self.http.clone())),
        ];
        let mut worker = Worker::new(self.engine.clone())
            .pool(Pool::new("distribution", 4))
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            });
        for one in kinds {
            worker = worker.boxed_kind(one.kind, one.handler);
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

    /// Time passes, and all that became due runs.
    pub(crate) async fn after(&self, span: Duration) {
        self.hand.advance(span);
        self.run().await;
    }

    /// Adds a repository with its work.
    pub(crate) async fn add(&self, host: &str, path: &str) -> i64 {
        let url = RepositoryUrl::parse(&format!("https://{host}/{path}")).unwrap();
        let new = NewRepository::from(url.clone());
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let added = repositories::add_many(db, &[new], now).await.unwrap()[0];
        let units = SCANS.of_repository(added.id(), &url);
        self.engine.enqueue(units).await.unwrap();
        added.id()
    }

    /// Adds all repositories of the organisation that are not archived; those and their ids.
    pub(crate) async fn add_all(&self, host: &str) -> Vec<(i64, Repository)> {
        let mut added = Vec::new();
        for truth in self.server.world().public_repositories(host, ORGANISATION) {
            if !truth.archived {
                added.push((self.add(host, &truth.path()).await, truth));
            }
        }
        added
    }

    /// The first repository of the organisation that is as wanted.
    pub(crate) fn member(&self, host: &str, wanted: impl Fn(&Repository) -> bool) -> Repository {
        let all = self.server.world().public_repositories(host, ORGANISATION);
        let mut live = all.into_iter().filter(|found| !found.archived);
        live.find(|found| wanted(found)).unwrap()
    }

    /// Lets all work on repositories run now, but not the question what became of them.
    pub(crate) async fn scan_now(&self, repositories: &[(i64, &str)]) {
        let mut units = Vec::new();
        for (id, host) in repositories {
            let url = RepositoryUrl::parse(&format!("https://{host}/a/b")).unwrap();
            units.extend((SCANS.units)(*id, &url).into_iter().map(Enqueue::now));
        }
        self.engine.enqueue(units).await.unwrap();
        self.run().await;
    }

    /// Forgets the requests so far.
    pub(crate) fn forget_requests(&self) {
        self.server.journal().clear();
    }

    /// The requests to a host since they were forgotten: path and status.
    pub(crate) fn asked(&self, host: &str) -> Vec<(String, Option<u16>)> {
        let requests = self.server.journal().requests(host);
        requests
            .into_iter()
            .map(|request| (request.path, request.status))
            .collect()
    }

    /// What is known of manifests, and what was.
    pub(crate) async fn manifests(&self, id: i64) -> Vec<Kept<ManifestFact>> {
        let db = self.engine.db();
        observed::manifests(db, id, true, 100_000).await.unwrap()
    }

    /// What is known of packages, and what was.
    pub(crate) async fn evidence(&self, id: i64, source: &str) -> Vec<Kept<Evidence>> {
        let db = self.engine.db();
        let mut all = observed::evidence(db, id, true, 100_000).await.unwrap();
        all.retain(|kept| kept.source == source);
        all
    }

    /// How a source stands.
    pub(crate) async fn source(&self, id: i64, source: &str) -> SourceState {
        let states = sources::states(self.engine.db(), id).await.unwrap();
        let mut states = states.into_iter();
        states.find(|state| state.source == source).unwrap()
    }

    pub(crate) async fn unit(&self, unit: &str) -> UnitView {
        let id = self.engine.find(unit).await.unwrap().unwrap();
        self.engine.unit(id).await.unwrap().unwrap().unit
    }
}
