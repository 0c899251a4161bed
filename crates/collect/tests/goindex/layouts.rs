//! What tags name, in the layouts that Go knows.

use db::testing::both;

use crate::world::{PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_monorepo_has_many_modules(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("mono").await;
        world.commit("mono", &[
            ("go.mod", "module example.com/mono\n"),
            ("a/go.mod", "module example.com/mono/a\n"),
            ("b/c/go.mod", "module example.com/mono/b/c\n"),
        ], &["v0.1.0", "a/v1.0.0", "b/c/v0.3.0", "a/v1", "docs/v1.0.0", "release", "v0.0.0-20200101000000-abcdefabcdef", "v1.2.3+meta"]);
        world.look().await;
        assert_eq!(world.versions().await, [
            "example.com/mono/a@v1.0.0",
            "example.com/mono/b/c@v0.3.0",
            "example.com/mono@v0.1.0",
        ]);
        let rejected = world.rejected().await;
        let reasons: Vec<(&str, &str)> = rejected.iter().map(|(tag, why)| (tag.as_str(), why.as_str())).collect();
        assert_eq!(reasons, [
            ("a/v1", "not-canonical"),
            ("docs/v1.0.0", "no-go-mod"),
            ("release", "not-a-version"),
            ("v0.0.0-20200101000000-abcdefabcdef", "pseudo-version"),
            ("v1.2.3+meta", "not-canonical"),
        ]);
    }

    async fn majors_live_in_branches_and_in_directories(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("branch").await;
        world.commit("branch", &[("go.mod", "module example.com/branch\n")], &["v1.0.0"]);
        world.commit("branch", &[("go.mod", "module example.com/branch/v2\n")], &["v2.0.0"]);
        // The path was not changed: no version of anything.
        world.commit("branch", &[("main.go", "package main\n")], &["v3.0.0"]);
        world.add("subdir").await;
        world.commit("subdir", &[
            ("go.mod", "module example.com/subdir\n"),
            ("v2/go.mod", "module example.com/subdir/v2\n"),
        ], &["v1.4.0", "v2.1.6"]);
        world.look().await;
        assert_eq!(world.versions().await, [
            "example.com/branch/v2@v2.0.0",
            "example.com/branch@v1.0.0",
            "example.com/subdir/v2@v2.1.6",
            "example.com/subdir@v1.4.0",
        ]);
        assert_eq!(world.rejected().await, [("v3.0.0".to_owned(), "major-mismatch".to_owned())]);
        let directory = store::goindex::versions(&db, "example.com/subdir/v2", 10).await.unwrap();
        assert_eq!(directory[0].directory, "v2");
        assert_eq!(directory[0].origin, "vanity");
        assert!(directory[0].committed_at.is_some());
    }

    async fn the_newest_go_mod_speaks_for_all_versions(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &["v1.0.0", "v1.1.0"]);
        world.look().await;
        let text = "// Deprecated: use example.com/other\nmodule example.com/lib\n\nretract v1.1.0 // loses data\n";
        world.commit("lib", &[("go.mod", text)], &["v1.2.0"]);
        world.look().await;
        let module = store::goindex::module(&db, "example.com/lib").await.unwrap().unwrap();
        assert_eq!(module.latest, "v1.2.0");
        assert_eq!(module.deprecated.as_deref(), Some("use example.com/other"));
        let versions = store::goindex::versions(&db, "example.com/lib", 10).await.unwrap();
        let retracted: Vec<(&str, Option<&str>)> = versions
            .iter()
            .filter(|version| version.retracted)
            .map(|version| (version.version.as_str(), version.retraction.as_deref()))
            .collect();
        assert_eq!(retracted, [("v1.1.0", Some("loses data"))]);
        assert_eq!(world.versions().await.len(), 3, "retracted versions stay listed");
    }

    async fn annotated_tags_lead_to_their_commits_and_other_things_to_nothing(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("lib").await;
        world.commit("lib", &[("go.mod", "module example.com/lib\n")], &[]);
        world.git("lib", &["tag", "-a", "-m", "one", "v1.0.0"]);
        world.git("lib", &["tag", "v1.1.0", "HEAD^{tree}"]);
        world.look().await;
        assert_eq!(world.versions().await, ["example.com/lib@v1.0.0"]);
        assert_eq!(world.rejected().await, [("v1.1.0".to_owned(), "not-a-commit".to_owned())]);
    }

    async fn many_tags_come_in_batches(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("busy").await;
        world.commit("busy", &[("go.mod", "module example.com/busy\n")], &[]);
        let names: Vec<String> = (0..450).map(|n| format!("v0.{n}.0")).collect();
        for (n, name) in names.iter().enumerate() {
            // A commit for every third tag, without a push each time.
            if n % 3 == 0 {
                world.quiet_commit("busy", &format!("{n}"));
            }
            world.quiet_tag("busy", name);
        }
        world.publish("busy");
        world.look().await;
        assert_eq!(world.versions().await.len(), names.len());
    }
}
