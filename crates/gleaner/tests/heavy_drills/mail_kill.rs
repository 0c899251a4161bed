//! Mail while processes are killed: fetching, staging, resolving, asking the forge and projecting are
//! cut off at any point, and in the end the store is the one of a run that nobody disturbed.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{Db, Row, Statement, sql, testing::TestDb};
use sim::{Change, Config, Issue, OwnerKind, Server, upstreams::PonyMail};

use crate::fleet::PARTS;

const LISTS: &str = "lists.apache.org";
const GITHUB: &str = "github.com";
const DEV: &str = "dev@meadow.apache.org";
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const PATIENCE: Duration = Duration::from_mins(5);

/// How much there is, and how often a process dies over it.
struct Size {
    mails: usize,
    kills: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_mail_is_whole_whoever_is_killed_sqlite() {
    drill(TestDb::sqlite(PARTS).await, TestDb::sqlite(PARTS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_mail_is_whole_whoever_is_killed_postgres() {
    drill(TestDb::postgres(PARTS).await, TestDb::postgres(PARTS).await).await;
}

async fn drill(calm: TestDb, rough: TestDb) {
    let size = if std::env::var_os("GLEANER_LONG").is_some() {
        Size {
            mails: 20_000,
            kills: 40,
        }
    } else {
        Size {
            mails: 1_200,
            kills: 5,
        }
    };
    let server = world(size.mails).await;
    let calm = Site::new(calm, &server);
    calm.run(&["work", "--until-idle"]);
    let expected = picture(&calm.db).await;
    assert!(expected.len() > size.mails, "{}", expected.len());
    let total = progress(&calm.db).await;

    let rough = Site::new(rough, &server);
    let mut dice = 0x2545_f491_4f6c_dd1d_u64;
    let (mut kills, mut reached) = (0, 0);
    let begun = Instant::now();
    while kills < size.kills {
        let mut worker = rough.work();
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        // Somewhere in the part that is this one's, and never behind the end.
        let share = (total - reached) / i64::try_from(size.kills - kills + 1).unwrap();
        let wanted = reached + 1 + i64::try_from(dice % 1_000).unwrap() * share.max(1) / 1_000;
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        loop {
            looks.tick().await;
            let now = progress(&rough.db).await;
            assert!(begun.elapsed() < PATIENCE, "stuck at {now} of {total}");
            if now >= wanted {
                reached = now;
                break;
            }
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        kills += 1;
    }
    eprintln!("{kills} kills, the last at {reached} of {total} steps");
    // Whoever comes next finds the others dead, and ends what they began.
    loop {
        rough.run(&["work", "--until-idle"]);
        if held(&rough.db).await == 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "units of the dead are not free");
    }
    // Who died over a unit several times makes it wait; a person need not.
    for kind in ["forge-activity", "mail"] {
        rough.run(&["unit", "run", "--kind", kind]);
    }
    rough.run(&["work", "--until-idle"]);
    let seen = picture(&rough.db).await;
    let wrong: Vec<&String> = seen
        .iter()
        .filter(|line| !expected.contains(line))
        .collect();
    assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(10)]);
    assert_eq!(seen.len(), expected.len());
}

/// A list of a year, with a tracker's mail, mirrors, patches, answers and talk; and its repository.
async fn world(mails: usize) -> Server {
    let pony = PonyMail::new(LISTS);
    for number in 0..mails {
        let (at, mail) = mail(number, mails);
        pony.put(DEV, &at, mail);
    }
    let server = Server::start(Config::default().with(pony)).await.unwrap();
    let owner = "apache".to_owned();
    let world = server.world();
    let settle = Change::AddOwner {
        owner: owner.clone(),
        kind: OwnerKind::Organisation,
    };
    world.apply(GITHUB, &settle).unwrap();
    let name = "meadow".to_owned();
    world.apply(GITHUB, &Change::Add { owner, name }).unwrap();
    let issue = |number: u64| {
        let pull = number.is_multiple_of(2);
        Issue {
            id: 10_000 + number,
            number,
            pull,
            node_id: format!("PR_{number}"),
            title: if pull {
                "Mow".to_owned()
            } else {
                format!("[MK-{number}] Gate")
            },
            created_at: "2017-01-01T00:00:00Z".parse().unwrap(),
            updated_at: format!("2017-01-01T{:02}:{:02}:00Z", number / 60, number % 60)
                .parse()
                .unwrap(),
            closed_at: None,
        }
    };
    world
        .report(GITHUB, "apache/meadow", (1..=120).map(issue).collect())
        .unwrap();
    server
}

fn mail(number: usize, mails: usize) -> (String, String) {
    let month = 1 + number * 11 / mails;
    let second = number % (27 * 86_400);
    let (day, hour) = (1 + second / 86_400, second / 3_600 % 24);
    let (minute, second) = (second / 60 % 60, second % 60);
    let at = format!("2017-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let name = MONTHS[month - 1];
    let date = format!("{day} {name} 2017 {hour:02}:{minute:02}:{second:02} +0000");
    let person = format!("Person {0} <person{0}@example.org>", number % 37);
    let key = number / 6 % 60;
    let (from, id, subject, to) = match number % 6 {
        0 => (
            "\"Ada (JIRA)\" <jira@apache.org>".to_owned(),
            format!("{number}@x"),
            format!("[jira] [Created] (MK-{key}) Gate {key}"),
            None,
        ),
        1 => (
            person,
            format!("{number}@x"),
            format!("Re: [jira] [Created] (MK-{key}) Gate {key}"),
            Some(number - 1),
        ),
        2 => (
            "\"ada (via GitHub)\" <git@apache.org>".to_owned(),
            format!("PR_{}-{number}@gitbox.apache.org", number % 240),
            "Re: [PR] Mow [meadow]".to_owned(),
            None,
        ),
        3 => (
            person,
            format!("{number}@x"),
            format!("[PATCH v{} 1/1] scythe {key}", 1 + number / 400),
            None,
        ),
        4 => (
            person,
            format!("{number}@x"),
            format!("Re: [PATCH 1/1] scythe {key}"),
            Some(number - 1),
        ),
        _ => (
            "\"Ada (JIRA)\" <jira@apache.org>".to_owned(),
            format!("{number}@x"),
            format!("[jira] [Resolved] (MK-{key}) Gate {key}"),
            None,
        ),
    };
    let answers = to.map_or(String::new(), |to| {
        format!("In-Reply-To: <{to}@x>\nReferences: <{to}@x>\n")
    });
    let text = format!(
        "From: {from}\nTo: {DEV}\nSubject: {subject}\nDate: {date}\nMessage-ID: <{id}>\n\
         List-Id: <dev.meadow.apache.org>\n{answers}\nWords of {number}.\n"
    );
    (at, text)
}

/// All that must be the same in the end, in words that know nothing of our own numbers.
async fn picture(db: &Db) -> Vec<String> {
    let mut lines = Vec::new();
    for text in [
        "SELECT 'message ' || m.message_id || ' ' || m.class || ' ' || m.class_rule || ' '
            || COALESCE(t.key, '-') || ' ' || COALESCE(m.projected, '-') || ' '
            || COALESCE(i.kind, '-') || COALESCE(CAST(i.number AS TEXT), '-') || ' '
            || COALESCE(s.email, '-') || ' ' || COALESCE(x.body, '-') AS line
         FROM mail_message m LEFT JOIN mail_node n ON n.key = m.message_id
         LEFT JOIN mail_thread t ON t.id = n.thread LEFT JOIN forge_issue i ON i.id = m.issue
         LEFT JOIN mail_sender s ON s.id = m.sender LEFT JOIN mail_text x ON x.message = m.id",
        "SELECT 'issue ' || i.kind || CAST(i.platform_id AS TEXT) || ' ' || i.title || ' ' || i.state || ' '
            || COALESCE(i.external_key, '-') || ' ' || CAST(i.comments AS TEXT) || ' ' || i.data_source AS line
         FROM forge_issue i",
        "SELECT 'thread ' || t.key || ' ' || CAST(t.messages AS TEXT) || ' ' || CAST(t.nodes AS TEXT) AS line
         FROM mail_thread t",
        "SELECT 'series ' || s.key || ' ' || s.chain || ' ' || CAST(s.version AS TEXT) || ' ' || CAST(s.found AS TEXT) AS line
         FROM mail_series s",
        "SELECT 'sender ' || s.email || ' ' || COALESCE(s.identity, '-') || ' ' || COALESCE(c.key, '-') AS line
         FROM mail_sender s LEFT JOIN contributor c ON c.id = s.contributor",
        "SELECT 'part ' || p.part || ' ' || p.state || ' ' || CAST(p.found AS TEXT) AS line FROM mail_part p",
        "SELECT 'copy ' || c.digest || ' ' || c.state || ' ' || c.part AS line FROM mail_copy c",
    ] {
        let rows = db.fetch_all(Statement::built(text.to_owned())).await.unwrap();
        lines.extend(rows.iter().map(|row: &Row| row.get::<String>("line").unwrap()));
    }
    lines.sort();
    lines
}

/// How far a store is: mails that came, that became messages, that were projected, and issues.
async fn progress(db: &Db) -> i64 {
    let row = db
        .fetch_one(sql!(
            "SELECT (SELECT COUNT(*) FROM mail_copy)
                + (SELECT COUNT(*) FROM mail_copy WHERE state = 'done')
                + (SELECT COUNT(*) FROM mail_message WHERE projected IS NOT NULL)
                + (SELECT COUNT(*) FROM forge_issue) AS n"
        ))
        .await;
    row.unwrap().get("n").unwrap()
}

/// Units that somebody runs, or died over.
async fn held(db: &Db) -> i64 {
    let row = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS n FROM unit WHERE state = 'running'"
        ))
        .await;
    row.unwrap().get("n").unwrap()
}

/// A database, and processes that work on it.
struct Site {
    db: TestDb,
    home: tempfile::TempDir,
}

impl Site {
    fn new(db: TestDb, server: &Server) -> Self {
        let home = tempfile::tempdir().unwrap();
        let upstreams = [LISTS, GITHUB].map(|name| {
            let base = server.host_url(name).unwrap();
            format!("[upstream.\"{name}\"]\nbase_url = \"{base}\"\n")
        });
        // Searches of people are few, and not what this is about.
        let others = "[distribution]\nenabled = false\n[license]\nenabled = false\n\
             [mail]\nbackfill_months = 0\nsender_search_after = 0\n";
        std::fs::write(
            home.path().join("gleaner.toml"),
            upstreams.concat() + others,
        )
        .unwrap();
        let site = Self { db, home };
        site.run(&["repo", "add", "https://github.com/apache/meadow"]);
        let repository = "https://github.com/apache/meadow";
        site.run(&["mail", "register", DEV, "--repo", repository]);
        site
    }

    fn run(&self, args: &[&str]) {
        let done = self.gleaner(args).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{args:?}: {said}");
    }

    fn work(&self) -> Child {
        self.gleaner(&["work"]).spawn().unwrap()
    }

    fn gleaner(&self, args: &[&str]) -> Command {
        let home: &Path = self.home.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args(args)
            .arg("--quiet")
            .current_dir(home)
            .env("HOME", home)
            .env("GLEANER_DATA", home.join("data"))
            .env("GLEANER_CONFIG", home.join("gleaner.toml"))
            .env("GLEANER_DATABASE", self.db.url())
            .env("GLEANER_DATABASE_TIMEOUT", "60s")
            .env("GLEANER_WORK_DEAD_AFTER", "1500ms")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}
