//! Every appearance, removal and reappearance against what happened in the simulated world.
#![expect(clippy::print_stdout, reason = "the test reports figures")]

use std::collections::{BTreeMap, BTreeSet};

use db::{Timestamp, sql, testing::both};
use sim::{Fault, Publication, Repository, Rule, Server, Turn};
use store::{
    distribution::{Event, EventFilter, events},
    observed,
};

use crate::whole_world::{DAY, PARTS, Watched, WholeWorld};

const FORGES: [&str; 5] = [
    "github.com",
    "github.example.org",
    "gitlab.com",
    "gitlab.example.org",
    "codeberg.org",
];

/// Source, repository, ecosystem, package.
type Seen = BTreeSet<(&'static str, i64, String, String)>;
/// The event, and the same.
type Told = BTreeSet<(String, String, i64, String, String)>;

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_event_is_true_and_none_is_missing(db: TestDb) {
        let mut world = WholeWorld::new(&db, 14).await;
        world.watch_all(&FORGES).await;
        let mut history = History::default();

        world.settle().await;
        let first = history.compare(&world, "appeared").await;
        assert!(first["appeared"] > 80 && first.len() == 1, "{first:?}");
        manifests_are_true(&world).await;

        // Nobody can be asked for a while, each in another way: nothing has happened.
        world.hand.advance(181 * DAY);
        let faults = [
            ("deps.dev", Fault::status(503)),
            ("ecosyste.ms", Fault::WrongJson { body: None }),
            ("github.com", Fault::WrongJson { body: None }),
            ("github.example.org", Fault::status(403)),
            ("gitlab.com", Fault::Truncated),
            ("gitlab.example.org", Fault::Reset),
            ("codeberg.org", Fault::HtmlWall),
        ];
        for (upstream, fault) in faults {
            world.server.plan().add(Rule::on(upstream, fault)).unwrap();
        }
        world.settle().await;
        assert!(history.compare(&world, "an outage").await.is_empty());
        // It ends, and still nothing has happened.
        world.server.plan().clear();
        world.hand.advance(DAY);
        world.settle().await;
        assert!(history.compare(&world, "after the outage").await.is_empty());

        // Much happens, and is noticed.
        world.server.world().turn(Turn::Later);
        world.hand.advance(181 * DAY);
        world.settle().await;
        let second = history.compare(&world, "later").await;
        assert!(second["removed"] > 10 && second["appeared"] > 5, "{second:?}");
        manifests_are_true(&world).await;

        // It is undone while nobody can be asked, and noticed when they can.
        world.server.world().turn(Turn::Back);
        world.hand.advance(181 * DAY);
        let before = world.engine.clock().now();
        for upstream in ["deps.dev", "ecosyste.ms"].into_iter().chain(FORGES) {
            world.server.plan().add(Rule::on(upstream, Fault::status(502))).unwrap();
        }
        world.settle().await;
        let meanwhile = all_events(&world, Some(before)).await;
        assert!(meanwhile.is_empty(), "{meanwhile:?}");
        world.server.plan().clear();
        world.hand.advance(DAY);
        world.settle().await;
        let third = history.compare(&world, "back").await;
        assert!(third["reappeared"] > 10 && third["removed"] > 5, "{third:?}");
        manifests_are_true(&world).await;
        println!("first {first:?}, later {second:?}, back {third:?}, and none in an outage");

        // "When did a package first appear in a source's view?", of every one of them.
        for Watched { id, .. } in &world.watched {
            let rows = db.fetch_all(sql!(
                "SELECT package_name, source, MIN(data_collection_date) AS first FROM (
                   SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution_history
                   UNION ALL
                   SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution
                 ) AS seen WHERE repo_id = $1 GROUP BY ecosystem, package_name, source", *id
            )).await.unwrap();
            let firsts: Vec<Timestamp> = rows.iter().map(|row| row.get("first").unwrap()).collect();
            let kept = observed::evidence(&db, *id, true, 10_000).await.unwrap();
            assert_eq!(firsts.len(), kept.len());
            let known: Vec<Timestamp> = kept.iter().map(|one| one.first_seen.into()).collect();
            assert_eq!(sorted(firsts), sorted(known));
        }
    }
}

fn sorted(mut times: Vec<Timestamp>) -> Vec<Timestamp> {
    times.sort();
    times
}

/// What was true when it was last looked.
#[derive(Default)]
struct History {
    now: Seen,
    ever: Seen,
    looked_at: Option<Timestamp>,
}

impl History {
    /// Compares the events since the last look with what became of the world meanwhile; how many of
    /// each sort there were.
    async fn compare(&mut self, world: &WholeWorld, when: &str) -> BTreeMap<String, usize> {
        let now = truth(world);
        let mut expected = Told::new();
        let mut expect =
            |event: &str, (source, id, ecosystem, package): &(&str, i64, String, String)| {
                expected.insert((
                    event.to_owned(),
                    (*source).to_owned(),
                    *id,
                    ecosystem.clone(),
                    package.clone(),
                ));
            };
        for gone in self.now.difference(&now) {
            expect("removed", gone);
        }
        for here in now.difference(&self.now) {
            let known = self.ever.contains(here);
            expect(if known { "reappeared" } else { "appeared" }, here);
        }
        let told = all_events(world, self.looked_at).await;
        let count = told.len();
        let told: Told = told
            .into_iter()
            .map(|one| {
                (
                    one.event,
                    one.source,
                    one.repository,
                    one.ecosystem,
                    one.package,
                )
            })
            .collect();
        let missing: Vec<_> = expected.difference(&told).collect();
        let wrong: Vec<_> = told.difference(&expected).collect();
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "{when}: missing {missing:#?}, wrong {wrong:#?}"
        );
        assert_eq!(count, told.len(), "{when}: an event is told twice");
        self.ever.extend(now.iter().cloned());
        self.now = now;
        // What was settled lies before, what comes lies behind.
        self.looked_at = Some(world.engine.clock().now());
        let mut sorts = BTreeMap::new();
        for (event, ..) in told {
            *sorts.entry(event).or_default() += 1;
        }
        sorts
    }
}

/// All events since a time, page by page.
async fn all_events(world: &WholeWorld, since: Option<Timestamp>) -> Vec<Event> {
    let mut filter = EventFilter {
        since,
        ..EventFilter::default()
    };
    let mut all = Vec::new();
    loop {
        let (page, next) = events(world.engine.db(), &filter, 100).await.unwrap();
        all.extend(page);
        if next.is_none() {
            return all;
        }
        filter.after = next;
    }
}

/// What each source would say of each repository, if it said all that is true.
fn truth(world: &WholeWorld) -> Seen {
    let mut seen = Seen::new();
    for Watched { host, id, truth } in &world.watched {
        let server = &world.server;
        let now = server.world().repository(host, &truth.path()).unwrap();
        let mut add = |source, names: BTreeSet<(String, String)>| {
            let rows = names.into_iter();
            seen.extend(rows.map(|(ecosystem, package)| (source, *id, ecosystem, package)));
        };
        add("depsdev", in_depsdev(server, host, &now));
        add("ecosystems", in_ecosystems(server, host, &now));
        add("releases", crate::forge_truth::released(&now));
        add("packages", crate::forge_truth::packaged(host, &now));
    }
    seen
}

fn linked(server: &Server, host: &str, now: &Repository) -> Vec<Publication> {
    let address = format!("https://{host}/{}", now.path());
    server.world().published(|all| {
        let linked = all.linked(&address).filter(|one| !one.removed);
        linked.cloned().collect()
    })
}

/// It knows two of the forges, and seven ecosystems.
fn in_depsdev(server: &Server, host: &str, now: &Repository) -> BTreeSet<(String, String)> {
    let known = ["github.com", "gitlab.com"].contains(&host);
    let linked = linked(server, host, now).into_iter();
    linked
        .filter(|one| known && one.ecosystem != "pub")
        .map(|one| (one.ecosystem, one.package))
        .collect()
}

/// It knows all of them, and who carries packages on.
fn in_ecosystems(server: &Server, host: &str, now: &Repository) -> BTreeSet<(String, String)> {
    let mut names = BTreeSet::new();
    for one in linked(server, host, now) {
        let carried = one.carried_by.iter();
        names.extend(carried.map(|word| ((*word).to_owned(), one.package.clone())));
        names.insert((one.ecosystem, one.package));
    }
    names
}

/// The manifests that are known are those that are there.
async fn manifests_are_true(world: &WholeWorld) {
    for Watched { host, id, truth } in &world.watched {
        let kept = observed::manifests(world.engine.db(), *id, true, 10_000)
            .await
            .unwrap();
        let here = kept.iter().filter(|one| one.gone_at.is_none());
        let here: BTreeSet<&str> = here.map(|one| one.fact.path.as_str()).collect();
        let files = world.server.world().files_now(host, &truth.path());
        let paths = files.iter().map(|file| file.path.as_str());
        let expected: BTreeSet<&str> = paths
            .filter(|path| scan::manifest::recognise(path).is_some())
            .collect();
        assert_eq!(here, expected, "{host} {}", truth.path());
    }
}
