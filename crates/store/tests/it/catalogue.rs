//! Repositories, groups and contributors, on both databases.

use db::{Part, Timestamp, testing::both};
use facts::{
    contributor::{Address, Contributor},
    group::GroupName,
    repository::RepositoryUrl,
};
use store::{
    contributors, groups,
    repositories::{
        self, Added, Filter, Found, NewRepository, Renamed, add, add_batch, add_many, find, list,
        rename, rename_by_forge_id,
    },
};

const PARTS: &[Part] = &[store::PART];

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn new(text: &str) -> NewRepository {
    RepositoryUrl::parse(text).unwrap().into()
}

fn numbered(text: &str, forge_id: &str) -> NewRepository {
    NewRepository {
        forge_id: Some(forge_id.to_owned()),
        ..new(text)
    }
}

fn person(name: &str, addresses: &[&str]) -> Contributor {
    Contributor {
        name: (!name.is_empty()).then(|| name.to_owned()),
        addresses: addresses
            .iter()
            .map(|address| Address::parse(address).unwrap())
            .collect(),
    }
}

async fn add_one(db: &db::Db, repository: NewRepository, now: Timestamp) -> Added {
    let mut tx = db.begin().await.unwrap();
    let added = add(&mut tx, repository, now).await.unwrap();
    tx.commit().await.unwrap();
    added
}

async fn found(db: &db::Db, text: &str) -> Option<i64> {
    match find(db, text).await.unwrap() {
        Found::One(repository) => Some(repository.id),
        Found::Nothing => None,
        Found::Several(several) => panic!("{text} fits {} repositories", several.len()),
    }
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn adding_twice_makes_one(db: TestDb) {
        let first = add_one(&db, new("https://github.com/Pallets/Flask"), at(1)).await;
        assert!(first.is_new());
        for text in ["git@github.com:pallets/flask.git", "github.com/PALLETS/flask/tree/main"] {
            assert_eq!(add_one(&db, new(text), at(2)).await, Added::Already(first.id()));
        }
        let repository = repositories::by_id(&db, first.id()).await.unwrap().unwrap();
        assert_eq!(repository.slug(), "Pallets/Flask");
        assert_eq!(repository.added_at, at(1));
        assert_eq!((repository.forge.as_str(), repository.local, repository.archived), ("github", false, false));
        // On a host where case may matter, it does.
        let a = add_one(&db, new("https://git.example.org/A/x"), at(1)).await;
        let b = add_one(&db, new("https://git.example.org/a/x"), at(1)).await;
        assert_ne!(a.id(), b.id());
    }

    async fn many_are_added_in_batches_and_answered_in_order(db: TestDb) {
        let known = add_one(&db, new("https://github.com/o/r7"), at(1)).await;
        let mut batch: Vec<NewRepository> =
            (0..6_000).map(|n| new(&format!("https://github.com/o/r{n}"))).collect();
        batch.push(new("https://github.com/O/R3"));
        let added = add_many(&db, &batch, at(2)).await.unwrap();
        assert_eq!(added.len(), 6_001);
        assert_eq!(added[7], Added::Already(known.id()));
        assert_eq!(added[6_000], Added::Already(added[3].id()));
        assert_eq!(added.iter().filter(|added| added.is_new()).count(), 5_999);
        let nine = repositories::by_id(&db, added[9].id()).await.unwrap().unwrap();
        assert_eq!(nine.name, "r9");
        // And within one batch, by key or by number.
        let mut tx = db.begin().await.unwrap();
        let same = add_batch(&mut tx, &[numbered("github.com/n/old", "5"), numbered("github.com/n/now", "5")], at(3)).await.unwrap();
        assert_eq!(same, [Added::Added(same[0].id()), Added::Already(same[0].id())]);
        tx.rollback().await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let twice = add_batch(&mut tx, &[new("github.com/a/b"), new("github.com/A/B")], at(3)).await.unwrap();
        assert_eq!(twice, [Added::Added(twice[0].id()), Added::Already(twice[0].id())]);
    }

    async fn two_who_add_the_same_at_once_make_one_of_each(db: TestDb) {
        let forth: Vec<NewRepository> = (0..300).map(|n| new(&format!("github.com/o/r{n}"))).collect();
        let back: Vec<NewRepository> = forth.iter().rev().cloned().collect();
        let (a, b) = tokio::join!(add_many(&db, &forth, at(1)), add_many(&db, &back, at(1)));
        let (a, mut b) = (a.unwrap(), b.unwrap());
        b.reverse();
        for (a, b) in a.iter().zip(&b) {
            assert_eq!(a.id(), b.id());
            assert_ne!(a.is_new(), b.is_new());
        }
    }

    async fn a_repository_is_found_by_whatever_people_call_it(db: TestDb) {
        let flask = add_one(&db, new("https://github.com/pallets/Flask"), at(1)).await.id();
        let local = add_one(&db, new("/srv/git/thing.git"), at(1)).await.id();
        let deep = add_one(&db, new("https://gitlab.com/a/b/c/Deep"), at(1)).await.id();
        for text in [&flask.to_string(), "https://github.com/Pallets/flask", "PALLETS/flask", "flask",
                     "git@github.com:pallets/flask.git"] {
            assert_eq!(found(&db, text).await, Some(flask), "{text}");
        }
        for text in ["/srv/git/thing.git", "file:///srv/git/thing.git", "thing"] {
            assert_eq!(found(&db, text).await, Some(local), "{text}");
        }
        assert_eq!(found(&db, "a/b/c/deep").await, Some(deep));
        let dotted = add_one(&db, new("https://gitlab.com/my.group/thing2"), at(1)).await.id();
        assert_eq!(found(&db, "my.group/thing2").await, Some(dotted));
        for text in ["", "9999", "99999999999999999999", "nobody/nothing", "https://github.com/no/no"] {
            assert_eq!(found(&db, text).await, None, "{text}");
        }
        add_one(&db, new("https://gitlab.com/pallets/flask"), at(1)).await;
        assert!(matches!(find(&db, "pallets/flask").await.unwrap(), Found::Several(two) if two.len() == 2));
    }

    async fn a_renamed_repository_is_found_by_its_old_name(db: TestDb) {
        let id = add_one(&db, numbered("https://github.com/mitsuhiko/flask", "596892"), at(1)).await.id();
        let to = RepositoryUrl::parse("https://github.com/Pallets/flask").unwrap();
        let mut tx = db.begin().await.unwrap();
        assert_eq!(rename_by_forge_id(&mut tx, "596892", &to, at(2)).await.unwrap(), Renamed::Renamed { id });
        assert_eq!(rename_by_forge_id(&mut tx, "1", &to, at(2)).await.unwrap(), Renamed::Unknown);
        // The same in another case is no rename.
        let shouted = RepositoryUrl::parse("https://github.com/PALLETS/Flask").unwrap();
        assert_eq!(rename(&mut tx, id, &shouted, at(3)).await.unwrap(), Renamed::Same { id });
        tx.commit().await.unwrap();

        let repository = repositories::by_id(&db, id).await.unwrap().unwrap();
        assert_eq!(repository.url, "https://github.com/PALLETS/Flask");
        assert_eq!(repositories::former_names(&db, id).await.unwrap(), ["https://github.com/mitsuhiko/flask"]);
        assert_eq!(found(&db, "https://github.com/Mitsuhiko/Flask").await, Some(id));
        assert_eq!(found(&db, "mitsuhiko/flask").await, Some(id));
        // Adding the old address makes no second one, nor does the number under a third.
        assert_eq!(add_one(&db, new("https://github.com/mitsuhiko/flask"), at(4)).await, Added::Already(id));
        assert_eq!(add_one(&db, numbered("https://github.com/fresh/flask", "596892"), at(5)).await, Added::Already(id));
        assert_eq!(found(&db, "fresh/flask").await, Some(id));
        assert_eq!(found(&db, "pallets/flask").await, Some(id));
        // And back.
        let mut tx = db.begin().await.unwrap();
        assert_eq!(rename(&mut tx, id, &to, at(6)).await.unwrap(), Renamed::Renamed { id });
        tx.commit().await.unwrap();
        assert_eq!(repositories::former_names(&db, id).await.unwrap(),
            ["https://github.com/fresh/flask", "https://github.com/mitsuhiko/flask"]);
    }

    async fn two_entries_that_turn_out_to_be_one_are_merged(db: TestDb) {
        let old = add_one(&db, numbered("https://github.com/a/old", "7"), at(1)).await.id();
        let new_id = add_one(&db, new("https://github.com/a/new"), at(2)).await.id();
        let mut tx = db.begin().await.unwrap();
        let group = groups::create(&mut tx, &GroupName::parse("g").unwrap(), at(2)).await.unwrap().id();
        groups::add_members(&mut tx, group, &[new_id], at(2)).await.unwrap();
        let to = RepositoryUrl::parse("https://github.com/a/new").unwrap();
        assert_eq!(rename(&mut tx, old, &to, at(3)).await.unwrap(),
            Renamed::Merged { id: old, dropped: new_id });
        tx.commit().await.unwrap();
        assert_eq!(found(&db, "a/new").await, Some(old));
        assert_eq!(found(&db, "a/old").await, Some(old));
        assert_eq!(groups::of_repository(&db, old).await.unwrap(), ["g"]);
        assert!(repositories::by_id(&db, new_id).await.unwrap().is_none());
    }

    async fn a_batch_that_merges_two_answers_with_the_one_that_stays(db: TestDb) {
        let a = add_one(&db, numbered("https://github.com/x/a", "7"), at(1)).await.id();
        let b = add_one(&db, new("https://github.com/x/was"), at(1)).await.id();
        let mut tx = db.begin().await.unwrap();
        let to = RepositoryUrl::parse("https://github.com/x/b").unwrap();
        rename(&mut tx, b, &to, at(2)).await.unwrap();
        // The forge now says that number 7 is x/b, and somebody brings the former name of x/b.
        let added = add_batch(&mut tx, &[
            new("https://github.com/x/was"),
            numbered("https://github.com/x/b", "7"),
            new("https://github.com/x/a"),
        ], at(3)).await.unwrap();
        assert_eq!(added, [Added::Already(a); 3]);
        tx.commit().await.unwrap();
        assert_eq!(found(&db, "x/was").await, Some(a));
    }

    async fn a_name_taken_over_by_another_repository_is_its(db: TestDb) {
        let first = add_one(&db, numbered("https://github.com/a/name", "1"), at(1)).await.id();
        let second = add_one(&db, numbered("https://github.com/a/name", "2"), at(2)).await;
        assert!(second.is_new());
        assert_eq!(found(&db, "https://github.com/a/name").await, Some(second.id()));
        let lost = repositories::by_id(&db, first).await.unwrap().unwrap();
        assert_eq!(lost.gone_at, Some(at(2)));
        // The first turns up elsewhere; then a third takes the second's name by being renamed.
        let mut tx = db.begin().await.unwrap();
        let moved = RepositoryUrl::parse("https://github.com/b/name").unwrap();
        assert_eq!(rename(&mut tx, first, &moved, at(3)).await.unwrap(), Renamed::Renamed { id: first });
        let back = RepositoryUrl::parse("https://github.com/a/name").unwrap();
        assert_eq!(rename(&mut tx, first, &back, at(4)).await.unwrap(),
            Renamed::Displaced { id: first, other: second.id() });
        tx.commit().await.unwrap();
        assert_eq!(found(&db, "https://github.com/a/name").await, Some(first));
        assert_eq!(repositories::by_id(&db, first).await.unwrap().unwrap().gone_at, None);
        assert_eq!(repositories::by_id(&db, second.id()).await.unwrap().unwrap().gone_at, Some(at(4)));
    }

    async fn lists_are_filtered_and_paged(db: TestDb) {
        let urls = ["https://github.com/Foo/one", "https://github.com/foo/two_x", "https://github.com/foobar/three",
                    "https://gitlab.com/foo/sub/four", "/srv/five"];
        let mut ids = Vec::new();
        for url in urls {
            ids.push(add_one(&db, new(url), at(1)).await.id());
        }
        let mut tx = db.begin().await.unwrap();
        assert!(repositories::set_archived(&mut tx, ids[0], true).await.unwrap());
        assert!(!repositories::set_archived(&mut tx, ids[0], true).await.unwrap());
        repositories::mark_gone(&mut tx, ids[1], Some(at(2))).await.unwrap();
        repositories::mark_gone(&mut tx, ids[1], Some(at(3))).await.unwrap();
        repositories::set_default_branch(&mut tx, ids[2], Some("trunk")).await.unwrap();
        let group = groups::create(&mut tx, &GroupName::parse("mine").unwrap(), at(2)).await.unwrap().id();
        groups::add_members(&mut tx, group, &[ids[2], ids[4], 999], at(2)).await.unwrap();
        tx.commit().await.unwrap();

        let ask = |filter: Filter| {
            let db = &db;
            async move {
                let page = list(db, &filter, 100).await.unwrap();
                assert_eq!(page.next, None);
                page.items.iter().map(|repository| repository.id).collect::<Vec<_>>()
            }
        };
        assert_eq!(ask(Filter::default()).await, ids);
        assert_eq!(ask(Filter { host: Some("GitHub.com".into()), ..Filter::default() }).await, ids[..3]);
        assert_eq!(ask(Filter { owner: Some("FOO".into()), ..Filter::default() }).await, [ids[0], ids[1], ids[3]]);
        assert_eq!(ask(Filter { text: Some("o_X".into()), ..Filter::default() }).await, [ids[1]]);
        assert_eq!(ask(Filter { text: Some("%".into()), ..Filter::default() }).await, [0; 0]);
        assert_eq!(ask(Filter { group: Some(group), ..Filter::default() }).await, [ids[2], ids[4]]);
        assert_eq!(ask(Filter { archived: Some(true), ..Filter::default() }).await, [ids[0]]);
        assert_eq!(ask(Filter { gone: Some(true), ..Filter::default() }).await, [ids[1]]);
        assert_eq!(ask(Filter { archived: Some(false), gone: Some(false), ..Filter::default() }).await, ids[2..]);

        let first = list(&db, &Filter::default(), 2).await.unwrap();
        assert_eq!(first.next, Some(ids[1]));
        let second = list(&db, &Filter { after: first.next, ..Filter::default() }, 3).await.unwrap();
        assert_eq!((second.items.len(), second.next), (3, None));
        assert_eq!(second.items[0].default_branch.as_deref(), Some("trunk"));
        assert_eq!(first.items[1].gone_at, Some(at(2)));
    }

    async fn groups_hold_repositories(db: TestDb) {
        let a = add_one(&db, new("https://github.com/o/a"), at(1)).await.id();
        let b = add_one(&db, new("https://github.com/o/b"), at(1)).await.id();
        let mut tx = db.begin().await.unwrap();
        let name = GroupName::parse("CHAOSS").unwrap();
        let made = groups::create(&mut tx, &name, at(1)).await.unwrap();
        let again = groups::create(&mut tx, &GroupName::parse("chaoss").unwrap(), at(2)).await.unwrap();
        assert_eq!((made.is_new(), again), (true, Added::Already(made.id())));
        assert_eq!(groups::add_members(&mut tx, made.id(), &[a, b, b], at(1)).await.unwrap(), 2);
        assert_eq!(groups::add_members(&mut tx, made.id(), &[a], at(1)).await.unwrap(), 0);
        assert_eq!(groups::remove_members(&mut tx, made.id(), &[b, 77]).await.unwrap(), 1);
        tx.commit().await.unwrap();
        let group = groups::find(&db, "Chaoss").await.unwrap().unwrap();
        assert_eq!((group.name.as_str(), group.repositories), ("CHAOSS", 1));
        assert_eq!(groups::find(&db, &made.id().to_string()).await.unwrap().unwrap(), group);
        assert_eq!(groups::list(&db).await.unwrap(), [group]);
        let mut tx = db.begin().await.unwrap();
        assert!(groups::remove(&mut tx, made.id()).await.unwrap());
        assert!(!groups::remove(&mut tx, made.id()).await.unwrap());
        tx.commit().await.unwrap();
        assert!(repositories::by_id(&db, a).await.unwrap().is_some());
    }

    async fn contributors_are_known_by_their_addresses(db: TestDb) {
        let mut tx = db.begin().await.unwrap();
        let ids = contributors::upsert_many(&mut tx, &[
            person("Ada", &["ada@example.org"]),
            person("Grace", &["grace@example.org", "Hopper@navy.example"]),
            person("Nobody", &[]),
            person("Ada L.", &["ADA@example.org", "ada@second.example"]),
        ], at(1)).await.unwrap();
        assert_eq!(ids[2], None);
        assert_eq!(ids[0], ids[3]);
        assert_ne!(ids[0], ids[1]);
        // A known address brings a new one along; two people are not merged by a third mail.
        let more = contributors::upsert_many(&mut tx, &[
            person("", &["third@ada.example", "ada@second.example"]),
            person("Who", &["hopper@NAVY.example", "ada@example.org"]),
        ], at(2)).await.unwrap();
        assert_eq!(more, [ids[0], ids[0].min(ids[1])]);
        tx.commit().await.unwrap();

        let ada = contributors::by_address(&db, &Address::parse("Third@ada.example").unwrap()).await.unwrap().unwrap();
        assert_eq!(Some(ada.id), ids[0]);
        assert_eq!(ada.addresses, ["ada@example.org", "ada@second.example", "third@ada.example"]);
        let grace = contributors::by_address(&db, &Address::parse("hopper@navy.example").unwrap()).await.unwrap().unwrap();
        assert_eq!(Some(grace.id), ids[1]);
        assert_eq!(grace.name.as_deref(), Some("Grace"));
        assert!(contributors::by_address(&db, &Address::parse("x@y").unwrap()).await.unwrap().is_none());
    }
}
