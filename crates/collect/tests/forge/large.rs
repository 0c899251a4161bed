//! 2,500 repositories in one organisation, on each forge.

use db::testing::TestDb;
use sim::{Change, ORGANISATION};
use store::group_sources::Wanted;

use crate::world::{DAY, Eyes, PARTS, World, of_size};

/// Numbers, addresses and archived of all that is there.
async fn is_complete(world: &World, host: &str) -> bool {
    let truth = world.server.world().public_repositories(host, ORGANISATION);
    let mut truth: Vec<_> = truth
        .iter()
        .map(|found| {
            (
                found.id.to_string(),
                format!("https://{host}/{}", found.path()),
                found.archived,
            )
        })
        .collect();
    let mut ours: Vec<_> = world
        .all(true)
        .await
        .into_iter()
        .filter(|found| found.gone_at.is_none())
        .map(|found| (found.forge_id.unwrap(), found.url, found.archived))
        .collect();
    truth.sort();
    ours.sort();
    truth == ours
}

async fn lists(host: &str, eyes: Eyes, whole: usize, later: usize) {
    let db = TestDb::sqlite(PARTS).await;
    let world = World::new(&db, of_size(8, 2_500), eyes)
        .await
        .without_scans();
    world.follow(host, ORGANISATION, Wanted::default()).await;
    world.run().await;
    assert!(is_complete(&world, host).await, "{host}");
    assert_eq!(world.all(true).await.len(), 2_500);
    let calls = world.asked(host).len();
    assert_eq!(
        calls, whole,
        "{host}: the owner and each page once, no call for a repository"
    );

    // What did not change costs one question a day.
    world.after(DAY).await;
    assert_eq!(world.asked(host).len(), 1);
    world.after(DAY).await;
    let expected = if host == "codeberg.org" { 200 } else { 304 };
    let asked = world.asked(host);
    assert_eq!((asked.len(), asked[0].1), (1, Some(expected)), "{asked:?}");

    // What is new is found by one question, what fills pages by as many.
    world.happens(
        host,
        &Change::AddMany {
            owner: ORGANISATION.into(),
            count: 120,
        },
    );
    world.after(DAY / 2).await;
    assert_eq!(world.asked(host), [], "the cadence holds");
    world.after(DAY / 2).await;
    assert!(is_complete(&world, host).await, "{host}");
    let asked = world.asked(host);
    let pages = asked
        .iter()
        .filter(|(path, _)| path.contains("desc"))
        .count();
    let anonymous = eyes == Eyes::Anonymous && host.starts_with("gitlab");
    // Without times, it takes a page without news to know that there is no more.
    let expected = if anonymous || host == "codeberg.org" {
        3
    } else {
        2
    };
    assert_eq!(pages, expected, "{asked:?}");
    // Only where the list does not tell whether it is archived, each new one is asked about.
    assert_eq!(
        asked.len() - pages,
        if anonymous { 240 } else { 0 },
        "{host}"
    );
    sweeps(&world, host, later).await;
}

/// After a week everything is listed again. What is there is taken over from the list, without a
/// call each; only what is no longer there is asked about, and what must be stopped.
async fn sweeps(world: &World, host: &str, whole: usize) {
    let all = world.server.world().public_repositories(host, ORGANISATION);
    let mut active = all.iter().filter(|found| !found.archived);
    let mut next = || active.next().unwrap().path();
    let [renamed, closed, moved, deleted] = [next(), next(), next(), next()];
    let opened = all.iter().find(|found| found.archived).unwrap().path();
    let mut ids = Vec::new();
    for path in [&renamed, &closed, &moved, &deleted, &opened] {
        ids.push(world.find(host, path).await.unwrap().id);
    }
    for change in [
        Change::Rename {
            repository: renamed,
            name: "renamed".into(),
        },
        Change::Archive { repository: closed },
        Change::Transfer {
            repository: moved,
            owner: "alder-0".into(),
        },
        Change::Delete {
            repository: deleted,
        },
        Change::Unarchive { repository: opened },
    ] {
        world.happens(host, &change);
    }
    world.hand.advance(7 * DAY);
    world.lists_only().await;
    let asked = world.asked(host);
    assert_eq!(asked.len(), whole, "{host}");
    assert_eq!(world.repository(ids[0]).await.name, "renamed");
    assert!(world.repository(ids[1]).await.archived);
    assert!(!world.repository(ids[4]).await.archived);
    let mut urgent = Vec::new();
    for found in world.all(true).await {
        let unit = world.unit(&format!("repo-metadata:{}", found.id)).await;
        if unit.rank == "run-now" {
            urgent.push(found.id);
        }
    }
    urgent.sort_unstable();
    let mut expected = ids[1..4].to_vec();
    expected.sort_unstable();
    assert_eq!(urgent, expected, "{host}: archived, moved, deleted");
}

#[tokio::test]
async fn github() {
    lists("github.com", Eyes::Token, 1 + 25, 1 + 27).await;
}

#[tokio::test]
async fn gitlab() {
    lists("gitlab.com", Eyes::Token, 1 + 26, 1 + 27).await;
}

#[tokio::test]
async fn gitlab_without_a_token() {
    lists("gitlab.example.org", Eyes::Anonymous, 1 + 26, 1 + 27).await;
}

#[tokio::test]
async fn gitea() {
    lists("codeberg.org", Eyes::Token, 1 + 50, 1 + 53).await;
}
