//! Who writes: known people, hidden addresses, accounts of a forge, robots and lists.

use std::time::Duration;

use db::{Row, sql, testing::both, transact};
use facts::{
    contributor::{Address, Contributor},
    mail::Archive,
};
use sim::Person;
use store::{contributors, mail};

use crate::world::{PARTS, World, source};

const GITHUB: &str = "github.com";

async fn know(world: &World, name: &str, addresses: &[&str]) {
    let person = Contributor {
        name: Some(name.to_owned()),
        addresses: addresses
            .iter()
            .map(|one| Address::parse(one).unwrap())
            .collect(),
    };
    let (people, now) = (&[person], world.engine.clock().now());
    let done: Result<_, db::DbError> =
        transact!(world.engine.db(), |tx| contributors::upsert_many(
            tx, people, now
        )
        .await);
    done.unwrap();
}

fn join(world: &World, login: &str, email: &str, shows_email: bool, commits: bool) {
    let person = Person {
        login: login.to_owned(),
        email: email.to_owned(),
        shows_email,
        commits,
        bot: login.ends_with("-app"),
    };
    world.server.world().join(GITHUB, person).unwrap();
}

/// Two messages of each.
fn mails(from: &[&str]) -> Vec<String> {
    let mut mails = Vec::new();
    for (number, from) in from.iter().enumerate() {
        for copy in 0..2 {
            let id = format!("{number}.{copy}@x");
            let date = format!("2018-01-0{}T00:00:0{copy}Z", number + 1);
            mails.push(source(&id, &date, "Words").replace("Ada <ada@example.org>", from));
        }
    }
    mails
}

/// Address, how it was found, and all addresses of that contributor.
async fn people(db: &db::Db) -> Vec<String> {
    let rows = db
        .fetch_all(sql!(
            "SELECT s.email, s.identity, s.automation, s.contributor FROM mail_sender s
             ORDER BY s.email"
        ))
        .await
        .unwrap();
    let mut lines = Vec::new();
    for row in &rows {
        let email: String = row.get("email").unwrap();
        let known = contributors::by_address(db, &Address::parse(&email).unwrap())
            .await
            .unwrap();
        let same = known.as_ref().map(|known| known.id) == row.get("contributor").unwrap();
        let mut addresses = known.map(|known| known.addresses).unwrap_or_default();
        addresses.sort();
        let identity: Option<String> = row.get("identity").unwrap();
        let automation: bool = row.get("automation").unwrap();
        lines.push(format!(
            "{email} {} {} {same}",
            if automation {
                "nobody"
            } else {
                identity.as_deref().unwrap_or("-")
            },
            addresses.join(","),
        ));
    }
    lines
}

fn searches(world: &World) -> usize {
    let requests = world.server.journal().requests(GITHUB);
    world.server.journal().clear();
    requests
        .iter()
        .filter(|one| one.path.contains("/search/"))
        .count()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn senders_are_found_by_every_way_in_turn(db: TestDb) {
        let mut world = World::new(&db).await;
        world.settings.sender_search_after = 2;
        know(&world, "Known", &["known@example.org"]).await;
        know(&world, "Grace", &["grace@users.noreply.github.com", "old@example.org"]).await;
        join(&world, "grace", "grace@example.org", true, false);
        join(&world, "linus", "linus@example.org", false, true);
        join(&world, "twin1", "shared@example.org", true, true);
        join(&world, "twin2", "shared@example.org", true, true);
        join(&world, "mower-app", "mower@example.org", true, true);
        let list = world.register(Archive::Import, "dev@meadow.example.org").await;
        let written = mails(&[
            "Known <known@example.org>",
            "Hidden <7+ada@users.noreply.github.com>",
            "Grace <grace@example.org>",
            "Linus <linus@example.org>",
            "Somebody <shared@example.org>",
            "Mower <mower@example.org>",
            "Jenkins <jenkins@example.org>",
            "The list <dev@meadow.example.org>",
        ]);
        let rare = source("rare@x", "2018-01-09T00:00:00Z", "Once").replace("Ada <ada@example.org>", "Rare <rare@example.org>");
        let bytes: Vec<&[u8]> = written.iter().chain([&rare]).map(String::as_bytes).collect();
        world.import(list, &bytes).await;
        world.run().await;
        assert_eq!(people(&db).await, [
            "7+ada@users.noreply.github.com noreply 7+ada@users.noreply.github.com,ada@users.noreply.github.com true",
            "dev@meadow.example.org nobody  true",
            "grace@example.org profile grace@example.org,grace@users.noreply.github.com,old@example.org true",
            "jenkins@example.org nobody  true",
            "known@example.org address known@example.org true",
            "linus@example.org commits linus@example.org,linus@users.noreply.github.com true",
            // An app is nobody, and an address of two is neither's.
            "mower@example.org email-only mower@example.org true",
            "rare@example.org email-only rare@example.org true",
            "shared@example.org email-only shared@example.org true",
        ]);
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.sender_total, stats.sender_resolved, stats.sender_email_only), (7, 4, 3));
        // Two questions each about three, one about Grace, none about those who wrote once.
        assert_eq!(searches(&world), 7);

        // The hourly look asks nobody again before thirty days are over.
        world.hand.advance(Duration::from_hours(2));
        world.run().await;
        assert_eq!(searches(&world), 0);
        world.hand.advance(Duration::from_hours(31 * 24));
        join(&world, "rarely", "rare@example.org", true, false);
        let again = source("rare2@x", "2018-01-10T00:00:00Z", "Twice").replace("Ada <ada@example.org>", "Rare <rare@example.org>");
        world.import(list, &[again.as_bytes()]).await;
        world.run().await;
        assert_eq!(searches(&world), 5, "two about each of two, one about the third");
        let found = people(&db).await;
        assert_eq!(found[7], "rare@example.org profile rare@example.org,rarely@users.noreply.github.com true");
    }

    async fn a_list_that_turns_up_later_is_nobody_after_all(db: TestDb) {
        let world = World::new(&db).await;
        let list = world.register(Archive::Import, "dev@meadow.example.org").await;
        let mail = source("one@x", "2018-01-01T00:00:00Z", "Words").replace("Ada <ada@example.org>", "Users <users@meadow.example.org>");
        world.import(list, &[mail.as_bytes()]).await;
        world.run().await;
        assert_eq!(people(&db).await, ["users@meadow.example.org email-only users@meadow.example.org true"]);
        world.register(Archive::Import, "users@meadow.example.org").await;
        world.hand.advance(Duration::from_hours(2));
        world.run().await;
        assert_eq!(people(&db).await, ["users@meadow.example.org nobody  true"]);
        let left = db.fetch_all(sql!("SELECT id FROM contributor")).await.unwrap();
        assert!(left.is_empty(), "{:?}", left.iter().map(|row: &Row| row.get::<i64>("id").unwrap()).collect::<Vec<_>>());
    }
}
