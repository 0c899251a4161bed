//! Every grade against what is true in the simulated world.

use std::{collections::BTreeMap, time::Duration};

use collect::{
    http::{Http, Limits, Settings, Token, UpstreamSettings},
    registry::{self, Outside},
};
use db::{Clock, Part, testing::both};
use engine::{Engine, Pool, Timing, Worker};
use facts::repository::RepositoryUrl;
use sim::{Config, Fate, ORGANISATION, Repository, Server, WorldClock, WorldSize};
use store::{
    distribution::{GapFilter, gaps},
    repositories::{self, NewRepository},
};
use tokio_util::sync::CancellationToken;

const PARTS: &[Part] = &[engine::PART, store::PART];
const FORGES: [&str; 3] = ["github.com", "gitlab.example.org", "codeberg.org"];

both! {
    const PARTS: &[Part] = PARTS;

    async fn every_grade_is_true(db: TestDb) {
        let epoch = db::Timestamp::from_micros(sim::EPOCH.as_microsecond());
        let (clock, hand) = Clock::fake(epoch);
        let follows = clock.clone();
        let server = Server::start(Config {
            size: WorldSize { repositories: 0, organisation: 60 },
            clock: WorldClock::given(1.0, move || follows.now().as_micros()),
            ..Config::default()
        }).await.unwrap();
        let mut settings = Settings::new("https://gleaner.example/contact");
        for name in server.upstreams() {
            let upstream = UpstreamSettings {
                allow_private: true,
                tokens: vec![Token::new("ours", "s3cret-of-ours")],
                limits: Limits { total: Duration::from_secs(20), idle: Duration::from_secs(10), ..Limits::default() },
                ..UpstreamSettings::at(server.host_url(name).unwrap())
            };
            settings.upstreams.insert(name.to_owned(), upstream);
        }
        let engine = Engine::new((*db).clone(), clock.clone());
        let http = Http::new(&settings, (*db).clone(), clock, engine.upstreams().clone()).unwrap();
        let nobody = collect::git::remote::Settings::new(std::env::temp_dir(), "nobody");
        let outside = Outside {
            http,
            distribution: collect::distribution::Settings::default(),
            goindex: collect::goindex::Settings::new(nobody),
        };

        let mut added: Vec<(&str, i64, Repository)> = Vec::new();
        for host in FORGES {
            for truth in server.world().public_repositories(host, ORGANISATION) {
                if truth.archived { continue; }
                let url = RepositoryUrl::parse(&format!("https://{host}/{}", truth.path())).unwrap();
                let now = engine.clock().now();
                let id = repositories::add_many(engine.db(), &[NewRepository::from(url.clone())], now).await.unwrap()[0].id();
                engine.enqueue(registry::of_repository(id, &url)).await.unwrap();
                added.push((host, id, truth));
            }
        }
        for _ in 0..3 {
            let mut worker = Worker::new(engine.clone()).timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            });
            for one in registry::all(&outside) {
                worker = worker.pool(Pool::new(one.kind.pool, 8)).boxed_kind(one.kind, one.handler);
            }
            let mut work = std::pin::pin!(worker.run_until_idle(CancellationToken::new()));
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            loop {
                tokio::select! {
                    done = &mut work => { done.unwrap(); break; }
                    _ = ticks.tick() => hand.advance(Duration::from_millis(5)),
                }
            }
            hand.advance(Duration::from_mins(20));
        }

        let mut wrong = Vec::new();
        let mut right: BTreeMap<String, usize> = BTreeMap::new();
        for (host, id, truth) in &added {
            let filter = GapFilter { repository: Some(*id), ..GapFilter::default() };
            let found = gaps(engine.db(), &filter, 100).await.unwrap().items;
            let mut seen: BTreeMap<(String, String), (String, String)> = found.into_iter()
                .map(|kept| ((kept.gap.ecosystem.clone(), kept.gap.name.clone()), (kept.gap.grade.as_str().to_owned(), kept.gap.reason.unwrap_or_default())))
                .collect();
            for one in sim::declared(truth) {
                let fate = server.world().published(|all| all.fate(host, truth, &one));
                let in_forge = sim::packages(truth).iter().any(|packaged| packaged.name == one.package
                    && packaged.kind == one.ecosystem && (packaged.linked || host.starts_with("gitlab")));
                let expected = match fate {
                    _ if one.intent != "yes" || in_forge => None,
                    Fate::Published => None,
                    Fate::Renamed(_) => Some("name-differs"),
                    Fate::Taken(_) => Some("name-conflict"),
                    Fate::Silent => Some("unknown"),
                    Fate::Unpublished => Some("orphan"),
                };
                let got = seen.remove(&(one.ecosystem.to_owned(), one.package.clone()));
                let grade = got.as_ref().map(|(grade, _)| grade.as_str());
                if grade == expected {
                    *right.entry(expected.unwrap_or("none").to_owned()).or_default() += 1;
                } else {
                    wrong.push(format!("{host} {} {}/{}: {fate:?} in_forge={in_forge} expected {expected:?} got {got:?}", truth.path(), one.ecosystem, one.package));
                }
            }
            for (key, got) in seen {
                let extra = server.world().publication(&key.0, &key.1);
                if got.0 == "undeclared" && extra.is_some_and(|one| one.declared_as.is_none()) {
                    *right.entry("undeclared".to_owned()).or_default() += 1;
                } else {
                    wrong.push(format!("{host} {} {key:?}: unexpected {got:?}", truth.path()));
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "right {right:?}, wrong {}:
{}",
            wrong.len(),
            wrong.join("
")
        );
        // Every sort of truth is there.
        assert!(right.len() == 6 && right.values().all(|count| *count > 5), "{right:?}");
    }
}
