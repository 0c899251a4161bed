//! "Could not ask" is never "no".

use db::testing::both;
use sim::git_server::{Fault, Stage};
use store::goindex;

use crate::world::{PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_could_not_be_read_is_read_later(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0", "nonsense"]);
        for (stage, fault) in [
            (Stage::Advertisement, Fault::Wall),
            (Stage::Refs, Fault::Status { status: 503, headers: Vec::new() }),
            (Stage::Pack, Fault::Cut { after: 20 }),
        ] {
            world.server.spoil(stage, fault);
            world.look().await;
            assert!(world.feed(true).await.is_empty());
            let status = goindex::status(&db).await.unwrap();
            assert_eq!((status.complete, status.versions), (0, 0));
        }
        world.server.heal();
        world.look().await;
        assert_eq!(world.versions().await, ["example.com/lib@v1.0.0"]);

        // Later trouble takes nothing away.
        world.git("lib", &["tag", "-d", "v1.0.0"]);
        world.server.spoil(Stage::Refs, Fault::Short { after: 4 });
        world.look().await;
        assert_eq!(world.versions().await, ["example.com/lib@v1.0.0"]);
        assert!(goindex::events(&db, 0, 10).await.unwrap().is_empty());
    }

    async fn a_server_without_filters_is_read_all_the_same(db: TestDb) {
        let mut world = World::new(&db).await;
        world.server.switch(|switches| switches.filters = false);
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0"]);
        world.look().await;
        assert_eq!(world.versions().await, ["example.com/lib@v1.0.0"]);
    }

    async fn a_repository_that_is_gone_keeps_its_place_in_the_feed(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0"]);
        world.look().await;
        world.server.spoil(Stage::Advertisement, Fault::Status { status: 404, headers: Vec::new() });
        world.look().await;
        assert!(world.feed(false).await.is_empty());
        assert_eq!(world.feed(true).await.len(), 1);
        world.server.heal();
        world.look().await;
        assert_eq!(world.feed(false).await, ["example.com/lib@v1.0.0"]);
    }
}
