//! What objects promise, in a directory.

use store::objects::{Created, Objects, ObjectsError};

/// Also run against S3.
pub(crate) async fn promises(objects: &Objects) {
    assert_eq!(objects.get("a/b", 10).await.unwrap(), None);
    assert_eq!(
        objects.create("a/b", b"one".into()).await.unwrap(),
        Created::New
    );
    assert_eq!(
        objects.create("a/b", b"two".into()).await.unwrap(),
        Created::Existed
    );
    assert_eq!(objects.get("a/b", 10).await.unwrap().unwrap(), b"one");
    let error = objects.get("a/b", 2).await.unwrap_err();
    assert!(matches!(error, ObjectsError::TooLarge { .. }), "{error}");
    assert!(objects.is_there("a/b").await.unwrap());
    assert!(!objects.is_there("a").await.unwrap());

    // Of many who create at once, one does.
    let racers = (0..16_u8).map(|number| {
        let objects = objects.clone();
        tokio::spawn(async move { objects.create("race", vec![number]).await.unwrap() })
    });
    let racers: Vec<_> = racers.collect();
    let mut won = 0;
    for racer in racers {
        won += u32::from(racer.await.unwrap() == Created::New);
    }
    assert_eq!(won, 1);
    assert_eq!(objects.get("race", 10).await.unwrap().unwrap().len(), 1);

    // Large files go and come in pieces.
    let place = tempfile::tempdir().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    objects.put_file("a/large", &from).await.unwrap();
    assert!(objects.fetch("a/large", &to).await.unwrap());
    assert!(std::fs::read(&to).unwrap() == bytes);
    assert!(!objects.fetch("a/none", &to).await.unwrap());

    objects.put("a/b", b"three".into()).await.unwrap();
    let listed = objects.list("a").await.unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|one| (one.name.as_str(), one.size))
        .collect();
    assert_eq!(names, [("a/b", 5), ("a/large", 20_000_000)]);
    assert!(objects.list("nowhere").await.unwrap().is_empty());
    objects.delete("a/b").await.unwrap();
    objects.delete("a/b").await.unwrap();
    assert!(!objects.is_there("a/b").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_keeps_the_promises_and_is_private() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("objects");
    let objects = Objects::directory(&root).unwrap();
    promises(&objects).await;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&root).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    // A name cannot lead out of the directory.
    objects.create("../outside", b"x".into()).await.unwrap();
    assert!(!place.path().join("outside").exists());
}
