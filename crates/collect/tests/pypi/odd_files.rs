//! Files that are not what they should be, the ladder to their metadata, and a newer extractor.

use std::time::Duration;

use db::testing::{TestDb, both};
use sim::upstreams::{
    PythonIndex,
    python_index::{Contents, Offers, zip},
};
use store::pypi::{self, Extracted};

use crate::world::{PARTS, World};

fn contents(name: &str, padding: usize) -> Contents {
    Contents {
        name: name.to_owned(),
        version: "1.0".to_owned(),
        requires: vec!["attrs>=1".into(), "not a requirement !!".into()],
        requires_python: Some(">=3.9".into()),
        package: name.to_owned(),
        modules: vec!["one".into(), "two".into()],
        padding,
    }
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_is_wrong_with_a_file_is_kept_and_the_crawl_goes_on(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi")).await;
        let index = &world.index;
        let whole = contents("good", 0).wheel();
        let file = |name: &str, bytes: Vec<u8>| index.file("odd", "1.0", name, bytes);
        file("odd-1.0-py3-none-any.whl", b"this is no archive".to_vec());
        file("odd-1.1-py3-none-any.whl", whole[..whole.len() / 2].to_vec());
        let escape = zip(&[("../../etc/passwd".into(), Vec::new()), ("odd-1.2.dist-info/METADATA".into(), b"Name: odd\n".to_vec())]);
        file("odd-1.2-py3-none-any.whl", escape);
        file("odd-1.3.win32.exe", b"MZ".to_vec());
        file("odd-1.4.tar.gz", b"\x1f\x8b nonsense".to_vec());
        file("what-is-this.txt", b"hello".to_vec());
        index.wheel_of(contents("good", 0), "py3-none-any");
        world.crawl().await;
        let reason = |row: pypi::FileRow| match row.extracted {
            Extracted::Refused { code, reason } => {
                assert!(!reason.is_empty());
                code
            }
            other => format!("{other:?}"),
        };
        assert_eq!(reason(world.row("odd-1.0-py3-none-any.whl").await), "wrong-content");
        assert_eq!(reason(world.row("odd-1.1-py3-none-any.whl").await), "truncated");
        assert_eq!(reason(world.row("odd-1.2-py3-none-any.whl").await), "path-escape");
        assert_eq!(reason(world.row("odd-1.3.win32.exe").await), "NotYet");
        assert_eq!(world.row("odd-1.3.win32.exe").await.kind, pypi::FileKind::Installer);
        assert_eq!(reason(world.row("odd-1.4.tar.gz").await), "damaged");
        let good = world.row("good-1.0-py3-none-any.whl").await;
        assert_eq!(good.extracted, Extracted::Ok);
        assert_eq!(good.requires_dist, ["attrs>=1", "not a requirement !!"], "kept as it stands");
        assert_eq!(good.modules, ["good", "good.one", "good.two"]);
        assert_eq!(good.import_names, ["good"]);
        assert_eq!(good.tags, ["py3-none-any"]);
        let reasons = pypi::reasons(world.engine.db()).await.unwrap();
        assert_eq!(reasons.len(), 4);
        let status = world.status().await;
        assert_eq!((status.refused, status.extracted, status.unread), (4, 1, 0));
        assert!(status.full_finished_at.is_some());
    }

    async fn of_a_large_wheel_the_directory_is_fetched_and_what_lies_beside(db: TestDb) {
        by_this_rung(&db, true, true).await;
    }

    async fn of_a_large_wheel_parts_are_fetched(db: TestDb) {
        by_this_rung(&db, false, true).await;
    }

    async fn a_large_wheel_is_fetched_whole_where_nothing_else_works(db: TestDb) {
        by_this_rung(&db, true, false).await;
    }

    async fn a_newer_extractor_reads_what_was_kept(db: TestDb) {
        let mut world = World::new(&db, PythonIndex::new("pypi").filled(11, 6)).await;
        world.index.wheel_of(contents("large", 200_000), "py3-none-any");
        world.crawl().await;
        let before = world.rows().await;
        world.server.journal().clear();
        world.extractor += 1;
        let filter = pypi::Filter { extractor_below: Some(world.extractor), ..pypi::Filter::default() };
        let (filter, now) = (&filter, world.engine.clock().now());
        let address = world.address().clone();
        let again: Result<usize, engine::EnqueueError> = db::transact!(world.engine.db(), |tx| {
            let files = pypi::forget_extraction(tx, filter, 0, 1000).await?;
            let units: Vec<_> = files
                .iter()
                .map(|(_, project, name, url)| collect::pypi::file_unit(&address, project, name, url).now())
                .collect();
            engine::enqueue_in(tx, &units, now).await?;
            Ok(files.len())
        });
        assert_eq!(again.unwrap(), before.len());
        world.hand.advance(Duration::from_secs(1));
        world.run().await;
        world.run_now("pypi/number").await;
        world.run().await;
        assert_eq!(world.server.journal().counts("pypi").requests, 0, "nobody was asked");
        let after = world.rows().await;
        assert_eq!(after.len(), before.len());
        assert!(after.iter().all(|row| row.extractor_version == Some(world.extractor)));
        assert!(after[0].change_seq > before.last().unwrap().change_seq, "read again is a change");
        world.assert_same().await;
    }

    async fn a_replaced_file_is_read_again_and_one_that_returns_is_not(db: TestDb) {
        let world = World::new(&db, PythonIndex::new("pypi")).await;
        world.index.wheel_of(contents("thing", 0), "py3-none-any");
        world.index.sdist("thing", "1.0");
        world.crawl().await;
        let name = "thing-1.0-py3-none-any.whl";
        world.index.remove_file("thing", name);
        world.follow().await;
        assert!(world.row(name).await.removed);
        let mut other = contents("thing", 0);
        other.modules.push("three".into());
        world.index.wheel_of(other, "py3-none-any");
        world.hand.advance(Duration::from_mins(5));
        world.follow().await;
        let row = world.row(name).await;
        assert!(!row.removed && row.modules.contains(&"thing.three".to_owned()));
        let events = pypi::events(world.engine.db(), "thing", 2).await.unwrap();
        let told: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
        assert_eq!(told, ["replaced", "returned"]);
    }
}

async fn by_this_rung(db: &TestDb, metadata: bool, ranges: bool) {
    let offers = Offers {
        metadata,
        ranges,
        ..Offers::default()
    };
    let world = World::new(db, PythonIndex::new("pypi").offering(offers)).await;
    world
        .index
        .wheel_of(contents("large", 1 << 20), "cp312-cp312-linux_x86_64");
    world.crawl().await;
    let row = world.row("large-1.0-cp312-cp312-linux_x86_64.whl").await;
    assert_eq!(row.extracted, Extracted::Ok);
    assert_eq!(row.modules, ["large", "large.one", "large.two"]);
    assert_eq!(row.requires_dist, ["attrs>=1", "not a requirement !!"]);
    assert_eq!(row.requires_python.as_deref(), Some(">=3.9"));
    let requests = world.server.journal().requests("pypi");
    let beside = requests.iter().any(|one| one.path.ends_with(".metadata"));
    assert_eq!(beside, metadata);
    let part = requests.iter().any(|one| one.status == Some(206));
    assert_eq!(part, ranges);
}
