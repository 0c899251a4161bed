//! What happens to tags afterwards, and what an unchanged repository costs.

use db::testing::both;
use store::goindex;

use crate::world::{PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn moved_and_deleted_tags_become_events(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0", "v1.1.0"]);
        world.look().await;
        let first = goindex::versions(&db, "example.com/lib", 10).await.unwrap();
        // One is moved to a commit that declares another path, one is deleted, one is new.
        world.commit("lib", &[("go.mod", "module example.com/other\n")], &["v1.0.0"]);
        world.git("lib", &["tag", "-d", "v1.1.0"]);
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.2.0"]);
        world.look().await;
        assert_eq!(world.versions().await, ["example.com/lib@v1.0.0", "example.com/lib@v1.2.0"]);
        assert_eq!(world.feed(true).await.len(), 3);
        let now = goindex::versions(&db, "example.com/lib", 10).await.unwrap();
        assert_eq!(now[0].commit, first[0].commit);
        assert!(now[0].moved_at.is_some() && now[1].gone_at.is_some());
        let events = goindex::events(&db, 0, 10).await.unwrap();
        let told: Vec<(&str, &str)> = events.iter().map(|one| (one.event.as_str(), one.tag.as_str())).collect();
        assert_eq!(told, [("moved", "v1.0.0"), ("vanished", "v1.1.0")]);
        assert_eq!(events[0].was.as_deref(), Some(first[0].commit.as_str()));

        // A tag that comes back is available again, at its old place.
        world.git("lib", &["tag", "v1.1.0", &first[1].commit]);
        world.look().await;
        assert_eq!(world.feed(false).await.len(), 3);
        let events = goindex::events(&db, 0, 10).await.unwrap();
        assert_eq!(events.last().unwrap().event, "returned");
    }

    async fn an_unchanged_repository_costs_one_question(db: TestDb) {
        let mut world = World::new(&db).await;
        for name in ["a", "b", "c"] {
            world.add(name).await;
            let path = format!("module example.com/{name}\n");
            world.commit(name, &[("go.mod", &path)], &["v1.0.0"]);
        }
        world.add("empty").await;
        world.look().await;
        let (_, _, packs) = world.requests();
        assert!(packs > 0);
        let status = goindex::status(&db).await.unwrap();
        assert_eq!((status.repositories, status.complete), (4, 4), "without tags is complete");

        world.look().await;
        let (announced, refs, packs) = world.requests();
        assert_eq!((announced, refs, packs), (4, 4, 0));

        // go.mod files are fetched once: the same file under another tag asks for the tree alone.
        world.commit("a", &[("x.go", "package a\n")], &["v1.1.0"]);
        world.look().await;
        assert_eq!(world.versions().await.len(), 4);
    }

    async fn tags_on_old_commits_are_published_late(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0"]);
        world.commit("lib", &[("go.mod", "module example.com/lib\n\ngo 1.21\n")], &["v1.1.0"]);
        world.look().await;
        world.git("lib", &["tag", "v0.9.0", "v1.0.0"]);
        world.look().await;
        let feed = world.feed(false).await;
        assert_eq!(feed.last().unwrap(), "example.com/lib@v0.9.0");
    }
}
