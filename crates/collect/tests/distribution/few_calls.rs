//! What need not be asked is not asked.

use db::testing::both;
use sim::{Change, Config, OwnerKind, Repository, WorldSize};

use crate::at_forges::{AtForges, DAY, FORGES, PARTS, of_size};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_tree_of_many_pages_is_listed_again_only_after_a_push(db: TestDb) {
        let world = AtForges::new(&db, of_size(120)).await;
        let host = "gitlab.example.org";
        let truth = world.member(host, |found| sim::files(found).len() > 200 && !sim::declared(found).is_empty());
        let id = world.add(host, &truth.path()).await;
        world.run().await;
        let before = world.manifests(id).await;
        assert!(!before.is_empty());
        let asked = |part: &str| {
            let all = world.asked(host);
            all.iter().filter(|(path, _)| path.contains(part)).count()
        };
        assert!(asked("/repository/tree") > 3, "{:?}", world.asked(host));
        // Pages that belong together are of one commit.
        let pinned = world.asked(host).iter().filter(|(path, _)| path.contains("ref=")).count();
        assert_eq!(pinned, asked("/repository/tree") - 1);

        world.forget_requests();
        world.after(181 * DAY).await;
        assert_eq!((asked("/repository/commits"), asked("/repository/tree")), (1, 0));
        let after = world.manifests(id).await;
        assert_eq!(after.len(), before.len());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((&before.fact, before.changed_at), (&after.fact, after.changed_at));
            assert!(after.last_seen > before.last_seen && after.gone_at.is_none());
        }

        world.server.world().apply(host, &Change::Push { repository: truth.path() }).unwrap();
        world.forget_requests();
        world.after(181 * DAY).await;
        assert!(asked("/repository/tree") > 2, "{:?}", world.asked(host));
        let changed = world.manifests(id).await.into_iter().zip(after).filter(|(now, then)| now.fact != then.fact);
        assert_eq!(changed.count(), 1);
    }

    async fn a_repository_without_a_commit_is_looked_into_as_soon_as_it_has_one(db: TestDb) {
        let world = AtForges::new(&db, of_size(400)).await;
        let mut added = Vec::new();
        for host in FORGES {
            let truth = world.member(host, |found| {
                let filled = Repository { empty: false, ..found.clone() };
                found.empty && !sim::declared(&filled).is_empty()
            });
            added.push((host, world.add(host, &truth.path()).await, truth));
        }
        world.run().await;
        for (host, id, _) in &added {
            let inside = ["/git/trees", "/repository/tree", "/releases"];
            let asked = world.asked(host);
            let vain = asked.iter().filter(|(path, _)| inside.iter().any(|part| path.contains(part)));
            assert_eq!(vain.count(), 0, "{asked:?}");
            assert!(world.source(*id, "manifests").await.complete, "{host}");
            assert!(world.source(*id, "releases").await.complete, "{host}");
            assert!(world.manifests(*id).await.is_empty());
        }
        for (host, _, truth) in &added {
            world.server.world().apply(host, &Change::Push { repository: truth.path() }).unwrap();
        }
        world.after(8 * DAY).await;
        for (host, id, _) in &added {
            assert!(!world.manifests(*id).await.is_empty(), "{host}");
        }
    }

    async fn the_packages_of_a_person_are_asked_for_where_they_are(db: TestDb) {
        let size = WorldSize { repositories: 24, organisation: 0 };
        let world = AtForges::new(&db, Config { size, ..Config::default() }).await;
        for host in FORGES {
            let all = world.server.world().repositories(host).into_iter();
            let of_person = |found: &Repository| {
                let kind = world.server.world().look(host, |forge| forge.owner(&found.owner).map(|owner| owner.kind));
                kind.flatten() == Some(OwnerKind::User)
            };
            let mut own: Vec<Repository> = all
                .filter(|found| found.is_public() && !found.archived && of_person(found))
                .collect();
            let owner = own[0].owner.clone();
            own.retain(|found| found.owner == owner);
            assert!(own.len() > 2);
            for found in &own {
                world.add(host, &found.path()).await;
            }
            world.run().await;
            let asked = world.asked(host);
            let packages = asked.iter().filter(|(path, _)| path.contains("/packages")).count();
            let expected = match host {
                "github.com" => 5,
                "github.example.org" => 6,
                // A person's projects must be asked one by one.
                "gitlab.example.org" => own.len(),
                _ => 1,
            };
            assert_eq!(packages, expected, "{host}: {asked:?}");
        }
    }
}
