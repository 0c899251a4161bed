//! A world of forges, a database, an engine, and a clock that all of them follow.

use std::time::Duration;

use collect::{
    collector::Registered,
    goindex,
    http::{Http, Limits, Settings, Token, UpstreamSettings},
    organisation::{self, Organisation},
    registry::Scans,
    repo_metadata::{self, RepoMetadata},
};
use db::{Clock, FakeClock, Part, testing::TestDb, transact};
use engine::{
    Ending, Engine, Enqueue, Handler, Kind, Outcome, Run, RunError, State, Timing, UnitView, Worker,
};
use facts::{group::GroupName, repository::RepositoryUrl};
use futures_util::future::BoxFuture;
use sim::{Change, Config, Server, WorldClock, WorldSize};
use store::{
    group_sources::{self, Wanted},
    groups,
    repositories::{self, Filter, NewRepository, Repository},
};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// Work that looks into repositories.
pub(crate) const SCAN: Kind = Kind::recurring("test/scan", Duration::from_hours(180 * 24));
pub(crate) const SCANS: Scans = Scans {
    kinds: &["test/scan"],
    units: |id, _| vec![Enqueue::new(&SCAN, id.to_string())],
};

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    http: Http,
    scans: Scans,
}

/// With tokens or without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eyes {
    Anonymous,
    Token,
}

/// A world of this size, before anybody looks at it.
pub(crate) fn of_size(repositories: usize, organisation: usize) -> Config {
    Config {
        size: WorldSize {
            repositories,
            organisation,
        },
        ..Config::default()
    }
}

impl World {
    pub(crate) async fn new(db: &TestDb, config: Config, eyes: Eyes) -> Self {
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
            if eyes == Eyes::Token {
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
            scans: SCANS,
        }
    }

    /// Without work that looks into repositories.
    pub(crate) fn without_scans(mut self) -> Self {
        self.scans = Scans {
            kinds: &[],
            units: |_, _| Vec::new(),
        };
        self
    }

    pub(crate) fn worker(&self) -> Worker {
        let metadata = Registered::new(RepoMetadata::new(self.http.clone()).scans(self.scans));
        let owners = Registered::new(Organisation::new(self.http.clone()).scans(self.scans));
        Worker::new(self.engine.clone())
            .kind(SCAN, Scanned)
            .boxed_kind(metadata.kind, metadata.handler)
            .boxed_kind(owners.kind, owners.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            })
    }

    /// A worker that lists owners and does nothing else.
    pub(crate) fn only_lists(&self) -> Worker {
        let owners = Registered::new(Organisation::new(self.http.clone()).scans(self.scans));
        Worker::new(self.engine.clone())
            .boxed_kind(owners.kind, owners.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                ..Timing::default()
            })
    }

    /// Lists all owners for the Go index, and does nothing else.
    pub(crate) async fn go_lists(&self) {
        let db = self.engine.db();
        let group = groups::find(db, "ours").await.unwrap().unwrap().id;
        for source in group_sources::of_group(db, group).await.unwrap() {
            let unit = goindex::list_unit(source.id, &source.host);
            self.engine.enqueue(vec![unit]).await.unwrap();
        }
        let lists = Registered::new(goindex::GoList::new(self.http.clone()));
        let worker = Worker::new(self.engine.clone())
            .boxed_kind(lists.kind, lists.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                ..Timing::default()
            });
        let idle = worker.run_until_idle(CancellationToken::new());
        self.while_time_passes(idle).await.unwrap();
    }

    /// Runs the listings that are due.
    pub(crate) async fn lists_only(&self) {
        let idle = self.only_lists().run_until_idle(CancellationToken::new());
        self.while_time_passes(idle).await.unwrap();
    }

    /// The group `ours` and what it follows are no more.
    pub(crate) async fn forget_group(&self) {
        let db = self.engine.db();
        let group = groups::find(db, "ours").await.unwrap().unwrap().id;
        let removed: Result<bool, db::DbError> =
            transact!(db, |tx| groups::remove(tx, group).await);
        assert!(removed.unwrap());
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let idle = self.worker().run_until_idle(CancellationToken::new());
        self.while_time_passes(idle).await.unwrap();
    }

    /// The clock goes on as in life: the engine looks again after a while, by that clock.
    pub(crate) async fn while_time_passes<T>(&self, work: impl Future<Output = T>) -> T {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
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
    pub(crate) async fn add(&self, address: &str) -> i64 {
        let url = RepositoryUrl::parse(address).unwrap();
        let new = NewRepository::from(url.clone());
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let added = repositories::add_many(db, &[new], now).await.unwrap()[0];
        let units = self.scans.of_repository(added.id(), &url);
        self.engine.enqueue(units).await.unwrap();
        added.id()
    }

    /// Lets the group `ours` follow an owner.
    pub(crate) async fn follow(&self, host: &str, owner: &str, wanted: Wanted) -> i64 {
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let name = &GroupName::parse("ours").unwrap();
        let made: Result<i64, db::DbError> = transact!(db, |tx| {
            let group = groups::create(tx, name, now).await?.id();
            let source = group_sources::attach(tx, group, host, owner, wanted, now).await?;
            Ok(source.id())
        });
        let source = made.unwrap();
        let unit = organisation::unit(source, host);
        self.engine.enqueue(vec![unit]).await.unwrap();
        source
    }

    pub(crate) fn happens(&self, host: &str, change: &Change) {
        self.server.world().apply(host, change).unwrap();
    }

    /// The requests to a host since this was last asked: path and status.
    pub(crate) fn asked(&self, host: &str) -> Vec<(String, Option<u16>)> {
        let requests = self.server.journal().requests(host);
        self.server.journal().clear();
        requests
            .into_iter()
            .map(|request| (request.path, request.status))
            .collect()
    }

    pub(crate) async fn repository(&self, id: i64) -> Repository {
        let db = self.engine.db();
        repositories::by_id(db, id).await.unwrap().unwrap()
    }

    pub(crate) async fn find(&self, host: &str, path: &str) -> Option<Repository> {
        let url = RepositoryUrl::parse(&format!("https://{host}/{path}")).unwrap();
        let db = self.engine.db();
        repositories::by_url(db, &url).await.unwrap()
    }

    /// All repositories, or those of the group `ours`.
    pub(crate) async fn all(&self, in_group: bool) -> Vec<Repository> {
        let db = self.engine.db();
        let group = match groups::find(db, "ours").await.unwrap() {
            Some(group) if in_group => Some(group.id),
            _ => None,
        };
        let filter = Filter {
            group,
            ..Filter::default()
        };
        let page = repositories::list(db, &filter, 100_000).await.unwrap();
        page.items
    }

    /// What was noticed about a repository.
    pub(crate) async fn events(&self, id: i64) -> Vec<String> {
        let events = store::metadata::events(self.engine.db(), id).await.unwrap();
        events.into_iter().map(|event| event.what).collect()
    }

    pub(crate) async fn metadata(&self, id: i64) -> store::metadata::Metadata {
        let found = store::metadata::of(self.engine.db(), id).await.unwrap();
        found.unwrap()
    }

    pub(crate) async fn state(&self, unit: &str) -> Option<State> {
        let id = self.engine.find(unit).await.unwrap()?;
        Some(self.engine.unit(id).await.unwrap().unwrap().unit.state)
    }

    pub(crate) async fn unit(&self, unit: &str) -> UnitView {
        let id = self.engine.find(unit).await.unwrap().unwrap();
        self.engine.unit(id).await.unwrap().unwrap().unit
    }

    pub(crate) async fn strikes(&self, unit: &str) -> i64 {
        self.unit(unit).await.strikes
    }

    pub(crate) async fn error(&self, unit: &str) -> Option<String> {
        let id = self.engine.find(unit).await.unwrap()?;
        self.engine.unit(id).await.unwrap().unwrap().unit.error
    }

    pub(crate) async fn run_now(&self, id: i64, host: &str) {
        let url = RepositoryUrl::parse(&format!("https://{host}/a/b")).unwrap();
        let unit = repo_metadata::unit(id, &url).unwrap().now();
        self.engine.enqueue(vec![unit]).await.unwrap();
        self.run().await;
    }
}

struct Scanned;

impl Handler for Scanned {
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>> {
        Box::pin(async move { Ok(run.end(Outcome::Done, ())) })
    }
}
