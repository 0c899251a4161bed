//! `organisation`: a group keeps up with an owner.

use db::testing::both;
use engine::State;
use sim::{
    Change, Config, Fault, ORGANISATION, Repository, Rule,
    upstreams::{GitLab, GitLabLimits},
};
use store::group_sources::Wanted;
use tokio_util::sync::CancellationToken;

use crate::world::{DAY, Eyes, PARTS, World, of_size};

pub(crate) const FORGES: [&str; 4] = [
    "github.com",
    "github.example.org",
    "gitlab.example.org",
    "codeberg.org",
];

/// What a forge truly has of the organisation: number, address, archived, default branch.
fn truth(world: &World, host: &str) -> Vec<(String, String, bool)> {
    let all = world.server.world().public_repositories(host, ORGANISATION);
    let mut all: Vec<_> = all
        .iter()
        .map(|found| {
            let url = format!("https://{host}/{}", found.path());
            (found.id.to_string(), url, found.archived)
        })
        .collect();
    all.sort();
    all
}

/// What the group has of it.
async fn ours(world: &World, host: &str) -> Vec<(String, String, bool)> {
    let all = world.all(true).await;
    let mut all: Vec<_> = all
        .into_iter()
        .filter(|found| found.host == host && found.gone_at.is_none())
        .map(|found| {
            (
                found.forge_id.unwrap_or_default(),
                found.url,
                found.archived,
            )
        })
        .collect();
    all.sort();
    all
}

fn some(world: &World, host: &str, number: usize) -> Repository {
    let all = world.server.world().public_repositories(host, ORGANISATION);
    let mut active = all
        .into_iter()
        .filter(|found| !found.archived && !found.empty);
    active.nth(number).unwrap()
}

fn archived(world: &World, host: &str) -> Repository {
    let all = world.server.world().public_repositories(host, ORGANISATION);
    all.into_iter().find(|found| found.archived).unwrap()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_happens_to_an_organisation_is_followed(db: TestDb) {
        let world = World::new(&db, of_size(16, 60), Eyes::Token).await;
        for host in FORGES {
            world.follow(host, ORGANISATION, Wanted::default()).await;
            world.run().await;
            assert_eq!(ours(&world, host).await, truth(&world, host), "{host}");
            let mine = |asked: &[(String, Option<u16>)]| asked.iter().filter(|(path, _)| path.contains("repositories/") || path.contains("projects/1")).count();
            assert_eq!(mine(&world.asked(host)), 0, "a list tells all that is needed");
            // Each comes with its work, the archived without.
            for found in world.all(true).await.iter().filter(|found| found.host == host) {
                let scan = world.state(&format!("test/scan:{}", found.id)).await;
                assert_eq!(scan, (!found.archived).then_some(State::Ready), "{host} {}", found.url);
            }

            let [renamed, moved, closed, deleted, hidden] = [0, 1, 2, 3, 4].map(|number| some(&world, host, number));
            let opened = archived(&world, host);
            let id = async |found: &Repository| world.find(host, &found.path()).await.unwrap().id;
            let ids = [id(&renamed).await, id(&moved).await, id(&closed).await, id(&deleted).await, id(&hidden).await, id(&opened).await];
            for change in [
                Change::Rename { repository: renamed.path(), name: "renamed".into() },
                Change::Transfer { repository: moved.path(), owner: "alder-0".into() },
                Change::Archive { repository: closed.path() },
                Change::Unarchive { repository: opened.path() },
                Change::Delete { repository: deleted.path() },
                Change::Hide { repository: hidden.path() },
                Change::Add { owner: ORGANISATION.into(), name: "sprout".into() },
            ] {
                world.happens(host, &change);
            }
            // One look at what changed last finds what is there; the rest needs a whole listing.
            world.after(DAY).await;
            let asked = world.asked(host);
            assert_eq!(asked.len(), 2, "a list, and the archived one: {asked:?}");
            assert!(world.find(host, "meadow/sprout").await.is_some());
            assert_eq!(world.repository(ids[0]).await.name, "renamed");
            assert!(world.repository(ids[2]).await.archived);
            assert!(!world.repository(ids[5]).await.archived);
            assert_eq!(world.state(&format!("test/scan:{}", ids[2])).await, Some(State::Cancelled));
            assert_eq!(world.state(&format!("test/scan:{}", ids[5])).await, Some(State::Ready));
            assert_eq!(world.events(ids[5]).await, ["unarchived"]);
            assert!(world.repository(ids[3]).await.gone_at.is_none());

            world.after(7 * DAY).await;
            assert_eq!(ours(&world, host).await, truth(&world, host), "{host}");
            assert_eq!(world.repository(ids[1]).await.owner, "alder-0");
            assert_eq!(world.events(ids[1]).await, ["transferred"]);
            assert_eq!(world.events(ids[3]).await, ["missing"]);
            assert_eq!(world.events(ids[4]).await, ["missing"]);
            assert!(world.find(host, &moved.path()).await.is_some_and(|found| found.id == ids[1]));
            let all = world.all(false).await;
            assert_eq!(all.iter().filter(|found| found.host == host).count(), 61, "none became two");
            world.asked(host);
        }
    }

    async fn what_a_person_put_into_the_group_stays(db: TestDb) {
        let world = World::new(&db, of_size(16, 10), Eyes::Token).await;
        let host = "codeberg.org";
        let by_hand = some(&world, host, 0);
        let id = world.add(&format!("https://{host}/{}", by_hand.path())).await;
        world.follow(host, ORGANISATION, Wanted::default()).await;
        let group = store::groups::find(world.engine.db(), "ours").await.unwrap().unwrap();
        let now = world.engine.clock().now();
        let mut tx = world.engine.db().begin().await.unwrap();
        store::groups::add_members(&mut tx, group.id, &[id], now).await.unwrap();
        tx.commit().await.unwrap();
        world.run().await;
        assert_eq!(world.all(true).await.len(), 10);
        world.happens(host, &Change::Transfer { repository: by_hand.path(), owner: "alder-0".into() });
        world.happens(host, &Change::Transfer { repository: some(&world, host, 0).path(), owner: "alder-0".into() });
        world.after(7 * DAY).await;
        let all = world.all(true).await;
        assert_eq!(all.len(), 9);
        assert!(all.iter().any(|found| found.id == id));
    }

    async fn forks_and_archived_ones_are_left_out_on_demand(db: TestDb) {
        let world = World::new(&db, of_size(200, 40), Eyes::Token).await;
        let wanted = Wanted { forks: false, archived: false };
        for host in FORGES {
            let all = world.server.world().repositories(host);
            let owner = all.iter().find(|found| found.is_public() && found.fork_of.is_some()).unwrap().owner.clone();
            let owner = owner.split('/').next().unwrap().to_owned();
            world.follow(host, &owner, wanted).await;
            world.follow(host, ORGANISATION, wanted).await;
            world.run().await;
            let expected = |world: &World| {
                let public = |owner| world.server.world().public_repositories(host, owner);
                let all = public(owner.as_str()).into_iter().chain(public(ORGANISATION));
                all.filter(|found| !found.archived && found.fork_of.is_none()).count()
            };
            assert_eq!(ours(&world, host).await.len(), expected(&world), "{host}");
            world.happens(host, &Change::Archive { repository: some(&world, host, 0).path() });
            world.happens(host, &Change::Unarchive { repository: archived(&world, host).path() });
            world.after(7 * DAY).await;
            assert_eq!(ours(&world, host).await.len(), expected(&world), "{host}");
        }
    }

    async fn a_person_and_a_group_within_a_group_are_owners_too(db: TestDb) {
        let world = World::new(&db, of_size(32, 40), Eyes::Anonymous).await;
        for (host, owner) in [("github.com", "bracken-1"), ("gitlab.com", "bracken-1"), ("codeberg.org", "bracken-1"), ("gitlab.com", "meadow/tools")] {
            let expected = world.server.world().public_repositories(host, owner).len();
            assert!(expected > 0);
            let before = ours(&world, host).await.len();
            world.follow(host, owner, Wanted::default()).await;
            world.run().await;
            assert_eq!(ours(&world, host).await.len() - before, expected, "{host} {owner}");
        }
        let source = world.follow("github.com", "nobody-at-all", Wanted::default()).await;
        world.run().await;
        assert_eq!(world.state(&format!("organisation:{source}")).await, Some(State::Ready));
        assert_eq!(world.strikes(&format!("organisation:{source}")).await, 0, "knowledge, not failure");
    }

    async fn a_list_that_is_longer_than_its_cap_ends_nothing(db: TestDb) {
        let capped = |cap| Config::default().with(GitLab::own("gitlab.example.org").with_limits(GitLabLimits {
            per_minute: None,
            offset_cap: cap,
            ..GitLabLimits::default()
        }));
        let host = "gitlab.example.org";
        // From both ends, a list of twice the cap is whole.
        for (cap, whole) in [(200, true), (100, false)] {
            let config = Config { size: of_size(0, 400).size, ..capped(cap) };
            let world = World::new(&db, config, Eyes::Token).await.without_scans();
            let source = world.follow(host, ORGANISATION, Wanted::default()).await;
            world.run().await;
            let (had, all) = (ours(&world, host).await.len(), truth(&world, host).len());
            assert_eq!(had == all, whole, "{had} of {all}");
            let deleted = some(&world, host, 0);
            let id = world.find(host, &deleted.path()).await.unwrap().id;
            world.happens(host, &Change::Delete { repository: deleted.path() });
            let unit = world.engine.find(&format!("organisation:{source}")).await.unwrap().unwrap();
            let report = world.engine.unit(unit).await.unwrap().unwrap().report.unwrap();
            assert_eq!(report["cut"].is_null(), whole, "{report}");
            world.hand.advance(7 * DAY);
            // Only the list, so that nobody else finds out.
            world.lists_only().await;
            let due = world.engine.find(&format!("repo-metadata:{id}")).await.unwrap().unwrap();
            let rank = world.engine.unit(due).await.unwrap().unwrap().unit.rank;
            assert_eq!(rank == "run-now", whole, "only a whole list raises the question");
            assert!(world.repository(id).await.gone_at.is_none());
            db.execute(db::sql!("DELETE FROM repository")).await.unwrap();
            db.execute(db::sql!("DELETE FROM repo_group")).await.unwrap();
            db.execute(db::sql!("DELETE FROM unit_body")).await.unwrap();
            db.execute(db::sql!("DELETE FROM unit")).await.unwrap();
        }
    }

    async fn a_killed_run_goes_on_where_it_was(db: TestDb) {
        let world = World::new(&db, of_size(0, 350), Eyes::Token).await.without_scans();
        for host in FORGES {
            let hang = world.server.plan().add(Rule::on(host, Fault::Hang).path("page=3")).unwrap();
            world.follow(host, ORGANISATION, Wanted::default()).await;
            let stop = CancellationToken::new();
            let reached = world.server.journal().until(|journal| {
                journal.requests(host).iter().any(|request| request.path.contains("page=3"))
            });
            let kill = async {
                reached.await;
                stop.cancel();
            };
            let killed = async { tokio::join!(world.worker().run(stop.clone()), kill).0 };
            world.while_time_passes(killed).await.unwrap();
            let before = ours(&world, host).await.len();
            assert!(before > 0 && before < 350, "{host} {before}");
            assert!(world.server.plan().remove(hang));
            world.asked(host);
            world.run().await;
            assert_eq!(ours(&world, host).await, truth(&world, host), "{host}");
            let asked = world.asked(host);
            assert!(asked[0].0.contains("page=3"), "{asked:?}");
        }
    }
}
