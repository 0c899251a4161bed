//! The cache of answers stays within its bounds and loses what was used longest ago.

use std::time::Duration;

use db::{Db, Part, Timestamp, testing::both};
use store::http_cache::{self, Bounds, Kept};

const PARTS: &[Part] = &[store::PART];

fn hour(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 3_600_000_000)
}

fn answer(body: &[u8]) -> Kept {
    Kept {
        path: "/a".into(),
        etag: Some("\"1\"".into()),
        last_modified: None,
        headers: "{}".into(),
        body: body.to_vec(),
    }
}

async fn keep(db: &Db, key: &str, size: usize, at: i64) -> i64 {
    http_cache::keep(db, key, &answer(&vec![7; size]), hour(at))
        .await
        .unwrap()
}

async fn is_kept(db: &Db, key: &str) -> bool {
    http_cache::validators(db, key).await.unwrap().is_some()
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn an_answer_is_kept_and_replaced(db: TestDb) {
        assert_eq!(http_cache::validators(&db, "k").await.unwrap(), None);
        http_cache::keep(&db, "k", &answer(b"first"), hour(1)).await.unwrap();
        let first = http_cache::validators(&db, "k").await.unwrap().unwrap();
        assert_eq!(first.etag.as_deref(), Some("\"1\""));
        assert_eq!(first.last_modified, None);
        let (headers, body) = http_cache::take_up(&db, "k", first.stored_at, hour(1))
            .await
            .unwrap()
            .unwrap();
        assert_eq!((headers.as_str(), body.as_slice()), ("{}", b"first".as_slice()));

        http_cache::keep(&db, "k", &answer(b"second"), hour(2)).await.unwrap();
        let replaced = http_cache::take_up(&db, "k", first.stored_at, hour(2)).await.unwrap();
        assert_eq!(replaced, None, "what was replaced is no longer there");
        assert_eq!(http_cache::size(&db).await.unwrap().0, 1);
        http_cache::forget(&db, "k").await.unwrap();
        assert_eq!(http_cache::size(&db).await.unwrap(), (0, 0));
    }

    async fn the_bytes_are_bounded_and_the_oldest_used_goes_first(db: TestDb) {
        let weight = keep(&db, "a", 1000, 1).await;
        keep(&db, "b", 1000, 2).await;
        keep(&db, "c", 1000, 3).await;
        // `a` is the oldest kept, but used since.
        http_cache::take_up(&db, "a", hour(1), hour(9)).await.unwrap().unwrap();
        let bounds = Bounds { bytes: 2 * weight, unused_for: Duration::from_hours(1000) };
        assert_eq!(http_cache::sweep(&db, bounds, hour(10)).await.unwrap(), 1);
        assert!(is_kept(&db, "a").await);
        assert!(!is_kept(&db, "b").await);
        assert!(is_kept(&db, "c").await);
        assert_eq!(http_cache::size(&db).await.unwrap(), (2, 2 * weight));
        assert_eq!(http_cache::sweep(&db, bounds, hour(10)).await.unwrap(), 0);
    }

    async fn what_nobody_uses_goes(db: TestDb) {
        keep(&db, "old", 10, 1).await;
        keep(&db, "new", 10, 50).await;
        let bounds = Bounds { bytes: i64::MAX, unused_for: Duration::from_hours(24) };
        assert_eq!(http_cache::sweep(&db, bounds, hour(60)).await.unwrap(), 1);
        assert!(!is_kept(&db, "old").await);
        assert!(is_kept(&db, "new").await);
    }
}
