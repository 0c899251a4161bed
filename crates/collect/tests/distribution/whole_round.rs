//! The whole round over a world in which little lies but what a test put there: forges, registries,
//! a database, an engine with every collector, and a clock that all of them follow.

use std::time::Duration;

use collect::{
    distribution,
    http::{Http, Limits, Settings, Token, UpstreamSettings},
    registry::{self, Outside},
};
use db::{Clock, FakeClock, Part, testing::TestDb};
use engine::{Engine, Enqueue, Pool, Timing, UnitView, Worker};
use facts::repository::RepositoryUrl;
use sim::{Config, File, ORGANISATION, Registration, Rule, Server, WorldClock, WorldSize};
use store::{
    distribution::{Event, EventFilter, GapFilter, events, gaps},
    observed,
    repositories::{self, NewRepository},
    sources::{self, SourceState},
};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const DAY: Duration = Duration::from_hours(24);
pub(crate) const CADENCE: Duration = Duration::from_hours(180 * 24);
pub(crate) const SOURCES: [&str; 5] =
    ["depsdev", "ecosystems", "releases", "packages", "manifests"];

pub(crate) struct Round {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    outside: Outside,
    settings: Settings,
}

/// A repository that is watched, and lies empty until a test plants something.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) id: i64,
    pub(crate) host: &'static str,
    pub(crate) path: String,
}

impl Subject {
    pub(crate) fn url(&self) -> String {
        format!("https://{}/{}", self.host, self.path)
    }
}

/// The forges of a usual world, with this many repositories of one organisation on each.
pub(crate) fn of_size(organisation: usize) -> Config {
    Config {
        size: WorldSize {
            repositories: 0,
            organisation,
        },
        ..Config::default()
    }
}

impl Round {
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
        let engine = Engine::new((**db).clone(), clock);
        let outside = outside(&engine, &settings);
        Self {
            server,
            engine,
            hand,
            outside,
            settings,
        }
    }

    /// As after a restart: nothing is remembered but what the database holds.
    pub(crate) fn restarts(&mut self) {
        self.outside = outside(&self.engine, &self.settings);
    }

    /// Knows one more host, which answers at this address.
    pub(crate) fn meets(&mut self, host: &str, base: String) {
        let upstream = UpstreamSettings {
            allow_private: true,
            ..UpstreamSettings::at(base)
        };
        self.settings.upstreams.insert(host.to_owned(), upstream);
        self.restarts();
    }

    /// Watches what lies at an address.
    pub(crate) async fn watch_at(&self, host: &'static str, path: &str) -> Subject {
        let url = RepositoryUrl::parse(&format!("https://{host}/{path}")).unwrap();
        let now = self.engine.clock().now();
        let new = NewRepository::from(url.clone());
        let added = repositories::add_many(self.engine.db(), &[new], now).await;
        let id = added.unwrap()[0].id();
        let units = registry::of_repository(id, &url);
        self.engine.enqueue(units).await.unwrap();
        let path = path.to_owned();
        Subject { id, host, path }
    }

    /// Watches a repository of the organisation of which nothing is published, with these files.
    pub(crate) async fn watch(&self, host: &'static str, files: Vec<File>) -> Subject {
        let all = self.server.world().public_repositories(host, ORGANISATION);
        let mut free = None;
        for truth in all {
            let url = RepositoryUrl::parse(&format!("https://{host}/{}", truth.path())).unwrap();
            let known = repositories::by_url(self.engine.db(), &url).await.unwrap();
            let published = self
                .server
                .world()
                .published(|all| all.all().any(|one| one.link.as_deref() == Some(&url.url())));
            let plain = !truth.archived && !truth.empty && sim::packages(&truth).is_empty();
            if known.is_none() && !published && plain {
                free = Some(truth);
                break;
            }
        }
        let truth = free.expect("a repository of which nothing is published");
        let world = self.server.world();
        world.plant(host, &truth.path(), files).unwrap();
        self.watch_at(host, &truth.path()).await
    }

    pub(crate) fn publishes(&self, of: &Subject, ecosystem: &str, package: &str, versions: u32) {
        let change = Registration::Publish {
            ecosystem: ecosystem.into(),
            package: package.into(),
            link: Some(of.url()),
            versions,
        };
        self.happens(&change);
    }

    pub(crate) fn happens(&self, change: &Registration) {
        self.server.world().register(change).unwrap();
    }

    pub(crate) fn fault(&self, rule: Rule) -> u64 {
        self.server.plan().add(rule).unwrap()
    }

    pub(crate) fn mends(&self, rule: u64) {
        assert!(self.server.plan().remove(rule));
    }

    pub(crate) fn worker(&self) -> Worker {
        let mut worker = Worker::new(self.engine.clone()).timing(Timing {
            poll: Duration::from_millis(20),
            grace: Duration::from_millis(50),
            ..Timing::default()
        });
        for one in registry::all(&self.outside) {
            worker = worker
                .pool(Pool::new(one.kind.pool, 4))
                .boxed_kind(one.kind, one.handler);
        }
        worker
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let mut work = std::pin::pin!(self.worker().run_until_idle(CancellationToken::new()));
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

    /// Everything about these repositories is asked again, now.
    pub(crate) async fn ask_again(&self, of: &[&Subject]) {
        for one in of {
            let url = RepositoryUrl::parse(&one.url()).unwrap();
            let units = distribution::units(one.id, &url);
            let units = units.into_iter().map(Enqueue::now).collect();
            self.engine.enqueue(units).await.unwrap();
        }
        self.run().await;
    }

    /// `grade ecosystem name` of every gap.
    pub(crate) async fn gaps(&self, of: &Subject) -> Vec<String> {
        let filter = GapFilter {
            repository: Some(of.id),
            ..GapFilter::default()
        };
        let found = gaps(self.engine.db(), &filter, 10_000).await.unwrap();
        let told = found.items.into_iter().map(|kept| {
            let gap = kept.gap;
            format!("{} {} {}", gap.grade.as_str(), gap.ecosystem, gap.name)
        });
        let mut told: Vec<String> = told.collect();
        told.sort();
        told
    }

    /// Removals that were noticed, of any source.
    pub(crate) async fn removals(&self) -> Vec<Event> {
        let filter = EventFilter {
            event: Some("removed".into()),
            ..EventFilter::default()
        };
        let (found, _) = events(self.engine.db(), &filter, 10_000).await.unwrap();
        found
    }

    /// What is known of a repository and of no time: packages by source, and manifests.
    pub(crate) async fn known(&self, of: &Subject) -> Vec<String> {
        let db = self.engine.db();
        let packages = observed::evidence(db, of.id, false, 10_000).await.unwrap();
        let manifests = observed::manifests(db, of.id, false, 10_000).await.unwrap();
        let packages = packages.into_iter().map(|kept| {
            let (source, fact) = (kept.source, kept.fact);
            let count = fact.version_count;
            format!("{source} {}/{} {count:?}", fact.ecosystem, fact.package)
        });
        let manifests = manifests.into_iter().map(|kept| {
            let name = kept.fact.effective_name.unwrap_or_default();
            format!("manifest {} {name}", kept.fact.path)
        });
        packages.chain(manifests).collect()
    }

    pub(crate) async fn source(&self, of: &Subject, source: &str) -> SourceState {
        let states = sources::states(self.engine.db(), of.id).await.unwrap();
        let mut states = states.into_iter();
        let found = states.find(|state| state.source == source);
        found.unwrap_or_else(|| panic!("{source} was never asked about {}", of.path))
    }

    pub(crate) async fn unit(&self, of: &Subject, kind: &str) -> UnitView {
        let address = format!("{kind}:{}", of.id);
        let id = self.engine.find(&address).await.unwrap().unwrap();
        self.engine.unit(id).await.unwrap().unwrap().unit
    }

    /// Every source of the round has told all of them.
    pub(crate) async fn all_is_told(&self, of: &[&Subject]) {
        for one in of {
            for source in SOURCES {
                let state = self.source(one, source).await;
                assert!(state.is_current(), "{} of {}: {state:?}", source, one.path);
            }
        }
    }
}

/// A manifest of an npm package.
pub(crate) fn package_json(directory: &str, name: &str) -> File {
    let text = format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\"}}");
    let path = if directory.is_empty() {
        "package.json".to_owned()
    } else {
        format!("{directory}/package.json")
    };
    File::new(path, text)
}

fn outside(engine: &Engine, settings: &Settings) -> Outside {
    let (db, clock) = (engine.db().clone(), engine.clock().clone());
    let http = Http::new(settings, db, clock, engine.upstreams().clone()).unwrap();
    Outside {
        http,
        distribution: distribution::Settings::default(),
        goindex: collect::goindex::Settings::new(collect::git::remote::Settings::new(
            std::env::temp_dir(),
            "nobody",
        )),
        mail: collect::mail::Settings::new(
            std::env::temp_dir(),
            collect::git::remote::Settings::new(std::env::temp_dir(), "nobody"),
        ),
    }
}
