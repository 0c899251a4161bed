//! Whatever goes wrong at a forge, no evidence is lost and nothing is called removed that is not.

use std::time::Duration;

use db::{sql, testing::both};
use engine::State;
use sim::{Change, Fault, File, RetryAfter, Rule, upstreams};

use crate::at_forges::{AtForges, DAY, FORGES, PARTS, of_size};

/// The path of a tree, of contents, of releases and of packages, on any forge.
const TREE: &str = "/git/trees/|/repository/tree";
const CONTENTS: &str = "/git/blobs/|/repository/blobs/|graphql";

fn faults() -> Vec<Fault> {
    vec![
        Fault::too_many(RetryAfter::Seconds(600)),
        Fault::status(500),
        Fault::status(503),
        Fault::status(403),
        Fault::Truncated,
        Fault::ResetInBody,
        Fault::HtmlWall,
        Fault::WrongJson { body: None },
        Fault::WrongJson {
            body: Some("{}".into()),
        },
    ]
}

/// Something to lose: declared in two places, released and packaged.
fn rich(found: &sim::Repository) -> bool {
    !sim::declared(found).is_empty()
        && !sim::releases(found).is_empty()
        && sim::packages(found)
            .iter()
            .any(|one| one.linked && one.kind != "container")
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_fault_loses_nothing(db: TestDb) {
        let world = AtForges::new(&db, of_size(200)).await;
        let mut added = Vec::new();
        for host in FORGES {
            let truth = world.member(host, rich);
            added.push((world.add(host, &truth.path()).await, host, truth));
        }
        let all: Vec<_> = added.iter().map(|(id, host, _)| (*id, *host)).collect();
        world.run().await;
        world.after(DAY / 24).await;
        let sources = ["manifests", "releases", "packages"];
        for fault in faults() {
            // Something to tell, so that no answer is "not modified", and no listing at hand.
            world.hand.advance(2 * DAY);
            let (mut rules, mut before) = (Vec::new(), Vec::new());
            for (id, host, truth) in &added {
                let push = Change::Push { repository: truth.path() };
                world.server.world().apply(host, &push).unwrap();
                let known = known(&world, *id).await;
                assert!(!known.0.is_empty() && !known.1.is_empty() && !known.2.is_empty(), "{host}");
                before.push(known);
                rules.push(world.server.plan().add(Rule::on(host, fault.clone())).unwrap());
            }
            let started = world.engine.clock().now();
            world.scan_now(&all).await;
            for ((id, host, _), before) in added.iter().zip(before) {
                assert_eq!(known(&world, *id).await, before, "{host} {fault:?}");
                for source in sources {
                    let state = world.source(*id, source).await;
                    // A limit that one run met keeps others from asking at all.
                    let asked = state.last_asked >= started;
                    assert!(state.error.is_some() || !asked, "{host} {source} {fault:?} {state:?}");
                    let unit = world.unit(&format!("distribution/{source}:{id}")).await;
                    assert_eq!(unit.state, State::Ready, "{host} {source} {fault:?}");
                }
            }
            for rule in rules {
                assert!(world.server.plan().remove(rule));
            }
            // Longer than any announced limit, and than a breaker stays open.
            world.hand.advance(Duration::from_hours(3));
            world.scan_now(&all).await;
            for (id, host, _) in &added {
                for source in sources {
                    let state = world.source(*id, source).await;
                    assert!(state.complete && state.error.is_none(), "{host} {fault:?} {state:?}");
                }
            }
        }
    }

    async fn an_outage_in_the_middle_keeps_what_was_known(db: TestDb) {
        let world = AtForges::new(&db, of_size(400)).await;
        for host in FORGES {
            let truth = world.member(host, rich);
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            let known = known(&world, id).await;
            // The tree comes, with manifests gone and one that is new; its contents do not.
            let text = format!("{{\"name\": \"new-at-{host}\", \"version\": \"1.0.0\"}}");
            let file = File::new("new/package.json", text);
            world.server.world().plant(host, &truth.path(), vec![file]).unwrap();
            let outage = Rule::on(host, Fault::status(503)).path(CONTENTS);
            let rule = world.server.plan().add(outage).unwrap();
            world.hand.advance(DAY / 24);
            world.scan_now(&[(id, host)]).await;
            assert_eq!(self::known(&world, id).await.0, known.0, "{host}");
            assert!(world.server.plan().remove(rule));
            world.after(Duration::from_hours(3)).await;
            world.scan_now(&[(id, host)]).await;
            let manifests = world.manifests(id).await;
            let here: Vec<_> = manifests.iter().filter(|kept| kept.gone_at.is_none()).collect();
            assert_eq!(here.len(), 1, "{host}: {manifests:?}");
            assert_eq!(here[0].fact.path, "new/package.json");
        }
    }

    async fn a_refused_tree_is_not_an_empty_one(db: TestDb) {
        let world = AtForges::new(&db, of_size(60)).await;
        for host in FORGES {
            let truth = world.member(host, |found| !sim::declared(found).is_empty());
            let refusal = Rule::on(host, Fault::status(403)).path(TREE);
            let rule = world.server.plan().add(refusal).unwrap();
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            let state = world.source(id, "manifests").await;
            assert!(!state.complete && state.last_answered.is_none(), "{host} {state:?}");
            assert!(world.source(id, "releases").await.last_answered.is_some(), "others go on");
            assert!(world.unit(&format!("distribution/manifests:{id}")).await.strikes > 0);
            assert!(world.server.plan().remove(rule));
            world.after(Duration::from_hours(3)).await;
            assert!(world.source(id, "manifests").await.complete, "{host}");
        }
    }

    async fn empty_taken_down_gone_and_renamed_are_knowledge(db: TestDb) {
        let world = AtForges::new(&db, of_size(400)).await;
        for host in FORGES {
            let empty = world.member(host, |found| found.empty);
            let id = world.add(host, &empty.path()).await;
            world.run().await;
            let state = world.source(id, "manifests").await;
            assert!(state.complete, "{host} {state:?}");
            assert!(world.manifests(id).await.is_empty());

            let truth = world.member(host, rich);
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            world.after(DAY / 24).await;
            let known = known(&world, id).await;
            let repository = truth.id.to_string();
            let happens = |change: &Change| world.server.world().apply(host, change).unwrap();
            happens(&Change::Rename { repository: repository.clone(), name: "renamed".into() });
            world.hand.advance(2 * DAY);
            // Nobody has noticed yet: it is asked for by its number, or its old name leads on.
            world.scan_now(&[(id, host)]).await;
            let followed = self::known(&world, id).await;
            assert_eq!((&followed.0, &followed.2), (&known.0, &known.2), "{host}");
            assert!(world.source(id, "manifests").await.complete, "{host}");

            for (gone, back) in [
                (Change::Block { repository: repository.clone() }, Change::Unblock { repository: repository.clone() }),
                (Change::Hide { repository: repository.clone() }, Change::Publish { repository: repository.clone() }),
            ] {
                happens(&gone);
                world.hand.advance(2 * DAY);
                world.scan_now(&[(id, host)]).await;
                let now = self::known(&world, id).await;
                assert_eq!(now.0, known.0, "{host} {gone:?}");
                assert_eq!(now.1, known.1, "{host} {gone:?}");
                let state = world.source(id, "manifests").await;
                assert!(state.error.is_some(), "{host} {gone:?}");
                let unit = world.unit(&format!("distribution/manifests:{id}")).await;
                assert_eq!((unit.state, unit.strikes), (State::Ready, 0), "{host} {gone:?}");
                happens(&back);
                world.hand.advance(2 * DAY);
                world.scan_now(&[(id, host)]).await;
                assert!(world.source(id, "manifests").await.complete, "{host} {back:?}");
            }
        }
    }

    async fn lost_caches_cost_questions_and_nothing_else(db: TestDb) {
        let world = AtForges::new(&db, of_size(60)).await;
        for host in FORGES {
            let truth = world.member(host, |found| sim::declared(found).len() == 2);
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            world.after(DAY / 24).await;
            let known = known(&world, id).await;
            for text in [
                "DELETE FROM http_cache",
                "DELETE FROM manifest_blob",
                "DELETE FROM owner_packages",
            ] {
                world.engine.db().execute(sql!(text)).await.unwrap();
                world.hand.advance(DAY / 2);
                world.scan_now(&[(id, host)]).await;
                assert_eq!(self::known(&world, id).await, known, "{host} {text}");
                assert!(world.source(id, "manifests").await.complete);
            }
            // "Not modified" of something that nobody has is no answer.
            world.engine.db().execute(sql!("DELETE FROM http_cache")).await.unwrap();
            world.hand.advance(2 * DAY);
            let rule = world.server.plan().add(Rule::on(host, Fault::status(304))).unwrap();
            world.scan_now(&[(id, host)]).await;
            assert_eq!(self::known(&world, id).await, known, "{host}");
            for source in ["manifests", "releases", "packages"] {
                let state = world.source(id, source).await;
                assert!(state.error.is_some(), "{host} {state:?}");
            }
            assert!(world.server.plan().remove(rule));
        }
    }

    async fn better_parsers_read_what_was_fetched_before(db: TestDb) {
        let world = AtForges::new(&db, of_size(60)).await;
        for host in FORGES {
            let truth = world.member(host, |found| sim::declared(found).len() == 2);
            let mut files = sim::files(&truth);
            // Shares a manifest's name, and is none.
            files.push(File::new("site/meta.yaml", "title: nothing\n"));
            world.server.world().plant(host, &truth.path(), files).unwrap();
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            let known = known(&world, id).await.0;
            assert!(!known.is_empty());
            world.forget_requests();
            let older = async || {
                let text = "UPDATE source_state SET collector_version = 0 WHERE source = 'manifests'";
                world.engine.db().execute(sql!(text)).await.unwrap();
                world.hand.advance(20 * DAY);
                world.scan_now(&[(id, host)]).await;
            };
            older().await;
            let asked = world.asked(host);
            assert!(asked.iter().all(|(path, _)| !path.contains("tree")), "{host} {asked:?}");
            let state = world.source(id, "manifests").await;
            assert!(state.complete && state.collector_version > Some(0), "{state:?}");
            assert_eq!(self::known(&world, id).await.0, known, "{host}");

            // What is no longer kept is asked for.
            world.engine.db().execute(sql!("DELETE FROM manifest_blob")).await.unwrap();
            older().await;
            assert!(world.asked(host).iter().any(|(path, _)| path.contains("tree")), "{host}");
            assert_eq!(self::known(&world, id).await.0, known, "{host}");
        }
    }

    async fn a_truncated_tree_is_walked_within_bounds(db: TestDb) {
        let config = of_size(30)
            .with(upstreams::GitHub::enterprise("github.example.org").with_tree_entries(12))
            .with(upstreams::Gitea::new("codeberg.org").with_trees_per_page(7));
        let world = AtForges::new(&db, config).await;
        let package = |directory: &str| {
            File::new(format!("{directory}/package.json"), "{\"name\": \"n\", \"version\": \"1.0.0\"}")
        };
        let mut files: Vec<File> = (0..8).map(|n| File::new(format!("part-{n}/src/a.txt"), "a")).collect();
        files.extend(["part-1", "part-3/a/b", "part-7/c", "vendor/x"].map(package));
        for host in ["github.example.org", "codeberg.org"] {
            let truth = world.member(host, |found| !found.empty);
            world.server.world().plant(host, &truth.path(), files.clone()).unwrap();
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            assert_eq!(world.manifests(id).await.len(), 4, "{host}");
            assert!(world.source(id, "manifests").await.complete, "{host}");
        }

        // More directories than are walked: a part, which ends nothing.
        let host = "github.example.org";
        let first = world.member(host, |found| !found.empty).id;
        let truth = world.member(host, |found| !found.empty && found.id != first);
        world.server.world().plant(host, &truth.path(), vec![package("zz")]).unwrap();
        let id = world.add(host, &truth.path()).await;
        world.run().await;
        assert!(world.source(id, "manifests").await.complete);
        let many = (0..120).map(|n| package(&format!("dir-{n:03}/deep"))).collect();
        world.server.world().plant(host, &truth.path(), many).unwrap();
        world.hand.advance(DAY);
        world.scan_now(&[(id, host)]).await;
        let state = world.source(id, "manifests").await;
        assert!(!state.complete && state.error.unwrap().contains("truncated"));
        let manifests = world.manifests(id).await;
        assert!(manifests.iter().all(|kept| kept.gone_at.is_none()));
        assert!(manifests.iter().any(|kept| kept.fact.path == "zz/package.json"));
        let unit = world.unit(&format!("distribution/manifests:{id}")).await;
        assert_eq!(unit.strikes, 0);
    }

    async fn a_token_without_the_right_is_no_empty_registry(db: TestDb) {
        let mut config = of_size(400);
        config.tokens = vec![
            sim::Token::new("github.example.org", "ours", "s3cret-of-ours").with_scopes(&["public_repo"]),
        ];
        let world = AtForges::new(&db, config).await;
        let host = "github.example.org";
        let truth = world.member(host, rich);
        let id = world.add(host, &truth.path()).await;
        world.run().await;
        let state = world.source(id, "packages").await;
        assert!(!state.complete && state.last_answered.is_none(), "{state:?}");
        assert!(state.error.unwrap().contains("read:packages"));
        assert!(world.source(id, "manifests").await.complete);
    }
}

type Known = (
    Vec<(String, Option<String>, bool)>,
    Vec<(String, String, bool)>,
    Vec<(String, String, bool)>,
);

/// What is known: each fact, and whether it is gone.
async fn known(world: &AtForges, id: i64) -> Known {
    let manifests = world.manifests(id).await.into_iter();
    let evidence = async |source: &str| {
        let all = world.evidence(id, source).await.into_iter();
        all.map(|kept| {
            (
                kept.fact.ecosystem,
                kept.fact.package,
                kept.gone_at.is_some(),
            )
        })
        .collect()
    };
    (
        manifests
            .map(|kept| {
                (
                    kept.fact.path,
                    kept.fact.effective_name,
                    kept.gone_at.is_some(),
                )
            })
            .collect(),
        evidence("releases").await,
        evidence("packages").await,
    )
}
