//! A git server, a database, an engine, and what the feed says.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use collect::{
    collector::Registered,
    git::remote,
    goindex::{GoPublish, GoTags, GoVanity, Settings, tags_unit},
    http::{self, Http, UpstreamSettings},
};
use db::{Clock, DbError, Part, testing::TestDb, transact};
use engine::{Engine, Selection, Timing, Worker};
use facts::repository::RepositoryUrl;
use sim::{
    GoImports,
    git_server::{GitServer, Listening, Seen, Stage},
};
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
    /// Whoever answers for import paths; without, every go.mod is believed.
    pub(crate) imports: Option<GoImports>,
    /// Where the APIs of forges are; without, nobody is there.
    pub(crate) apis: Option<String>,
}

/// The host of import paths that others than forges answer for.
pub(crate) const VANITY: &str = "go.example.test";

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
            imports: None,
            apis: None,
        }
    }

    /// Paths count only if they lead to the repository that declares them.
    pub(crate) async fn with_imports(mut self) -> Self {
        self.imports = Some(GoImports::listen().await.unwrap());
        self
    }

    /// Lets an import path lead somewhere.
    pub(crate) fn lead(&self, prefix: &str, url: &str, subdir: &str) {
        self.imports.as_ref().unwrap().lead(prefix, url, subdir);
    }

    /// A repository on the server, and in the index.
    pub(crate) async fn add(&mut self, name: &str) -> i64 {
        let url = self.at.url(&format!("{name}.git"));
        self.add_as(name, &url).await
    }

    /// The same, under the address that it would have on a public forge.
    pub(crate) async fn add_at_forge(&mut self, slug: &str) -> i64 {
        self.add_at("github.com", slug).await
    }

    /// Likewise, on a forge of choice.
    pub(crate) async fn add_at(&mut self, host: &str, slug: &str) -> i64 {
        self.add_as(slug, &format!("https://{host}/{slug}")).await
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

    /// Where a repository is made.
    pub(crate) fn source_path(&self, name: &str) -> &std::path::Path {
        self.source(name).path()
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
        for host in ["github.com", "gitlab.com", "codeberg.org"] {
            settings.bases.insert(host.to_owned(), self.base());
        }
        settings.check_vanity = self.imports.is_some();
        let tags = GoTags::new(settings.clone()).or_by_api(self.http());
        let tags = Registered::new(tags);
        let vanity = Registered::new(GoVanity::new(self.http(), settings));
        let publish = Registered::new(GoPublish);
        Worker::new(self.engine.clone())
            .boxed_kind(tags.kind, tags.handler)
            .boxed_kind(vanity.kind, vanity.handler)
            .boxed_kind(publish.kind, publish.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            })
    }

    fn http(&self) -> Http {
        let mut settings = http::Settings::new("https://gleaner.example/contact");
        if let Some(imports) = &self.imports {
            let upstream = UpstreamSettings {
                allow_private: true,
                ..UpstreamSettings::at(imports.base(VANITY))
            };
            settings.upstreams.insert(VANITY.to_owned(), upstream);
        }
        let nobody = "http://127.0.0.1:1".to_owned();
        let base = self.apis.clone().unwrap_or_else(|| nobody.clone());
        for host in ["github.com", "gitlab.com", "codeberg.org", "silent.invalid"] {
            let base = if host == "silent.invalid" {
                &nobody
            } else {
                &base
            };
            let upstream = UpstreamSettings {
                allow_private: true,
                ..UpstreamSettings::at(base)
            };
            settings.upstreams.insert(host.to_owned(), upstream);
        }
        let (db, clock) = (self.engine.db().clone(), self.engine.clock().clone());
        Http::new(&settings, db, clock, self.engine.upstreams().clone()).unwrap()
    }

    /// Looks at every repository.
    pub(crate) async fn look(&self) {
        self.run_now("goindex/tags").await;
    }

    /// Asks the hosts of import paths once more.
    pub(crate) async fn ask_hosts_again(&self) {
        self.run_now("goindex/vanity").await;
    }

    async fn run_now(&self, kind: &str) {
        let which = Selection {
            kind: Some(kind.to_owned()),
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
