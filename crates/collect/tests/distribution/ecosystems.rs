//! `distribution/ecosystems`: the same question, of many more registries.

use std::{collections::BTreeSet, time::Duration};

use db::testing::both;
use engine::State;
use sim::{
    Fault, Registration, RetryAfter, Rule,
    upstreams::{Ecosystems, EcosystemsLimits},
};

use crate::registry_world::{CADENCE, DAY, HOST, PARTS, World, ecosystems, name, of_size};

const SOURCE: &str = "ecosystems";
const LINK: &str = "https://github.com/a/b";

fn limits(anonymous: u64, page: usize) -> Ecosystems {
    Ecosystems::new().with_limits(EcosystemsLimits {
        anonymous,
        polite: 1_000,
        page,
        bulk: 1_000,
    })
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_comes_from_each_repository_is_known_exactly_and_asked_together(db: TestDb) {
        let world = World::new(&db, of_size(80)).await;
        let mut links = world.linked(HOST);
        links.extend(world.linked("codeberg.org"));
        let mut ids = Vec::new();
        for link in &links {
            ids.push(world.add(link, ecosystems).await);
        }
        world.run().await;
        let mut redistributed = 0;
        for (id, link) in ids.into_iter().zip(&links) {
            let found = world.evidence(id, SOURCE).await;
            let mut expected = BTreeSet::new();
            for one in world.truth(link) {
                expected.insert(name(&one.ecosystem, &one.package));
                expected.extend(one.carried_by.iter().map(|word| name(word, &one.package)));
                let fact = &found[&name(&one.ecosystem, &one.package)];
                assert_eq!(fact.version_count, Some(i64::from(one.versions)));
                assert_eq!(fact.first_published_at, Some(one.first_at));
                let attributes = fact.attributes.to_map();
                assert!(!attributes.contains_key("redistributor"));
                let status = attributes.get("status").and_then(|status| status.as_str());
                assert_eq!(status, one.deprecated.then_some("deprecated"));
                for word in one.carried_by {
                    let carried = &found[&name(word, &one.package)];
                    assert_eq!(carried.attributes.to_map()["redistributor"], true);
                    redistributed += 1;
                }
            }
            assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), expected, "{link}");
            assert!(world.state(id, SOURCE).await.unwrap().complete);
        }
        assert!(redistributed > 0);
        let asked = world.asked("ecosyste.ms").len();
        assert!(asked * 15 < links.len() + 30, "{asked} questions for {} repositories", links.len());
    }

    async fn alone_it_asks_only_whether_anything_has_changed(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("hex", "phoenix", LINK, 4);
        let id = world.add(LINK, ecosystems).await;
        world.run().await;
        let first = world.asked("ecosyste.ms");
        assert!(first.len() == 1 && first[0].0.contains("repository_url=https%3A%2F%2Fgithub.com%2Fa%2Fb"));
        world.after(30 * DAY).await;
        world.run_now(ecosystems(id, &LINK.parse().unwrap())).await;
        let again = world.asked("ecosyste.ms");
        assert_eq!(again.iter().map(|(_, status)| *status).collect::<Vec<_>>(), [Some(304)]);
        assert_eq!(world.evidence(id, SOURCE).await.len(), 1, "not modified is not empty");
    }

    async fn long_lists_come_in_pages_and_cut_answers_are_asked_one_by_one(db: TestDb) {
        let world = World::new(&db, of_size(0).with(limits(1_000, 100))).await;
        for nth in 0..1_010 {
            world.publish("npm", &format!("many-{nth}"), LINK, 1);
        }
        world.publish("npm", "other", "https://github.com/a/c", 1);
        let id = world.add(LINK, ecosystems).await;
        let other = world.add("https://github.com/a/c", ecosystems).await;
        world.run().await;
        assert_eq!(world.evidence(id, SOURCE).await.len(), 1_010);
        assert_eq!(world.evidence(other, SOURCE).await.len(), 1);
        assert!(world.state(id, SOURCE).await.unwrap().complete);
    }

    async fn a_list_that_changes_under_way_is_not_taken_for_whole(db: TestDb) {
        let world = World::new(&db, of_size(0).with(limits(1_000, 20))).await;
        let names: Vec<String> = (0..60).map(|nth| format!("many-{nth:02}")).collect();
        for package in &names {
            world.publish("npm", package, LINK, 1);
        }
        let id = world.add(LINK, ecosystems).await;
        world.run().await;
        assert_eq!(world.evidence(id, SOURCE).await.len(), 60);
        world.server.journal().clear();

        // Half of them say otherwise before the second page is cut.
        let slow = Rule { path: Some("&page=2".into()), ..Rule::slow("ecosyste.ms", 300) };
        world.server.plan().add(slow).unwrap();
        let meanwhile = async {
            let asked = || world.server.journal().requests("ecosyste.ms");
            while !asked().iter().any(|request| request.path.contains("&page=2")) {
                tokio::task::yield_now().await;
            }
            for package in names.iter().step_by(2) {
                let (ecosystem, package) = ("npm".into(), package.clone());
                world.happens(&Registration::Link { ecosystem, package, link: None });
            }
        };
        tokio::join!(world.after(CADENCE), meanwhile);
        let state = world.state(id, SOURCE).await.unwrap();
        assert!(!state.complete && state.error.unwrap().contains("changed while"));
        assert_eq!(world.evidence(id, SOURCE).await.len(), 60, "nothing is taken for removed");
        // It comes back soon, and then it is whole.
        world.after(Duration::from_mins(5)).await;
        assert!(world.state(id, SOURCE).await.unwrap().complete);
        assert_eq!(world.evidence(id, SOURCE).await.len(), 30);
    }

    async fn whoever_says_who_they_are_is_served(db: TestDb) {
        let world = World::new(&db, of_size(0).with(limits(0, 100))).await;
        world.publish("npm", "one", LINK, 1);
        let id = world.add(LINK, ecosystems).await;
        world.run().await;
        let view = world.unit(&format!("distribution/ecosystems:{id}")).await;
        assert_eq!((view.state, view.strikes), (State::Ready, 0));
        assert_eq!(world.asked("ecosyste.ms")[0].1, Some(429));

        let world = world.wishing(|wishes| {
            wishes.polite_address = Some("ops@gleaner.example".into());
            wishes.user_agent = Some("somebody else".into());
        });
        world.after(DAY).await;
        let asked = world.asked("ecosyste.ms");
        assert!(asked[0].0.contains("mailto=ops%40gleaner.example"), "{asked:?}");
        assert_eq!(world.evidence(id, SOURCE).await.len(), 1);
    }

    async fn removed_packages_stay_with_their_status_and_come_back(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("composer", "vendor/thing", LINK, 2);
        let id = world.add(LINK, ecosystems).await;
        world.run().await;
        let status = async || {
            let found = world.evidence(id, SOURCE).await;
            let attributes = found["composer/vendor/thing"].attributes.to_map();
            attributes.get("status").and_then(|status| status.as_str()).map(str::to_owned)
        };
        assert_eq!(status().await, None);
        world.remove("composer", "vendor/thing");
        world.after(CADENCE).await;
        assert_eq!(status().await.as_deref(), Some("removed"));
        world.restore("composer", "vendor/thing");
        world.after(CADENCE).await;
        assert_eq!(status().await, None);
    }

    async fn failures_keep_what_is_known(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "one", LINK, 1);
        let id = world.add(LINK, ecosystems).await;
        world.run().await;
        let before = world.kept(id, SOURCE).await;
        for fault in [
            Fault::status(500),
            Fault::status(404),
            Fault::Truncated,
            Fault::HtmlWall,
            Fault::too_many(RetryAfter::DateIn(60)),
            Fault::WrongJson { body: Some("{}".into()) },
            Fault::WrongJson { body: Some(r#"{"error":"no"}"#.into()) },
        ] {
            let what = format!("{fault:?}");
            // Something new, so that "not modified" is no answer.
            let (ecosystem, package) = ("npm".into(), "one".into());
            world.happens(&Registration::Release { ecosystem, package, versions: 1 });
            let rule = world.server.plan().add(Rule::on("ecosyste.ms", fault)).unwrap();
            world.run_now(ecosystems(id, &LINK.parse().unwrap())).await;
            assert!(world.state(id, SOURCE).await.unwrap().error.is_some(), "{what}");
            assert_eq!(world.kept(id, SOURCE).await, before, "{what}");
            world.server.plan().remove(rule);
            world.hand.advance(Duration::from_mins(2));
        }
        // Rows of others, or such as say nothing, are no answer either.
        let foreign = r#"[{"name":"x","ecosystem":"npm","repository_url":"https://github.com/x/y"},{}]"#;
        let rule = Fault::WrongJson { body: Some(foreign.into()) };
        let rule = world.server.plan().add(Rule::on("ecosyste.ms", rule)).unwrap();
        world.run_now(ecosystems(id, &LINK.parse().unwrap())).await;
        assert!(!world.state(id, SOURCE).await.unwrap().complete);
        assert_eq!(world.evidence(id, SOURCE).await.keys().collect::<Vec<_>>(), ["npm/one"]);
        world.server.plan().remove(rule);
    }

    async fn without_cross_check_it_is_asked_only_where_depsdev_had_nothing(db: TestDb) {
        let world = World::new(&db, of_size(0)).await.wishing(|wishes| wishes.cross_check = false);
        world.publish("npm", "one", LINK, 1);
        world.publish("hex", "two", "https://github.com/a/c", 1);
        let mut ids = Vec::new();
        for link in [LINK, "https://github.com/a/c"] {
            // deps.dev's unit comes by itself: the other waits for it.
            ids.push(world.add(link, ecosystems).await);
        }
        world.run().await;
        assert_eq!(world.evidence(ids[0], "depsdev").await.len(), 1);
        assert!(world.state(ids[0], SOURCE).await.is_none(), "what was not asked is not recorded as asked");
        assert_eq!(world.evidence(ids[1], SOURCE).await.len(), 1);
        let asked = world.asked("ecosyste.ms");
        assert!(asked.len() == 1 && asked[0].0.contains("a%2Fc"), "{asked:?}");
    }
}
