//! A fleet with forks and vendored copies: every distinct file is scanned once, slots do not idle while
//! work is due, and a repository that takes hours blocks nobody.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use db::testing::both;
use store::license;
use tokio_util::sync::CancellationToken;

use crate::world::{MIT, PARTS, World};

/// Slots as the configuration has them by default.
const SLOTS: usize = 2;
/// However busy the machine is, a free slot takes due work sooner.
const LONGEST_IDLE: Duration = Duration::from_secs(5);

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn heavy_a_fleet_scans_every_distinct_file_once(db: TestDb) {
        let is_long = std::env::var_os("GLEANER_LONG").is_some();
        let repositories = if is_long { 1_000 } else { 30 };
        let mut world = World::new(&db).await;
        let mut distinct: BTreeSet<(String, String)> = BTreeSet::new();
        let mut ids = Vec::new();
        let mut files = 0;
        for number in 0..repositories {
            let mut tree = vec![
                ("LICENSE".to_owned(), MIT.to_owned()),
                // Everybody has the same copy of somebody else's library.
                ("vendor/lib/a.c".to_owned(), "// SPDX-License-Identifier: Zlib\n".to_owned()),
                ("vendor/lib/b.c".to_owned(), "int b;\n".to_owned()),
            ];
            // Every third is a fork of the one before it, with one file of its own.
            let origin = if number % 3 == 2 { number - 1 } else { number };
            for file in 0..4 {
                tree.push((format!("src/f{file}.c"), format!("int f{origin}_{file};\n")));
            }
            if origin != number {
                tree.push(("src/own.c".to_owned(), format!("int own{number};\n")));
            }
            if number == 0 {
                // Nobody has any of its files: others would wait for the batch that a shared one is
                // in, as long as a scanner may take for a batch.
                tree = vec![("src/hours.c".to_owned(), "int hours;\n".to_owned())];
            }
            files += tree.len() as i64;
            distinct.extend(tree.iter().cloned().map(|(path, text)| {
                let ending = path.rsplit('/').next().unwrap().to_owned();
                (collect::license::name_class(&ending), text)
            }));
            let tree: Vec<(&str, &str)> = tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            ids.push(world.add(&format!("r{number}"), &tree).await);
        }

        let stop = CancellationToken::new();
        let working = tokio::spawn(world.worker_of(SLOTS).run(stop.clone()));
        let (mut idle_since, mut longest_idle) = (None::<Instant>, Duration::ZERO);
        loop {
            let counts = db.fetch_one(db::sql!(
                "SELECT (SELECT count(*) FROM unit WHERE state = 'running') AS running,
                    (SELECT count(*) FROM unit WHERE state = 'ready' AND due_at <= $1) AS due,
                    (SELECT count(*) FROM license_result WHERE state = 'current') AS done",
                world.engine.clock().now()
            )).await.unwrap();
            let number = |name: &str| counts.get::<i64>(name).unwrap() as usize;
            // All but the one that takes hours.
            if number("done") == repositories - 1 {
                break;
            }
            if number("due") > 0 && number("running") < SLOTS {
                let since = *idle_since.get_or_insert_with(Instant::now);
                longest_idle = longest_idle.max(since.elapsed());
            } else {
                idle_since = None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        eprintln!("{repositories} repositories, {files} files, {} distinct, a slot was idle for {longest_idle:?} at most", distinct.len());
        assert!(longest_idle < LONGEST_IDLE, "{longest_idle:?}");
        assert!(license::current(&db, ids[0]).await.unwrap().is_none());
        world.scanner.hours.add_permits(1);
        while license::current(&db, ids[0]).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
        working.await.unwrap().unwrap();
        assert_eq!(world.scanner.take(), distinct.len());
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!((stats.repositories, stats.answers), (repositories as i64, distinct.len() as i64));
        let vendored = world.current(ids[1]).await.told_apart.unwrap();
        assert_eq!(vendored, "{\"vendored\":2}");
    }
}
