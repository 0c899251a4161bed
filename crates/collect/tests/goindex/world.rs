//! A git server, a database, an engine, and what the feed says.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use collect::{
    collector::Registered,
    git::remote,
    goindex::{GoPublish, GoTags, Settings, tags_unit},
};
use db::{Clock, DbError, Part, testing::TestDb, transact};
use engine::{Engine, Selection, Timing, Worker};
use facts::repository::RepositoryUrl;
use sim::git_server::{GitServer, Listening, Seen, Stage};
use store::{
    goindex::{self, Asked},
    repositories,
};
use tokio_util::sync::CancellationToken;

use crate::made::{Made, git};

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];

pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) server: GitServer,
    at: Listening,
    pub(crate) engine: Engine,
    sources: BTreeMap<String, Made>,
}

impl World {
    pub(crate) async fn new(db: &TestDb) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let served = directory.path().join("served");
        std::fs::create_dir(&served).unwrap();
        let server = GitServer::new(&served);
        let at = server.listen().await.unwrap();
        Self {
            directory,
            server,
            at,
            engine: Engine::new((**db).clone(), Clock::system()),
            sources: BTreeMap::new(),
        }
    }

    /// A repository on the server, and in the index.
    pub(crate) async fn add(&mut self, name: &str) -> i64 {
        let url = self.at.url(&format!("{name}.git"));
        self.add_as(name, &url).await
    }

    /// The same, under the address that it would have on a public forge.
    pub(crate) async fn add_at_forge(&mut self, slug: &str) -> i64 {
        self.add_as(slug, &format!("https://github.com/{slug}"))
            .await
    }

    async fn add_as(&mut self, name: &str, url: &str) -> i64 {
        let source = Made::new();
        source.write("README", b"hello\n");
        source.commit("first");
        self.sources.insert(name.to_owned(), source);
        let bare = self.bare(name);
        let parent = self.directory.path();
        git(
            parent,
            &[
                "init",
                "-q",
                "--bare",
                "-b",
                "trunk",
                bare.to_str().unwrap(),
            ],
        );
        self.publish(name);
        let url = RepositoryUrl::parse(url).unwrap();
        let (url, now) = (&url, self.engine.clock().now());
        let id: Result<i64, DbError> = transact!(self.engine.db(), |tx| {
            let added = repositories::add(tx, url.clone().into(), now).await?;
            Ok(added.id())
        });
        let id = id.unwrap();
        self.engine.enqueue(vec![tags_unit(id, url)]).await.unwrap();
        id
    }

    /// Where the server is.
    pub(crate) fn base(&self) -> String {
        self.at.url("").trim_end_matches('/').to_owned()
    }

    /// A directory of our own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn bare(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("served/{name}.git"))
    }

    fn source(&self, name: &str) -> &Made {
        &self.sources[name]
    }

    /// Commits files, under these tags.
    pub(crate) fn commit(&self, name: &str, files: &[(&str, &str)], tags: &[&str]) {
        let source = self.source(name);
        for (path, text) in files {
            source.write(path, text.as_bytes());
        }
        source.write("COUNT", format!("{files:?} {tags:?}").as_bytes());
        source.commit("more");
        for tag in tags {
            git(source.path(), &["tag", "-f", tag]);
        }
        self.publish(name);
    }

    /// A commit that the server does not know yet.
    pub(crate) fn quiet_commit(&self, name: &str, text: &str) {
        self.source(name).write("COUNT", text.as_bytes());
        self.source(name).commit("more");
    }

    /// Likewise, a tag.
    pub(crate) fn quiet_tag(&self, name: &str, tag: &str) {
        git(self.source(name).path(), &["tag", tag]);
    }

    pub(crate) fn git(&self, name: &str, args: &[&str]) {
        git(self.source(name).path(), args);
        self.publish(name);
    }

    /// The server has what the source has, and nothing else.
    pub(crate) fn publish(&self, name: &str) {
        let bare = self.bare(name);
        let push = [
            "push",
            "-q",
            "--force",
            "--prune",
            bare.to_str().unwrap(),
            "refs/*:refs/*",
        ];
        git(self.source(name).path(), &push);
    }

    pub(crate) fn worker(&self) -> Worker {
        let objects = self.directory.path().join("objects");
        let mut way = remote::Settings::new(objects, "gleaner-test/1 (+mailto:test@example.org)");
        way.private_hosts.insert("127.0.0.1".to_owned());
        way.limits.time = Duration::from_mins(1);
        let mut settings = Settings::new(way);
        settings.bases.insert("github.com".to_owned(), self.base());
        let tags = Registered::new(GoTags::new(settings));
        let publish = Registered::new(GoPublish);
        Worker::new(self.engine.clone())
            .boxed_kind(tags.kind, tags.handler)
            .boxed_kind(publish.kind, publish.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            })
    }

    /// Looks at every repository.
    pub(crate) async fn look(&self) {
        let which = Selection {
            kind: Some("goindex/tags".to_owned()),
            ..Selection::default()
        };
        self.engine.run_now(&which, false).await.unwrap();
        let idle = self.worker().run_until_idle(CancellationToken::new());
        Box::pin(idle).await.unwrap();
    }

    /// The feed, as `path@version`, in its order.
    pub(crate) async fn feed(&self, all: bool) -> Vec<String> {
        let asked = Asked {
            all,
            limit: 100_000,
            ..Asked::default()
        };
        let entries = goindex::page(self.engine.db(), &asked).await.unwrap();
        let shown = entries
            .iter()
            .map(|one| format!("{}@{}", one.path, one.version));
        shown.collect()
    }

    /// The feed, sorted.
    pub(crate) async fn versions(&self) -> Vec<String> {
        let mut feed = self.feed(false).await;
        feed.sort();
        feed
    }

    /// Rejected tags with their reasons.
    pub(crate) async fn rejected(&self) -> Vec<(String, String)> {
        let tags = goindex::rejected(self.engine.db(), None, 0, 1000)
            .await
            .unwrap();
        let mut shown: Vec<(String, String)> =
            tags.into_iter().map(|tag| (tag.tag, tag.reason)).collect();
        shown.sort();
        shown
    }

    /// Requests since the last look at them, by what they were for.
    pub(crate) fn requests(&self) -> (usize, usize, usize) {
        let seen = self.server.take_seen();
        let count = |stage: Stage| seen.iter().filter(|one: &&Seen| one.stage == stage).count();
        (
            count(Stage::Advertisement),
            count(Stage::Refs),
            count(Stage::Pack),
        )
    }
}
