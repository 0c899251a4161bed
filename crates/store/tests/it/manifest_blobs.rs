//! Contents of manifests and listings of owners are kept, found again, and bounded.

use std::time::Duration;

use db::{Part, Timestamp, testing::both};
use store::{
    manifest_blobs::{self, Bounds},
    owner_packages,
};

const PARTS: &[Part] = &[store::PART];

fn day(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 24 * 3_600_000_000)
}

fn blob(id: &str, size: usize) -> (String, Vec<u8>) {
    (id.to_owned(), vec![0xff; size])
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn contents_are_found_by_id_and_the_longest_unused_go(db: TestDb) {
        let kept = vec![blob("a", 1000), blob("b", 1000), blob("c", 0)];
        let weight = manifest_blobs::keep(&db, kept, day(1)).await.unwrap();
        manifest_blobs::keep(&db, vec![blob("a", 7)], day(1)).await.unwrap();
        assert_eq!(manifest_blobs::size(&db).await.unwrap(), (3, weight));

        let found = manifest_blobs::take_up(&db, &["a", "c", "x"], day(3)).await.unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found["a"].len(), found["c"].len()), (1000, 0));
        assert!(manifest_blobs::take_up(&db, &[], day(3)).await.unwrap().is_empty());

        let bounds = Bounds { bytes: 1 << 30, unused_for: Duration::from_hours(24) };
        assert_eq!(manifest_blobs::sweep(&db, bounds, day(3)).await.unwrap(), 1);
        let found = manifest_blobs::take_up(&db, &["a", "b", "c"], day(3)).await.unwrap();
        assert!(!found.contains_key("b") && found.len() == 2);

        let bounds = Bounds { bytes: 10, ..Bounds::default() };
        assert_eq!(manifest_blobs::sweep(&db, bounds, day(3)).await.unwrap(), 2);
        assert_eq!(manifest_blobs::size(&db).await.unwrap(), (0, 0));
    }

    async fn an_owner_is_listed_once_for_all(db: TestDb) {
        let take_up = async |owner| owner_packages::take_up(&db, "forge", owner).await.unwrap();
        assert_eq!(take_up("Meadow").await, None);
        for (owner, at) in [("old", 1), ("Meadow", 2), ("meadow", 3)] {
            owner_packages::keep(&db, "forge", owner, "[]", day(at), day(at - 1)).await.unwrap();
        }
        assert_eq!(take_up("MEADOW").await, Some((day(3), "[]".to_owned())));
        assert_eq!(take_up("old").await, None, "nobody asked for it for long");
    }
}
