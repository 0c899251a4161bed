//! `repo-metadata`: a repository is followed whatever becomes of it.

use std::time::Duration;

use db::testing::both;
use engine::State;
use sim::{Change, Repository};

use crate::world::{DAY, Eyes, PARTS, World, of_size};

const FORGES: [&str; 4] = [
    "github.com",
    "github.example.org",
    "gitlab.example.org",
    "codeberg.org",
];

fn member(world: &World, host: &str, wanted: impl Fn(&Repository) -> bool) -> Repository {
    let all = world
        .server
        .world()
        .public_repositories(host, sim::ORGANISATION);
    all.into_iter().find(|found| wanted(found)).unwrap()
}

fn active(found: &Repository) -> bool {
    !found.archived && !found.empty
}

fn named(found: &Repository) -> String {
    found.path()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn by_name_first_then_by_number_and_unchanged_costs_one_question(db: TestDb) {
        let world = World::new(&db, of_size(0, 30), Eyes::Token).await;
        for host in FORGES {
            let truth = member(&world, host, active);
            let id = world.add(&format!("https://{host}/{}", truth.path().to_uppercase())).await;
            world.run().await;
            let found = world.repository(id).await;
            assert_eq!(found.forge_id.as_deref(), Some(truth.id.to_string().as_str()), "{host}");
            assert_eq!(found.url, format!("https://{host}/{}", truth.path()));
            assert_eq!(found.default_branch.as_deref(), Some(truth.default_branch.as_str()));
            let metadata = world.metadata(id).await;
            assert_eq!((metadata.presence.as_str(), metadata.visibility.as_deref()), ("here", Some("public")));
            assert_eq!((metadata.fork, metadata.empty), (Some(false), Some(false)));
            assert!(metadata.pushed_at.is_some());
            assert_eq!(world.events(id).await, Vec::<String>::new(), "the first look is no change");
            assert_eq!(world.state(&format!("test/scan:{id}")).await, Some(State::Ready));
            assert_eq!(world.asked(host).len(), 1);

            world.after(7 * DAY).await;
            let asked = world.asked(host);
            assert_eq!(asked.len(), 1, "{asked:?}");
            assert!(asked[0].0.ends_with(&truth.id.to_string()), "{asked:?}");
            // This address is asked for the first time; Gitea has no entity tags.
            world.after(7 * DAY).await;
            let expected = if host == "codeberg.org" { 200 } else { 304 };
            assert_eq!(world.asked(host)[0].1, Some(expected), "{host}");
        }
    }

    async fn renames_transfers_and_settings_are_followed(db: TestDb) {
        let world = World::new(&db, of_size(16, 30), Eyes::Token).await;
        for host in FORGES {
            let truth = member(&world, host, active);
            let id = world.add(&format!("https://{host}/{}", named(&truth))).await;
            world.run().await;
            let repository = truth.id.to_string();
            for change in [
                Change::Rename { repository: repository.clone(), name: "renamed".into() },
                Change::DefaultBranch { repository: repository.clone(), branch: "next".into() },
            ] {
                world.happens(host, &change);
            }
            world.after(7 * DAY).await;
            let found = world.repository(id).await;
            assert_eq!((found.name.as_str(), found.default_branch.as_deref()), ("renamed", Some("next")), "{host}");
            let owner = "alder-0".to_owned();
            world.happens(host, &Change::Transfer { repository: repository.clone(), owner });
            world.after(7 * DAY).await;
            assert_eq!(world.repository(id).await.url, format!("https://{host}/alder-0/renamed"));
            assert_eq!(world.events(id).await, ["renamed", "default-branch", "transferred"], "{host}");
            // The old addresses find it still, and adding one makes no second.
            let old = format!("https://{host}/{}", named(&truth));
            assert_eq!(world.find(host, &named(&truth)).await.unwrap().id, id);
            assert_eq!(world.add(&old).await, id);
        }
    }

    async fn archiving_stops_the_work_and_unarchiving_makes_it_due(db: TestDb) {
        let world = World::new(&db, of_size(0, 30), Eyes::Token).await;
        for host in FORGES {
            let repository = member(&world, host, active).path();
            let id = world.add(&format!("https://{host}/{repository}")).await;
            world.run().await;
            let scan = format!("test/scan:{id}");
            assert_eq!(world.state(&scan).await, Some(State::Ready));
            world.happens(host, &Change::Archive { repository: repository.clone() });
            world.after(7 * DAY).await;
            assert!(world.repository(id).await.archived);
            assert_eq!(world.state(&scan).await, Some(State::Cancelled), "{host}");
            world.happens(host, &Change::Unarchive { repository: repository.clone() });
            world.after(7 * DAY).await;
            assert!(!world.repository(id).await.archived);
            assert_eq!(world.events(id).await, ["archived", "unarchived"]);
            let unit = world.engine.find(&scan).await.unwrap().unwrap();
            let unit = world.engine.unit(unit).await.unwrap().unwrap().unit;
            // It ran at once, and comes back at its cadence.
            assert_eq!(unit.state, State::Ready);
            let due = unit.due_at.unwrap().since(world.engine.clock().now());
            assert!(due > 179 * DAY, "{host} {due:?}");
        }
    }

    async fn an_archived_repository_is_never_looked_into(db: TestDb) {
        let world = World::new(&db, of_size(0, 60), Eyes::Anonymous).await;
        for host in FORGES {
            let repository = member(&world, host, |found| found.archived).path();
            let id = world.add(&format!("https://{host}/{repository}")).await;
            world.run().await;
            assert!(world.repository(id).await.archived, "{host}");
            assert_eq!(world.state(&format!("test/scan:{id}")).await, Some(State::Cancelled), "{host}");
        }
    }

    async fn what_is_not_there_is_told_in_the_right_word(db: TestDb) {
        let world = World::new(&db, of_size(0, 30), Eyes::Token).await;
        for host in FORGES {
            let repository = member(&world, host, active);
            let id = world.add(&format!("https://{host}/{}", repository.path())).await;
            world.run().await;
            let repository = repository.id.to_string();
            let blocked = if host.starts_with("github") { "blocked" } else { "missing" };
            for (change, presence) in [
                (Change::Hide { repository: repository.clone() }, "missing"),
                (Change::Publish { repository: repository.clone() }, "here"),
                (Change::Block { repository: repository.clone() }, blocked),
                (Change::Unblock { repository: repository.clone() }, "here"),
                (Change::Delete { repository: repository.clone() }, "missing"),
            ] {
                world.happens(host, &change);
                world.after(7 * DAY).await;
                assert_eq!(world.metadata(id).await.presence, presence, "{host} {change:?}");
                assert_eq!(world.repository(id).await.gone_at.is_some(), presence != "here");
            }
            assert_eq!(world.events(id).await, ["missing", "returned", blocked, "returned", "missing"]);
            // Knowledge, not failure: asked again after the cadence.
            assert_eq!(world.state(&format!("repo-metadata:{id}")).await, Some(State::Ready));
            assert_eq!(world.strikes(&format!("repo-metadata:{id}")).await, 0);
            world.happens(host, &Change::Restore { repository });
            world.after(7 * DAY).await;
            assert_eq!(world.metadata(id).await.presence, "here");
        }
    }

    async fn an_empty_repository_and_a_fork_are_known_as_such(db: TestDb) {
        let world = World::new(&db, of_size(200, 600), Eyes::Token).await;
        for host in FORGES {
            let empty = member(&world, host, |found| found.empty).path();
            let id = world.add(&format!("https://{host}/{empty}")).await;
            let all = world.server.world().repositories(host);
            let fork = all.iter().find(|found| found.is_public() && found.fork_of.is_some()).unwrap();
            let parent = all.iter().find(|found| Some(found.id) == fork.fork_of).unwrap();
            let forked = world.add(&format!("https://{host}/{}", fork.path())).await;
            world.run().await;
            assert_eq!(world.metadata(id).await.empty, Some(true), "{host}");
            let metadata = world.metadata(forked).await;
            assert_eq!((metadata.fork, metadata.parent), (Some(true), Some(parent.path())), "{host}");
        }
    }

    async fn a_name_that_was_taken_over_is_another_repository(db: TestDb) {
        let world = World::new(&db, of_size(0, 30), Eyes::Token).await;
        for host in FORGES {
            let truth = member(&world, host, active);
            let id = world.add(&format!("https://{host}/{}", truth.path())).await;
            world.run().await;
            world.happens(host, &Change::Rename { repository: truth.id.to_string(), name: "elsewhere".into() });
            world.happens(host, &Change::Add { owner: truth.owner.clone(), name: truth.name.clone() });
            world.after(7 * DAY).await;
            let found = world.repository(id).await;
            assert_eq!((found.name.as_str(), found.forge_id), ("elsewhere", Some(truth.id.to_string())), "{host}");

            // The other way round: the new bearer is found before the old one was asked.
            world.happens(host, &Change::Rename { repository: truth.id.to_string(), name: "third".into() });
            world.happens(host, &Change::Rename { repository: truth.path(), name: "elsewhere".into() });
            let new = world.server.world().repository(host, &format!("{}/elsewhere", truth.owner)).unwrap();
            let other = NewBearer::add(&world, host, &new).await;
            assert_ne!(other, id);
            world.run().await;
            world.run_now(id, host).await;
            assert_eq!(world.repository(id).await.name, "third", "{host}");
            assert_eq!(world.repository(other).await.name, "elsewhere", "{host}");
            assert!(world.repository(id).await.gone_at.is_none());
        }
    }

    async fn one_repository_under_two_names_becomes_one(db: TestDb) {
        let world = World::new(&db, of_size(0, 30), Eyes::Token).await;
        for host in FORGES {
            let truth = member(&world, host, active);
            let old = truth.path();
            world.happens(host, &Change::Rename { repository: old.clone(), name: "today".into() });
            let first = world.add(&format!("https://{host}/{}/today", truth.owner)).await;
            let second = world.add(&format!("https://{host}/{old}")).await;
            assert_ne!(first, second);
            world.run().await;
            // Asked at the same moment, one of the two may have to come again.
            world.after(Duration::from_mins(3)).await;
            let all = world.all(false).await;
            let ours: Vec<_> = all.iter().filter(|found| found.host == host).collect();
            assert_eq!(ours.len(), 1, "{host} {ours:?}");
            assert_eq!(world.find(host, &old).await.unwrap().id, ours[0].id);
            assert_eq!(ours[0].name, "today");
        }
    }
}

/// Somebody who learned of a repository with its number.
struct NewBearer;

impl NewBearer {
    async fn add(world: &World, host: &str, new: &Repository) -> i64 {
        let url = format!("https://{host}/{}", new.path());
        let new = store::repositories::NewRepository {
            forge_id: Some(new.id.to_string()),
            ..facts::repository::RepositoryUrl::parse(&url)
                .unwrap()
                .into()
        };
        let (db, now) = (world.engine.db(), world.engine.clock().now());
        let added = store::repositories::add_many(db, &[new], now)
            .await
            .unwrap();
        added[0].id()
    }
}
