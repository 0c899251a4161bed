//! A world, a database, and processes that work on both.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use db::{Clock, Timestamp, sql, testing::TestDb};
use sim::{Config, Server, WorldClock};

pub(crate) const PARTS: &[db::Part] = &[engine::PART, store::PART];

/// Between two looks.
const LOOK: Duration = Duration::from_millis(25);

pub(crate) struct Fleet {
    pub(crate) server: Server,
    pub(crate) db: TestDb,
    pub(crate) clock: Clock,
    home: tempfile::TempDir,
}

/// A `gleaner work`; it is killed when this is dropped.
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Fleet {
    /// A world whose time runs `factor` times as fast as life; `settings` go into the
    /// configuration besides the addresses.
    pub(crate) async fn new(db: TestDb, factor: f64, world: Config, settings: &str) -> Self {
        let epoch = Timestamp::from_micros(sim::EPOCH.as_microsecond());
        let clock = Clock::scaled(epoch, factor);
        let follows = clock.clone();
        let server = Server::start(Config {
            clock: WorldClock::given(factor, move || follows.now().as_micros()),
            ..world
        });
        let server = server.await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let upstreams = server.upstreams().map(|name| {
            let base = server.host_url(name).unwrap();
            format!("[upstream.\"{name}\"]\nbase_url = \"{base}\"\n")
        });
        // The drills are about whoever asks forges what has become of repositories.
        let others = "[distribution]\nenabled = false\n[license]\nenabled = false\n";
        let text = upstreams.collect::<String>() + others + settings;
        std::fs::write(home.path().join("gleaner.toml"), text).unwrap();
        Self {
            server,
            db,
            clock,
            home,
        }
    }

    /// Starts a process with these tokens, by host.
    pub(crate) fn work(&self, tokens: &[(&str, &str)]) -> Process {
        let mut command = self.gleaner(&["work"]);
        for (host, secrets) in tokens {
            let host = host.to_uppercase().replace(['.', '-'], "_");
            command.env(format!("GLEANER_TOKEN_{host}"), secrets);
        }
        Process(command.spawn().unwrap())
    }

    /// Addresses of public repositories of a forge, in the order of their numbers.
    pub(crate) fn addresses(&self, host: &str) -> Vec<String> {
        let repositories = self.server.world().repositories(host);
        let public = repositories.iter().filter(|one| one.is_public());
        public
            .map(|one| format!("https://{host}/{}", one.path()))
            .collect()
    }

    /// Watches repositories.
    pub(crate) fn add(&self, addresses: &[String]) {
        let mut command = self.gleaner(&["repo", "add"]);
        let done = command.args(addresses).stderr(Stdio::piped()).output();
        let done = done.unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }

    /// One number out of the database.
    pub(crate) async fn number(&self, text: &'static str, upstream: &str) -> i64 {
        let row = self.db.fetch_one(sql!(text, upstream)).await;
        row.unwrap().get("n").unwrap()
    }

    /// Units of an upstream that have not succeeded since `since`.
    pub(crate) async fn unanswered(&self, upstream: &str, since: Timestamp) -> i64 {
        let row = self
            .db
            .fetch_one(sql!(
                "SELECT count(*) AS n FROM unit WHERE upstream = $1 AND kind = 'repo-metadata'
                 AND (succeeded_at IS NULL OR succeeded_at < $2)",
                upstream,
                since
            ))
            .await;
        row.unwrap().get("n").unwrap()
    }

    /// Looks again and again until `done`; returns how long that took, in life.
    pub(crate) async fn until(
        &self,
        what: &str,
        limit: Duration,
        mut done: impl AsyncFnMut() -> bool,
    ) -> Duration {
        let begun = Instant::now();
        let mut looks = tokio::time::interval(LOOK);
        while !done().await {
            assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
            looks.tick().await;
        }
        begun.elapsed()
    }

    /// Waits for so much of the world's time.
    pub(crate) async fn pass(&self, span: Duration) {
        let end = self.clock.now().plus(span);
        let limit = self.clock.real(span) + Duration::from_secs(5);
        self.until("time passes", limit, async || self.clock.now() >= end)
            .await;
    }

    fn gleaner(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args(arguments)
            .arg("--quiet")
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("GLEANER_DATABASE", self.db.url())
            .env("GLEANER_DATABASE_MIN_FREE", "1KiB")
            .env("GLEANER_DATABASE_TIMEOUT", "60s")
            .env("GLEANER_WORK_DEAD_AFTER", "5s")
            .env(
                "GLEANER_CLOCK",
                format!("world:http://{}", self.server.address()),
            )
            .env("GLEANER_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}
