//! Whose declared names are, and which repositories a source was not asked about.

use db::{DbError, Part, Timestamp, testing::both, transact};
use facts::repository::RepositoryUrl;
use store::{
    declared_names::{self, DeclaredName, Verdict},
    repositories::{self, NewRepository},
    sources,
};

const PARTS: &[Part] = &[store::PART];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn learned(name: &str, verdict: Verdict, linked: Option<&str>, seconds: i64) -> DeclaredName {
    DeclaredName {
        ecosystem: "npm".into(),
        name: name.into(),
        verdict,
        linked_repository: linked.map(str::to_owned),
        checked_at: at(seconds),
    }
}

async fn add(db: &db::Db, text: &str) -> i64 {
    let new = NewRepository::from(RepositoryUrl::parse(text).unwrap());
    repositories::add_many(db, &[new], at(1)).await.unwrap()[0].id()
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn a_verdict_is_kept_until_another_is_learned_or_the_name_is_gone(db: TestDb) {
        let id = add(&db, "https://github.com/a/b").await;
        let other = add(&db, "https://github.com/a/c").await;
        let names = vec![
            learned("a", Verdict::Absent, None, 5),
            learned("b", Verdict::Other, Some("https://github.com/x/y"), 5),
        ];
        let first = &names;
        let written: Result<(), DbError> = transact!(db, |tx| {
            declared_names::record(tx, id, first).await?;
            declared_names::record(tx, other, first).await?;
            declared_names::record(tx, other, &[]).await
        });
        written.unwrap();
        assert_eq!(declared_names::of(&db, id).await.unwrap(), names);

        let later = &[learned("b", Verdict::Ours, None, 9)];
        let gone = &[("npm".to_owned(), "a".to_owned())];
        let written: Result<(), DbError> = transact!(db, |tx| {
            declared_names::record(tx, id, later).await?;
            declared_names::forget(tx, id, gone).await?;
            declared_names::forget(tx, id, &[]).await
        });
        written.unwrap();
        assert_eq!(declared_names::of(&db, id).await.unwrap(), later);
        assert_eq!(declared_names::of(&db, other).await.unwrap(), names, "another's stay");
    }

    async fn the_next_that_were_not_asked_about_are_found(db: TestDb) {
        let mut ids = Vec::new();
        for name in ["a", "b", "c", "d", "e"] {
            ids.push(add(&db, &format!("https://github.com/o/{name}")).await);
        }
        let (asked, long_ago, archived) = (ids[1], ids[2], ids[3]);
        let written: Result<(), DbError> = transact!(db, |tx| {
            sources::could_not_answer(tx, asked, "s", "no", at(100)).await?;
            sources::could_not_answer(tx, long_ago, "s", "no", at(10)).await?;
            repositories::set_archived(tx, archived, true).await?;
            Ok(())
        });
        written.unwrap();
        let next = async |after, limit| {
            let next = sources::not_asked_since(&db, "s", at(50), after, limit);
            let next = next.await.unwrap().into_iter();
            next.map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(next(ids[0], 10).await, [ids[2], ids[4]]);
        assert_eq!(next(ids[0], 1).await, [ids[2]]);
        assert_eq!(next(ids[4], 10).await, Vec::<i64>::new());
    }
}
