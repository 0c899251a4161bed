//! A first scan, a rescan, and nothing at all.

use std::sync::Arc;

use collect::license::Builtin;
use db::testing::both;
use store::{
    license::{self, Again},
    repositories,
};

use crate::world::{Counting, MIT, PARTS, World};

const CARGO: &str =
    "[package]\nname = \"a\"\nversion = \"1.0.0\"\nlicense = \"MIT OR Apache-2.0\"\n";

fn many() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = (0..100)
        .map(|number| (format!("src/f{number}.c"), format!("int f{number};\n")))
        .collect();
    files.push((
        "LICENSE".to_owned(),
        format!("Copyright (c) 2020 Jane Doe\n\n{MIT}"),
    ));
    files.push(("Cargo.toml".to_owned(), CARGO.to_owned()));
    files.push((
        "src/head.c".to_owned(),
        "// Copyright 2021 John Roe\n// See the LICENSE file for license details.\n".to_owned(),
    ));
    files
}

fn as_refs(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_distinct_file_is_scanned_once(db: TestDb) {
        let mut world = World::new(&db).await;
        let files = many();
        let one = world.add("one", &as_refs(&files)).await;
        world.look().await;
        assert_eq!(world.scanner.take(), 103);
        let current = world.current(one).await;
        assert_eq!(current.license.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!((current.files, current.files_found, current.files_failed), (103, 3, 0));
        let found = world.files(one).await;
        assert_eq!(found.len(), 3);
        assert_eq!(found["src/head.c"].spdx.as_deref(), Some("MIT"));
        assert_eq!(found["src/head.c"].spdx_from, ["LICENSE"]);
        assert_eq!(found["LICENSE"].findings.holders[0].value, "Jane Doe");
        assert_eq!(found["Cargo.toml"].findings.purls(), ["pkg:cargo/a@1.0.0"]);
        let licenses = license::licenses(&db, current.id).await.unwrap();
        assert_eq!(licenses[0].value, "MIT");
        assert_eq!((licenses[0].files, licenses[0].osi_approved), (3, Some(true)));

        // Unchanged: one question about refs, and nothing else.
        world.requests();
        world.look().await;
        assert_eq!(world.requests(), (1, 1, 0));
        assert_eq!(world.scanner.take(), 0);
        let again = world.current(one).await;
        assert_eq!(again.id, current.id);
        assert!(again.last_run > current.last_run);

        // A fork: nothing is scanned again.
        let two = world.add("two", &as_refs(&files)).await;
        world.look().await;
        assert_eq!(world.scanner.take(), 0);
        assert_eq!(world.files(two).await.len(), 3);

        // A commit that touches one file of a hundred: one is fetched and scanned.
        world.commit("one", &[("src/f7.c", b"/* SPDX-License-Identifier: ISC */\n")]);
        world.look().await;
        assert_eq!(world.scanner.take(), 1);
        let newer = world.current(one).await;
        assert_ne!(newer.id, current.id);
        assert_eq!(newer.files_scanned, 1);
        assert_eq!(world.files(one).await["src/f7.c"].spdx.as_deref(), Some("ISC"));

        // What was known before is history.
        let (stats, scanners) = license::stats(&db).await.unwrap();
        assert_eq!((stats.repositories, stats.history, stats.answers), (2, 1, 104));
        assert_eq!(stats.nothing, 100);
        assert_eq!(scanners[0].answers, 104);
    }

    async fn another_scanner_answers_for_itself(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT), ("a.c", "int a;\n")]).await;
        world.look().await;
        assert_eq!(world.scanner.take(), 2);
        world.replace_scanner(Counting::version("2"));
        world.look().await;
        assert_eq!(world.scanner.take(), 2, "its own answers, all of them");
        assert_eq!(world.current(id).await.version, "2");
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!((stats.history, stats.answers), (1, 4));
    }

    async fn a_rescan_is_done_when_a_person_wants_it(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT), ("a.c", "int a;\n")]).await;
        world.look().await;
        world.scanner.take();
        for (what, scanned) in [(Again::Tree, 0), (Again::Files, 2)] {
            let before = world.current(id).await;
            let marked: Result<Vec<i64>, db::DbError> = db::transact!(world.engine.db(), |tx| {
                license::again(tx, None, Some("1"), what).await
            });
            assert_eq!(marked.unwrap(), [id]);
            assert_eq!(world.current(id).await.last_run, before.last_run, "it stays until replaced");
            world.look().await;
            assert_eq!(world.scanner.take(), scanned);
            assert!(world.current(id).await.id > before.id);
        }
        world.look().await;
        assert_eq!(world.scanner.take(), 0, "once is enough");
    }

    async fn archived_and_empty_repositories_are_left_alone(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        let archived: Result<(), db::DbError> = db::transact!(world.engine.db(), |tx| {
            repositories::set_archived(tx, id, true).await.map(drop)
        });
        archived.unwrap();
        world.requests();
        world.look().await;
        assert_eq!(world.scanner.take(), 0);
        assert_eq!(world.requests(), (0, 0, 0));
        assert!(license::current(&db, id).await.unwrap().is_none());
    }

    async fn links_and_submodules_are_told_apart(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        let source = world.source("one");
        std::os::unix::fs::symlink("LICENSE", source.join("COPYING")).unwrap();
        // A submodule is an entry of its own in the index, and an empty directory.
        std::fs::create_dir(source.join("sub")).unwrap();
        let link = format!("160000,{},sub", "1".repeat(40));
        crate::made::git(&source, &["update-index", "--add", "--cacheinfo", &link]);
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
        world.commit("one", &[
            ("b.bin", b"\0\0\0"),
            ("empty", b""),
            ("large.psd", pointer),
            ("vendor/a/a.c", b"// SPDX-License-Identifier: Zlib\n"),
            ("js/x.min.js", b"x\n"),
        ]);
        world.look().await;
        let current = world.current(id).await;
        assert_eq!(current.skipped.as_deref(), Some("{\"submodule\":1,\"symlink\":1}"));
        let told = "{\"binary\":1,\"empty\":1,\"generated\":1,\"lfs-pointer\":1,\"vendored\":1}";
        assert_eq!(current.told_apart.as_deref(), Some(told));
        let vendored = &world.files(id).await["vendor/a/a.c"];
        assert_eq!((vendored.place.as_str(), vendored.findings.mime_type.as_deref()), ("vendored", Some("text/plain")));
        assert_eq!(world.files(id).await.len(), 2);
    }

    async fn a_sample_is_shown_to_a_second_scanner(db: TestDb) {
        let second = Arc::new(Builtin::default());
        let mut world = World::with(&db, Counting::version("1"), Some(second)).await;
        world.add("one", &[("LICENSE", MIT), ("a.c", "int a;\n")]).await;
        world.look().await;
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!((stats.cross_checked, stats.disagreement), (2, Some(0.0)));
    }
}
