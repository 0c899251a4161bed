//! The Go index: what tags name is kept, and the feed can be followed by anybody without a gap.

use std::{collections::BTreeSet, time::Duration};

use db::{Db, DbError, Part, Timestamp, sql, testing::both, transact};
use facts::repository::RepositoryUrl;
use store::{
    goindex::{self, Asked, Entry, NewTag, NewVersion},
    repositories,
};

const PARTS: &[Part] = &[store::PART];

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + micros)
}

async fn repository(db: &Db, name: &str) -> i64 {
    let url = RepositoryUrl::parse(&format!("https://forge.example/team/{name}")).unwrap();
    let url = &url;
    let id: Result<i64, DbError> = transact!(db, |tx| {
        let added = repositories::add(tx, url.clone().into(), at(0)).await?;
        goindex::began(tx, added.id(), at(0)).await?;
        Ok(added.id())
    });
    id.unwrap()
}

fn tag(name: &str, commit: &str, rejection: Option<(&'static str, &str)>) -> NewTag {
    NewTag {
        name: name.to_owned(),
        commit: Some(commit.to_owned()),
        object: commit.to_owned(),
        committed_at: Some(at(-1)),
        top_go_mod: Some(true),
        rejection: rejection.map(|(word, why)| (word, why.to_owned())),
    }
}

fn version(path: &str, name: &str, tag: &str, commit: &str) -> NewVersion {
    NewVersion {
        path: path.to_owned(),
        version: name.to_owned(),
        tag: tag.to_owned(),
        commit: commit.to_owned(),
        directory: String::new(),
        go_mod: Some("ab".to_owned()),
        origin: "known",
        root: path.to_owned(),
        committed_at: Some(at(-1)),
    }
}

async fn record(db: &Db, repository: i64, tags: &[NewTag], versions: &[NewVersion]) {
    let written: Result<(), DbError> = transact!(db, |tx| {
        goindex::record(tx, repository, tags, versions, at(0)).await
    });
    written.unwrap();
}

async fn publish(db: &Db, limit: usize, now: Timestamp) -> goindex::Published {
    let done: Result<_, DbError> = transact!(db, |tx| goindex::publish(tx, limit, now).await);
    done.unwrap()
}

async fn page(db: &Db, asked: Asked) -> Vec<Entry> {
    goindex::page(db, &asked).await.unwrap()
}

async fn everything(db: &Db, all: bool) -> Vec<(String, String)> {
    let asked = Asked {
        all,
        limit: 1_000_000,
        ..Asked::default()
    };
    let entries = page(db, asked).await;
    entries
        .into_iter()
        .map(|one| (one.path, one.version))
        .collect()
}

/// Chance that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn moments_grow_whatever_the_clock_does(db: TestDb) {
        let id = repository(&db, "a").await;
        let versions: Vec<NewVersion> = (0..7)
            .map(|n| version("forge.example/team/a", &format!("v1.0.{n}"), &format!("v1.0.{n}"), "c"))
            .collect();
        let tags: Vec<NewTag> = (0..7).map(|n| tag(&format!("v1.0.{n}"), "c", None)).collect();
        record(&db, id, &tags, &versions).await;
        record(&db, id, &tags, &versions).await;
        assert_eq!(publish(&db, 3, at(100)).await, goindex::Published { count: 3, last: 3 });
        // The clock stands still, then is set back by an hour.
        assert_eq!(publish(&db, 3, at(100)).await.last, 6);
        let done = publish(&db, 3, at(100).minus(Duration::from_hours(1))).await;
        assert_eq!(done, goindex::Published { count: 1, last: 7 });
        assert_eq!(publish(&db, 3, at(200)).await, goindex::Published { count: 0, last: 7 });
        let entries = page(&db, Asked { limit: 100, ..Asked::default() }).await;
        let moments: Vec<Timestamp> = entries.iter().map(|one| one.published_at).collect();
        let expected: Vec<Timestamp> = (100..107).map(at).collect();
        assert_eq!(moments, expected);
        let seqs: Vec<i64> = entries.iter().map(|one| one.seq).collect();
        assert_eq!(seqs, (1..=7).collect::<Vec<i64>>());
    }

    async fn pages_are_inclusive_and_can_be_narrowed(db: TestDb) {
        let id = repository(&db, "a").await;
        for (n, path) in ["x.example/a", "x.example/ab", "y.example/c"].into_iter().enumerate() {
            let name = format!("t{n}");
            record(&db, id, &[tag(&name, "c", None)], &[version(path, "v1.0.0", &name, "c")]).await;
            publish(&db, 10, at(i64::try_from(n).unwrap() * 10)).await;
        }
        let paths = async |asked: Asked| -> Vec<String> {
            page(&db, asked).await.into_iter().map(|one| one.path).collect()
        };
        let asked = || Asked { limit: 10, ..Asked::default() };
        let since = |micros| Some(at(micros));
        assert_eq!(paths(Asked { since: since(10), ..asked() }).await, ["x.example/ab", "y.example/c"]);
        assert_eq!(paths(Asked { since: since(11), ..asked() }).await, ["y.example/c"]);
        assert_eq!(paths(Asked { after: Some(1), ..asked() }).await, ["x.example/ab", "y.example/c"]);
        let prefix = Some("x.example/a".to_owned());
        assert_eq!(paths(Asked { prefix: prefix.clone(), ..asked() }).await, ["x.example/a", "x.example/ab"]);
        assert_eq!(paths(Asked { prefix, after: Some(1), ..asked() }).await, ["x.example/ab"]);
        // One line from a line that is known: the next comes along.
        assert_eq!(paths(Asked { since: since(0), limit: 1, ..asked() }).await.len(), 2);
        assert_eq!(paths(Asked { since: since(1), limit: 1, ..asked() }).await.len(), 1);
        assert_eq!(paths(Asked { limit: 1, ..asked() }).await.len(), 1);
    }

    async fn whoever_follows_misses_nothing_and_ends(db: TestDb) {
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            ids.push(repository(&db, name).await);
        }
        for seed in 0..4_u64 {
            let mut dice = Dice(seed);
            let mut expected: BTreeSet<(String, String)> =
                everything(&db, false).await.into_iter().collect();
            // One client for each limit; the last one is the package site's.
            let mut clients: Vec<Client> =
                [1, 2, 3, 7, 10].map(|limit| (limit, None, BTreeSet::new())).to_vec();
            let mut now = i64::try_from(seed).unwrap() * 1_000_000;
            for round in 0..30 {
                // Several writers commit, in any order, some of it late.
                for _ in 0..dice.below(4) {
                    let id = ids[dice.below(3) as usize];
                    let name = format!("v{seed}.{round}.{}", dice.below(1_000));
                    let path = format!("forge.example/team/{id}");
                    expected.insert((path.clone(), name.clone()));
                    record(&db, id, &[tag(&name, "c", None)], &[version(&path, &name, &name, "c")]).await;
                }
                now += i64::try_from(dice.below(3)).unwrap() - 1;
                publish(&db, 1 + dice.below(5) as usize, at(now)).await;
                for (limit, since, seen) in &mut clients {
                    follow(&db, *limit, since, seen).await;
                }
            }
            while publish(&db, 5, at(now)).await.count > 0 {}
            for (limit, since, seen) in &mut clients {
                let mut steps = 0;
                while follow(&db, *limit, since, seen).await {
                    steps += 1;
                    assert!(steps < 10_000, "a client with limit {limit} does not end");
                }
                assert_eq!(*seen, expected, "limit {limit}");
            }
        }
    }

    async fn what_became_of_tags_is_told_and_the_first_commit_stays(db: TestDb) {
        let id = repository(&db, "a").await;
        let path = "forge.example/team/a";
        let tags = [tag("v1.0.0", "c1", None), tag("v1.1.0", "c2", None), tag("wip", "c3", Some(("not-a-version", "no")))];
        record(&db, id, &tags, &[version(path, "v1.0.0", "v1.0.0", "c1"), version(path, "v1.1.0", "v1.1.0", "c2")]).await;
        publish(&db, 10, at(1)).await;
        let before = goindex::validator(&db).await.unwrap();

        let moved = [("v1.0.0".to_owned(), "c9".to_owned())];
        let gone = ["v1.1.0".to_owned(), "wip".to_owned()];
        let (moved, gone) = (&moved, &gone);
        let noted: Result<(), DbError> = transact!(db, |tx| {
            goindex::moved(tx, id, moved, at(5)).await?;
            goindex::moved(tx, id, moved, at(6)).await?;
            goindex::vanished(tx, id, gone, at(5)).await
        });
        noted.unwrap();
        assert_ne!(goindex::validator(&db).await.unwrap(), before);
        assert_eq!(everything(&db, false).await, [(path.to_owned(), "v1.0.0".to_owned())]);
        assert_eq!(everything(&db, true).await.len(), 2);
        let versions = goindex::versions(&db, path, 10).await.unwrap();
        assert_eq!(versions[0].commit, "c1");
        assert_eq!(versions[0].moved_at, Some(at(5)));
        assert_eq!(versions[1].gone_at, Some(at(5)));

        let back: Result<(), DbError> = transact!(db, |tx| goindex::returned(tx, id, gone, at(7)).await);
        back.unwrap();
        assert_eq!(everything(&db, false).await.len(), 2);
        let events = goindex::events(&db, 0, 10).await.unwrap();
        let told: Vec<(&str, &str, Option<&str>)> = events
            .iter()
            .map(|event| (event.event.as_str(), event.tag.as_str(), event.became.as_deref()))
            .collect();
        assert_eq!(told, [("moved", "v1.0.0", Some("c9")), ("vanished", "v1.1.0", None), ("returned", "v1.1.0", None)]);
    }

    async fn a_version_belongs_to_whoever_named_it_first(db: TestDb) {
        let (a, b) = (repository(&db, "a").await, repository(&db, "b").await);
        let one = [version("v.example/x", "v1.0.0", "v1.0.0", "c1")];
        record(&db, a, &[tag("v1.0.0", "c1", None)], &one).await;
        let two = [version("v.example/x", "v1.0.0", "v1.0.0", "c2")];
        record(&db, b, &[tag("v1.0.0", "c2", None)], &two).await;
        record(&db, b, &[tag("v1.0.0", "c2", None)], &two).await;
        publish(&db, 10, at(1)).await;
        assert_eq!(everything(&db, true).await.len(), 1);
        assert_eq!(goindex::versions(&db, "v.example/x", 10).await.unwrap()[0].commit, "c1");
        let events = goindex::events(&db, 0, 10).await.unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].became.as_deref(), Some("v.example/x@v1.0.0"));
        // What was published stays when its repository is no longer watched.
        assert!(repositories::remove(&db, a).await.unwrap());
        assert_eq!(everything(&db, false).await.len(), 1);
    }

    async fn hidden_versions_wait_and_rejected_tags_are_listed(db: TestDb) {
        let id = repository(&db, "a").await;
        let path = "forge.example/team/a";
        let tags = [tag("v2.0.0", "c1", None), tag("v1", "c2", Some(("not-canonical", "a version would be v1.0.0")))];
        record(&db, id, &tags, &[version(path, "v2.0.0+incompatible", "v2.0.0", "c1")]).await;
        assert_eq!(publish(&db, 10, at(1)).await.count, 0);
        let shown = goindex::IncompatibleVersion {
            path: path.to_owned(),
            version: "v2.0.0+incompatible".to_owned(),
            hidden: false,
        };
        let module = goindex::ModuleChange {
            path: path.to_owned(),
            latest: "v2.0.0+incompatible".to_owned(),
            deprecated: Some("use b".to_owned()),
            retractions: vec![("v2.0.0+incompatible".to_owned(), Some(Some("broken".to_owned())))],
        };
        let (module, shown) = (&[module], &[shown]);
        let settled: Result<(), DbError> =
            transact!(db, |tx| goindex::settle(tx, module, shown, at(2)).await);
        settled.unwrap();
        assert_eq!(publish(&db, 10, at(3)).await.count, 1);
        let version = &goindex::versions(&db, path, 10).await.unwrap()[0];
        assert_eq!((version.retracted, version.retraction.as_deref()), (true, Some("broken")));
        let found = goindex::module(&db, path).await.unwrap().unwrap();
        assert_eq!((found.versions, found.deprecated.as_deref()), (1, Some("use b")));
        assert_eq!(goindex::modules(&db, Some("forge."), None, 10).await.unwrap(), [found]);
        let rejected = goindex::rejected(&db, None, 0, 10).await.unwrap();
        assert_eq!((rejected[0].tag.as_str(), rejected[0].reason.as_str()), ("v1", "not-canonical"));
        assert!(goindex::rejected(&db, Some("no-go-mod"), 0, 10).await.unwrap().is_empty());
        let status = goindex::status(&db).await.unwrap();
        assert_eq!((status.repositories, status.tags, status.rejected, status.waiting), (1, 2, 1, 0));
    }

    async fn the_seeds_tables_are_views(db: TestDb) {
        let id = repository(&db, "a").await;
        record(&db, id, &[tag("v1.0.0", "c", None)], &[version("v.example/x", "v1.0.0", "v1.0.0", "c")]).await;
        let done: Result<(), DbError> = transact!(db, |tx| goindex::finished(tx, id, "digest", at(9)).await);
        done.unwrap();
        let row = db.fetch_one(sql!("SELECT org_repo_name, tag_name, created, module_path FROM repo_tags")).await.unwrap();
        assert_eq!(row.get::<String>("org_repo_name").unwrap(), "team/a");
        assert_eq!(row.get::<Timestamp>("created").unwrap(), at(-1));
        assert_eq!(row.get::<String>("module_path").unwrap(), "v.example/x");
        let row = db.fetch_one(sql!("SELECT org_repo_name, indexing_began, indexing_finished FROM repos")).await.unwrap();
        assert_eq!(row.get::<Timestamp>("indexing_finished").unwrap(), at(9));
        let row = db.fetch_one(sql!("SELECT indexing_began, indexing_finished FROM repo_indexing")).await.unwrap();
        assert_eq!(row.get::<Option<Timestamp>>("indexing_began").unwrap(), None);
    }

    async fn a_page_is_read_by_its_index(db: TestDb) {
        let id = repository(&db, "a").await;
        let versions: Vec<NewVersion> = (0..500)
            .map(|n| version("forge.example/team/a", &format!("v1.{n}.0"), "t", "c"))
            .collect();
        record(&db, id, &[tag("t", "c", None)], &versions).await;
        while publish(&db, 100, at(1)).await.count > 0 {}
        db.execute(sql!("ANALYZE")).await.unwrap();
        let explain = match db.dialect() {
            db::Dialect::Sqlite => "EXPLAIN QUERY PLAN ",
            db::Dialect::Postgres => "EXPLAIN ",
        };
        for (condition, order) in [("available AND published_at >= $1", "published_at"), ("published_at >= $1", "published_at")] {
            let text = format!("{explain}SELECT seq, path, version, published_at FROM go_feed WHERE TRUE AND {condition} ORDER BY {order} LIMIT 10");
            let rows = db.fetch_all(db::Statement::built(text).bind(at(400))).await.unwrap();
            let column = if db.dialect() == db::Dialect::Sqlite { "detail" } else { "QUERY PLAN" };
            let plan: Vec<String> = rows.iter().map(|row| row.get(column).unwrap()).collect();
            let plan = plan.join("\n");
            assert!(plan.contains("go_feed_"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("Sort"), "{plan}");
        }
    }
}

/// How many lines it asks for, the last moment it knows, and what it has seen.
type Client = (usize, Option<Timestamp>, BTreeSet<(String, String)>);

/// One step of a client; tells whether it should ask again.
async fn follow(
    db: &Db,
    limit: usize,
    since: &mut Option<Timestamp>,
    seen: &mut BTreeSet<(String, String)>,
) -> bool {
    let asked = Asked {
        since: *since,
        limit,
        ..Asked::default()
    };
    let entries = page(db, asked).await;
    let Some(last) = entries.last().map(|last| last.published_at) else {
        return false;
    };
    let again = *since != Some(last);
    *since = Some(last);
    for one in entries {
        seen.insert((one.path, one.version));
    }
    again
}
