//! 2,500 repositories of one organisation: listed by the forge, read by git, and what it costs to
//! find that none has changed.

use std::time::Duration;

use collect::{
    collector::Registered,
    git::remote,
    goindex::{GoList, GoPublish, GoTags, Settings, list_unit},
    http::{self, Http, UpstreamSettings},
};
use db::{
    Clock, DbError,
    testing::{TestDb, both},
    transact,
};
use engine::{Engine, Pool, Selection, Timing, Worker};
use facts::group::GroupName;
use sim::{
    Config, ORGANISATION, Server, WorldSize,
    git_server::{GitServer, Listening, Stage},
};
use store::{
    goindex,
    group_sources::{self, Wanted},
    groups,
};
use tokio_util::sync::CancellationToken;

use crate::{
    made::{Made, git},
    world::PARTS,
};

const HOST: &str = "github.com";

/// A forge and a git server that has one repository under every name.
struct Estate {
    forge: Server,
    git: GitServer,
    at: Listening,
    engine: Engine,
    directory: tempfile::TempDir,
}

impl Estate {
    async fn new(db: &TestDb, repositories: usize) -> Self {
        let forge = Server::start(Config {
            size: WorldSize {
                repositories: 8,
                organisation: repositories,
            },
            ..Config::default()
        });
        let forge = forge.await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let served = directory.path().join("served");
        std::fs::create_dir(&served).unwrap();
        let made = Made::new();
        made.write("x.go", b"package x\n");
        made.commit("first");
        git(made.path(), &["tag", "v1.0.0"]);
        let source = made.path().to_str().unwrap();
        git(&served, &["clone", "-q", "--bare", source, "any.git"]);
        let server = GitServer::new(&served);
        server.stand_in("any.git");
        let at = server.listen().await.unwrap();
        let engine = Engine::new((**db).clone(), Clock::system());
        let estate = Self {
            forge,
            git: server,
            at,
            engine,
            directory,
        };
        estate.follow().await;
        estate
    }

    async fn follow(&self) {
        let (db, now) = (self.engine.db(), self.engine.clock().now());
        let name = &GroupName::parse("go-index").unwrap();
        let source: Result<i64, DbError> = transact!(db, |tx| {
            let group = groups::create(tx, name, now).await?.id();
            let wanted = Wanted::default();
            let source = group_sources::attach(tx, group, HOST, ORGANISATION, wanted, now).await?;
            Ok(source.id())
        });
        let unit = list_unit(source.unwrap(), HOST);
        self.engine.enqueue(vec![unit]).await.unwrap();
    }

    async fn run(&self, kinds: &[&str]) {
        for kind in kinds {
            let which = Selection {
                kind: Some((*kind).to_owned()),
                ..Selection::default()
            };
            self.engine.run_now(&which, false).await.unwrap();
        }
        let objects = self.directory.path().join("objects");
        let mut way = remote::Settings::new(objects, "gleaner-test/1 (+mailto:test@example.org)");
        way.private_hosts.insert("127.0.0.1".to_owned());
        let mut settings = Settings::new(way);
        let base = self.at.url("").trim_end_matches('/').to_owned();
        settings.bases.insert(HOST.to_owned(), base);
        let mut about = http::Settings::new("https://gleaner.example/contact");
        let upstream = UpstreamSettings {
            allow_private: true,
            ..UpstreamSettings::at(self.forge.host_url(HOST).unwrap())
        };
        about.upstreams.insert(HOST.to_owned(), upstream);
        let (db, clock) = (self.engine.db().clone(), self.engine.clock().clone());
        let http = Http::new(&about, db, clock, self.engine.upstreams().clone()).unwrap();
        let mut worker = Worker::new(self.engine.clone())
            .pool(Pool::new("goindex", 6))
            .timing(Timing {
                poll: Duration::from_millis(20),
                ..Timing::default()
            });
        for one in [
            Registered::new(GoList::new(http)),
            Registered::new(GoTags::new(settings)),
            Registered::new(GoPublish),
        ] {
            worker = worker.boxed_kind(one.kind, one.handler);
        }
        let idle = Box::pin(worker.run_until_idle(CancellationToken::new()));
        idle.await.unwrap();
    }
}

/// Everything once, then everything again, and the second time is counted.
async fn passes(db: TestDb, repositories: usize) {
    let estate = Estate::new(&db, repositories).await;
    estate.run(&[]).await;
    let count = i64::try_from(repositories).unwrap();
    let status = goindex::status(&db).await.unwrap();
    assert_eq!((status.repositories, status.complete), (count, count));
    assert_eq!((status.versions, status.last_seq), (count, count));
    assert_eq!(estate.git.most_at_once(), 1, "one at a time");

    estate.git.take_seen();
    estate.forge.journal().clear();
    estate.run(&["goindex/tags"]).await;
    let seen = estate.git.take_seen();
    let of = |stage: Stage| seen.iter().filter(|one| one.stage == stage).count();
    assert_eq!(of(Stage::Refs), repositories, "one question for refs each");
    assert_eq!(of(Stage::Advertisement), repositories);
    assert_eq!(seen.len(), 2 * repositories, "and nothing else");
    assert_eq!(
        estate.forge.journal().counts(HOST).requests,
        0,
        "no budget spent"
    );
    let later = goindex::status(&db).await.unwrap();
    assert_eq!(later, status);

    // The day's listing is one request more, and names nobody new.
    estate.run(&["goindex/list"]).await;
    assert_eq!(estate.forge.journal().counts(HOST).requests, 1);
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn an_organisation_is_listed_read_and_found_unchanged(db: TestDb) {
        passes(db, 40).await;
    }
}

/// As many as a large company has, in the long gate; each is some processes of git. On one database,
/// since it is all about counting.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_two_thousand_five_hundred_repositories_are_found_unchanged() {
    let is_long = std::env::var_os("GLEANER_LONG").is_some();
    let repositories = if is_long { 2_500 } else { 250 };
    passes(TestDb::sqlite(PARTS).await, repositories).await;
}
