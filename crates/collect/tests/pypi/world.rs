//! An index, a database, an engine, and what is in the store.

use std::time::Duration;

use collect::{
    collector::Registered,
    http::{self, Http, Limits, UpstreamSettings},
    pypi::{
        Desk, IndexAddress, PypiAudit, PypiCrawl, PypiDataset, PypiDump, PypiFile, PypiFollow,
        PypiNumber, PypiProject, Settings, UPSTREAM, crawl_unit, follow_units,
    },
};
use db::{Clock, FakeClock, Part, testing::TestDb};
use engine::{Engine, Pool, Selection, Timing, Worker};
use sim::{Server, WorldSize, upstreams::PythonIndex};
use store::pypi::{self, Extracted, FileRow};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) index: PythonIndex,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    pub(crate) settings: Settings,
    pub(crate) extractor: i64,
    pub(crate) workers: usize,
    /// Where dumps and datasets are.
    place: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new(db: &TestDb, index: PythonIndex) -> Self {
        let config = sim::Config {
            upstreams: Vec::new(),
            size: WorldSize {
                repositories: 0,
                organisation: 0,
            },
            ..sim::Config::default()
        };
        let server = Server::start(config.with(index.clone())).await.unwrap();
        let (clock, hand) = Clock::fake("2026-03-10T12:00:00Z".parse().unwrap());
        let simple = format!("{}/simple/", server.host_url(UPSTREAM).unwrap());
        Self {
            server,
            index,
            engine: Engine::new((**db).clone(), clock),
            hand,
            settings: {
                let mut settings = Settings::default();
                settings.address = Some(IndexAddress::parse(&simple).unwrap());
                settings
            },
            extractor: i64::from(scan::python::EXTRACTOR_VERSION),
            workers: 8,
            place: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn desk(&self) -> Desk {
        Desk::below(self.place.path())
    }

    pub(crate) fn address(&self) -> &IndexAddress {
        self.settings.address.as_ref().unwrap()
    }

    fn http(&self) -> Http {
        let mut settings = http::Settings::new("https://gleaner.example/contact");
        let upstream = UpstreamSettings {
            allow_private: true,
            concurrency: 32,
            limits: Limits {
                total: Duration::from_secs(20),
                idle: Duration::from_secs(5),
                ..Limits::default()
            },
            ..UpstreamSettings::at(self.address().origin())
        };
        settings.upstreams.insert(UPSTREAM.to_owned(), upstream);
        let (db, clock) = (self.engine.db().clone(), self.engine.clock().clone());
        Http::new(&settings, db, clock, self.engine.upstreams().clone()).unwrap()
    }

    pub(crate) fn worker(&self) -> Worker {
        let http = self.http();
        let set = || self.settings.clone();
        let all = [
            Registered::new(PypiAudit::new(http.clone(), set())),
            Registered::new(PypiCrawl::new(http.clone(), set())),
            Registered::new(PypiDataset::new(self.desk())),
            Registered::new(PypiDump::new(self.desk())),
            Registered::new(PypiFile::new(http.clone(), set()).stamped(self.extractor)),
            Registered::new(PypiFollow::new(http.clone(), set())),
            Registered::new(PypiNumber),
            Registered::new(PypiProject::new(http, set())),
        ];
        let worker = Worker::new(self.engine.clone())
            .pool(Pool::new("pypi", self.workers))
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::ZERO,
                ..Timing::default()
            });
        all.into_iter().fold(worker, |worker, one| {
            worker.boxed_kind(one.kind, one.handler)
        })
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        self.run_until(std::future::pending()).await;
    }

    /// Runs all that is due, and cuts every run off at `end`.
    pub(crate) async fn run_until(&self, end: impl Future<Output = ()>) {
        let stop = CancellationToken::new();
        let idle = self.worker().run_until_idle(stop.clone());
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let (mut idle, mut end) = (std::pin::pin!(idle), std::pin::pin!(end));
        let mut over = false;
        loop {
            tokio::select! {
                done = &mut idle => break drop(done.unwrap()),
                () = &mut end, if !over => {
                    over = true;
                    stop.cancel();
                }
                _ = ticks.tick() => self.hand.advance(Duration::from_millis(5)),
            }
        }
    }

    /// Lets time pass, and runs what is due by then.
    pub(crate) async fn later(&self, by: Duration) {
        self.hand.advance(by);
        self.run().await;
    }

    pub(crate) async fn crawl(&self) {
        let unit = crawl_unit(self.address(), None);
        self.engine.enqueue(vec![unit.now()]).await.unwrap();
        self.run().await;
    }

    /// Looks for changes once.
    pub(crate) async fn follow(&self) {
        self.follow_soon().await;
        self.run().await;
    }

    pub(crate) async fn follow_soon(&self) {
        self.engine
            .enqueue(follow_units(self.address()))
            .await
            .unwrap();
        self.run_now("pypi/follow").await;
    }

    pub(crate) async fn audit(&self) -> i64 {
        self.run_now("pypi/audit").await;
        self.run().await;
        self.status().await.audit_drift.unwrap()
    }

    pub(crate) async fn run_now(&self, kind: &str) {
        let which = Selection {
            kind: Some(kind.to_owned()),
            ..Selection::default()
        };
        self.engine.run_now(&which, false).await.unwrap();
    }

    pub(crate) async fn status(&self) -> pypi::Status {
        pypi::status(self.engine.db()).await.unwrap()
    }

    /// Every row that ever was, by the number of its last change.
    pub(crate) async fn rows(&self) -> Vec<FileRow> {
        let db = self.engine.db();
        let last = pypi::last_seq(db).await.unwrap();
        pypi::changed_files(db, 0, last, 1_000_000).await.unwrap()
    }

    pub(crate) async fn row(&self, filename: &str) -> FileRow {
        let mut rows = self.rows().await.into_iter();
        rows.find(|row| row.filename == filename)
            .unwrap_or_else(|| panic!("there is no {filename}"))
    }

    /// What there is to be seen of the index, and the same by the store.
    pub(crate) async fn both(&self) -> (Vec<String>, Vec<String>) {
        let truth = self.index.truth().into_iter();
        let visible = truth.filter(|file| !file.quarantined);
        let truth = visible.map(|file| {
            format!(
                "{}/{} {} {:?} {:?} {:?}",
                file.project,
                file.filename,
                file.sha256,
                file.yanked,
                file.requires.unwrap_or_default(),
                file.modules.unwrap_or_default()
            )
        });
        let rows = self.rows().await.into_iter();
        let listed = rows.filter(|row| !row.removed && !row.quarantined);
        let mut stored: Vec<String> = listed
            .map(|row| {
                assert_ne!(row.extracted, Extracted::NotYet, "{}", row.filename);
                format!(
                    "{}/{} {} {:?} {:?} {:?}",
                    row.project,
                    row.filename,
                    row.sha256.unwrap_or_default(),
                    row.yanked,
                    row.requires_dist,
                    row.modules
                )
            })
            .collect();
        stored.sort();
        let mut truth: Vec<String> = truth.collect();
        truth.sort();
        (truth, stored)
    }

    pub(crate) async fn assert_same(&self) {
        let (truth, stored) = self.both().await;
        for (truth, stored) in truth.iter().zip(&stored) {
            assert_eq!(truth, stored);
        }
        assert_eq!(truth.len(), stored.len());
    }

    /// How often each file was fetched, in whole or in part, by the number of its first bytes.
    pub(crate) fn fetched_twice(&self) -> usize {
        let requests = self.server.journal().requests(UPSTREAM);
        let mut fetched = std::collections::HashMap::<String, usize>::new();
        for request in requests {
            if request.path.starts_with("/packages/")
                && request.status.is_some_and(|status| status < 300)
            {
                *fetched.entry(request.path).or_default() += 1;
            }
        }
        // A wheel is asked for in up to three parts.
        fetched.values().filter(|times| **times > 3).count()
    }
}
