//! Git is asked as everybody else is: not while the server wants silence, and what it says of limits
//! holds for all.

use std::time::Duration;

use db::testing::both;
use engine::Upstreams;
use sim::git_server::{Fault, Stage};
use store::license;

use crate::world::{MIT, PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_limit_is_heard_by_all(db: TestDb) {
        let mut world = World::new(&db).await;
        let one = world.add("one", &[("LICENSE", MIT)]).await;
        let later = ("retry-after", "3600".to_owned());
        let limit = Fault::Status { status: 429, headers: vec![later] };
        world.server.spoil(Stage::Advertisement, limit);
        world.look().await;
        assert_eq!(world.requests(), (1, 0, 0), "one question, and no second try");
        let why = world.error(one).await.unwrap();
        assert!(why.contains("limits requests"), "{why}");

        // Another repository of the same server, and the first again: nobody asks.
        world.server.heal();
        let two = world.add("two", &[("LICENSE", MIT)]).await;
        world.look().await;
        assert_eq!(world.requests(), (0, 0, 0));
        for id in [one, two] {
            assert!(license::current(&db, id).await.unwrap().is_none());
        }
    }

    async fn a_limit_without_a_time_is_one_too(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("one", &[("LICENSE", MIT)]).await;
        let limit = Fault::Status { status: 429, headers: Vec::new() };
        world.server.spoil(Stage::Advertisement, limit);
        world.look().await;
        world.server.heal();
        world.requests();
        world.add("two", &[("LICENSE", MIT)]).await;
        world.look().await;
        assert_eq!(world.requests(), (0, 0, 0));
    }

    async fn silence_that_begins_meanwhile_is_kept(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        world.look().await;
        // Three batches of ten; the server wants silence after the first.
        let files: Vec<(String, Vec<u8>)> = (0..30)
            .map(|number| (format!("f{number}.c"), format!("int f{number};\n").into_bytes()))
            .collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        world.commit("one", &files);
        let until = world.engine.clock().now().plus(Duration::from_hours(1));
        let upstreams = Upstreams::new((*db).clone(), world.engine.clock().clone());
        *world.scanner.meanwhile.lock().unwrap() = Some((upstreams, world.upstream(), until));
        world.scanner.take();
        world.requests();
        world.look().await;
        // The tree, and the files of one batch.
        assert_eq!(world.requests().2, 2);
        assert_eq!(world.scanner.take(), 10);
        let why = world.error(id).await.unwrap();
        assert!(why.contains("secondary limit"), "{why}");
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!(stats.answers, 11, "what was scanned is kept");
        assert_eq!(world.current(id).await.files, 1, "the last whole result stays");
    }
}
