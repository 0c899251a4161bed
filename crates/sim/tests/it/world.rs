//! The truth and its changes.

use std::time::Duration;

use jiff::SignedDuration;
use sim::{
    Change, ChangeError, EPOCH, ForgeKind, ORGANISATION, OwnerKind, Presence, World, WorldClock,
    WorldSize,
};

const HOST: &str = "github.com";

fn world(seed: u64, repositories: usize) -> World {
    let size = WorldSize {
        repositories,
        organisation: 30,
    };
    let forges = [
        (HOST.to_owned(), ForgeKind::Flat),
        ("gitlab.com".to_owned(), ForgeKind::Nested),
    ];
    World::new(seed, size, WorldClock::standing(EPOCH), forges)
}

#[test]
fn the_same_seed_gives_the_same_world() {
    assert_eq!(world(7, 100), world(7, 100));
    assert_ne!(world(7, 100), world(8, 100));
    let (small, large) = (world(7, 40), world(7, 100));
    for found in small.repositories(HOST) {
        assert!(large.repositories(HOST).contains(&found), "{found:?}");
    }
}

#[test]
fn a_world_holds_every_sort_of_repository() {
    for host in [HOST, "gitlab.com"] {
        let all = world(1, 400).repositories(host);
        assert!(all.iter().any(|found| found.archived));
        assert!(all.iter().any(|found| found.private));
        assert!(all.iter().any(|found| found.empty));
        assert!(all.iter().any(|found| found.fork_of.is_some()));
        for presence in [Presence::Here, Presence::Deleted, Presence::Blocked] {
            assert!(all.iter().any(|found| found.presence == presence));
        }
        let nested = all.iter().any(|found| found.owner.contains('/'));
        assert_eq!(nested, host == "gitlab.com");
        assert!(all.iter().all(|found| found.created_at <= found.pushed_at
            && found.pushed_at <= found.updated_at
            && found.updated_at <= EPOCH));
    }
}

#[test]
fn a_renamed_repository_keeps_its_number_and_its_old_name_can_be_taken() {
    let world = world(3, 10);
    let before = world.public_repositories(HOST, ORGANISATION)[0].clone();
    let old = before.path();
    let rename = Change::Rename {
        repository: old.clone(),
        name: "renamed".to_owned(),
    };
    world.apply(HOST, &rename).unwrap();
    assert_eq!(world.repository(HOST, &old), None);
    let after = world.repository(HOST, "MEADOW/Renamed").unwrap();
    assert_eq!(after.id, before.id);

    // Changes still find it by its former name, until another takes that.
    let archive = Change::Archive {
        repository: old.clone(),
    };
    world.apply(HOST, &archive).unwrap();
    assert!(world.repository(HOST, "meadow/renamed").unwrap().archived);
    let add = Change::Add {
        owner: ORGANISATION.to_owned(),
        name: before.name.clone(),
    };
    world.apply(HOST, &add).unwrap();
    assert_ne!(world.repository(HOST, &old).unwrap().id, before.id);
    assert_eq!(
        world.apply(HOST, &add),
        Err(ChangeError::Taken(old.clone()))
    );
}

#[test]
fn scheduled_changes_happen_at_their_time() {
    let world = world(3, 10);
    let path = world.public_repositories(HOST, ORGANISATION)[0].path();
    let noon = EPOCH + SignedDuration::from_hours(12);
    let delete = Change::Delete {
        repository: path.clone(),
    };
    let push = Change::Push {
        repository: path.clone(),
    };
    world.schedule(noon + SignedDuration::from_hours(1), HOST, delete);
    world.schedule(noon, HOST, push);
    assert!(world.repository(HOST, &path).unwrap().pushed_at < noon);
    assert!(world.clock().advance(Duration::from_mins(12 * 60 + 10)));
    assert_eq!(world.repository(HOST, &path).unwrap().pushed_at, noon);
    assert!(world.clock().advance(Duration::from_hours(1)));
    assert_eq!(world.repository(HOST, &path), None);
}

#[test]
fn a_deleted_repository_can_be_restored_and_hidden() {
    let world = world(3, 10);
    let found = world.public_repositories(HOST, ORGANISATION)[0].clone();
    let named = || found.path();
    for (change, public) in [
        (
            Change::Delete {
                repository: named(),
            },
            29,
        ),
        (
            Change::Restore {
                repository: named(),
            },
            30,
        ),
        (
            Change::Hide {
                repository: named(),
            },
            29,
        ),
        (
            Change::Publish {
                repository: named(),
            },
            30,
        ),
        (
            Change::Block {
                repository: named(),
            },
            29,
        ),
        (
            Change::Unblock {
                repository: named(),
            },
            30,
        ),
    ] {
        world.apply(HOST, &change).unwrap();
        let seen = world.public_repositories(HOST, ORGANISATION).len();
        assert_eq!(seen, public, "{change:?}");
    }
    assert_eq!(world.repository(HOST, &named()).unwrap().id, found.id);
}

#[test]
fn an_owner_moves_with_everything_below() {
    let world = world(3, 10);
    let rename = Change::RenameOwner {
        owner: ORGANISATION.to_owned(),
        name: "pasture".to_owned(),
    };
    world.apply("gitlab.com", &rename).unwrap();
    let moved = world.public_repositories("gitlab.com", "pasture");
    assert_eq!(moved.len(), 30);
    assert!(
        moved
            .iter()
            .any(|found| found.owner == "pasture/tools/hand")
    );
    assert!(
        world
            .public_repositories("gitlab.com", ORGANISATION)
            .is_empty()
    );

    let transfer = Change::Transfer {
        repository: moved[0].path(),
        owner: "nobody".to_owned(),
    };
    let refused = world.apply("gitlab.com", &transfer);
    assert_eq!(refused, Err(ChangeError::NoOwner("nobody".to_owned())));
    let settle = Change::AddOwner {
        owner: "nobody".to_owned(),
        kind: OwnerKind::User,
    };
    world.apply("gitlab.com", &settle).unwrap();
    world.apply("gitlab.com", &transfer).unwrap();
    assert_eq!(world.public_repositories("gitlab.com", "nobody").len(), 1);
}

#[test]
fn a_scaled_clock_runs_ahead_and_cannot_be_moved() {
    let clock = WorldClock::scaled(EPOCH, 1e6);
    let first = clock.now();
    while clock.now() <= first {
        std::hint::spin_loop();
    }
    assert!(!clock.advance(Duration::from_secs(1)));
    assert!((clock.factor() - 1e6).abs() < f64::EPSILON);
}
