//! What forges say of repositories, and the owners that groups follow.

use db::{Db, DbError, Part, Timestamp, testing::both, transact};
use facts::{group::GroupName, repository::RepositoryUrl};
use store::{
    group_sources::{self, Source, Wanted},
    groups,
    metadata::{self, Seen, Sight},
    repositories::{self, Filter, NewRepository},
};

const PARTS: &[Part] = &[store::PART];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn url(text: &str) -> RepositoryUrl {
    RepositoryUrl::parse(text).unwrap()
}

fn sight(text: &str, number: &str) -> Sight {
    Sight {
        forge_id: number.into(),
        url: url(text),
        archived: Some(false),
        default_branch: Some("main".into()),
        visibility: Some("public".into()),
        fork: Some(false),
        parent: None,
        empty: Some(false),
        pushed_at: None,
        of_person: Some(false),
    }
}

fn here(sight: &Sight) -> Seen {
    Seen::Here(Box::new(sight.clone()))
}

async fn add(db: &Db, text: &str) -> i64 {
    let new = NewRepository::from(url(text));
    repositories::add_many(db, &[new], at(1)).await.unwrap()[0].id()
}

async fn observe(db: &Db, id: i64, seen: &Seen, now: i64) -> metadata::Observed {
    let written: Result<_, DbError> =
        transact!(db, |tx| metadata::observe(tx, id, seen, "test", at(now))
            .await);
    written.unwrap()
}

async fn source(db: &Db, group: &str, owner: &str) -> Source {
    let name = &GroupName::parse(group).unwrap();
    let made: Result<i64, DbError> = transact!(db, |tx| {
        let group = groups::create(tx, name, at(1)).await?.id();
        let host = "github.com";
        let made = group_sources::attach(tx, group, host, owner, Wanted::default(), at(1)).await?;
        Ok(made.id())
    });
    group_sources::by_id(db, made.unwrap())
        .await
        .unwrap()
        .unwrap()
}

async fn listed(db: &Db, source: &Source, ids: &[i64], listing: i64) {
    let written: Result<u64, DbError> = transact!(db, |tx| {
        group_sources::listed(tx, source, ids, at(listing), at(listing)).await
    });
    written.unwrap();
}

async fn leave(db: &Db, source: &Source, ids: &[i64]) {
    let left: Result<u64, DbError> =
        transact!(db, |tx| group_sources::leave(tx, source.id, ids).await);
    left.unwrap();
}

async fn members(db: &Db, group: i64) -> Vec<i64> {
    let filter = Filter {
        group: Some(group),
        ..Filter::default()
    };
    let page = repositories::list(db, &filter, 100).await.unwrap();
    page.items.iter().map(|found| found.id).collect()
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn the_first_look_is_no_change_and_every_later_one_is_told(db: TestDb) {
        let id = add(&db, "https://github.com/a/one").await;
        let mut seen = sight("https://github.com/a/one", "7");
        assert_eq!(observe(&db, id, &here(&seen), 2).await.events, []);
        assert_eq!(observe(&db, id, &here(&seen), 3).await.events, []);
        seen.visibility = Some("internal".into());
        seen.default_branch = Some("next".into());
        seen.archived = None;
        seen.fork = None;
        let observed = observe(&db, id, &here(&seen), 4).await;
        let told: Vec<_> = observed.events.iter().map(|event| (event.what.as_str(), event.was.as_deref(), event.became.as_deref())).collect();
        assert_eq!(told, [
            ("default-branch", Some("main"), Some("next")),
            ("visibility", Some("public"), Some("internal")),
        ]);
        let kept = metadata::of(&db, id).await.unwrap().unwrap();
        assert_eq!((kept.fork, kept.observed_at, kept.source.as_str()), (Some(false), at(4), "test"));
        for (seen, word) in [(Seen::Missing, "missing"), (Seen::Blocked, "blocked")] {
            assert!(observe(&db, id, &seen, 5).await.has(word));
            assert_eq!(observe(&db, id, &seen, 6).await.events, []);
        }
        assert_eq!(repositories::by_id(&db, id).await.unwrap().unwrap().gone_at, Some(at(5)));
        assert!(observe(&db, id, &here(&seen), 7).await.has("returned"));
        let events = metadata::events(&db, id).await.unwrap();
        assert_eq!(events.iter().map(|event| event.observed_at).collect::<Vec<_>>(), [at(4), at(4), at(5), at(5), at(7)]);
    }

    async fn two_entries_with_one_number_become_one_with_all_names(db: TestDb) {
        let new = add(&db, "https://github.com/a/new").await;
        let old = add(&db, "https://github.com/a/old").await;
        let group = source(&db, "mine", "a").await;
        listed(&db, &group, &[old], 2).await;
        let seen = here(&sight("https://github.com/a/new", "7"));
        observe(&db, new, &seen, 2).await;
        let observed = observe(&db, old, &seen, 3).await;
        assert_eq!((observed.id, observed.merged), (new, Some(old)));
        assert_eq!(repositories::by_url(&db, &url("https://github.com/a/old")).await.unwrap().unwrap().id, new);
        assert_eq!(members(&db, group.group).await, [new]);
        leave(&db, &group, &[new]).await;
        assert_eq!(members(&db, group.group).await, [0; 0]);
    }

    async fn a_source_takes_out_only_what_it_put_in(db: TestDb) {
        let mut ids = Vec::new();
        for name in ["one", "two", "three"] {
            ids.push(add(&db, &format!("https://github.com/a/{name}")).await);
        }
        let first = source(&db, "mine", "a").await;
        let second = source(&db, "mine", "A/").await;
        let by_hand: Result<u64, DbError> = transact!(db, |tx| groups::add_members(tx, first.group, &[ids[0]], at(1)).await);
        assert_eq!(by_hand.unwrap(), 1);
        listed(&db, &first, &ids, 2).await;
        listed(&db, &second, &ids[..2], 2).await;
        assert_eq!(members(&db, first.group).await, ids);
        leave(&db, &first, &ids).await;
        assert_eq!(members(&db, first.group).await, ids[..2], "by hand, and by the other source");
        let detached: Result<bool, DbError> = transact!(db, |tx| group_sources::detach(tx, second.id).await);
        assert!(detached.unwrap());
        assert_eq!(members(&db, first.group).await, ids[..1]);
    }

    async fn what_a_listing_did_not_name_is_told(db: TestDb) {
        let ids = [add(&db, "https://github.com/a/one").await, add(&db, "https://github.com/a/two").await];
        let source = source(&db, "mine", "a").await;
        listed(&db, &source, &ids, 2).await;
        listed(&db, &source, &ids[1..], 5).await;
        let missing: Result<_, DbError> = transact!(db, |tx| group_sources::not_listed_since(tx, source.id, at(5), 10).await);
        assert_eq!(missing.unwrap(), ids[..1]);
        // Elsewhere, or gone, it leaves; the other stays.
        observe(&db, ids[0], &here(&sight("https://github.com/ab/one", "7")), 6).await;
        for id in ids {
            let left: Result<(), DbError> = transact!(db, |tx| group_sources::leave_if_elsewhere(tx, id).await);
            left.unwrap();
        }
        assert_eq!(members(&db, source.group).await, ids[1..]);
    }
}
