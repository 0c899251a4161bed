//! Files that harm scanners: the repository completes, and the file is named with its reason.

use db::testing::both;
use store::license;

use crate::world::{MIT, PARTS, World};

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
        let deep = "(".repeat(400_000);
        let line = vec![b'a'; 3 << 20];
        let zip = {
            // A local header of a zip under the name of source code.
            let mut bytes = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
            bytes.extend(vec![0_u8; 50_000]);
            bytes
        };
        let invalid: Vec<u8> = (0..60_000_u32).map(|n| (n * 7 % 251) as u8 | 0x80).collect();
        world.commit("one", &[
            ("deep.json", deep.as_bytes()),
            ("line.c", &line),
            ("bomb.c", &zip),
            ("invalid.c", &invalid),
            ("a\nb.c", b"// SPDX-License-Identifier: ISC\n"),
        ]);
        world.look().await;
        let files = world.files(id).await;
        assert_eq!(files["line.c"].problem.as_deref(), Some("too-large"));
        assert_eq!(files["a\nb.c"].spdx.as_deref(), Some("ISC"));
        let current = world.current(id).await;
        assert_eq!((current.files, current.files_failed), (6, 1));
        assert_eq!(current.license.as_deref(), Some("MIT"));
        let (stats, _) = license::stats(&db).await.unwrap();
        assert_eq!(stats.failed, 0);
    }
}
