//! Import paths that are not their repository's own: their hosts decide where they lead.

use db::testing::both;

use crate::world::{PARTS, VANITY, World};

fn module(path: &str) -> String {
    format!("module {path}\n")
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_path_counts_if_its_host_leads_to_the_repository(db: TestDb) {
        let mut world = World::new(&db).await.with_imports().await;
        let (here, sub) = (format!("{VANITY}/lib"), format!("{VANITY}/below"));
        let (there, nowhere) = (format!("{VANITY}/there"), format!("{VANITY}/nowhere"));
        for name in ["lib", "tools", "there", "nowhere"] {
            world.add_at_forge(&format!("team/{name}")).await;
        }
        world.lead(&here, "https://github.com/team/lib.git", "");
        world.lead(&sub, "https://github.com/team/tools", "libs/below");
        world.lead(&there, "https://github.com/team/lib", "");
        let deep = format!("{here}/deep");
        world.commit("team/lib", &[("go.mod", &module(&here)), ("deep/go.mod", &module(&deep))], &["v1.0.0", "deep/v0.1.0"]);
        let inner = format!("{sub}/inner");
        let (top, below) = (module(&sub), module(&inner));
        let files = [("libs/below/go.mod", top.as_str()), ("libs/below/inner/go.mod", &below)];
        world.commit("team/tools", &files, &["libs/below/v1.0.0", "libs/below/inner/v1.1.0", "v3.0.0"]);
        world.commit("team/there", &[("go.mod", &module(&there))], &["v1.0.0"]);
        world.commit("team/nowhere", &[("go.mod", &module(&nowhere))], &["v1.0.0"]);
        world.look().await;
        assert_eq!(world.versions().await, [
            format!("{sub}@v1.0.0"),
            format!("{deep}@v0.1.0"),
            format!("{here}@v1.0.0"),
        ]);
        let origins = |path: &str| {
            let (db, path) = ((*db).clone(), path.to_owned());
            async move {
                let found = store::goindex::versions(&db, &path, 1).await.unwrap();
                (found[0].origin.clone(), found[0].directory.clone())
            }
        };
        assert_eq!(origins(&here).await, ("vanity".to_owned(), String::new()));
        assert_eq!(origins(&sub).await, ("vanity-subdirectory".to_owned(), "libs/below".to_owned()));
        let rejected = world.rejected().await;
        // The go command puts the subdirectory behind the rest of the path, and looks for the inner
        // module elsewhere.
        let reasons: Vec<&str> = rejected.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(reasons, ["wrong-directory", "leads-elsewhere", "leads-nowhere", "no-go-code"]);

        // A host that has learned better is believed: nothing was published before.
        world.lead(&nowhere, "https://github.com/team/nowhere", "");
        world.ask_hosts_again().await;
        assert!(world.versions().await.contains(&format!("{nowhere}@v1.0.0")));
        // What is known is not asked again by whoever reads tags.
        world.imports.as_ref().unwrap().take_asked();
        world.look().await;
        assert_eq!(world.imports.as_ref().unwrap().take_asked(), [""; 0]);
    }

    async fn a_fork_does_not_publish_under_the_path_of_its_origin(db: TestDb) {
        let mut world = World::new(&db).await.with_imports().await;
        let path = "github.com/team/origin";
        for name in ["team/fork", "team/origin"] {
            world.add_at_forge(name).await;
        }
        world.commit("team/fork", &[("go.mod", &module(path))], &["v1.0.0", "v1.0.1-evil"]);
        world.look().await;
        assert!(world.feed(true).await.is_empty());
        world.commit("team/origin", &[("go.mod", &module(path))], &["v1.0.0"]);
        world.look().await;
        assert_eq!(world.feed(true).await, [format!("{path}@v1.0.0")]);
        let rejected = world.rejected().await;
        assert!(rejected.iter().all(|(_, why)| why == "leads-elsewhere"), "{rejected:?}");
    }

    async fn a_host_that_does_not_answer_holds_back_and_decides_nothing(db: TestDb) {
        let mut world = World::new(&db).await.with_imports().await;
        world.add_at_forge("team/lib").await;
        let path = "silent.invalid/lib";
        let top = module(path);
        let files = [("go.mod", top.as_str()), ("sub/go.mod", "module github.com/team/lib/sub\n")];
        world.commit("team/lib", &files, &["v1.0.0", "sub/v0.1.0"]);
        world.look().await;
        assert_eq!(world.versions().await, ["github.com/team/lib/sub@v0.1.0"]);
        assert!(world.rejected().await.is_empty());
        let status = store::goindex::status(&db).await.unwrap();
        assert_eq!((status.repositories, status.complete), (1, 0));
    }
}
