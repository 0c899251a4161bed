//! A whole index, followed through many changes while runs are cut off: in the end the store holds
//! what the index holds.

use std::time::Duration;

use collect::pypi::crawl_unit;
use db::testing::{TestDb, both};
use sim::{Fault, RetryAfter, Rule, upstreams::PythonIndex};

use crate::world::{PARTS, World};

/// Projects, changes, and into how many windows those are divided.
fn size() -> (usize, usize, usize) {
    match std::env::var_os("GLEANER_LONG") {
        Some(_) => (20_000, 5_000, 50),
        None => (120, 100, 4),
    }
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn heavy_an_index_is_crawled_and_followed_through_interruptions(db: TestDb) {
        let (projects, changes, windows) = size();
        let mut world = World::new(&db, PythonIndex::new("pypi").filled(42, projects)).await;
        world.workers = 16;
        let plan = world.server.plan();
        plan.add(Rule::on("pypi", Fault::too_many(RetryAfter::Seconds(20))).requests(100..=110)).unwrap();
        plan.add(Rule::on("pypi", Fault::Truncated).path("/packages/").requests(40..=44)).unwrap();

        let mut cut_off = 0;
        let unit = crawl_unit(world.address(), None);
        world.engine.enqueue(vec![unit.now()]).await.unwrap();
        for part in 1..=3 {
            let enough = (projects * part / 2) as u64;
            let journal = world.server.journal();
            world.run_until(async {
                journal.until(|journal| journal.counts("pypi").requests >= enough).await;
            }).await;
            cut_off += world.workers;
        }
        for _ in 0..6 {
            world.later(Duration::from_mins(10)).await;
        }
        world.assert_same().await;
        assert_eq!(world.status().await.full_failed, 0);

        for window in 0..windows {
            world.index.change(window as u64, changes / windows);
            let names = world.index.projects();
            world.index.stale(&names[window % names.len()], 1);
            world.hand.advance(Duration::from_mins(5));
            world.follow_soon().await;
            let before = world.server.journal().counts("pypi").requests;
            let journal = world.server.journal();
            world.run_until(async {
                journal.until(|journal| journal.counts("pypi").requests >= before + 8).await;
            }).await;
            cut_off += world.workers;
            world.run().await;
        }
        world.index.settle();
        for _ in 0..6 {
            world.hand.advance(Duration::from_mins(10));
            world.follow().await;
        }
        world.assert_same().await;
        let status = world.status().await;
        assert_eq!((status.due, status.unread, status.lag), (0, 0, Some(0)), "{status:?}");
        assert_eq!(world.audit().await, 0);
        let twice = world.fetched_twice();
        assert!(twice <= cut_off, "{twice} files were fetched twice, {cut_off} runs may have been cut off");
    }
}

/// In a long run a million; the memory of this process is told, the index's own included.
#[tokio::test]
async fn heavy_very_many_projects_fan_out_and_in() {
    let projects = match std::env::var_os("GLEANER_LONG") {
        Some(_) => 1_000_000,
        None => 1_500,
    };
    let db = TestDb::sqlite(PARTS).await;
    let mut world = World::new(&db, PythonIndex::new("pypi").bare(projects)).await;
    world.workers = 32;
    let before = memory();
    world.crawl().await;
    let status = world.status().await;
    assert_eq!(status.full_projects, i64::try_from(projects).unwrap());
    assert_eq!((status.full_failed, status.due), (0, 0));
    assert!(status.full_finished_at.is_some());
    let (before, most) = (before.unwrap_or_default(), memory().unwrap_or_default());
    println!("{projects} projects: {before} kB before, {most} kB at most");
    assert!(most < before + 2_000_000, "{before} kB, then {most} kB");
}

/// The most memory that this process ever held, where the system tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
