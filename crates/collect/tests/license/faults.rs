//! "Could not ask" is never "no", and a broken scanner marks nothing done.

use db::testing::both;
use sim::git_server::{Fault, Stage};
use store::license;

use collect::license::{Choice, Desk, watch};
use tokio_util::sync::CancellationToken;

use crate::world::{MIT, PARTS, World, settings};

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

    async fn without_a_scanner_the_pool_is_paused_with_the_reason(db: TestDb) {
        let mut world = World::new(&db).await;
        let mut settings = settings(world.directory.path());
        settings.scanner = Choice::ScanCode;
        world.desk = Desk::new(settings);
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        world.look().await;
        assert!(license::current(&db, id).await.unwrap().is_none());
        let pools = world.engine.pools().await.unwrap();
        let pool = pools.iter().find(|pool| pool.pool == "license").unwrap();
        let why = pool.paused_why.as_deref().unwrap();
        assert!(why.contains("gleaner license setup"), "{why}");

        // Once one works, whoever watches lets it go on.
        let usual = crate::world::settings(world.directory.path());
        world.desk = Desk::new(usual);
        let stop = CancellationToken::new();
        let watching = watch(world.desk.clone(), world.engine.clone(), stop.clone());
        let watching = tokio::spawn(watching);
        while world.engine.pools().await.unwrap().iter().any(|pool| pool.paused_at.is_some()) {
            tokio::task::yield_now().await;
        }
        stop.cancel();
        watching.await.unwrap();
        world.look().await;
        assert_eq!(world.current(id).await.license.as_deref(), Some("MIT"));
    }

    async fn a_scanner_that_breaks_marks_nothing_done_and_is_proved_again(db: TestDb) {
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
