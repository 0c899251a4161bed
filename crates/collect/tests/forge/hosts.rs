//! What a host runs, where its name does not tell.

use db::testing::both;
use sim::upstreams::{GitLab, Gitea, Plain};

use crate::world::{DAY, Eyes, PARTS, World, of_size};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_host_is_asked_once_what_it_runs(db: TestDb) {
        let config = of_size(0, 10)
            .with(Gitea::new("code.example.net"))
            .with(GitLab::own("dev.example.net"));
        let world = World::new(&db, config, Eyes::Anonymous).await;
        for (host, probes) in [("code.example.net", 1), ("dev.example.net", 2)] {
            let all = world.server.world().public_repositories(host, sim::ORGANISATION);
            let first = world.add(&format!("https://{host}/{}", all[0].path())).await;
            world.run().await;
            let asked = world.asked(host);
            let own = asked.iter().filter(|(path, _)| !path.contains("/repos/") && !path.contains("meadow") && !path.contains("archived"));
            assert_eq!(own.count(), probes, "{asked:?}");
            assert_eq!(world.repository(first).await.forge_id, Some(all[0].id.to_string()));

            let second = world.add(&format!("https://{host}/{}", all[1].path())).await;
            world.run().await;
            assert!(world.asked(host).iter().all(|(path, _)| path.contains("meadow") || path.contains("archived")));
            assert_eq!(world.repository(second).await.forge_id, Some(all[1].id.to_string()));
        }
        // Case means nothing on a forge, now that it is known for one.
        let found = world.all(false).await;
        assert!(found.iter().all(|found| found.forge == "gitea" || found.forge == "gitlab"));
    }

    async fn a_plain_git_host_has_nothing_to_ask_and_says_so(db: TestDb) {
        let config = of_size(0, 1).with(Plain::new("git.example.net"));
        let world = World::new(&db, config, Eyes::Anonymous).await;
        let id = world.add("https://git.example.net/team/tool.git").await;
        world.run().await;
        assert_eq!(world.asked("git.example.net").len(), 3);
        let unit = world.engine.find(&format!("repo-metadata:{id}")).await.unwrap().unwrap();
        let unit = world.engine.unit(unit).await.unwrap().unwrap();
        let report = unit.report.unwrap();
        assert_eq!(report["note"], "there is no forge here that could be asked");
        assert_eq!(report["presence"], serde_json::Value::Null);
        world.after(7 * DAY).await;
        assert_eq!(world.asked("git.example.net"), []);
        assert!(world.repository(id).await.gone_at.is_none());
    }
}
