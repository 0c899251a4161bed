//! One full crawl: pages in either form, choices, failures.

use std::time::Duration;

use collect::pypi::{Chosen, crawl_unit};
use db::testing::both;
use sim::{
    Fault, RetryAfter, Rule,
    upstreams::{PythonIndex, python_index::Offers},
};
use store::pypi;

use crate::world::{PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_crawl_holds_what_the_index_holds(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(7, 25)).await;
        world.index.yank("amber-0", "1.0", Some("broken"));
        let floor = world.index.serial();
        world.crawl().await;
        world.assert_same().await;
        let status = world.status().await;
        assert_eq!(status.projects, i64::try_from(world.index.projects().len()).unwrap());
        assert_eq!((status.due, status.unread, status.full_failed), (0, 0, 0));
        assert_eq!(status.floor, Some(i64::try_from(floor).unwrap()));
        assert_eq!((status.safe, status.lag), (status.floor, Some(0)));
        assert!(status.full_finished_at.is_some());

        // All changes have numbers, each its own.
        let rows = world.rows().await;
        assert_eq!(i64::try_from(rows.len()).unwrap(), status.files);
        let seqs: std::collections::BTreeSet<i64> = rows.iter().map(|row| row.change_seq).collect();
        assert_eq!(seqs.len(), rows.len());

        // A second crawl asks for all pages, fetches nothing and changes nothing.
        world.server.journal().clear();
        world.hand.advance(Duration::from_mins(1));
        world.crawl().await;
        let requests = world.server.journal().requests("pypi");
        assert!(requests.iter().all(|one| !one.path.starts_with("/packages/")), "{requests:?}");
        let pages = requests.iter().filter(|one| one.path.starts_with("/simple/") && one.path.len() > 8);
        let unchanged = pages.clone().filter(|one| one.status == Some(304)).count();
        assert_eq!(unchanged, pages.count());
        assert_eq!(world.rows().await, rows);
    }

    async fn an_index_that_speaks_html_and_offers_little_is_crawled_too(db: TestDb) {
        let poor = Offers {
            json: false,
            changelog: false,
            root_serials: false,
            serials: false,
            tags: false,
            ranges: false,
            metadata: false,
            ..Offers::default()
        };
        let index = PythonIndex::new("pypi").filled(3, 8).offering(poor);
        let world = World::new(&db, index).await;
        world.crawl().await;
        world.assert_same().await;
        assert_eq!(world.status().await.floor, None);
    }

    async fn only_chosen_projects_are_crawled(db: TestDb) {
        let mut world = World::new(&db, PythonIndex::new("pypi").filled(5, 20)).await;
        world.settings.chosen = Chosen {
            allow: vec!["amber-*".into(), "Birch.*".into(), "cedar*".into()],
            deny: vec!["cedar-*".into()],
        };
        world.crawl().await;
        let projects: std::collections::BTreeSet<String> =
            world.rows().await.into_iter().map(|row| row.project).collect();
        let wanted: std::collections::BTreeSet<String> = world.index.projects().into_iter()
            .filter(|name| name.starts_with("amber-") || name.starts_with("birch-"))
            .collect();
        assert_eq!(projects, wanted);
    }

    async fn a_sample_is_crawled_and_followed(db: TestDb) {
        let other = World::new(&db, PythonIndex::new("pypi").filled(5, 20)).await;
        let unit = crawl_unit(other.address(), Some(3));
        other.engine.enqueue(vec![unit.now()]).await.unwrap();
        other.run().await;
        let index = pypi::index(other.engine.db()).await.unwrap();
        assert!(index.sampled);
        assert_eq!(other.status().await.full_projects, 3);
        // What happens to others stays unknown, on purpose.
        for name in other.index.projects() {
            other.index.wheel(&name, "9.0", "py3-none-any");
        }
        other.hand.advance(Duration::from_mins(5));
        other.follow().await;
        let newer = other.rows().await.into_iter().filter(|row| row.version == "9.0");
        assert_eq!(newer.count(), 3);
        assert_eq!(other.audit().await, 0);
    }

    async fn storms_and_torn_files_delay_and_lose_nothing(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(9, 12)).await;
        let plan = world.server.plan();
        plan.add(Rule::on("pypi", Fault::too_many(RetryAfter::Seconds(30))).requests(4..=12)).unwrap();
        plan.add(Rule::on("pypi", Fault::Truncated).path("/packages/").requests(1..=3)).unwrap();
        plan.add(Rule::on("pypi", Fault::ResetInBody).path("/simple/.+").requests(5..=6)).unwrap();
        world.crawl().await;
        for _ in 0..8 {
            world.later(Duration::from_mins(10)).await;
        }
        world.assert_same().await;
        assert_eq!(world.status().await.due, 0);
    }

    async fn a_project_that_fails_stays_due_and_the_crawl_ends(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(2, 6)).await;
        let name = world.index.projects()[2].clone();
        let sick = format!("/simple/{name}/");
        world.server.plan().add(Rule::on("pypi", Fault::WrongJson { body: None }).path(&sick)).unwrap();
        world.crawl().await;
        for _ in 0..40 {
            world.later(Duration::from_hours(1)).await;
        }
        let status = world.status().await;
        assert!(status.full_finished_at.is_some());
        assert_eq!((status.full_failed, status.due), (1, 1));
        assert_eq!(status.safe, status.floor);

        // When it is well again, the next audit has it read.
        world.server.plan().clear();
        world.follow().await;
        world.hand.advance(Duration::from_hours(25));
        world.audit().await;
        assert_eq!(world.status().await.due, 0);
        world.follow().await;
        world.assert_same().await;
    }
}
