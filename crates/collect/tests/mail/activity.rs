//! Issues and pull requests of forges, and the mail that finds them.

use collect::forge_activity;
use db::{Row, sql, testing::both, transact};
use engine::Selection;
use facts::{mail::Archive, repository::RepositoryUrl};
use jiff::{SignedDuration, Timestamp};
use sim::{Change, Issue, OwnerKind};
use store::{mail, repositories};

use crate::world::{PARTS, World, source};

const GITHUB: &str = "github.com";

/// A repository on a forge and in the store.
async fn repository(world: &World, host: &str, path: &str) -> i64 {
    let (owner, name) = path.split_once('/').unwrap();
    let forge = world.server.world();
    let _there_already = forge.apply(
        host,
        &Change::AddOwner {
            owner: owner.to_owned(),
            kind: OwnerKind::Organisation,
        },
    );
    let add = Change::Add {
        owner: owner.to_owned(),
        name: name.to_owned(),
    };
    forge.apply(host, &add).unwrap();
    let url = RepositoryUrl::parse(&format!("https://{host}/{path}")).unwrap();
    let now = world.engine.clock().now();
    let url = &url;
    let added: Result<_, db::DbError> = transact!(world.engine.db(), |tx| repositories::add(
        tx,
        url.clone().into(),
        now
    )
    .await);
    added.unwrap().id()
}

/// A list of that repository, whose community tracks issues elsewhere.
async fn list_of(world: &World, repository: i64, address: &str) -> i64 {
    let list = world.register(Archive::Import, address).await;
    world
        .engine
        .db()
        .execute(sql!(
            "UPDATE mail_list SET system = 'apache', repository = $2 WHERE id = $1",
            list,
            repository
        ))
        .await
        .unwrap();
    list
}

fn issue(number: u64, pull: bool, title: &str, minute: i64) -> Issue {
    let made: Timestamp = "2018-01-01T00:00:00Z".parse().unwrap();
    Issue {
        id: 1_000 + number,
        number,
        pull,
        node_id: format!("{}_{number}", if pull { "PR" } else { "I" }),
        title: title.to_owned(),
        created_at: made,
        updated_at: made + SignedDuration::from_mins(minute),
        closed_at: None,
    }
}

fn tracker(id: &str, key: &str, action: &str, day: u8) -> String {
    source(
        id,
        &format!("2018-01-{day:02}T00:00:00Z"),
        &format!("[jira] [{action}] ({key}) Gate stays open"),
    )
    .replace("Ada <ada@example.org>", "\"Ada (JIRA)\" <jira@apache.org>")
}

fn mirror(node: &str) -> String {
    source(
        &format!("{node}@gitbox.apache.org"),
        "2018-01-05T00:00:00Z",
        "[PR] Mow faster [meadow]",
    )
    .replace(
        "Ada <ada@example.org>",
        "\"ada (via GitHub)\" <git@apache.org>",
    )
}

/// What messages belong to.
async fn links(db: &db::Db) -> Vec<String> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.message_id, m.projected, i.number, i.platform_id, i.external_key, i.comments
             FROM mail_message m LEFT JOIN forge_issue i ON i.id = m.issue ORDER BY m.message_id"
        ))
        .await
        .unwrap();
    let line = |row: &Row| {
        let text = |name: &str| row.get::<Option<String>>(name).unwrap();
        let made = row
            .get::<Option<i64>>("platform_id")
            .unwrap()
            .map(|id| id < 0);
        format!(
            "{} {} {:?} made {made:?} {:?}",
            text("message_id").unwrap(),
            text("projected").unwrap_or_default(),
            row.get::<Option<i64>>("number").unwrap(),
            row.get::<Option<i64>>("comments").unwrap(),
        )
    };
    rows.iter().map(line).collect()
}

async fn visit(world: &World) {
    let which = Selection {
        kind: Some("forge-activity".to_owned()),
        ..Selection::default()
    };
    world.engine.run_now(&which, false).await.unwrap();
    world.run().await;
}

/// The questions that were asked of a forge since the last look.
fn asked(world: &World, host: &str) -> Vec<String> {
    let requests = world.server.journal().requests(host);
    world.server.journal().clear();
    requests
        .iter()
        .map(|one| one.path.clone())
        .filter(|path| path.contains("/issues") || path.contains("/merge_requests"))
        .collect()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_a_forge_tells_later_takes_over_what_mail_made(db: TestDb) {
        let world = World::new(&db).await;
        let meadow = repository(&world, GITHUB, "apache/meadow").await;
        let list = list_of(&world, meadow, "issues@meadow.apache.org").await;
        let forge = world.server.world();
        forge.report(GITHUB, "apache/meadow", vec![issue(7, true, "[MK-2] Mow faster", 1)]).unwrap();
        let answer = source("answer@x", "2018-01-06T00:00:00Z", "Re: Gate")
            .replace("\n\n", "\nIn-Reply-To: <made2@x>\n\n");
        let mails = [
            tracker("made1@x", "MK-1", "Created", 1),
            tracker("done1@x", "MK-1", "Resolved", 2),
            tracker("made2@x", "MK-2", "Created", 3),
            answer,
            mirror("PR_7"),
            mirror("PR_8"),
        ];
        let bytes: Vec<&[u8]> = mails.iter().map(String::as_bytes).collect();
        world.import(list, &bytes).await;
        world.run().await;
        assert_eq!(links(&db).await, [
            "PR_7@gitbox.apache.org pr Some(7) made Some(false) Some(1)",
            // Nobody has told of it yet: it waits.
            "PR_8@gitbox.apache.org  None made None None",
            "answer@x issue Some(2) made Some(true) Some(2)",
            "done1@x issue Some(1) made Some(true) Some(2)",
            "made1@x issue Some(1) made Some(true) Some(2)",
            "made2@x issue Some(2) made Some(true) Some(2)",
        ]);
        let first = asked(&world, GITHUB);
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(!first[0].contains("since="), "{first:?}");

        // A hundred and fifty more in one minute, the native issue of MK-2, and the pull request.
        let mut all = vec![issue(7, true, "[MK-2] Mow faster", 1), issue(9, false, "[MK-2] Gate", 3), issue(8, true, "Mow", 4)];
        all.extend((100..250).map(|number| issue(number, false, "Grass", 2)));
        forge.report(GITHUB, "apache/meadow", all.clone()).unwrap();
        visit(&world).await;
        let seen = links(&db).await;
        assert_eq!(seen[1], "PR_8@gitbox.apache.org pr Some(8) made Some(false) Some(1)");
        assert_eq!(seen[2], "answer@x issue Some(9) made Some(false) Some(2)");
        assert_eq!(seen[5], "made2@x issue Some(9) made Some(false) Some(2)");
        assert!(asked(&world, GITHUB)[0].contains("since=2018-01-01T00%3A01%3A00Z"));
        let row = db.fetch_one(sql!("SELECT COUNT(*) AS n FROM forge_issue WHERE platform_id >= 0")).await.unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 153);
        let made = db.fetch_all(sql!("SELECT external_key, issue_state FROM issues WHERE platform_issue_id < 0")).await.unwrap();
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].get::<String>("external_key").unwrap(), "MK-1");
        assert_eq!(made[0].get::<String>("issue_state").unwrap(), "closed");
        assert_eq!(mail::stats(&db).await.unwrap().shadows, 0);

        // A state that changed, and a visit without any change.
        let closed = all.iter_mut().find(|one| one.number == 9).unwrap();
        closed.closed_at = Some(closed.updated_at + SignedDuration::from_mins(5));
        closed.updated_at += SignedDuration::from_mins(5);
        forge.report(GITHUB, "apache/meadow", all).unwrap();
        visit(&world).await;
        assert_eq!(asked(&world, GITHUB).len(), 1);
        let row = db.fetch_one(sql!("SELECT state FROM forge_issue WHERE number = 9")).await.unwrap();
        assert_eq!(row.get::<String>("state").unwrap(), "closed");
        visit(&world).await;
        assert_eq!(asked(&world, GITHUB).len(), 1);
        assert_eq!(links(&db).await.len(), 6);
    }

    async fn a_node_of_somebody_elses_project_links_nothing(db: TestDb) {
        let world = World::new(&db).await;
        let meadow = repository(&world, GITHUB, "apache/meadow").await;
        repository(&world, GITHUB, "apache/heath").await;
        let list = list_of(&world, meadow, "dev@meadow.apache.org").await;
        let forge = world.server.world();
        forge.report(GITHUB, "apache/heath", vec![issue(5, true, "Not ours", 1)]).unwrap();
        world.engine.enqueue(vec![forge_activity::unit(meadow + 1, GITHUB)]).await.unwrap();
        world.import(list, &[mirror("PR_5").as_bytes()]).await;
        world.run().await;
        let row = db.fetch_one(sql!("SELECT COUNT(*) AS n FROM forge_issue")).await.unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 1);
        assert_eq!(links(&db).await, ["PR_5@gitbox.apache.org  None made None None"]);
    }

    async fn every_forge_tells_of_issues_and_pull_requests(db: TestDb) {
        let world = World::new(&db).await;
        for host in ["gitlab.com", "codeberg.org", GITHUB] {
            let id = repository(&world, host, "heath/shed").await;
            let mut told = vec![issue(1, false, "[SHED-4] Roof", 9)];
            // Merge requests have numbers of their own, on the forge's side too.
            told.push(Issue { id: 1_001, number: 1, ..issue(2, true, "Mend the roof", 8) });
            if host != "gitlab.com" {
                told[1].id = 1_002;
                told[1].number = 2;
            }
            told.extend((10..70).map(|number| issue(number, false, "Rain", i64::try_from(number).unwrap())));
            world.server.world().report(host, "heath/shed", told).unwrap();
            world.engine.enqueue(vec![forge_activity::unit(id, host)]).await.unwrap();
            world.run().await;
            let rows = db.fetch_all(sql!("SELECT kind, number, external_key FROM forge_issue WHERE repository = $1 ORDER BY kind, number", id)).await.unwrap();
            assert_eq!(rows.len(), 62, "{host}");
            assert_eq!(rows[0].get::<Option<String>>("external_key").unwrap().as_deref(), Some("SHED-4"));
            assert_eq!(rows[61].get::<String>("kind").unwrap(), "pull", "{host}");
            asked(&world, host);
            visit(&world).await;
            let again = asked(&world, host);
            let lists = if host == "gitlab.com" { 2 } else { 1 };
            assert_eq!(again.len(), lists, "{host}: {again:?}");
            assert!(again[0].contains("since=") || again[0].contains("updated_after="), "{again:?}");
        }
    }
}
