//! What is asked for comes, in few requests, whatever the server supports.

use std::time::Duration;

use collect::{
    answer::Answer,
    git::{
        Blob,
        remote::{Contents, Protocol, Refused, RemoteError, Remotes, USUAL_REFS, Want},
    },
};
use sim::git_server::{Speaks, Stage};

use super::{World, contents};
use crate::made::git;

#[tokio::test]
async fn refs_are_listed_with_what_they_lead_to() {
    let world = World::new(3).await;
    git(
        &world.served(),
        &["update-ref", "refs/pull/1/head", "refs/heads/trunk"],
    );
    git(&world.served(), &["update-server-info"]);
    let remote = world.remote().await;
    let mut told = Vec::new();
    for speaks in [Speaks::Newest, Speaks::Oldest, Speaks::Files] {
        world.server.switch(|switches| switches.speaks = speaks);
        let mut refs = remote.refs(&USUAL_REFS).await.unwrap();
        let seen = world.server.take_seen();
        assert_eq!(seen.len(), refs.requests, "{speaks:?}");
        assert!(seen.len() <= 4, "{speaks:?}: {seen:?}");
        if speaks == Speaks::Newest {
            assert_eq!(seen.len(), 2);
        }
        refs.requests = 0;
        told.push(refs);
    }
    let refs = &told[0];
    let head = refs.head.as_ref().unwrap();
    assert_eq!(head.branch.as_deref(), Some("refs/heads/trunk"));
    let names: Vec<&str> = refs.refs.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["refs/heads/trunk", "refs/tags/v1"]);
    assert_eq!(refs.refs[1].peeled, head.id);
    assert_ne!(Some(&refs.refs[1].id), head.id.as_ref());
    assert_eq!(told[1], told[0]);
    assert_eq!(told[2], told[0]);

    world
        .server
        .switch(|switches| switches.speaks = Speaks::Newest);
    let head_only = remote.refs(&["HEAD"]).await.unwrap();
    assert_eq!((head_only.refs.len(), head_only.head.is_some()), (0, true));
}

#[tokio::test]
async fn a_repository_without_commits_is_knowledge() {
    let world = World::new(0).await;
    let remote = world.remote().await;
    for speaks in [Speaks::Newest, Speaks::Oldest] {
        world.server.switch(|switches| switches.speaks = speaks);
        let refs = remote.refs(&USUAL_REFS).await.unwrap();
        assert!(refs.is_empty(), "{refs:?}");
    }
    let error = remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::NoRef { .. }), "{error}");
}

#[tokio::test]
async fn trees_come_first_and_blobs_in_one_batch() {
    let world = World::new(100).await;
    let remote = world.remote().await;
    let fetched = remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    assert_eq!(world.server.take_seen().len(), 3);
    assert_eq!((fetched.requests, fetched.fallbacks.len()), (3, 0));
    assert!(fetched.is_blobless());
    let entries = fetched
        .local()
        .tree(fetched.commit().unwrap(), |_| true)
        .await
        .unwrap();
    assert_eq!(entries.len(), 100);
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut missing = 0;
    let count = |_, blob| missing += usize::from(blob == Blob::Missing);
    fetched.local().blobs(&ids, count).await.unwrap();
    assert_eq!(missing, 100);
    assert!(world.server.take_seen().is_empty(), "reading asks nobody");

    let completed = fetched.complete(&ids[..60]).await.unwrap();
    assert_eq!((completed.fetched, completed.missing.len()), (60, 0));
    assert_eq!((completed.fallback, completed.requests), (None, 2));
    assert_eq!(world.server.take_seen().len(), 2);
    let completed = fetched.complete(&ids[..60]).await.unwrap();
    assert_eq!((completed.fetched, completed.requests), (0, 0));

    let mut right = 0;
    let check = |place: usize, blob| {
        let name = entries[place].path.rsplit('/').next().unwrap();
        let n = name
            .trim_end_matches("txt")
            .trim_end_matches('.')
            .parse()
            .unwrap();
        right += usize::from(blob == Blob::Bytes(contents(n)));
    };
    fetched.local().blobs(&ids[..60], check).await.unwrap();
    assert_eq!(right, 60);
}

#[tokio::test]
async fn a_second_fetch_brings_only_what_changed() {
    let world = World::new(100).await;
    let remote = world.remote().await;
    for contents in [Contents::Blobless, Contents::Whole] {
        let first = remote.fetch(&[Want::Head], contents).await.unwrap();
        let before = first.commit().unwrap().to_owned();
        drop(first);
        let received = |world: &World| -> usize {
            let seen = world.server.take_seen();
            seen.iter().map(|one| one.received).sum()
        };
        let whole = received(&world);
        world.source.write("dir-1/new.txt", b"new");
        world
            .source
            .write("dir-1/which.txt", format!("{contents:?}").as_bytes());
        world.source.commit("second");
        world.publish();
        let second = remote.fetch(&[Want::Head], contents).await.unwrap();
        assert_ne!(second.commit(), Some(before.as_str()));
        let change = received(&world);
        assert!(change * 2 < whole, "{contents:?}: {change} after {whole}");
        let tree = second
            .local()
            .tree(second.commit().unwrap(), |_| true)
            .await;
        assert_eq!(tree.unwrap().len(), 102);
    }
}

#[tokio::test]
async fn what_a_server_refuses_is_had_another_way_and_said() {
    let world = World::new(20).await;
    let remote = world.remote().await;
    let head = remote
        .refs(&["HEAD"])
        .await
        .unwrap()
        .head
        .unwrap()
        .id
        .unwrap();

    // Filters refused: all blobs come at once.
    world.server.switch(|switches| switches.filters = false);
    let fetched = remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    assert_eq!(fetched.fallbacks, [Refused::Filters]);
    assert!(!fetched.is_blobless());
    let tree = fetched
        .local()
        .tree(&head, |entry| entry.size.is_some())
        .await;
    assert_eq!(tree.unwrap().len(), 20);
    drop(fetched);
    std::fs::remove_dir_all(world.settings().directory).unwrap();

    // Ids refused: the commit comes as a tip, its blobs with everything else of it.
    let remote = world.remote().await;
    world
        .server
        .switch(|switches| (switches.filters, switches.ids) = (true, false));
    let wants = [Want::Id(head.clone()), Want::Ref("refs/tags/v1".to_owned())];
    let fetched = remote.fetch(&wants, Contents::Blobless).await.unwrap();
    assert_eq!(fetched.commits, [Some(head.clone()), Some(head.clone())]);
    let tree = fetched.local().tree(&head, |_| true).await.unwrap();
    let ids: Vec<&str> = tree.iter().map(|entry| entry.id.as_str()).collect();
    let completed = fetched.complete(&ids).await.unwrap();
    assert_eq!((completed.fetched, completed.missing.len()), (20, 0));
    assert_eq!(completed.fallback, Some(Refused::Ids));
    drop(fetched);

    // Not even the commit: everything comes.
    world.source.write("more", b"more");
    world.source.commit("second");
    world.publish();
    for speaks in [Speaks::Newest, Speaks::Oldest] {
        world.server.switch(|switches| switches.speaks = speaks);
        std::fs::remove_dir_all(world.settings().directory).unwrap();
        let remote = world.remote().await;
        git(&world.served(), &["update-ref", "-d", "refs/tags/v1"]);
        let fetched = remote
            .fetch(&[Want::Id(head.clone())], Contents::Blobless)
            .await
            .unwrap();
        assert_eq!(fetched.fallbacks, [Refused::Ids]);
        assert_eq!(fetched.commit(), Some(head.as_str()));
        drop(fetched);
        let nothing = Want::Id("1".repeat(40));
        let error = remote.fetch(&[nothing], Contents::Whole).await.unwrap_err();
        assert!(matches!(error, RemoteError::NoRef { .. }), "{error}");
    }

    // Plain files: history comes along.
    world
        .server
        .switch(|switches| switches.speaks = Speaks::Files);
    let fetched = remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    assert_eq!(fetched.fallbacks, [Refused::Depth]);
    let tree = fetched
        .local()
        .tree(fetched.commit().unwrap(), |_| true)
        .await;
    assert_eq!(tree.unwrap().len(), 21);
}

#[tokio::test]
async fn other_protocols_and_formats_work_where_allowed() {
    let world = World::new(5).await;
    let url = format!("file://{}", world.served().display());
    let remotes = Remotes::open(world.settings()).await.unwrap();
    assert!(matches!(
        remotes.remote(&url),
        Err(RemoteError::BadUrl { .. })
    ));
    let mut settings = world.settings();
    settings.protocols.insert(Protocol::File);
    let remotes = Remotes::open(settings).await.unwrap();
    let remote = remotes.remote(&url).unwrap();
    assert_eq!(remote.refs(&USUAL_REFS).await.unwrap().refs.len(), 2);
    let fetched = remote.fetch(&[Want::Head], Contents::Whole).await.unwrap();
    assert!(fetched.commit().is_some());
    let gone = remotes.remote(&format!("{url}-gone")).unwrap();
    let answer: Answer<_> = gone.refs(&USUAL_REFS).await.into();
    assert_eq!(answer, Answer::Absent);

    let modern = world.directory.path().join("served/modern.git");
    git(
        world.source.path(),
        &[
            "init",
            "-q",
            "--bare",
            "--object-format=sha256",
            modern.to_str().unwrap(),
        ],
    );
    let tree = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
    git(&modern, &["hash-object", "-w", "-t", "tree", "--stdin"]);
    let id = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.org",
            "commit-tree",
            "-m",
            "x",
            tree,
        ])
        .current_dir(&modern)
        .output()
        .unwrap();
    let id = String::from_utf8(id.stdout).unwrap();
    git(&modern, &["update-ref", "refs/heads/main", id.trim()]);
    let remote = remotes.remote(&world.at.url("modern.git")).unwrap();
    let refs = remote.refs(&USUAL_REFS).await.unwrap();
    assert_eq!(refs.refs[0].id, id.trim());
    for want in [
        Want::Ref("refs/heads/main".to_owned()),
        Want::Id(id.trim().to_owned()),
    ] {
        let fetched = remote.fetch(&[want], Contents::Blobless).await.unwrap();
        assert_eq!(fetched.commit(), Some(id.trim()));
    }
}

#[tokio::test]
async fn what_the_dead_left_is_cleared_and_what_the_living_use_is_not() {
    let world = World::new(5).await;
    let remote = world.remote().await;
    let fetched = remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    let mut impatient = world.settings();
    impatient.limits.time = Duration::from_millis(300);
    let other = world.remote_with(impatient).await;
    let error = other
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::Busy { .. }), "{error}");
    drop(fetched);

    let objects = world.settings().directory;
    let slot = std::fs::read_dir(&objects)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "git"))
        .unwrap();
    let left = [
        slot.join("shallow.lock"),
        slot.join("config.lock"),
        slot.join("refs/asked/HEAD.lock"),
        slot.join("objects/pack/tmp_pack_x"),
        objects.join("runs/1-1.alive"),
    ];
    for path in &left {
        std::fs::write(path, "left").unwrap();
    }
    std::fs::create_dir(objects.join("runs/1-1.run")).unwrap();
    world.source.write("new", b"new");
    world.source.commit("second");
    world.publish();
    let fetched = world
        .remote()
        .await
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    let tree = fetched
        .local()
        .tree(fetched.commit().unwrap(), |_| true)
        .await;
    assert_eq!(tree.unwrap().len(), 6);
    assert!(left.iter().all(|path| !path.exists()));
    assert!(!objects.join("runs/1-1.run").exists());
    drop(fetched);

    // One that was never finished is begun anew.
    std::fs::remove_file(slot.join("gleaner-ready")).unwrap();
    std::fs::write(slot.join("HEAD"), "nonsense").unwrap();
    let remote = world.remote().await;
    assert!(
        remote
            .fetch(&[Want::Head], Contents::Blobless)
            .await
            .is_ok()
    );
    assert!(
        std::fs::read_dir(objects.join("runs"))
            .unwrap()
            .next()
            .is_none()
    );
    assert!(
        world
            .server
            .take_seen()
            .iter()
            .all(|one| one.stage != Stage::File)
    );
}

#[tokio::test]
async fn old_honest_faults_are_forgiven_and_trees_that_lie_are_not() {
    let world = World::new(1).await;
    let write = |kind: &str, bytes: &[u8]| {
        let file = world.directory.path().join("object");
        std::fs::write(&file, bytes).unwrap();
        let said = std::process::Command::new("git")
            .args(["hash-object", "--literally", "-w", "-t", kind])
            .arg(&file)
            .current_dir(world.served())
            .output()
            .unwrap();
        assert!(said.status.success());
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    let blob = write("blob", b"text");
    let id: Vec<u8> = (0..20)
        .map(|n| u8::from_str_radix(&blob[2 * n..2 * n + 2], 16).unwrap())
        .collect();
    let entry = |mode: &str, name: &str| [format!("{mode} {name}\0").as_bytes(), &id].concat();
    let commit = |tree: &str, who: &str| {
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nold\n");
        write("commit", text.as_bytes())
    };
    let odd_mode = write("tree", &entry("0100664", "a"));
    let old = commit(&odd_mode, "A <a@example.org> 1 +051800");
    let twice = write(
        "tree",
        &[entry("100644", "a"), entry("100644", "a")].concat(),
    );
    let lying = commit(&twice, "A <a@example.org> 1 +0000");
    let remote = world.remote().await;
    let fetched = remote
        .fetch(&[Want::Id(old)], Contents::Whole)
        .await
        .unwrap();
    let tree = fetched
        .local()
        .tree(fetched.commit().unwrap(), |_| true)
        .await;
    assert_eq!(tree.unwrap().len(), 1);
    drop(fetched);
    let error = remote
        .fetch(&[Want::Id(lying)], Contents::Whole)
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::Damaged { .. }), "{error}");
}
