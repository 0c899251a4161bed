//! Windows: what changes is found, by whatever the index offers.

use std::time::Duration;

use db::testing::{TestDb, both};
use sim::upstreams::{PythonIndex, python_index::Offers};
use store::{datasets, pypi};

use crate::world::{PARTS, World};

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn additions_removals_yanks_and_quarantine_are_followed(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi")).await;
        let index = &world.index;
        for name in ["alpha", "beta", "gamma", "Delta.X"] {
            index.wheel(name, "1.0", "py3-none-any");
            index.sdist(name, "1.0");
        }
        world.crawl().await;
        let before = world.status().await;

        index.wheel("alpha", "2.0", "py3-none-any");
        index.remove_file("alpha", "alpha-1.0.tar.gz");
        index.yank("beta", "1.0", Some("wrong"));
        index.set_status("gamma", "quarantined");
        index.remove_project("Delta.X");
        index.egg("epsilon", "0.1");
        world.hand.advance(Duration::from_mins(5));
        world.follow().await;
        world.assert_same().await;
        let status = world.status().await;
        assert_eq!(status.followed_by.as_deref(), Some("changelog"));
        assert_eq!(status.safe, Some(i64::try_from(index.serial()).unwrap()));
        assert_eq!((status.gone, status.removed, status.yanked, status.quarantined), (1, 3, 2, 2));
        let rows = world.rows().await;
        let row = |name: &str| rows.iter().find(|row| row.filename == name).unwrap();
        assert!(row("alpha-1.0.tar.gz").removed && row("alpha-1.0.tar.gz").change_seq > before.last_seq);
        assert_eq!(row("beta-1.0-py3-none-any.whl").yanked.as_deref(), Some("wrong"));
        assert!(row("gamma-1.0.tar.gz").quarantined && !row("gamma-1.0.tar.gz").removed);
        assert!(row("alpha-1.0-py3-none-any.whl").change_seq <= before.last_seq, "it did not change");

        // The window was dumped, and look-ups know of it.
        let objects = world.desk().open().unwrap();
        let newest = datasets::newest(&objects).await.unwrap().unwrap();
        assert_eq!(newest.up_to(), status.last_seq);

        index.set_status("gamma", "archived");
        index.yank("beta", "1.0", None);
        world.hand.advance(Duration::from_mins(5));
        world.follow().await;
        world.assert_same().await;
        let events = pypi::events(world.engine.db(), "beta", 10).await.unwrap();
        let told: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
        assert_eq!(told, ["unyanked", "unyanked", "yanked", "yanked", "added", "added"]);
        let gamma = pypi::project(world.engine.db(), "gamma").await.unwrap().unwrap();
        assert_eq!(gamma.status, "archived");
    }

    async fn a_line_that_commits_late_is_not_missed(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(4, 10)).await;
        world.crawl().await;
        let index = &world.index;
        index.late(1);
        index.wheel("amber-late", "1.0", "py3-none-any");
        index.wheel("other", "1.0", "py3-none-any");
        world.follow().await;
        let missed = |rows: Vec<pypi::FileRow>| !rows.iter().any(|row| row.project == "amber-late");
        assert!(missed(world.rows().await), "its line is not visible yet");
        index.settle();
        world.hand.advance(Duration::from_mins(5));
        world.follow().await;
        world.assert_same().await;
        // What was seen in the overlap is not asked for again.
        world.server.journal().clear();
        world.hand.advance(Duration::from_mins(5));
        world.follow().await;
        let requests = world.server.journal().requests("pypi");
        let pages = requests.iter().filter(|one| one.path.starts_with("/simple/"));
        assert_eq!(pages.count(), 0, "{requests:?}");
    }

    async fn more_lines_than_one_answer_holds_are_all_read(db: TestDb) {
        let few = Offers { changelog_lines: 7, ..Offers::default() };
        let mut world = World::new(&db, PythonIndex::new("pypi").filled(6, 6).offering(few)).await;
        world.settings.overlap = 10;
        world.crawl().await;
        for number in 0..40 {
            world.index.wheel(&format!("many-{number}"), "1.0", "py3-none-any");
        }
        world.follow().await;
        world.assert_same().await;
        assert_eq!(world.status().await.lag, Some(0));
    }

    async fn without_a_changelog_the_serials_of_the_root_tell(db: TestDb) {
        followed_without_changelog(&db, true, "serials").await;
    }

    async fn without_any_serials_pages_are_asked_for_on_a_cadence(db: TestDb) {
        followed_without_changelog(&db, false, "pages").await;
    }

    async fn an_old_page_delays_its_project_alone(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(10, 10)).await;
        world.crawl().await;
        let names = world.index.projects();
        world.index.stale(&names[0], 2);
        world.index.wheel(&names[0], "9.9", "py3-none-any");
        world.index.wheel(&names[1], "9.9", "py3-none-any");
        world.follow().await;
        let status = world.status().await;
        assert_eq!(status.safe, Some(i64::try_from(world.index.serial()).unwrap()), "the window is over");
        assert_eq!(status.due, 1);
        assert!(world.rows().await.iter().any(|row| row.project == names[1] && row.version == "9.9"));
        for _ in 0..4 {
            world.later(Duration::from_mins(20)).await;
        }
        world.assert_same().await;
        assert_eq!(world.status().await.due, 0);
        assert_eq!(world.audit().await, 0);
    }

    async fn nothing_is_followed_before_a_crawl(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi").filled(1, 3)).await;
        world.follow().await;
        assert_eq!(world.server.journal().counts("pypi").requests, 0);
        world.crawl().await;
        world.hand.advance(Duration::from_mins(20));
        world.follow().await;
        world.assert_same().await;
        assert_eq!(world.audit().await, 0);
    }
}

async fn followed_without_changelog(db: &TestDb, serials: bool, how: &str) {
    let offers = Offers {
        changelog: false,
        root_serials: serials,
        serials,
        ..Offers::default()
    };
    let index = PythonIndex::new("pypi").filled(8, 10).offering(offers);
    let world = World::new(db, index).await;
    world.crawl().await;
    let gone = world.index.projects()[0].clone();
    world.index.remove_project(&gone);
    let changed = world.index.projects()[0].clone();
    world.index.wheel(&changed, "9.0", "py3-none-any");
    world.index.wheel("brand-new", "1.0", "py3-none-any");
    let withheld = world.index.projects()[4].clone();
    world.index.set_status(&withheld, "quarantined");
    world.hand.advance(Duration::from_hours(25));
    world.follow().await;
    world.assert_same().await;
    assert_eq!(world.status().await.followed_by.as_deref(), Some(how));
    assert_eq!(world.audit().await, 0);
}
