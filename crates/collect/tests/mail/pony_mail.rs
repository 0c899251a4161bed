//! Months: whole, with their edges, or honestly incomplete.

use db::testing::both;
use facts::mail::Archive;
use sim::{Fault, Rule};
use store::mail;

use crate::world::{LISTS, PARTS, World, source};

const DEV: &str = "dev@example.apache.org";

fn put(world: &World, id: &str, date: &str) {
    world
        .pony
        .put(DEV, date, source(id, date, &format!("about {id}")));
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_month_comes_whole_and_only_open_ones_are_asked_again(db: TestDb) {
        let world = World::new(&db).await;
        for (id, date) in [
            ("first-second@x", "2017-12-01T00:00:00Z"),
            ("middle@x", "2017-12-15T10:00:00Z"),
            ("last-second@x", "2017-12-31T23:59:59Z"),
            ("february@x", "2018-02-03T00:00:00Z"),
            ("march@x", "2018-03-02T00:00:00Z"),
        ] {
            put(&world, id, date);
        }
        // The same id twice, with other words.
        let twin = source("middle@x", "2017-12-15T11:00:00Z", "about something else").replace("Words", "Others");
        world.pony.put(DEV, "2017-12-15T11:00:00Z", twin);
        let list = world.register(Archive::PonyMail, DEV).await;
        world.run().await;
        assert_eq!(world.ids(list).await, [
            "first-second@x", "middle@x", "middle@x", "last-second@x", "february@x", "march@x",
        ]);
        // January is empty and is not asked for; the statistics are asked once, by the cheap window.
        assert_eq!(world.asked(), ["stats d=lte%3D1d", "mbox d=2017-12", "mbox d=2018-02", "mbox d=2018-03"]);
        let part = world.part(list, "2017-12").await.unwrap();
        assert_eq!((part.state.as_str(), part.expected, part.found), ("complete", Some(4), 4));
        assert_eq!(world.part(list, "2018-03").await.unwrap().state, "open");

        put(&world, "late@x", "2018-03-09T00:00:00Z");
        world.fetch().await;
        assert_eq!(world.asked(), ["stats d=lte%3D1d", "mbox d=2018-03"]);
        assert_eq!(world.ids(list).await.len(), 7);
        // Words of a mail are found, and a line that begins with From is a line.
        let hits = mail::search(&db, "words late", None, None, 10).await.unwrap();
        assert_eq!(hits.len(), 1);
        let view = mail::by_message_id(&db, "late@x").await.unwrap();
        assert_eq!(view[0].body.as_deref(), Some("Words of late@x.\nFrom here on more.\n"));
    }

    async fn a_month_that_ends_early_is_incomplete_until_it_is_whole(db: TestDb) {
        let world = World::new(&db).await;
        for day in 1..=9 {
            put(&world, &format!("{day}@x"), &format!("2018-01-0{day}T00:00:00Z"));
        }
        world.pony.cut(DEV, "2018-01", 4, 1);
        let list = world.register(Archive::PonyMail, DEV).await;
        world.run().await;
        let part = world.part(list, "2018-01").await.unwrap();
        assert_eq!((part.state.as_str(), part.expected, part.found), ("incomplete", Some(9), 4));
        assert_eq!(world.ids(list).await.len(), 4, "what came is kept");
        assert_eq!(mail::stats(&db).await.unwrap().incomplete_parts, 1);
        assert!(mail::by_id(&db, list).await.unwrap().unwrap().finished_at.is_none());
        world.fetch().await;
        let part = world.part(list, "2018-01").await.unwrap();
        assert_eq!((part.state.as_str(), part.found), ("complete", 9));
        assert_eq!(world.ids(list).await.len(), 9);
    }

    async fn a_month_that_counts_deleted_mail_is_believed_the_second_time(db: TestDb) {
        let world = World::new(&db).await;
        put(&world, "one@x", "2018-01-01T00:00:00Z");
        world.pony.delete(DEV, "2018-01", 2);
        let list = world.register(Archive::PonyMail, DEV).await;
        world.run().await;
        assert_eq!(world.part(list, "2018-01").await.unwrap().state, "incomplete");
        world.fetch().await;
        let part = world.part(list, "2018-01").await.unwrap();
        assert_eq!(part.state, "complete");
        assert!(part.why.unwrap().contains("deleted"));
        world.asked();
        world.fetch().await;
        assert_eq!(world.asked(), ["stats d=lte%3D1d"]);
    }

    async fn what_goes_wrong_on_the_way_is_no_empty_month(db: TestDb) {
        let world = World::new(&db).await;
        for day in 1..=9 {
            put(&world, &format!("{day}@x"), &format!("2018-01-0{day}T00:00:00Z"));
        }
        let list = world.register(Archive::PonyMail, DEV).await;
        for fault in [
            Fault::status(503),
            Fault::HtmlWall,
            Fault::ResetInBody,
            Fault::status(502),
            Fault::too_many(sim::RetryAfter::Seconds(30)),
            Fault::too_many(sim::RetryAfter::DateIn(30)),
            Fault::status(400),
            Fault::status(404),
        ] {
            world.server.plan().clear();
            world.server.plan().add(Rule::on(LISTS, fault.clone()).path("mbox")).unwrap();
            world.fetch().await;
            assert!(world.part(list, "2018-01").await.is_none(), "{fault:?}");
            assert!(world.ids(list).await.is_empty(), "{fault:?}");
        }
        world.server.plan().clear();
        world.hand.advance(std::time::Duration::from_hours(5));
        world.fetch().await;
        assert_eq!(world.ids(list).await.len(), 9);
    }

    async fn a_list_that_is_not_there_is_known_to_be_none(db: TestDb) {
        let world = World::new(&db).await;
        put(&world, "one@x", "2018-01-01T00:00:00Z");
        let list = world.register(Archive::PonyMail, "nobody@example.apache.org").await;
        world.run().await;
        let kept = mail::by_id(&db, list).await.unwrap().unwrap();
        assert!(kept.failure.unwrap().contains("no mail of this list"));
        assert_eq!(world.asked(), ["stats d=lte%3D1d"]);
    }

    async fn the_first_visit_reads_the_months_that_are_wanted(db: TestDb) {
        let mut world = World::new(&db).await;
        world.settings.backfill_months = 2;
        for month in 1..=9 {
            put(&world, &format!("{month}@x"), &format!("2017-0{month}-05T00:00:00Z"));
        }
        put(&world, "february@x", "2018-02-05T00:00:00Z");
        let list = world.register(Archive::PonyMail, DEV).await;
        world.run().await;
        assert_eq!(world.ids(list).await, ["february@x"]);
        world.settings.backfill_months = 0;
        world.fetch().await;
        assert_eq!(world.ids(list).await.len(), 10);
    }

    async fn separators_and_damaged_bytes_of_a_month_are_taken_as_they_are(db: TestDb) {
        let world = World::new(&db).await;
        // As ezmlm wrote it, with its own first line; and one without, of which the archive has lost
        // what was not UTF-8 while the header still names the old charset.
        let ezmlm = format!(
            "From dev-return-5233-x=y.org@example.apache.org Sat Jan 06 08:58:08 2018\n{}",
            source("ezmlm@x", "2018-01-06T08:58:08Z", "kept")
        );
        world.pony.put(DEV, "2018-01-06T08:58:08Z", ezmlm);
        let damaged = source("damaged@x", "2018-01-07T00:00:00Z", "lost")
            .replace("\n\n", "\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\ncaf\u{fffd} ");
        world.pony.put(DEV, "2018-01-07T00:00:00Z", damaged);
        let list = world.register(Archive::PonyMail, DEV).await;
        world.run().await;
        assert_eq!(world.ids(list).await, ["ezmlm@x", "damaged@x"]);
        let body = async |id: &str| mail::by_message_id(&db, id).await.unwrap()[0].body.clone().unwrap();
        assert_eq!(body("ezmlm@x").await, "Words of ezmlm@x.\nFrom here on more.\n");
        assert!(body("damaged@x").await.starts_with("caf\u{fffd} Words"), "{}", body("damaged@x").await);
    }
}
