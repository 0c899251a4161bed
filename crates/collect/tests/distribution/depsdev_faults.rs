//! `distribution/depsdev` when things go wrong: no evidence is lost, none is made up.

use std::time::Duration;

use db::testing::both;
use engine::State;
use sim::{Fault, Registration, RetryAfter, Rule};

use crate::registry_world::{CADENCE, DAY, PARTS, World, depsdev, of_size};

const SOURCE: &str = "depsdev";
const LINK: &str = "https://github.com/a/b";

/// A world in which two packages of one repository are known.
async fn known(db: &db::testing::TestDb) -> (World, i64, String) {
    let world = World::new(db, of_size(0)).await;
    world.publish("npm", "one", LINK, 3);
    world.publish("pypi", "two", LINK, 2);
    let id = world.add(LINK, depsdev).await;
    world.run().await;
    assert_eq!(world.evidence(id, SOURCE).await.len(), 2);
    world.server.journal().clear();
    (world, id, format!("distribution/depsdev:{id}"))
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn no_failure_of_any_sort_takes_evidence_away(db: TestDb) {
        let (world, id, unit) = known(&db).await;
        let before = world.kept(id, SOURCE).await;
        let faults = [
            Fault::status(503),
            Fault::status(500),
            Fault::status(403),
            Fault::Truncated,
            Fault::ResetInBody,
            Fault::Reset,
            Fault::HtmlWall,
            Fault::WrongJson { body: None },
            Fault::WrongJson { body: Some("{}".into()) },
            Fault::WrongJson { body: Some("[]".into()) },
            Fault::WrongJson { body: Some(r#"{"versions":null}"#.into()) },
            Fault::WrongJson { body: Some(r#"{"versions":[{"versionKey":{}}]}"#.into()) },
            Fault::Status { status: 404, retry_after: None, body: Some("<!doctype html><p>no".into()) },
            // Not found, as a question that was mangled on its way is answered.
            Fault::status(404),
        ];
        for fault in faults {
            let what = format!("{fault:?}");
            let rule = Rule::on("deps.dev", fault).path(":packageversions");
            let rule = world.server.plan().add(rule).unwrap();
            world.run_now(depsdev(id, &LINK.parse().unwrap())).await;
            let state = world.state(id, SOURCE).await.unwrap();
            assert!(state.error.is_some(), "{what}: {state:?}");
            assert_eq!(world.kept(id, SOURCE).await, before, "{what}");
            world.server.plan().remove(rule);
        }
        world.run_now(depsdev(id, &LINK.parse().unwrap())).await;
        let state = world.state(id, SOURCE).await.unwrap();
        assert!(state.complete && state.error.is_none(), "{state:?}");
        assert_eq!(world.unit(&unit).await.strikes, 0);
        let after = world.kept(id, SOURCE).await;
        assert!(after.iter().all(|one| one.gone_at.is_none() && one.changed_at == one.first_seen));
    }

    async fn too_many_requests_come_back_when_told_without_a_strike(db: TestDb) {
        let (world, id, unit) = known(&db).await;
        let rule = Rule::on("deps.dev", Fault::too_many(RetryAfter::Seconds(7_200)));
        world.server.plan().add(rule.requests(1..=1)).unwrap();
        world.after(CADENCE).await;
        let view = world.unit(&unit).await;
        let now = world.engine.clock().now();
        assert_eq!((view.state, view.strikes), (State::Ready, 0));
        assert!(view.due_at.unwrap() > now.plus(Duration::from_mins(110)), "{view:?}");
        assert_eq!(world.evidence(id, SOURCE).await.len(), 2);
        world.after(Duration::from_hours(3)).await;
        assert!(world.state(id, SOURCE).await.unwrap().error.is_none());
    }

    async fn a_list_that_was_cut_ends_nothing_and_waits_for_the_cadence(db: TestDb) {
        let (world, id, unit) = known(&db).await;
        let (ecosystem, package) = ("npm".into(), "one".into());
        world.happens(&Registration::Release { ecosystem, package, versions: 1_600 });
        world.after(CADENCE).await;
        let found = world.evidence(id, SOURCE).await;
        assert_eq!(found.len(), 2, "what was cut off is not gone");
        assert_eq!(found["npm/one"].version_count, Some(1_603), "counted by the package itself");
        let state = world.state(id, SOURCE).await.unwrap();
        assert!(!state.complete && state.error.unwrap().contains("1,500"));
        let view = world.unit(&unit).await;
        let now = world.engine.clock().now();
        assert!(view.partials == 1 && view.due_at.unwrap() > now.plus(179 * DAY), "{view:?}");
    }

    async fn details_that_fail_leave_dates_empty_and_the_source_partial(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "one", LINK, 3);
        world.publish("pypi", "two", LINK, 2);
        let rule = Rule::on("deps.dev", Fault::status(500)).path("PYPI");
        let rule = world.server.plan().add(rule).unwrap();
        let id = world.add(LINK, depsdev).await;
        world.run().await;
        let found = world.evidence(id, SOURCE).await;
        assert_eq!(found["npm/one"].version_count, Some(3));
        let two = &found["pypi/two"];
        assert_eq!((two.version_count, two.first_published_at, two.latest_published_at), (None, None, None));
        let state = world.state(id, SOURCE).await.unwrap();
        assert!(!state.complete && state.error.unwrap().contains("1 packages"));
        let view = world.unit(&format!("distribution/depsdev:{id}")).await;
        assert!((view.partials, view.strikes) == (1, 0) && view.due_at.unwrap() < world.engine.clock().now().plus(DAY));

        // It comes back soon by itself, and then all is there.
        world.server.plan().remove(rule);
        world.after(Duration::from_mins(3)).await;
        assert_eq!(world.evidence(id, SOURCE).await["pypi/two"].version_count, Some(2));
        assert!(world.state(id, SOURCE).await.unwrap().complete);

        // What is known by now is not lost when it fails again.
        let before = world.evidence(id, SOURCE).await;
        world.server.plan().add(Rule::on("deps.dev", Fault::Truncated).path("/systems/")).unwrap();
        world.after(CADENCE).await;
        assert_eq!(world.evidence(id, SOURCE).await, before);
        assert!(!world.state(id, SOURCE).await.unwrap().complete);
    }

    async fn after_a_few_failures_the_rest_is_left_for_the_next_run(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        for nth in 0..60 {
            world.publish("npm", &format!("many-{nth:02}"), LINK, 1);
        }
        world.server.plan().add(Rule::on("deps.dev", Fault::status(500)).path("/systems/")).unwrap();
        let id = world.add(LINK, depsdev).await;
        world.run().await;
        assert_eq!(world.evidence(id, SOURCE).await.len(), 60);
        let asked = world.asked("deps.dev").len();
        assert!(asked < 15, "{asked} questions to a service that fails");
    }
}
