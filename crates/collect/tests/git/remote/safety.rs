//! Tokens stay where they belong, addresses are checked, limits hold, nothing outlives us.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::Duration,
};

use collect::git::remote::{Contents, RemoteError, Remotes, Settings, USUAL_REFS, Want};
use sim::git_server::{Fault, GitServer, Stage};

use super::{SECRET, World};

#[tokio::test]
async fn a_token_reaches_its_host_and_no_other() {
    let world = World::new(2).await;
    let seen = || world.server.take_seen();
    let remote = world.remote_with(world.with_token()).await;
    remote
        .fetch(&[Want::Head], Contents::Blobless)
        .await
        .unwrap();
    let asked = seen();
    // `x-access-token:s3cr3t-t0ken`, as basic authentication writes it.
    let wanted = "Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0LXQwa2Vu";
    assert!(
        asked
            .iter()
            .all(|one| one.authorization.as_deref() == Some(wanted)),
        "{asked:?}"
    );
    let agent = Some("gleaner-test/1 (+mailto:test@example.org)");
    assert!(
        asked.iter().all(|one| one.user_agent.as_deref() == agent),
        "{asked:?}"
    );

    // The same server under another name is another host.
    let elsewhere = GitServer::new(&world.directory.path().join("served"));
    let there = elsewhere.listen().await.unwrap();
    let to = format!("http://localhost:{}", there.address().port());
    world
        .server
        .spoil(Stage::Advertisement, Fault::Moved { to: to.clone() });
    let mut settings = world.with_token();
    settings.private_hosts.insert("localhost".to_owned());
    let remote = world.remote_with(settings).await;
    let refs = remote.refs(&USUAL_REFS).await.unwrap();
    assert_eq!(refs.moved_to, Some(format!("{to}/a.git")));
    let fetched = remote.fetch(&[Want::Head], Contents::Whole).await.unwrap();
    assert_eq!(fetched.moved_to, Some(format!("{to}/a.git")));
    let asked = elsewhere.take_seen();
    assert!(asked.len() >= 4);
    assert!(
        asked.iter().all(|one| one.authorization.is_none()),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_move_is_followed_only_to_where_one_may_go() {
    let world = World::new(1).await;
    let remote = world.remote().await;
    let mut told = String::new();
    for to in [
        "http://localhost:9",
        "http://169.254.169.254",
        "http://[::1]:9",
        "https://user:pw@forge.example",
        "file://",
        "ssh://forge.example",
        "http://127.0.0.1:1/\u{7}",
    ] {
        let to = to.to_owned();
        world
            .server
            .spoil(Stage::Advertisement, Fault::Moved { to });
        let error = remote.refs(&USUAL_REFS).await.unwrap_err();
        assert!(!error.is_absent());
        told.push_str(&world.shown(&error));
        told.push('\n');
    }
    // Round and round.
    let to = format!("http://{}", world.at.address());
    world
        .server
        .spoil(Stage::Advertisement, Fault::Moved { to });
    world.server.take_seen();
    let error = remote.refs(&USUAL_REFS).await.unwrap_err();
    assert_eq!(world.server.take_seen().len(), 4);
    told.push_str(&world.shown(&error));
    insta::assert_snapshot!("moves", told);
}

#[tokio::test]
async fn addresses_are_checked_and_held_on_to() {
    let world = World::new(1).await;
    let mut settings = world.settings();
    settings.private_hosts.clear();
    let error = world
        .remote_with(settings.clone())
        .await
        .refs(&USUAL_REFS)
        .await
        .unwrap_err();
    assert!(
        matches!(error, RemoteError::PrivateAddress { .. }),
        "{error}"
    );

    // No resolver knows this name: git connects to what was checked here.
    let url = format!("http://forge.invalid:{}/a.git", world.at.address().port());
    let addresses = vec!["127.0.0.1".parse().unwrap()];
    settings
        .addresses
        .insert("forge.invalid".to_owned(), addresses);
    let remotes = Remotes::open(settings.clone()).await.unwrap();
    let error = remotes
        .remote(&url)
        .unwrap()
        .refs(&USUAL_REFS)
        .await
        .unwrap_err();
    assert!(
        matches!(error, RemoteError::PrivateAddress { .. }),
        "{error}"
    );
    assert!(world.server.take_seen().is_empty());
    settings.private_hosts = BTreeSet::from(["forge.invalid".to_owned()]);
    let remotes = Remotes::open(settings).await.unwrap();
    let refs = remotes
        .remote(&url)
        .unwrap()
        .refs(&USUAL_REFS)
        .await
        .unwrap();
    assert!(refs.head.is_some());
}

#[tokio::test]
async fn what_is_too_large_is_stopped() {
    let world = World::new(400).await;
    let mut settings = world.settings();
    settings.limits.disk_bytes = 100_000;
    let remote = world.remote_with(settings).await;
    // All of it is on the disk, and the end never comes.
    world
        .server
        .spoil(Stage::Pack, Fault::Hang { after: 400_000 });
    let error = remote
        .fetch(&[Want::Head], Contents::Whole)
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::TooMuch { .. }), "{error}");
    world.server.left_alone().await;
}

#[tokio::test]
async fn the_directory_is_private() {
    let world = World::new(1).await;
    let directory = world.settings().directory;
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    world.remote().await;
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn no_argument_holds_a_secret_and_a_dropped_fetch_is_dead() {
    let world = World::new(50).await;
    world.server.spoil(Stage::Pack, Fault::Hang { after: 500 });
    let remote = world.remote_with(world.with_token()).await;
    let fetching = tokio::spawn(async move {
        let _ = remote.fetch(&[Want::Head], Contents::Whole).await;
    });
    world.server.holds().await;
    let port = world.at.address().to_string();
    let mut transports = 0;
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(words) = fs::read(process.path().join("cmdline")) else {
            continue;
        };
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(
            !words.contains(SECRET) && !words.contains("eC1hY2Nl"),
            "{words}"
        );
        transports += usize::from(words.contains(&port) && words.contains("remote-http"));
    }
    assert!(transports >= 1);
    fetching.abort();
    world.server.left_alone().await;
}

#[tokio::test]
async fn a_time_limit_ends_it() {
    let world = World::new(50).await;
    world.server.spoil(Stage::Pack, Fault::Hang { after: 500 });
    let mut settings = world.settings();
    settings.limits.time = Duration::from_secs(2);
    let remote = world.remote_with(settings).await;
    let error = remote
        .fetch(&[Want::Head], Contents::Whole)
        .await
        .unwrap_err();
    assert!(matches!(error, RemoteError::TimedOut { .. }), "{error}");
    world.server.left_alone().await;
}

#[tokio::test]
async fn nothing_outlives_a_parent_that_was_killed() {
    let world = World::new(50).await;
    world.server.spoil(Stage::Pack, Fault::Hang { after: 500 });
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "remote::safety::fetches_until_it_is_killed",
        ])
        .env("GIT_REMOTE_TEST_URL", world.url())
        .env("GIT_REMOTE_TEST_DIRECTORY", world.settings().directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let asked = tokio::time::timeout(Duration::from_mins(1), world.server.holds()).await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    asked.unwrap();
    world.server.left_alone().await;
}

/// The parent of the test above.
#[tokio::test]
#[ignore = "started by another test, to be killed"]
async fn fetches_until_it_is_killed() {
    let (Ok(url), Some(directory)) = (
        std::env::var("GIT_REMOTE_TEST_URL"),
        std::env::var_os("GIT_REMOTE_TEST_DIRECTORY"),
    ) else {
        return;
    };
    let mut settings = Settings::new(directory, "test");
    settings
        .protocols
        .insert(collect::git::remote::Protocol::Http);
    settings.private_hosts.insert("127.0.0.1".to_owned());
    let remotes = Remotes::open(settings).await.unwrap();
    let remote = remotes.remote(&url).unwrap();
    // On a thread of its own that ends before git does.
    let fetching =
        tokio::spawn(async move { remote.fetch(&[Want::Head], Contents::Whole).await.map(drop) });
    let _ = fetching.await.unwrap();
}
