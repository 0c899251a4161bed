//! `goindex/list`: every repository of an owner has its tags read, and nothing else is begun.

use db::{Timestamp, sql, testing::both};
use sim::{Fault, ORGANISATION, Rule};
use store::{goindex, group_sources::Wanted};

use crate::{
    organisation::FORGES,
    world::{Eyes, PARTS, World, of_size},
};

/// Since when all listings are finished, as the view tells.
async fn finished(db: &db::Db) -> Option<Timestamp> {
    let row = db.fetch_one(sql!("SELECT indexing_finished FROM repo_indexing"));
    row.await.unwrap().get("indexing_finished").unwrap()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_repository_of_an_owner_has_its_tags_read(db: TestDb) {
        let world = World::new(&db, of_size(16, 60), Eyes::Token).await;
        let known = world.server.world().public_repositories("github.com", ORGANISATION);
        let known = world.add(&format!("https://github.com/{}", known[0].path())).await;
        let mut expected = 0;
        for host in FORGES {
            world.follow(host, ORGANISATION, Wanted::default()).await;
            expected += world.server.world().public_repositories(host, ORGANISATION).len();
        }
        world.go_lists().await;
        let all = world.all(true).await;
        assert_eq!(all.len(), expected);
        assert!(all.iter().any(|one| one.archived), "archived ones have versions too");
        for one in &all {
            let unit = world.unit(&format!("goindex/tags:{}", one.id)).await;
            assert_eq!(unit.upstream.as_deref(), Some(one.host.as_str()));
            let scanned = world.state(&format!("test/scan:{}", one.id)).await;
            assert_eq!(scanned.is_some(), one.id == known, "{}", one.url);
        }
        let status = goindex::status(&db).await.unwrap();
        assert_eq!(status.repositories, i64::try_from(expected).unwrap());
        assert!(finished(&db).await.is_some());
    }

    async fn a_listing_that_was_cut_off_is_not_finished(db: TestDb) {
        let world = World::new(&db, of_size(16, 250), Eyes::Token).await;
        let fault = Rule::on("github.com", Fault::status(503)).requests(3..=200);
        let _ = world.server.plan().add(fault);
        world.follow("github.com", ORGANISATION, Wanted::default()).await;
        world.go_lists().await;
        assert_eq!(finished(&db).await, None);
    }
}
