//! Reading real repositories, made by the real git.

use std::{fs, path::Path, time::Duration};

use crate::made::{Made, git};
use collect::git::{Blob, EntryKind, GitError, Head, Limits, Local};

async fn open(path: &Path) -> Local {
    Local::open(path, Limits::default()).await.unwrap()
}

async fn commit_of(local: &Local) -> String {
    match local.head().await.unwrap() {
        Head::Commit { id, .. } => id,
        Head::Empty => panic!("the repository is empty"),
    }
}

#[tokio::test]
async fn a_tree_is_listed_and_its_blobs_are_read() {
    let made = Made::new();
    made.write("a.txt", b"one\n");
    made.write("dir/with space/\u{fc}.bin", &[0, 10, 255, 10]);
    made.write("empty", b"");
    std::os::unix::fs::symlink("a.txt", made.path().join("link")).unwrap();
    made.commit("first");

    let local = open(made.path()).await;
    let Head::Commit { id, branch } = local.head().await.unwrap() else {
        panic!("there is a commit");
    };
    assert_eq!(branch.as_deref(), Some("trunk"));
    let entries = local.tree(&id, |_| true).await.unwrap();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.kind, entry.size))
        .collect();
    assert_eq!(
        told,
        [
            ("a.txt", EntryKind::File, Some(4)),
            ("dir/with space/\u{fc}.bin", EntryKind::File, Some(4)),
            ("empty", EntryKind::File, Some(0)),
            ("link", EntryKind::Link, Some(5)),
        ]
    );
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let nothing = "0".repeat(40);
    ids.insert(1, &nothing);
    let mut blobs = Vec::new();
    local
        .blobs(&ids, |place, blob| blobs.push((place, blob)))
        .await
        .unwrap();
    let expected = [
        Blob::Bytes(b"one\n".to_vec()),
        Blob::Missing,
        Blob::Bytes(vec![0, 10, 255, 10]),
        Blob::Bytes(Vec::new()),
        Blob::Bytes(b"a.txt".to_vec()),
    ];
    assert_eq!(blobs, expected.into_iter().enumerate().collect::<Vec<_>>());
}

#[tokio::test]
async fn bare_repositories_linked_trees_and_submodules_are_repositories() {
    let made = Made::new();
    made.write("package.json", b"{}");
    made.commit("first");
    let elsewhere = tempfile::tempdir().unwrap();
    let bare = elsewhere.path().join("bare.git");
    git(
        made.path(),
        &["clone", "-q", "--bare", ".", bare.to_str().unwrap()],
    );
    let linked = elsewhere.path().join("linked");
    git(
        made.path(),
        &[
            "worktree",
            "add",
            "-q",
            "--detach",
            linked.to_str().unwrap(),
        ],
    );

    let id = commit_of(&open(made.path()).await).await;
    assert_eq!(commit_of(&open(&bare).await).await, id);
    assert_eq!(commit_of(&open(&made.path().join(".git")).await).await, id);
    let linked = open(&linked).await;
    assert_eq!(
        linked.head().await.unwrap(),
        Head::Commit {
            id: id.clone(),
            branch: None
        }
    );

    git(
        made.path(),
        &[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{id},module"),
        ],
    );
    git(made.path(), &["commit", "-q", "-m", "module"]);
    let local = open(made.path()).await;
    let entries = local
        .tree(&commit_of(&local).await, |entry| entry.path == "module")
        .await
        .unwrap();
    assert_eq!(
        (entries.len(), entries[0].kind, entries[0].size),
        (1, EntryKind::Submodule, None)
    );
}

#[tokio::test]
async fn a_repository_without_commits_is_knowledge() {
    let made = Made::new();
    assert_eq!(open(made.path()).await.head().await.unwrap(), Head::Empty);
}

#[tokio::test]
async fn a_head_that_names_no_branch_gives_way_to_one_that_exists() {
    let made = Made::new();
    made.write("x", b"x");
    made.commit("first");
    git(made.path(), &["branch", "main"]);
    git(made.path(), &["symbolic-ref", "HEAD", "refs/heads/nowhere"]);
    let head = open(made.path()).await.head().await.unwrap();
    assert!(matches!(head, Head::Commit { branch: Some(branch), .. } if branch == "main"));
}

#[tokio::test]
async fn what_is_no_repository_is_an_error_that_says_so() {
    let made = Made::new();
    made.write("inside/x", b"x");
    made.commit("first");
    let limits = Limits::default();
    for path in [made.path().join("inside"), made.path().join("inside/x")] {
        let error = Local::open(&path, limits).await.unwrap_err();
        assert!(matches!(error, GitError::NotARepository(_)), "{error:?}");
        assert!(error.to_string().contains("is not a git repository"));
        assert!(error.hint().is_some());
    }
    let error = Local::open(&made.path().join("gone"), limits)
        .await
        .unwrap_err();
    assert!(matches!(error, GitError::NotThere(_)), "{error:?}");
}

#[tokio::test]
async fn limits_hold() {
    let made = Made::new();
    made.write("large", &[b'x'; 5000]);
    made.write("small", b"ok");
    made.commit("first");
    let with = |limits| Local::open(made.path(), limits);
    let limits = Limits::default();

    let local = with(Limits {
        blob_bytes: 100,
        ..limits
    })
    .await
    .unwrap();
    let entries = local
        .tree(&commit_of(&local).await, |_| true)
        .await
        .unwrap();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut blobs = Vec::new();
    local.blobs(&ids, |_, blob| blobs.push(blob)).await.unwrap();
    assert_eq!(
        blobs,
        [Blob::TooLarge { bytes: 5000 }, Blob::Bytes(b"ok".to_vec())]
    );

    let local = with(Limits {
        total_bytes: 4000,
        ..limits
    })
    .await
    .unwrap();
    let error = local.blobs(&ids, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, GitError::TooMuch { .. }), "{error:?}");

    let local = with(Limits {
        listing_bytes: 20,
        ..limits
    })
    .await
    .unwrap();
    let error = local.tree("HEAD", |_| true).await.unwrap_err();
    assert!(matches!(error, GitError::TooMuch { .. }), "{error:?}");
}

#[tokio::test]
async fn a_git_that_hangs_is_given_up() {
    let made = Made::new();
    made.write("x", b"x");
    made.commit("first");
    // Nobody ever writes into this pipe, so whoever reads it waits for ever.
    let head = made.path().join(".git/HEAD");
    fs::remove_file(&head).unwrap();
    let piped = std::process::Command::new("mkfifo").arg(&head).status();
    assert!(piped.unwrap().success());
    let limits = Limits {
        time: Duration::from_millis(200),
        ..Limits::default()
    };
    let error = Local::open(made.path(), limits).await.unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn damage_is_an_error_not_absence() {
    let made = Made::new();
    made.write("x", b"x");
    made.commit("first");
    let local = open(made.path()).await;
    let error = local.tree(&"1".repeat(40), |_| true).await.unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error:?}");
    let error = local.blobs(&["HEAD\nHEAD"], |_, _| {}).await.unwrap_err();
    assert!(matches!(error, GitError::Garbled { .. }), "{error:?}");

    fs::remove_dir_all(made.path().join(".git/objects")).unwrap();
    fs::create_dir(made.path().join(".git/objects")).unwrap();
    let error = local.head().await.unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error:?}");
}

#[tokio::test]
async fn a_hostile_configuration_runs_nothing() {
    let made = Made::new();
    made.write("x", b"x");
    made.commit("first");
    let proof = made.path().join("ran");
    let command = format!("touch {}", proof.display());
    for (key, value) in [
        ("core.pager", command.as_str()),
        ("core.fsmonitor", command.as_str()),
        ("core.sshCommand", command.as_str()),
        ("credential.helper", command.as_str()),
        ("alias.ls-tree", &format!("!{command}")),
        // A missing object makes git ask this remote for it, if one lets it.
        ("protocol.ext.allow", "always"),
        ("extensions.partialClone", "evil"),
        ("core.repositoryFormatVersion", "1"),
        (
            "remote.evil.url",
            &format!("ext::sh -c {}", command.replace(' ', "% ")),
        ),
        ("remote.evil.promisor", "true"),
    ] {
        git(made.path(), &["config", key, value]);
    }
    let local = open(made.path()).await;
    let commit = commit_of(&local).await;
    local.tree(&commit, |_| true).await.unwrap();
    let missing = "1".repeat(40);
    let mut blobs = Vec::new();
    // Whether git calls it missing or gives up, it asks nobody.
    let _ = local.blobs(&[&missing], |_, blob| blobs.push(blob)).await;
    assert!(!blobs.contains(&Blob::Bytes(Vec::new())));
    assert!(!proof.exists());
}

#[tokio::test]
async fn many_blobs_go_through_one_process() {
    let made = Made::new();
    for n in 0..3000 {
        made.write(
            &format!("{}/{n}.txt", n % 50),
            format!("{n} ").repeat(100).as_bytes(),
        );
    }
    made.commit("first");
    let local = open(made.path()).await;
    let entries = local
        .tree(&commit_of(&local).await, |_| true)
        .await
        .unwrap();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut right = 0;
    local
        .blobs(&ids, |place, blob| {
            let name = entries[place].path.rsplit('/').next().unwrap();
            let start = name
                .trim_end_matches("txt")
                .trim_end_matches('.')
                .as_bytes();
            right += usize::from(matches!(blob, Blob::Bytes(bytes) if bytes.starts_with(start)));
        })
        .await
        .unwrap();
    assert_eq!(right, 3000);
}
