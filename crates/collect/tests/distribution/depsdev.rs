//! `distribution/depsdev` while all is well.

use std::collections::BTreeSet;

use db::testing::both;
use engine::State;
use store::observed;

use crate::registry_world::{CADENCE, DAY, HOST, PARTS, World, depsdev, name, of_size};

const SOURCE: &str = "depsdev";
const SYSTEMS: [&str; 7] = ["cargo", "go", "maven", "npm", "nuget", "pypi", "rubygems"];

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_comes_from_each_repository_is_known_exactly(db: TestDb) {
        let world = World::new(&db, of_size(60)).await;
        let mut links: Vec<String> = world.linked(HOST);
        links.extend(world.linked("gitlab.com"));
        assert!(links.len() > 50, "{}", links.len());
        let (mut ids, mut packages) = (Vec::new(), 0);
        for link in &links {
            ids.push(world.add(&link.to_uppercase().replace("HTTPS", "https"), depsdev).await);
        }
        world.run().await;
        for (id, link) in ids.into_iter().zip(&links) {
            let truth: Vec<_> = world.truth(link).into_iter()
                .filter(|one| SYSTEMS.contains(&one.ecosystem.as_str()))
                .collect();
            let found = world.evidence(id, SOURCE).await;
            let expected: BTreeSet<String> = truth.iter()
                .map(|one| name(&one.ecosystem, &one.package))
                .collect();
            let names: BTreeSet<String> = found.keys().cloned().collect();
            assert_eq!(names, expected, "{link}");
            for one in &truth {
                let fact = &found[&name(&one.ecosystem, &one.package)];
                assert_eq!(fact.version_count, Some(i64::from(one.versions)));
                let versions: Vec<_> = one.all_versions().collect();
                assert_eq!(fact.version.as_ref(), versions.last().map(|last| &last.number));
                assert_eq!(fact.first_published_at, versions.first().map(|first| first.at));
                assert_eq!(fact.latest_published_at, versions.last().map(|last| last.at));
                let attributes = fact.attributes.to_map();
                assert_eq!(attributes["relation"], "source-repo");
                assert_eq!(attributes["provenance"], one.provenance);
                let status = attributes.get("status").and_then(|status| status.as_str());
                assert_eq!(status, one.deprecated.then_some("deprecated"));
            }
            packages += truth.len();
            let state = world.state(id, SOURCE).await.unwrap();
            assert!(state.complete && state.error.is_none());
        }
        // One question for each project and one for each package, the id as one segment.
        let asked = world.asked("deps.dev");
        assert_eq!(asked.len(), links.len() + packages);
        let projects = asked.iter().filter(|(path, _)| path.ends_with(":packageversions"));
        for (path, _) in projects {
            assert!(path.starts_with("/v3/projects/git") && path.matches('/').count() == 3, "{path}");
        }
    }

    async fn hosts_that_it_does_not_know_are_an_answer_that_costs_nothing(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        let id = world.add("https://codeberg.org/alder-0/thing", depsdev).await;
        world.run().await;
        let unit = world.unit(&format!("distribution/depsdev:{id}")).await;
        assert_eq!((unit.state, unit.strikes, unit.upstream), (State::Ready, 0, None));
        assert!(world.state(id, SOURCE).await.unwrap().complete);
        assert_eq!(world.asked("deps.dev"), []);
    }

    async fn a_repository_without_packages_is_known_to_have_none(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        let id = world.add("https://github.com/nobody/nothing", depsdev).await;
        world.run().await;
        assert!(world.state(id, SOURCE).await.unwrap().complete);
        let unit = world.unit(&format!("distribution/depsdev:{id}")).await;
        assert!(unit.due_at.unwrap() > world.engine.clock().now().plus(179 * DAY));
        assert_eq!(world.asked("deps.dev").len(), 1);
    }

    async fn issue_trackers_and_bundled_copies_are_no_publications(db: TestDb) {
        let world = World::new(&db, of_size(200)).await;
        let tracked = world.server.world().published(|all| {
            all.all().find(|one| {
                let tracker = one.tracker.as_deref().unwrap_or_default();
                tracker.starts_with("https://github.com/") && all.linked(tracker).next().is_some()
            }).cloned()
        }).unwrap();
        let link = tracked.tracker.unwrap();
        let id = world.add(&link, depsdev).await;
        let names = (0..40).map(|nth| format!("bundler-{nth}")).collect::<Vec<_>>();
        for package in &names {
            world.publish("npm", package, &link, 1);
        }
        world.run().await;
        let found = world.evidence(id, SOURCE).await;
        assert!(found.len() >= names.len());
        assert!(!found.contains_key(&name("pypi", &tracked.package)), "{found:?}");
        assert!(found.keys().all(|name| !name.contains('>')), "{found:?}");
    }

    async fn former_names_are_asked_for_too(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        let id = world.add("https://github.com/elder/name", depsdev).await;
        world.publish("cargo", "kept", "https://github.com/elder/name", 3);
        world.publish("cargo", "newer", "https://github.com/younger/name", 2);
        world.rename(id, "https://github.com/younger/name").await;
        world.run().await;
        let found = world.evidence(id, SOURCE).await;
        assert_eq!(found.keys().collect::<Vec<_>>(), ["cargo/kept", "cargo/newer"]);
        assert_eq!(found["cargo/kept"].attributes.to_map()["listed_as"], "github.com/elder/name");
        assert!(world.state(id, SOURCE).await.unwrap().complete);

        // Somebody else has the name now, and what they publish is theirs.
        let other = world.add("https://github.com/elder/name", |_, _| None).await;
        if other != id {
            world.after(CADENCE).await;
            assert!(!world.evidence(id, SOURCE).await.contains_key("cargo/kept"));
        }
    }

    async fn removal_and_reappearance_are_seen_when_they_happen(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        let link = "https://github.com/a/b";
        world.publish("npm", "@a/one", link, 3);
        world.publish("pypi", "Two_Words", link, 2);
        let id = world.add(link, depsdev).await;
        world.run().await;
        let found = world.evidence(id, SOURCE).await;
        assert_eq!(found.keys().collect::<Vec<_>>(), ["npm/@a/one", "pypi/two-words"]);
        let paths = world.asked("deps.dev");
        assert!(paths.iter().any(|(path, _)| path.ends_with("/NPM/packages/%40a%2Fone")), "{paths:?}");

        world.remove("npm", "@a/one");
        world.after(CADENCE).await;
        let kept = world.kept(id, SOURCE).await;
        let gone: Vec<_> = kept.iter().filter(|one| one.gone_at.is_some()).collect();
        assert_eq!((kept.len(), gone.len()), (2, 1));
        assert_eq!(gone[0].fact.package, "@a/one");

        world.restore("npm", "@a/one");
        world.after(CADENCE).await;
        assert_eq!(world.evidence(id, SOURCE).await.len(), 2);
        let history = observed::evidence_history(world.engine.db(), id, SOURCE, "npm", "@a/one");
        let history = history.await.unwrap();
        assert_eq!(history.len(), 2);
        assert!(history[0].gone_at.is_some() && history[1].gone_at.is_none());

        // All of it at once: one more question makes sure that it is true.
        world.remove("npm", "@a/one");
        world.remove("pypi", "two-words");
        world.after(CADENCE).await;
        assert!(world.evidence(id, SOURCE).await.is_empty());
        assert!(world.state(id, SOURCE).await.unwrap().complete);
    }
}
