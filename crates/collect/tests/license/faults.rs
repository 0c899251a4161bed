//! "Could not ask" is never "no", and a broken scanner marks nothing done.

use db::testing::both;
use sim::git_server::{Fault, Stage};
use store::license;

use crate::world::{MIT, PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_could_not_be_had_is_had_later(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        for (stage, fault) in [
            (Stage::Advertisement, Fault::Wall),
            (Stage::Refs, Fault::Status { status: 503, headers: Vec::new() }),
            (Stage::Pack, Fault::Cut { after: 20 }),
        ] {
            world.server.spoil(stage, fault);
            world.look().await;
            assert!(license::current(&db, id).await.unwrap().is_none());
        }
        world.server.heal();
        world.look().await;
        assert_eq!(world.current(id).await.license.as_deref(), Some("MIT"));

        // Later trouble takes nothing away.
        world.server.spoil(Stage::Refs, Fault::Short { after: 4 });
        world.look().await;
        assert_eq!(world.current(id).await.license.as_deref(), Some("MIT"));
    }

    async fn a_server_without_filters_is_read_all_the_same(db: TestDb) {
        let mut world = World::new(&db).await;
        world.server.switch(|switches| switches.filters = false);
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        world.look().await;
        world.commit("one", &[("a.c", b"int a;\n")]);
        world.scanner.take();
        world.look().await;
        assert_eq!(world.scanner.take(), 1);
        assert_eq!(world.current(id).await.files, 2);
    }

    async fn a_scanner_that_breaks_pauses_the_pool_and_marks_nothing_done(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        *world.scanner.broken.lock().unwrap() = Some("its index is gone".to_owned());
        world.look().await;
        assert!(license::current(&db, id).await.unwrap().is_none());
        // The desk proves its scanners again, finds that the built-in one works, and goes on with it.
        world.look().await;
        assert_eq!(world.current(id).await.license.as_deref(), Some("MIT"));
    }
}
