//! Repositories on hosts that have no API: git alone is asked, and what only forges know is unknown.

#[path = "../made/mod.rs"]
mod made;

use std::path::PathBuf;

use db::testing::both;
use made::{Made, git};
use sim::git_server::{Fault, GitServer, Listening, Stage};
use store::repositories;

use crate::whole_round::{CADENCE, PARTS, Round, of_size};

const HOST: &str = "git.example.org";

/// A host that serves one repository at `tools/clover`.
struct Host {
    source: Made,
    served: PathBuf,
    server: GitServer,
    at: Listening,
    _directory: tempfile::TempDir,
}

impl Host {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let served = directory.path().join("tools/clover.git");
        std::fs::create_dir_all(&served).unwrap();
        let server = GitServer::new(directory.path());
        let host = Self {
            source: Made::new(),
            at: server.listen().await.unwrap(),
            server,
            served,
            _directory: directory,
        };
        git(&host.served, &["init", "-q", "--bare", "-b", "trunk", "."]);
        host
    }

    fn commit(&self, path: &str, text: &str) {
        self.source.write(path, text.as_bytes());
        self.source.commit("more");
        let served = self.served.to_str().unwrap();
        git(self.source.path(), &["push", "-q", served, "trunk"]);
    }

    fn base(&self) -> String {
        format!("http://{}", self.at.address())
    }
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn manifests_come_through_git_and_the_rest_could_not_be_asked(db: TestDb) {
        let host = Host::new().await;
        let mut round = Round::new(&db, of_size(0)).await;
        round.meets(HOST, host.base());
        let subject = round.watch_at(HOST, "tools/clover").await;
        round.run().await;
        let state = round.source(&subject, "manifests").await;
        assert!(state.is_current(), "without a commit it declares nothing: {state:?}");
        assert!(round.known(&subject).await.is_empty());

        host.commit("Cargo.toml", "[package]\nname = \"clover\"\nversion = \"1.0.0\"\n");
        host.commit("deep/down/package.json", "{\"name\": \"daisy\"}");
        round.publishes(&subject, "npm", "daisy", 2);
        round.ask_again(&[&subject]).await;
        let known = round.known(&subject).await;
        let manifests: Vec<&String> = known.iter().filter(|one| one.starts_with("manifest ")).collect();
        assert_eq!(manifests, ["manifest Cargo.toml clover", "manifest deep/down/package.json daisy"]);
        let repository = repositories::by_id(&db, subject.id).await.unwrap().unwrap();
        assert_eq!(repository.default_branch.as_deref(), Some("trunk"));
        for source in ["releases", "packages"] {
            let state = round.source(&subject, source).await;
            assert!(state.last_answered.is_none(), "{source}: never `absent`: {state:?}");
            assert!(state.error.unwrap().contains("no forge"), "{source}");
        }
        assert_eq!(round.gaps(&subject).await, ["orphan cargo clover"]);

        // What was fetched is not fetched again.
        host.server.take_seen();
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        let packs = host.server.take_seen().iter().filter(|seen| seen.stage == Stage::Pack).count();
        assert_eq!(packs, 1, "the tree, and no contents");

        // A host that fails takes nothing away.
        host.server.spoil(Stage::Refs, Fault::Status { status: 503, headers: Vec::new() });
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        assert_eq!(round.known(&subject).await, known);
        assert!(!round.source(&subject, "manifests").await.is_current());
        host.server.heal();

        // Gone is knowledge about the repository, and none about its packages.
        std::fs::remove_dir_all(&host.served).unwrap();
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        assert_eq!(round.known(&subject).await, known);
        assert_eq!(round.removals().await, []);
    }
}
