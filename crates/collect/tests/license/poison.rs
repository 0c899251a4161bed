//! Files that harm scanners: the repository completes, and the file is named with its reason.

use std::{sync::Arc, time::Duration};

use collect::license::{Desk, ScanCode};
use db::testing::{TestDb, both};
use store::license;

use crate::{
    scancode::with_scancode,
    world::{MIT, PARTS, World},
};

/// The real ScanCode: files that it times out on, dies of or cannot read.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_scancode_survives_poison() {
    let db = TestDb::sqlite(PARTS).await;
    let mut world = World::new(&db).await;
    let Some(mut settings) = with_scancode(world.directory.path()) else {
        return;
    };
    settings.file_timeout = Duration::from_secs(10);
    settings.cross_check_one_in = 0;
    settings.processes = 1;
    let scanner = Arc::new(ScanCode::open(&settings).await.unwrap());
    world.desk = Desk::given(settings, scanner, None);
    let id = world.add("one", &[("LICENSE", MIT)]).await;
    let long = slow_text();
    let files = hostile();
    let mut files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (*path, bytes.as_slice()))
        .collect();
    files.push(("long.c", long.as_bytes()));
    world.commit("one", &files);
    world.look().await;
    assert_eq!(world.error(id).await, None);
    let found = world.files(id).await;
    for (path, file) in &found {
        eprintln!(
            "{path:?}: {:?} {:?} {:?}",
            file.spdx, file.problem, file.detail
        );
    }
    assert_eq!(found["LICENSE"].spdx.as_deref(), Some("MIT"));
    assert_eq!(found["line.c"].problem.as_deref(), Some("too-large"));
    let long = &found["long.c"];
    assert!(
        matches!(long.problem.as_deref(), Some("failed" | "degraded")),
        "{:?}",
        long.problem
    );
    assert!(long.detail.as_deref().is_some_and(|why| !why.is_empty()));
    let current = world.current(id).await;
    assert_eq!(current.files, files.len() as i64 + 1);
}

/// Words of licenses in every order: a scanner that matches them has much to do.
fn slow_text() -> String {
    let words: Vec<&str> = MIT.split_whitespace().collect();
    let mut text = String::new();
    let mut at = 7_usize;
    while text.len() < 900_000 {
        at = at.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        text.push_str(words[(at >> 8) % words.len()]);
        text.push(if at.is_multiple_of(11) { '\n' } else { ' ' });
    }
    text
}

/// Files that harm whoever trusts them.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    // A local header of a zip, and a gzip of nothing but zeros, under names of source code.
    let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    zip.extend(vec![0_u8; 50_000]);
    let invalid = (0..60_000_u32)
        .map(|n| (n * 7 % 251) as u8 | 0x80)
        .collect();
    vec![
        ("deep.json", "[".repeat(400_000).into_bytes()),
        ("deep.xml", "<a>".repeat(100_000).into_bytes()),
        ("package.json", "{\"a\":".repeat(50_000).into_bytes()),
        ("line.c", vec![b'a'; 50 << 20]),
        ("bomb.c", zip),
        ("invalid.c", invalid),
    ]
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_poison_file_is_named_and_not_tried_for_ever(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT), ("poison.c", "x"), ("slow.c", "// SPDX-License-Identifier: ISC\n")]).await;
        world.look().await;
        let current = world.current(id).await;
        assert_eq!((current.files, current.files_failed), (3, 2));
        let files = world.files(id).await;
        assert_eq!(files["poison.c"].problem.as_deref(), Some("failed"));
        assert_eq!(files["poison.c"].detail.as_deref(), Some("the scanner died of it"));
        assert_eq!(files["slow.c"].problem.as_deref(), Some("degraded"));
        assert_eq!(files["slow.c"].spdx.as_deref(), Some("ISC"), "what it said is shown");
        assert_eq!(world.error(id).await, None);
        world.scanner.take();

        // The next commit: the poison is known, what was cut short is scanned again.
        world.commit("one", &[("b.c", b"int b;\n")]);
        world.look().await;
        let paths = world.scanner.paths.lock().unwrap().clone();
        assert_eq!(paths, ["b.c", "slow.c"]);
        let files = world.files(id).await;
        assert_eq!(files["poison.c"].problem.as_deref(), Some("failed"));
    }

    async fn hostile_files_harm_nobody(db: TestDb) {
        let mut world = World::new(&db).await;
        let id = world.add("one", &[("LICENSE", MIT)]).await;
        let files = hostile();
        let mut files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
        files.push(("a\nb.c", b"// SPDX-License-Identifier: ISC\n"));
        let slow = slow_text();
        files.push(("long.c", slow.as_bytes()));
        world.commit("one", &files);
        world.look().await;
        let files = world.files(id).await;
        assert_eq!(files["line.c"].problem.as_deref(), Some("too-large"));
        assert_eq!(files["a\nb.c"].spdx.as_deref(), Some("ISC"));
        let current = world.current(id).await;
        assert_eq!((current.files, current.files_failed), (9, 1));
        assert_eq!(current.license.as_deref(), Some("MIT"));
        let why = files["line.c"].detail.as_deref().unwrap();
        assert!(why.contains("over the limit"), "{why}");
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!(stats.failed, 0);
    }
}
