//! A world of registries, a database, an engine, and a clock that all of them follow.

use std::{collections::BTreeMap, time::Duration};

use collect::{
    collector::Registered,
    distribution::{
        self, Settings as Wishes, depsdev::DepsDev, ecosystems::Ecosystems, names::Names,
    },
    http::{Http, Limits, Settings, UpstreamSettings},
};
use db::{Clock, FakeClock, Part, testing::TestDb, transact};
use engine::{Engine, Enqueue, Timing, UnitView, Worker};
use facts::{evidence::Evidence, kept::Kept, repository::RepositoryUrl};
use sim::{Config, Publication, Registration, Server, WorldClock, WorldSize};
use store::{
    observed, repositories,
    repositories::NewRepository,
    sources::{self, SourceState},
};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const DAY: Duration = Duration::from_hours(24);
pub(crate) const CADENCE: Duration = Duration::from_hours(180 * 24);
pub(crate) const HOST: &str = "github.com";

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    http: Http,
    wishes: Wishes,
}

/// A world with so many repositories of many small owners on each forge.
pub(crate) fn of_size(repositories: usize) -> Config {
    Config {
        size: WorldSize {
            repositories,
            organisation: 0,
        },
        ..Config::default()
    }
}

impl World {
    pub(crate) async fn new(db: &TestDb, config: Config) -> Self {
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
            let upstream = UpstreamSettings {
                allow_private: true,
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
        Self {
            server,
            engine,
            hand,
            http,
            wishes: Wishes::default(),
        }
    }

    /// With other settings of the round.
    pub(crate) fn wishing(mut self, wish: impl FnOnce(&mut Wishes)) -> Self {
        wish(&mut self.wishes);
        self
    }

    fn worker(&self) -> Worker {
        let (http, wishes) = (&self.http, &self.wishes);
        let all = [
            Registered::new(DepsDev::new(http.clone(), wishes.clone())),
            Registered::new(Ecosystems::new(http.clone(), wishes.clone())),
            Registered::new(Names::new(http.clone(), wishes.clone())),
        ];
        let worker = Worker::new(self.engine.clone()).timing(Timing {
            poll: Duration::from_millis(20),
            grace: Duration::from_millis(50),
            ..Timing::default()
        });
        all.into_iter().fold(worker, |worker, one| {
            worker.boxed_kind(one.kind, one.handler)
        })
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let worker = self.worker();
        let idle = worker.run_until_idle(CancellationToken::new());
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let mut idle = std::pin::pin!(idle);
        loop {
            tokio::select! {
                done = &mut idle => break drop(done.unwrap()),
                _ = ticks.tick() => self.hand.advance(Duration::from_millis(5)),
            }
        }
    }

    /// Time passes, and all that became due runs.
    pub(crate) async fn after(&self, span: Duration) {
        self.hand.advance(span);
        self.run().await;
    }

    /// Adds a repository with the units that `units` makes for it.
    pub(crate) async fn add(
        &self,
        address: &str,
        units: impl Fn(i64, &RepositoryUrl) -> Option<Enqueue>,
    ) -> i64 {
        let url = RepositoryUrl::parse(address).unwrap();
        let new = NewRepository::from(url.clone());
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let added = repositories::add_many(db, &[new], now).await.unwrap()[0];
        let units = units(added.id(), &url).into_iter().collect();
        self.engine.enqueue(units).await.unwrap();
        added.id()
    }

    /// Its name is another from now on, and the catalogue knows.
    pub(crate) async fn rename(&self, id: i64, address: &str) {
        let url = &RepositoryUrl::parse(address).unwrap();
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let renamed: Result<_, db::DbError> =
            transact!(db, |tx| repositories::rename(tx, id, url, now).await);
        renamed.unwrap();
    }

    pub(crate) fn happens(&self, change: &Registration) {
        self.server.world().register(change).unwrap();
    }

    /// A package that names this address as its source.
    pub(crate) fn publish(&self, ecosystem: &str, package: &str, link: &str, versions: u32) {
        self.happens(&Registration::Publish {
            ecosystem: ecosystem.into(),
            package: package.into(),
            link: Some(link.into()),
            versions,
        });
    }

    pub(crate) fn remove(&self, ecosystem: &str, package: &str) {
        let (ecosystem, package) = (ecosystem.into(), package.into());
        self.happens(&Registration::Remove { ecosystem, package });
    }

    pub(crate) fn restore(&self, ecosystem: &str, package: &str) {
        let (ecosystem, package) = (ecosystem.into(), package.into());
        self.happens(&Registration::Restore { ecosystem, package });
    }

    /// The truth about an address: what names it as its source and is still there.
    pub(crate) fn truth(&self, address: &str) -> Vec<Publication> {
        self.server.world().published(|all| {
            let linked = all.linked(address).filter(|one| !one.removed);
            linked.cloned().collect()
        })
    }

    /// The addresses of all repositories that packages of a forge name.
    pub(crate) fn linked(&self, host: &str) -> Vec<String> {
        let start = format!("https://{host}/");
        let mut links: Vec<String> = self.server.world().published(|all| {
            all.all()
                .filter_map(|one| one.link.clone())
                .filter(|link| link.starts_with(&start) && !link.contains("/elsewhere/"))
                .collect()
        });
        links.sort();
        links.dedup();
        links
    }

    /// What a source says now, by ecosystem and package.
    pub(crate) async fn evidence(&self, id: i64, source: &str) -> BTreeMap<String, Evidence> {
        let kept = self.kept(id, source).await;
        let present = kept.into_iter().filter(|one| one.gone_at.is_none());
        present
            .map(|one| (name(&one.fact.ecosystem, &one.fact.package), one.fact))
            .collect()
    }

    /// All it ever said.
    pub(crate) async fn kept(&self, id: i64, source: &str) -> Vec<Kept<Evidence>> {
        let db = self.engine.db();
        let all = observed::evidence(db, id, true, 10_000).await.unwrap();
        all.into_iter().filter(|one| one.source == source).collect()
    }

    pub(crate) async fn state(&self, id: i64, source: &str) -> Option<SourceState> {
        let states = sources::states(self.engine.db(), id).await.unwrap();
        states.into_iter().find(|state| state.source == source)
    }

    pub(crate) async fn unit(&self, unit: &str) -> UnitView {
        let id = self.engine.find(unit).await.unwrap().unwrap();
        self.engine.unit(id).await.unwrap().unwrap().unit
    }

    pub(crate) async fn run_now(&self, unit: Option<Enqueue>) {
        let unit = unit.into_iter().map(Enqueue::now).collect();
        self.engine.enqueue(unit).await.unwrap();
        self.run().await;
    }

    /// The requests to an upstream since this was last asked: path and status.
    pub(crate) fn asked(&self, upstream: &str) -> Vec<(String, Option<u16>)> {
        let requests = self.server.journal().requests(upstream);
        self.server.journal().clear();
        requests
            .into_iter()
            .map(|request| (request.path, request.status))
            .collect()
    }
}

pub(crate) fn name(ecosystem: &str, package: &str) -> String {
    format!("{ecosystem}/{package}")
}

/// The unit of a repository that does nothing but ask deps.dev.
pub(crate) fn depsdev(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    distribution::depsdev::unit(id, url)
}

/// The unit of a repository that does nothing but ask ecosyste.ms.
pub(crate) fn ecosystems(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    distribution::ecosystems::unit(id, url)
}
