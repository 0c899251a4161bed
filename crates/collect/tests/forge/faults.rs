//! Whatever goes wrong outside, nothing that was known is lost, and nothing untrue is learned.

use std::time::Duration;

use db::testing::both;
use engine::State;
use sim::{Change, Fault, ORGANISATION, RetryAfter, Rule};
use store::group_sources::Wanted;

use crate::{
    organisation::FORGES,
    world::{DAY, Eyes, PARTS, World, of_size},
};

fn faults() -> Vec<Fault> {
    vec![
        Fault::too_many(RetryAfter::Seconds(600)),
        Fault::too_many(RetryAfter::DateIn(600)),
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

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_fault_says_nothing_about_a_repository(db: TestDb) {
        let world = World::new(&db, of_size(0, 10), Eyes::Token).await;
        for host in FORGES {
            let all = world.server.world().public_repositories(host, ORGANISATION);
            let truth = all.iter().find(|found| !found.archived && !found.empty).unwrap();
            let id = world.add(&format!("https://{host}/{}", truth.path())).await;
            world.run().await;
            let unit = format!("repo-metadata:{id}");
            for fault in faults() {
                // Something to tell, so that the answer is no "not modified".
                world.happens(host, &Change::Push { repository: truth.path() });
                let (before, known) = (world.repository(id).await, world.metadata(id).await);
                let rule = world.server.plan().add(Rule::on(host, fault.clone())).unwrap();
                world.run_now(id, host).await;
                assert_eq!(world.repository(id).await, before, "{host} {fault:?}");
                assert_eq!(world.metadata(id).await, known, "{host} {fault:?}");
                let error = world.error(&unit).await.unwrap_or_default();
                assert!(!error.contains("s3cret"), "{error}");
                assert_eq!(world.state(&unit).await, Some(State::Ready), "{fault:?}");
                assert!(world.server.plan().remove(rule));
                // Longer than any announced limit.
                world.hand.advance(Duration::from_mins(40));
                world.run_now(id, host).await;
                assert!(world.metadata(id).await.observed_at > known.observed_at, "{host} {fault:?}");
            }
            assert_eq!(world.events(id).await, Vec::<String>::new());
        }
    }

    async fn a_listing_that_was_cut_off_changes_nothing(db: TestDb) {
        let world = World::new(&db, of_size(0, 220), Eyes::Token).await.without_scans();
        for host in FORGES {
            let source = world.follow(host, ORGANISATION, Wanted::default()).await;
            world.run().await;
            let unit = format!("organisation:{source}");
            let all = world.all(true).await;
            let gone = all.iter().find(|found| found.host == host && !found.archived).unwrap().clone();
            world.happens(host, &Change::Delete { repository: gone.forge_id.clone().unwrap() });
            // A whole listing is due; its second page never comes.
            world.hand.advance(7 * DAY + Duration::from_hours(1));
            world.asked(host);
            for fault in faults() {
                let rule = world.server.plan().add(Rule::on(host, fault.clone()).path("page=2")).unwrap();
                world.lists_only().await;
                assert_eq!(world.all(true).await, all, "{host} {fault:?}");
                assert_eq!(world.state(&unit).await, Some(State::Ready));
                assert!(world.server.plan().remove(rule));
                world.hand.advance(Duration::from_mins(15));
            }
            let pages = world.asked(host);
            let firsts = pages.iter().filter(|(path, _)| !path.contains("&page="));
            assert_eq!(firsts.count(), 2, "the owner and the first page, once: {pages:?}");
            // It heals, and the whole listing finds out.
            world.hand.advance(Duration::from_hours(4));
            world.run().await;
            assert!(world.repository(gone.id).await.gone_at.is_some(), "{host}");
            assert!(world.all(true).await.iter().all(|found| found.id != gone.id));
            world.asked(host);
            let now = world.all(true).await;
            assert_eq!(now.len(), all.len() - 1);
            world.forget_group().await;
        }
    }
}
