//! From copies to messages: classes, threads, series, senders, mirrors; again and in any order.

use db::{Row, sql, testing::both};
use facts::mail::{Archive, MirrorHandling};
use store::mail;

use crate::world::{PARTS, World, source};

fn reply(id: &str, to: &str, date: &str, subject: &str) -> String {
    source(id, date, subject).replace(
        "\n\n",
        &format!("\nIn-Reply-To: <{to}>\nReferences: <{to}>\n\n"),
    )
}

fn patch(id: &str, date: &str, subject: &str, to: Option<&str>) -> String {
    let mail = match to {
        Some(to) => reply(id, to, date, subject),
        None => source(id, date, subject),
    };
    format!("{mail}---\ndiff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n")
}

fn series() -> Vec<String> {
    vec![
        source("v1-0@x", "2018-01-01T00:00:00Z", "[PATCH 0/2] mow faster"),
        patch(
            "v1-1@x",
            "2018-01-01T00:00:01Z",
            "[PATCH 1/2] sharpen",
            Some("v1-0@x"),
        ),
        patch(
            "v1-2@x",
            "2018-01-01T00:00:02Z",
            "[PATCH 2/2] swing",
            Some("v1-0@x"),
        ),
        reply(
            "r1@x",
            "v1-1@x",
            "2018-01-02T00:00:00Z",
            "Re: [PATCH 1/2] sharpen",
        ),
        reply(
            "r2@x",
            "r1@x",
            "2018-01-02T01:00:00Z",
            "Re: Grass (was: sharpen)",
        ),
        source(
            "v2-0@x",
            "2018-01-03T00:00:00Z",
            "[PATCH v2 0/2] mow faster",
        ),
        patch(
            "v2-1@x",
            "2018-01-03T00:00:01Z",
            "[PATCH v2 1/2] sharpen",
            Some("v2-0@x"),
        ),
        patch(
            "v2-2@x",
            "2018-01-03T00:00:02Z",
            "[PATCH v2 2/2] swing",
            Some("v2-0@x"),
        ),
    ]
}

/// All that must not depend on the order of arrival.
async fn picture(db: &db::Db) -> Vec<String> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.message_id, m.class, m.class_rule, t.key, s.key AS series, s.version, s.chain
             FROM mail_message m JOIN mail_node n ON n.key = m.message_id
             JOIN mail_thread t ON t.id = n.thread
             LEFT JOIN mail_series_member x ON x.message_id = m.message_id AND NOT x.inherited
             LEFT JOIN mail_series s ON s.id = x.series ORDER BY m.message_id"
        ))
        .await
        .unwrap();
    let line = |row: &Row| {
        let text = |name: &str| row.get::<Option<String>>(name).unwrap().unwrap_or_default();
        let version = row.get::<Option<i64>>("version").unwrap();
        format!(
            "{} {} {} {} {version:?} {}",
            text("message_id"),
            text("class"),
            text("key"),
            text("series"),
            text("chain")
        )
    };
    rows.iter().map(line).collect()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn patches_reviews_and_series_in_any_order(db: TestDb) {
        let world = World::new(&db).await;
        let mails = series();
        let mut first = None;
        for (number, order) in [[0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0], [4, 2, 6, 0, 3, 7, 1, 5]].iter().enumerate() {
            for table in ["mail_copy", "mail_message", "mail_node", "mail_thread", "mail_patch", "mail_series"] {
                db.execute(db::Statement::built(format!("DELETE FROM {table}"))).await.unwrap();
            }
            let list = world.register(Archive::Import, &format!("things{number}@vger.kernel.org")).await;
            db.execute(sql!("UPDATE mail_list SET system = 'lore'")).await.unwrap();
            for at in order {
                world.import(list, &[mails[*at].as_bytes()]).await;
                world.run().await;
            }
            let seen = picture(&db).await;
            match &first {
                None => {
                    assert_eq!(seen[0], "r1@x review v1-0@x  None ");
                    assert_eq!(seen[1], "r2@x review v1-0@x  None ");
                    assert_eq!(seen[2], "v1-0@x patch_submission v1-0@x v1-0@x Some(1) v1-0@x");
                    assert_eq!(seen[7], "v2-2@x patch_submission v2-0@x v2-0@x Some(2) v1-0@x");
                    first = Some(seen);
                }
                Some(first) => assert_eq!(&seen, first),
            }
        }
    }

    async fn mirrors_are_kept_as_one_wishes_and_again_from_the_kept_bytes(db: TestDb) {
        let mut world = World::new(&db).await;
        let list = world.register(Archive::Import, "github@meadow.apache.org").await;
        db.execute(sql!("UPDATE mail_list SET system = 'apache'")).await.unwrap();
        let mirror = source("PR_kwDOAbc@gitbox.apache.org", "2018-01-01T00:00:00Z", "[PR] Mow faster [meadow]")
            .replace("Ada <ada@example.org>", "\"ada (via GitHub)\" <git@apache.org>");
        let talk = source("talk@x", "2018-01-01T00:00:00Z", "How to mow");
        world.import(list, &[mirror.as_bytes(), talk.as_bytes()]).await;
        world.run().await;
        let id = "PR_kwDOAbc@gitbox.apache.org";
        let view = &mail::by_message_id(&db, id).await.unwrap()[0];
        assert_eq!((view.class.as_str(), view.body.as_deref()), ("github_mirror", None));
        assert_eq!(view.signalled_url.as_deref(), Some("https://github.com/apache/meadow"));
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.mirrors, stats.signalled_captured, stats.sender_total), (1, 1, 1), "git@ is nobody");

        for (handling, expected) in [(MirrorHandling::Full, 2), (MirrorHandling::Skip, 1), (MirrorHandling::MetadataOnly, 2)] {
            world.settings.mirror_handling = handling;
            let again: Result<u64, db::DbError> = db::transact!(db, |tx| mail::read_again(tx).await);
            assert_eq!(again.unwrap(), 2);
            world.engine.enqueue(vec![collect::mail::resolve_unit(list).now()]).await.unwrap();
            world.run().await;
            let stats = mail::stats(&db).await.unwrap();
            assert_eq!((stats.email_messages, stats.skipped), (expected, 2 - expected), "{handling:?}");
            let view = mail::by_message_id(&db, id).await.unwrap();
            let has_body = view.first().is_some_and(|view| view.body.is_some());
            assert_eq!(has_body, handling == MirrorHandling::Full);
        }
    }

    async fn the_same_mail_twice_is_one_message(db: TestDb) {
        let world = World::new(&db).await;
        let (dev, users) = (
            world.register(Archive::Import, "dev@meadow.example.org").await,
            world.register(Archive::Import, "users@meadow.example.org").await,
        );
        let mail = source("one@x", "2018-01-01T00:00:00Z", "Hello");
        let other = format!("{mail}---------------------------------------------------------------------\nTo unsubscribe, e-mail: users-unsubscribe@meadow.example.org\n");
        let garbage: &[u8] = b"\xff\xfe no mail at all \x00";
        world.import(dev, &[mail.as_bytes(), mail.as_bytes(), garbage]).await;
        world.import(users, &[other.as_bytes()]).await;
        world.run().await;
        let views = mail::by_message_id(&db, "one@x").await.unwrap();
        assert_eq!(views.len(), 1);
        assert_eq!(views[0].lists, ["dev@meadow.example.org", "users@meadow.example.org"]);
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.email_messages, stats.dead_letters), (2, 0), "garbage is mail without anything");
        let thread = mail::thread_of(&db, "one@x").await.unwrap().unwrap();
        assert_eq!(thread.messages, 1);
        assert_eq!(mail::raws_of_thread(&db, "one@x", 0, 10).await.unwrap().len(), 1);
    }

    async fn one_mail_that_cannot_be_written_holds_up_no_other(db: TestDb) {
        let world = World::new(&db).await;
        let list = world.register(Archive::Import, "dev@meadow.example.org").await;
        // A database that refuses the second of these, and with it whatever is written together.
        db.execute(sql!("CREATE UNIQUE INDEX poison ON mail_message (subject) WHERE subject = 'poison'")).await.unwrap();
        let mails: Vec<String> = (0..40)
            .map(|number| {
                let subject = if number == 3 || number == 29 { "poison" } else { "Grass" };
                source(&format!("m{number}@x"), "2018-01-01T00:00:00Z", subject)
            })
            .collect();
        let bytes: Vec<&[u8]> = mails.iter().map(String::as_bytes).collect();
        world.import(list, &bytes).await;
        world.run().await;
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.email_messages, stats.dead_letters), (39, 1));
        let dead = mail::dead_letters(&db, 0, 10).await.unwrap();
        assert_eq!(dead.len(), 1);
        assert!(dead[0].failure.is_some());
        // Its bytes are there, so that it can be had once the reason is gone.
        let raw = db.fetch_one(sql!("SELECT body FROM mail_raw WHERE copy = $1", dead[0].copy)).await.unwrap();
        let raw = mail::unpack(&raw.get::<Vec<u8>>("body").unwrap()).unwrap();
        assert!(String::from_utf8(raw).unwrap().contains("Subject: poison"));
        db.execute(sql!("DROP INDEX poison")).await.unwrap();
        let again: Result<u64, db::DbError> = db::transact!(db, |tx| mail::read_again(tx).await);
        assert_eq!(again.unwrap(), 40);
        world.engine.enqueue(vec![collect::mail::resolve_unit(list).now()]).await.unwrap();
        world.run().await;
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.email_messages, stats.dead_letters), (40, 0));
    }

    async fn other_rules_are_applied_to_mail_that_is_there(db: TestDb) {
        let mut world = World::new(&db).await;
        let list = world.register(Archive::PonyMail, "dev@meadow.apache.org").await;
        world.pony.put("dev@meadow.apache.org", "2018-01-01T00:00:00Z", source("one@x", "2018-01-01T00:00:00Z", "Mowing on Sunday"));
        world.run().await;
        let class = async || mail::by_message_id(&db, "one@x").await.unwrap()[0].class.clone();
        assert_eq!(class().await, "discuss");
        world.asked();

        let rules = "system = \"apache\"\ninclude = [\"generic\"]\n[[rule]]\nname = \"sunday\"\nclass = \"announce\"\nsubject = ['Sunday']\n";
        world.settings.rules.insert("apache".to_owned(), rules.to_owned());
        let again: Result<u64, db::DbError> = db::transact!(db, |tx| mail::read_again(tx).await);
        assert_eq!(again.unwrap(), 1);
        world.engine.enqueue(vec![collect::mail::resolve_unit(list).now()]).await.unwrap();
        world.run().await;
        assert_eq!(class().await, "announce");
        let view = &mail::by_message_id(&db, "one@x").await.unwrap()[0];
        assert_eq!(view.rule, "apache/sunday");
        assert_eq!(world.asked(), Vec::<String>::new(), "nothing is fetched again");
    }
}
