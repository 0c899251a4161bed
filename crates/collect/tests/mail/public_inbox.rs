//! Epochs from a real git server: grown, shrunk, rewritten.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use db::testing::both;
use facts::mail::Archive;
use sim::git_server::{Fault, GitServer, Listening, Stage};
use store::mail;

use crate::world::{PARTS, World, source};

const LIST: &str = "things@vger.example.org";

struct Inbox {
    root: PathBuf,
    server: GitServer,
    _at: Listening,
}

impl Inbox {
    /// An inbox with one epoch.
    async fn new(world: &mut World) -> Self {
        let root = world.directory.path().join("served");
        std::fs::create_dir(&root).unwrap();
        let server = GitServer::new(&root);
        let at = server.listen().await.unwrap();
        world.inboxes = Some(at.url("").trim_end_matches('/').to_owned());
        let inbox = Self {
            root,
            server,
            _at: at,
        };
        inbox.begin_epoch(0);
        inbox
    }

    fn begin_epoch(&self, number: u32) {
        let path = self.epoch(number);
        std::fs::create_dir_all(&path).unwrap();
        ask(&path, &["init", "-q", "--bare", "-b", "master", "."], "");
    }

    fn epoch(&self, number: u32) -> PathBuf {
        self.root.join(format!("things/git/{number}.git"))
    }

    /// Commits a mail, or its removal.
    fn commit(&self, epoch: u32, file: &str, bytes: &str) {
        let path = self.epoch(epoch);
        let blob = ask(&path, &["hash-object", "-w", "--stdin"], bytes);
        let tree = ask(&path, &["mktree"], &format!("100644 blob {blob}\t{file}\n"));
        let parent = Command::new("git")
            .args(["rev-parse", "--verify", "-q", "refs/heads/master"])
            .current_dir(&path)
            .output()
            .unwrap();
        let parent = String::from_utf8(parent.stdout).unwrap();
        let mut args = vec!["commit-tree", &tree, "-m", "x"];
        if !parent.trim().is_empty() {
            args.extend(["-p", parent.trim()]);
        }
        let commit = ask(&path, &args, "");
        ask(&path, &["update-ref", "refs/heads/master", &commit], "");
    }

    /// Writes history anew.
    fn rewrite(&self, epoch: u32, mails: &[(&str, &str)]) {
        ask(
            &self.epoch(epoch),
            &["update-ref", "-d", "refs/heads/master"],
            "",
        );
        for (file, bytes) in mails {
            self.commit(epoch, file, bytes);
        }
    }
}

fn ask(directory: &Path, args: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "git {args:?}");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

fn one(id: &str, second: u32) -> String {
    source(
        id,
        &format!("2018-01-01T00:00:{second:02}Z"),
        &format!("about {id}"),
    )
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn epochs_are_followed_by_commits(db: TestDb) {
        let mut world = World::new(&db).await;
        let inbox = Inbox::new(&mut world).await;
        inbox.commit(0, "m", &one("a@x", 1));
        inbox.commit(0, "m", &one("b@x", 2));
        let list = world.register(Archive::PublicInbox, LIST).await;
        world.run().await;
        assert_eq!(world.ids(list).await, ["a@x", "b@x"]);

        // A mail more, one removed, and a second epoch.
        inbox.commit(0, "m", &one("c@x", 3));
        inbox.commit(0, "d", &one("a@x", 1));
        inbox.begin_epoch(1);
        inbox.commit(1, "m", &one("d@x", 4));
        world.fetch().await;
        assert_eq!(world.ids(list).await, ["b@x", "c@x", "d@x"]);
        let part = world.part(list, "0").await.unwrap();
        assert_eq!((part.state.as_str(), part.found), ("complete", 2));
        assert_eq!(world.part(list, "1").await.unwrap().state, "open");
        assert!(mail::by_message_id(&db, "a@x").await.unwrap().is_empty());

        // Nothing new costs a look at the refs of each epoch, and no objects.
        inbox.server.take_seen();
        world.fetch().await;
        let packs = inbox.server.take_seen().into_iter().filter(|one| one.stage == Stage::Pack);
        assert_eq!(packs.count(), 0);
    }

    async fn rewritten_history_is_honoured(db: TestDb) {
        let mut world = World::new(&db).await;
        let inbox = Inbox::new(&mut world).await;
        let (a, b, c) = (one("a@x", 1), one("b@x", 2), one("c@x", 3));
        inbox.rewrite(0, &[("m", &a), ("m", &b), ("m", &c)]);
        let list = world.register(Archive::PublicInbox, LIST).await;
        world.run().await;
        assert_eq!(world.ids(list).await, ["a@x", "b@x", "c@x"]);
        // One is purged, which leaves an empty mail; one is edited.
        let edited = b.replace("Words", "Better words");
        inbox.rewrite(0, &[("m", ""), ("m", &edited), ("m", &c), ("m", &one("d@x", 4))]);
        world.fetch().await;
        assert_eq!(world.ids(list).await, ["b@x", "c@x", "d@x"]);
        let view = mail::by_message_id(&db, "b@x").await.unwrap();
        assert_eq!(view.len(), 1);
        assert!(view[0].body.as_deref().unwrap().starts_with("Better words"));
        assert_eq!(world.part(list, "0").await.unwrap().found, 3);
    }

    async fn a_wall_is_no_empty_archive(db: TestDb) {
        let mut world = World::new(&db).await;
        let inbox = Inbox::new(&mut world).await;
        let list = world.register(Archive::PublicInbox, LIST).await;
        // An empty repository first: nobody can tell it from a wall.
        world.run().await;
        assert!(world.part(list, "0").await.is_none());
        inbox.commit(0, "m", &one("a@x", 1));
        inbox.server.spoil(Stage::Advertisement, Fault::Wall);
        world.fetch().await;
        assert!(world.part(list, "0").await.is_none());
        assert!(mail::by_id(&db, list).await.unwrap().unwrap().failure.is_some());
        inbox.server.heal();
        world.hand.advance(std::time::Duration::from_hours(5));
        world.fetch().await;
        assert_eq!(world.ids(list).await, ["a@x"]);
    }
}
