//! Asking real repositories over real connections: the server double runs git's own backend.

mod faults;
mod fetching;
mod figures;
mod safety;

use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf, time::Duration};

use crate::made::{Made, git};
use collect::git::remote::{Protocol, Remote, Remotes, Settings, Token};
use sim::git_server::{GitServer, Listening};

/// What must never be seen anywhere.
const SECRET: &str = "s3cr3t-t0ken";

/// A server with one repository `a.git`, and a directory for what is fetched.
struct World {
    source: Made,
    directory: tempfile::TempDir,
    server: GitServer,
    at: Listening,
}

impl World {
    async fn new(files: usize) -> Self {
        let source = Made::new();
        for n in 0..files {
            source.write(&format!("dir-{}/{n}.txt", n % 40), &contents(n));
        }
        if files > 0 {
            source.commit("first");
            git(source.path(), &["tag", "-a", "-m", "one", "v1"]);
        }
        let directory = tempfile::tempdir().unwrap();
        let repositories = directory.path().join("served");
        std::fs::create_dir(&repositories).unwrap();
        let server = GitServer::new(&repositories);
        let at = server.listen().await.unwrap();
        let world = Self {
            source,
            directory,
            server,
            at,
        };
        world.publish();
        world
    }

    fn served(&self) -> PathBuf {
        self.directory.path().join("served/a.git")
    }

    /// Brings what is committed to the server.
    fn publish(&self) {
        let served = self.served();
        let served = served.to_str().unwrap();
        if !self.served().exists() {
            git(
                self.source.path(),
                &["init", "-q", "--bare", "-b", "trunk", served],
            );
        }
        let push = ["push", "-q", "--force", served, "refs/*:refs/*"];
        if self.source.path().join(".git/refs/heads/trunk").exists() {
            git(self.source.path(), &push);
            git(&self.served(), &["update-server-info"]);
        }
    }

    fn url(&self) -> String {
        self.at.url("a.git")
    }

    fn settings(&self) -> Settings {
        let directory = self.directory.path().join("objects");
        let mut settings = Settings::new(directory, "gleaner-test/1 (+mailto:test@example.org)");
        settings.protocols = BTreeSet::from([Protocol::Http, Protocol::Https]);
        settings.private_hosts = BTreeSet::from(["127.0.0.1".to_owned()]);
        settings.limits.time = Duration::from_mins(1);
        settings
    }

    /// With a token for the server.
    fn with_token(&self) -> Settings {
        let mut settings = self.settings();
        let token = Token {
            user: "x-access-token".to_owned(),
            secret: SECRET.to_owned().into(),
        };
        let origin = format!("http://{}", self.at.address());
        settings.tokens.insert(origin, token);
        settings
    }

    async fn remote(&self) -> Remote {
        self.remote_with(self.settings()).await
    }

    async fn remote_with(&self, settings: Settings) -> Remote {
        let remotes = Remotes::open(settings).await.unwrap();
        remotes.remote(&self.url()).unwrap()
    }

    /// What a message says, whatever port it was.
    fn shown(&self, message: &impl ToString) -> String {
        message
            .to_string()
            .replace(&self.at.address().to_string(), "HOST")
    }
}

/// Text of about 1.4 kB that does not compress to nothing.
fn contents(n: usize) -> Vec<u8> {
    let mut state = n as u64 + 1;
    let mut text = format!("file {n}\n");
    while text.len() < 1400 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let _ = writeln!(text, "{:016x}", state ^ (state >> 29));
    }
    text.into_bytes()
}
