//! Mail: what is written depends on which copies there are, not on the order in which they came.

use db::{Db, DbError, Part, Row, Timestamp, sql, testing::both, transact};
use facts::mail::Archive;
use store::mail::{self, KnownPart, NewCopy, NewList, NewMessage, NewSender, Verdict, pack};

const PARTS: &[Part] = &[store::PART];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_700_000_000 + seconds) * 1_000_000)
}

async fn list(db: &Db, address: &str) -> i64 {
    let list = NewList {
        archive: Archive::Import,
        system: "generic".to_owned(),
        address: address.to_owned(),
        base: None,
        inbox: None,
        description: None,
        repo_group: None,
        repository: None,
    };
    let list = &list;
    let made: Result<_, DbError> = transact!(db, |tx| mail::register(tx, list, at(0)).await);
    made.unwrap().id
}

/// A mail: its id, whom it answers (oldest first), its second, its class alone and among patches.
#[derive(Clone, Debug)]
struct Mail {
    id: &'static str,
    ancestors: Vec<&'static str>,
    second: i64,
    classes: (&'static str, &'static str),
}

fn mail(id: &'static str, ancestors: &[&'static str], second: i64) -> Mail {
    Mail {
        id,
        ancestors: ancestors.to_vec(),
        second,
        classes: ("discuss", "discuss"),
    }
}

fn verdict(class: &str) -> Verdict {
    Verdict {
        class: class.to_owned(),
        rule: format!("test/{class}"),
        source: "subject".to_owned(),
    }
}

fn message(one: &Mail, copy: i64, speaker: &str) -> NewMessage {
    NewMessage {
        copy,
        speaker: speaker.to_owned(),
        message_id: one.id.to_owned(),
        content: "00".to_owned(),
        subject: Some(format!("about {}", one.id)),
        from_field: Some("Ada <ada@example.org>".to_owned()),
        sender: Some(NewSender {
            email: "ada@example.org".to_owned(),
            name: Some("Ada".to_owned()),
            automation: false,
        }),
        sent_at: Some(at(one.second)),
        date_source: "header",
        in_reply_to: one.ancestors.last().map(|id| (*id).to_owned()),
        references: "[]".to_owned(),
        ancestors: one.ancestors.iter().map(|id| (*id).to_owned()).collect(),
        list_id: None,
        system: "generic".to_owned(),
        alone: verdict(one.classes.0),
        among_patches: verdict(one.classes.1),
        captures: "{}".to_owned(),
        external_key: None,
        action: None,
        signalled_url: None,
        signalled_key: None,
        mirror_kind: None,
        mirror_number: None,
        mirror_node: None,
        has_patch: false,
        diffstat: None,
        patch_paths: None,
        trailers: None,
        attachments: None,
        split_rule: 1,
        body: Some(format!("words of {} in \"quotes\" \u{fe0f}\n", one.id)),
        spans: "[]".to_owned(),
        search_text: format!("words of {}", one.id),
        patch: None,
    }
}

async fn take(db: &Db, list: i64, one: &Mail) -> i64 {
    let copy = NewCopy {
        part: "all".to_owned(),
        digest: one.id.to_owned(),
        size: 3,
        envelope_at: None,
        raw: pack(b"raw"),
    };
    let copy = &copy;
    let staged: Result<usize, DbError> = transact!(db, |tx| mail::stage(
        tx,
        list,
        std::slice::from_ref(copy),
        at(0)
    )
    .await);
    assert_eq!(staged.unwrap(), 1);
    let waiting = mail::staged(db, list, 0, 1000).await.unwrap();
    waiting.last().unwrap().id
}

async fn write(db: &Db, messages: &[NewMessage]) {
    let written: Result<_, DbError> = transact!(db, |tx| mail::write(tx, messages, at(9)).await);
    written.unwrap();
}

/// Everything that must not depend on the order: threads with their members, parents, classes.
async fn picture(db: &Db) -> Vec<String> {
    let rows = db
        .fetch_all(sql!(
            "SELECT t.key AS thread, t.messages, t.nodes, t.has_patch, t.first_at, t.last_at,
                n.key, n.parent, n.seen, n.since, m.class
             FROM mail_node n JOIN mail_thread t ON t.id = n.thread
             LEFT JOIN mail_message m ON m.message_id = n.key ORDER BY t.key, n.key"
        ))
        .await
        .unwrap();
    let line = |row: &Row| {
        let text = |column: &str| {
            row.get::<Option<String>>(column)
                .unwrap()
                .unwrap_or_default()
        };
        format!(
            "{} {} {} {} {:?} {:?} | {} <- {} {} {:?} {}",
            text("thread"),
            row.get::<i64>("messages").unwrap(),
            row.get::<i64>("nodes").unwrap(),
            row.get::<bool>("has_patch").unwrap(),
            row.get::<Option<Timestamp>>("first_at").unwrap(),
            row.get::<Option<Timestamp>>("last_at").unwrap(),
            text("key"),
            text("parent"),
            row.get::<bool>("seen").unwrap(),
            row.get::<Option<Timestamp>>("since").unwrap(),
            text("class"),
        )
    };
    rows.iter().map(line).collect()
}

fn world() -> Vec<Mail> {
    let mut mails = vec![
        mail("root", &[], 0),
        mail("a", &["root"], 10),
        mail("b", &["root", "lost"], 20),
        mail("c", &["lost"], 30),
        mail("d", &["elsewhere"], 40),
        mail("e", &["elsewhere", "d"], 50),
        mail("x", &["y"], 60),
        mail("y", &["x"], 70),
        mail("late", &["c", "e"], 80),
        mail("alone", &[], 90),
    ];
    mails[1].classes = ("discuss", "review");
    mails[2].classes = ("patch_submission", "patch_submission");
    mails[5].classes = ("discuss", "review");
    mails
}

/// Numbers that look random, the same ones for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What is tried by default, or the one that `GLEANER_SEED` says.
fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("GLEANER_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=count).collect(),
    }
}

/// Forwards, backwards, and some shuffles.
fn orders(count: usize, dice: &mut Dice, shuffles: usize) -> Vec<Vec<usize>> {
    let forwards: Vec<usize> = (0..count).collect();
    let mut orders = vec![forwards.clone(), forwards.iter().rev().copied().collect()];
    for _ in 0..shuffles {
        let mut order = forwards.clone();
        for at in (1..count).rev() {
            order.swap(at, dice.below(at + 1));
        }
        orders.push(order);
    }
    orders
}

/// Mail that answers whatever it likes: others, itself, mail that nobody has; some of it patches.
fn random_world(dice: &mut Dice) -> Vec<Mail> {
    const NAMES: [&str; 14] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "ghost", "ghoul", "spirit",
    ];
    let count = 3 + dice.below(9);
    let mut world = Vec::new();
    for (place, id) in NAMES.into_iter().take(count).enumerate() {
        let ancestors: Vec<&str> = (0..dice.below(4))
            .map(|_| NAMES[dice.below(NAMES.len())])
            .collect();
        let mut one = mail(id, &ancestors, place as i64 * 10);
        one.classes = match dice.below(4) {
            0 => ("patch_submission", "patch_submission"),
            1 => ("discuss", "review"),
            _ => one.classes,
        };
        world.push(one);
    }
    world
}

async fn forget_all(db: &Db) {
    for table in [
        "mail_copy",
        "mail_message",
        "mail_node",
        "mail_thread",
        "forge_issue",
    ] {
        let statement = db::Statement::built(format!("DELETE FROM {table}"));
        db.execute(statement).await.unwrap();
    }
}

/// Takes them in this order, by portions that grow from `size`.
async fn arrive(db: &Db, list: i64, mails: &[Mail], order: &[usize], mut size: usize) {
    let mut left = order;
    while !left.is_empty() {
        let (now, later) = left.split_at(size.min(left.len()));
        let mut batch = Vec::new();
        for &at in now {
            let copy = take(db, list, &mails[at]).await;
            batch.push(message(&mails[at], copy, "s"));
        }
        write(db, &batch).await;
        left = later;
        size += 1;
    }
}

/// A mail on the list of a project that tracks its issues elsewhere.
fn tracked(one: &Mail, copy: i64, key: Option<&str>, action: &str) -> NewMessage {
    let mut message = message(one, copy, "s");
    "apache".clone_into(&mut message.system);
    if let Some(key) = key {
        message.alone = verdict("issue_event");
        message.among_patches = verdict("issue_event");
        message.external_key = Some(key.to_owned());
        message.action = Some(action.to_owned());
        message.subject = Some(format!("[jira] [{action}] ({key}) Gate {key}"));
    }
    message
}

async fn project(db: &Db) {
    let found: Result<_, DbError> = transact!(db, |tx| mail::backfill_keys(tx).await);
    found.unwrap();
    let mut after = 0;
    loop {
        let done: Result<mail::Projected, DbError> =
            transact!(db, |tx| mail::project(tx, after, 3, at(5)).await);
        let done = done.unwrap();
        if done.looked_at == 0 {
            return;
        }
        after = done.last;
    }
}

/// What messages belong to, and what is known of issues.
async fn projection(db: &Db) -> Vec<String> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.message_id, m.projected, i.external_key, i.number, i.kind,
                CASE WHEN i.platform_id < 0 THEN 'made' ELSE 'native' END AS origin
             FROM mail_message m LEFT JOIN forge_issue i ON i.id = m.issue ORDER BY m.message_id"
        ))
        .await
        .unwrap();
    let text = |row: &Row, column: &str| {
        let text: Option<String> = row.get(column).unwrap();
        text.unwrap_or_else(|| "-".to_owned())
    };
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let number: Option<i64> = row.get("number").unwrap();
            format!(
                "{} {} {} {number:?} {}",
                text(row, "message_id"),
                text(row, "projected"),
                text(row, "external_key"),
                text(row, "origin")
            )
        })
        .collect();
    let rows = db
        .fetch_all(sql!(
            "SELECT external_key, issue_title, issue_state, comment_count, data_source,
                platform_issue_id FROM issues ORDER BY external_key, issue_number"
        ))
        .await
        .unwrap();
    lines.extend(rows.iter().map(|row| {
        format!(
            "{} {} {} {} {} {}",
            text(row, "external_key"),
            text(row, "issue_title"),
            text(row, "issue_state"),
            row.get::<i64>("comment_count").unwrap(),
            text(row, "data_source"),
            row.get::<i64>("platform_issue_id").unwrap()
        )
    }));
    lines
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn threads_do_not_depend_on_arrival(db: TestDb) {
        let mails = world();
        let mut first: Option<Vec<String>> = None;
        for (number, order) in orders(mails.len(), &mut Dice(1), 6).into_iter().enumerate() {
            forget_all(&db).await;
            let list = list(&db, &format!("list{number}@example.org")).await;
            arrive(&db, list, &mails, &order, 1 + number % 3).await;
            let picture = picture(&db).await;
            match &first {
                None => {
                    assert!(picture.iter().any(|line| line.starts_with("root 7 ")), "{picture:#?}");
                    assert!(picture.iter().any(|line| line.contains("| a <- root") && line.ends_with("review")), "{picture:#?}");
                    first = Some(picture);
                }
                Some(first) => assert_eq!(&picture, first, "order {order:?}"),
            }
        }
    }

    async fn no_threads_at_all_depend_on_arrival(db: TestDb) {
        for seed in seeds(25) {
            let mut dice = Dice(seed);
            let mails = random_world(&mut dice);
            let list = list(&db, &format!("list{seed}@example.org")).await;
            let mut first: Option<Vec<String>> = None;
            for (number, order) in orders(mails.len(), &mut dice, 3).into_iter().enumerate() {
                forget_all(&db).await;
                arrive(&db, list, &mails, &order, 1 + number % 3).await;
                let picture = picture(&db).await;
                let first = first.get_or_insert_with(|| picture.clone());
                assert_eq!(&picture, first, "GLEANER_SEED={seed}, order {order:?} of {mails:#?}");
            }
        }
    }

    async fn what_leaves_the_archive_takes_back_what_it_brought(db: TestDb) {
        let list = list(&db, "dev@example.org").await;
        let mails = world();
        for one in &mails {
            let copy = take(&db, list, one).await;
            write(&db, &[message(one, copy, "s")]).await;
        }
        let without = ["late", "b"];
        let gone: Vec<String> = without.iter().map(|id| (*id).to_owned()).collect();
        let gone = &gone;
        let forgotten: Result<_, DbError> = transact!(db, |tx| mail::forget(tx, list, gone).await);
        forgotten.unwrap();
        let after = picture(&db).await;
        // The same as if they had never come.
        forget_all(&db).await;
        for one in mails.iter().filter(|one| !without.contains(&one.id)) {
            let copy = take(&db, list, one).await;
            write(&db, &[message(one, copy, "s")]).await;
        }
        assert_eq!(after, picture(&db).await);
        assert!(after.iter().any(|line| line.contains("| a <- root") && line.ends_with("discuss")));
    }

    async fn a_message_on_two_lists_is_one(db: TestDb) {
        let (dev, users) = (list(&db, "dev@example.org").await, list(&db, "users@example.org").await);
        let one = mail("one", &[], 0);
        let (first, second) = (take(&db, users, &one).await, take(&db, dev, &one).await);
        let mut on_dev = message(&one, second, "dev@example.org one");
        on_dev.subject = Some("[dev] hello".to_owned());
        write(&db, &[message(&one, first, "users@example.org one")]).await;
        write(&db, &[on_dev]).await;
        let views = mail::by_message_id(&db, "one").await.unwrap();
        assert_eq!(views.len(), 1);
        assert_eq!(views[0].lists, ["dev@example.org", "users@example.org"]);
        // The copy that comes first by its list tells the message, though it came last.
        assert_eq!(views[0].subject.as_deref(), Some("[dev] hello"));
        assert!(views[0].body.as_deref().unwrap().contains("\"quotes\" \u{fe0f}"));
        let gone = &["one".to_owned()];
        let left: Result<_, DbError> = transact!(db, |tx| mail::forget(tx, dev, gone).await);
        assert_eq!(left.unwrap(), [users], "the other copy is read again");
        assert!(mail::by_message_id(&db, "one").await.unwrap().is_empty());
        assert_eq!(mail::staged(&db, users, 0, 10).await.unwrap().len(), 1);
    }

    async fn words_are_found(db: TestDb) {
        let list = list(&db, "dev@example.org").await;
        for one in [mail("release-1@example.org", &[], 0), mail("other@example.org", &[], 1)] {
            let copy = take(&db, list, &one).await;
            write(&db, &[message(&one, copy, "s")]).await;
        }
        let found = async |query: &str| {
            let hits = mail::search(&db, query, Some(list), None, 10).await.unwrap();
            hits.into_iter().map(|hit| hit.message_id).collect::<Vec<_>>()
        };
        assert_eq!(found("release").await, ["release-1@example.org"]);
        assert_eq!(found("words \"of release-1\"").await, ["release-1@example.org"]);
        assert_eq!(found("ada@example.org WORDS").await.len(), 2);
        assert!(found("\" OR * NOT (").await.is_empty());
        assert!(found("nothing").await.is_empty());
        let gone = &["other@example.org".to_owned()];
        let forgotten: Result<_, DbError> = transact!(db, |tx| mail::forget(tx, list, gone).await);
        forgotten.unwrap();
        assert_eq!(found("words").await, ["release-1@example.org"]);
    }

    async fn nothing_is_staged_twice_and_parts_are_remembered(db: TestDb) {
        let list = list(&db, "dev@example.org").await;
        let one = mail("one", &[], 0);
        take(&db, list, &one).await;
        let again = NewCopy { part: "2".to_owned(), digest: "one".to_owned(), size: 3, envelope_at: None, raw: pack(b"x") };
        let part = KnownPart { part: "2023-11".to_owned(), state: "incomplete".to_owned(), expected: Some(5), found: 4, tip: None, read_at: at(1), why: Some("cut".to_owned()) };
        let (again, part) = (&[again.clone(), again], &part);
        let staged: Result<usize, DbError> = transact!(db, |tx| {
            mail::read_part(tx, list, part).await?;
            mail::stage(tx, list, again, at(0)).await
        });
        assert_eq!(staged.unwrap(), 0);
        assert_eq!(&mail::parts(&db, list).await.unwrap()[0], part);
        let copy = mail::staged(&db, list, 0, 10).await.unwrap();
        assert_eq!(mail::unpack(&copy[0].raw).unwrap(), b"raw");
        let dead = &[(copy[0].id, "it cannot be".to_owned())];
        let aside: Result<(), DbError> = transact!(db, |tx| mail::set_aside(tx, dead).await);
        aside.unwrap();
        let letters = mail::dead_letters(&db, 0, 10).await.unwrap();
        assert_eq!((letters.len(), letters[0].failure.as_deref()), (1, Some("it cannot be")));
        let stats = mail::stats(&db).await.unwrap();
        assert_eq!((stats.dead_letters, stats.incomplete_parts), (1, 1));
    }

    async fn the_views_of_analysts_can_be_read(db: TestDb) {
        let list = list(&db, "dev@example.org").await;
        let mails = world();
        for one in &mails {
            let copy = take(&db, list, one).await;
            write(&db, &[message(one, copy, "s")]).await;
        }
        for view in ["email_message", "email_message_ref", "messages", "issues", "repo_groups_list_serve", "mailing_list_pr_equivalents"] {
            let count = db.fetch_one(db::Statement::built(format!("SELECT COUNT(*) AS n FROM {view}"))).await.unwrap();
            let count: i64 = count.get("n").unwrap();
            let expected = match view {
                "issues" => 0,
                "repo_groups_list_serve" | "mailing_list_pr_equivalents" => 1,
                _ => 10,
            };
            assert_eq!(count, expected, "{view}");
        }
        let row = db.fetch_one(sql!("SELECT thread_key, patch_count, review_count, participant_count, source FROM mailing_list_pr_equivalents")).await.unwrap();
        assert_eq!(row.get::<String>("thread_key").unwrap(), "root");
        assert_eq!((row.get::<i64>("patch_count").unwrap(), row.get::<i64>("review_count").unwrap()), (1, 2));
        let branches = mail::branches(&db).await.unwrap();
        assert!(branches.branches.len() > 20);
    }

    async fn projection_comes_to_the_same_in_any_order(db: TestDb) {
        let url = facts::repository::RepositoryUrl::parse("https://github.com/apache/meadow").unwrap();
        let url = &url;
        let repository: Result<i64, DbError> = transact!(db, |tx| Ok(store::repositories::add(tx, url.clone().into(), at(0)).await?.id()));
        let repository = repository.unwrap();
        let mails = [
            (mail("made", &[], 0), Some("MK-1"), "Created"),
            (mail("talk", &["made"], 1), None, ""),
            (mail("closed", &["made"], 2), Some("MK-1"), "Resolved"),
            (mail("early", &[], 3), Some("MK-2"), "Created"),
            (mail("alone", &[], 4), None, ""),
            (mail("PR_x", &[], 5), None, "mirror"),
            (mail("answer", &["PR_x"], 6), None, ""),
        ];
        // The last two stand for issues and a pull request that a forge tells of.
        let mut first: Option<Vec<String>> = None;
        let all = seeds(8).into_iter().flat_map(|seed| orders(mails.len() + 2, &mut Dice(seed), 1));
        for (number, order) in all.enumerate() {
            forget_all(&db).await;
            let list = list(&db, &format!("list{number}@meadow.apache.org")).await;
            db.execute(sql!("UPDATE mail_list SET repository = $1", repository)).await.unwrap();
            for (step, at_) in order.iter().enumerate() {
                match at_.checked_sub(mails.len()) {
                    None => {
                        let (one, key, action) = &mails[*at_];
                        let copy = take(&db, list, one).await;
                        let mut message = tracked(one, copy, *key, action);
                        if *action == "mirror" {
                            message.alone = verdict("github_mirror");
                            message.among_patches = verdict("github_mirror");
                            message.mirror_node = Some("PR_x".to_owned());
                        }
                        write(&db, &[message]).await;
                    }
                    Some(which) => {
                        let (kind, node, title, platform) = [("issue", "I_1", "[MK-2] Gate of the forge", 77), ("pull", "PR_x", "Mow", 78)][which];
                        db.execute(sql!(
                            "INSERT INTO forge_issue (repository, kind, platform_id, number, node_id, title, state, data_source, comments, observed_at)
                             VALUES ($1, $2, $3, $3, $4, $5, 'open', 'github.com', 0, $6)",
                            repository, kind, platform, node, title, at(0)
                        )).await.unwrap();
                    }
                }
                if step % 2 == number % 2 {
                    project(&db).await;
                }
            }
            project(&db).await;
            let seen = projection(&db).await;
            match &first {
                None => {
                    assert_eq!(seen[..7], [
                        "PR_x pr - Some(78) native",
                        "alone mailing_list_only - None native",
                        "answer pr - Some(78) native",
                        "closed issue MK-1 Some(1) made",
                        "early issue MK-2 Some(77) native",
                        "made issue MK-1 Some(1) made",
                        "talk issue MK-1 Some(1) made",
                    ]);
                    assert!(seen[7].starts_with("MK-1 Gate MK-1 closed 3 JIRA -"), "{}", seen[7]);
                    assert_eq!(seen[8], "MK-2 [MK-2] Gate of the forge open 1 github.com 77");
                    assert_eq!(seen.len(), 9);
                    first = Some(seen);
                }
                Some(first) => assert_eq!(&seen, first, "order {order:?}"),
            }
            assert_eq!(mail::stats(&db).await.unwrap().shadows, 0);
        }
    }
}
