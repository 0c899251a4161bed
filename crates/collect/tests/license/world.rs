//! A git server, a database, an engine, and a scanner that counts.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use collect::{
    collector::Registered,
    git::remote,
    goindex,
    license::{Broken, Builtin, Desk, Input, LicenseScan, Scanned, Scanner, Settings, unit},
};
use db::{Clock, DbError, Part, Timestamp, testing::TestDb, transact};
use engine::{Engine, Pool, Selection, Timing, Upstreams, Worker};
use facts::{license::ScannerIdentity, repository::RepositoryUrl};
use futures_util::future::BoxFuture;
use sim::git_server::{GitServer, Listening, Seen, Stage};
use store::{
    license::{self, Current, FileFilter, FileReport},
    repositories,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::made::{Made, git};

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];

pub(crate) const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n";

/// The built-in scanner, with a count of what it was shown and a mind for mischief.
#[derive(Debug)]
pub(crate) struct Counting {
    identity: ScannerIdentity,
    inner: Builtin,
    pub(crate) scanned: AtomicUsize,
    pub(crate) paths: Mutex<Vec<String>>,
    /// It is broken.
    pub(crate) broken: Mutex<Option<String>>,
    /// While it scans, somebody else hears that this upstream wants silence until then.
    pub(crate) meanwhile: Mutex<Option<(Upstreams, String, Timestamp)>>,
    /// What has "hours" in its path takes until this is let go.
    pub(crate) hours: Semaphore,
}

impl Counting {
    pub(crate) fn version(version: &str) -> Self {
        Self {
            identity: ScannerIdentity {
                tool: "builtin".to_owned(),
                version: version.to_owned(),
                options: "counting".to_owned(),
            },
            inner: Builtin::default(),
            scanned: AtomicUsize::new(0),
            paths: Mutex::default(),
            broken: Mutex::default(),
            meanwhile: Mutex::default(),
            hours: Semaphore::new(0),
        }
    }

    /// How many files it was shown since the last call.
    pub(crate) fn take(&self) -> usize {
        self.paths.lock().unwrap().clear();
        self.scanned.swap(0, Ordering::Relaxed)
    }
}

impl Scanner for Counting {
    fn identity(&self) -> &ScannerIdentity {
        &self.identity
    }

    fn scan(&self, files: Vec<Input>) -> BoxFuture<'_, Result<Vec<Scanned>, Broken>> {
        Box::pin(async move {
            if let Some(why) = self.broken.lock().unwrap().clone() {
                return Err(Broken(why));
            }
            self.scanned.fetch_add(files.len(), Ordering::Relaxed);
            let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
            self.paths.lock().unwrap().extend(paths.clone());
            if paths.iter().any(|path| path.contains("hours")) {
                let _let_go = self.hours.acquire().await;
            }
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some((upstreams, name, until)) = meanwhile {
                upstreams
                    .hold(&name, None, until, "a secondary limit")
                    .await;
            }
            let answers = self.inner.scan(files).await?;
            Ok(paths
                .iter()
                .zip(answers)
                .map(|(path, answer)| match answer {
                    _ if path.contains("poison") => Scanned::Failed {
                        why: "the scanner died of it".to_owned(),
                        elapsed: Duration::from_secs(1),
                    },
                    Scanned::Done { findings, .. } if path.contains("slow") => Scanned::Done {
                        findings,
                        elapsed: Duration::from_mins(1),
                        degraded: true,
                    },
                    other => other,
                })
                .collect())
        })
    }
}

pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) server: GitServer,
    at: Listening,
    pub(crate) engine: Engine,
    sources: BTreeMap<String, Made>,
    pub(crate) scanner: Arc<Counting>,
    pub(crate) desk: Desk,
}

impl World {
    pub(crate) async fn new(db: &TestDb) -> Self {
        Self::with(db, Counting::version("1"), None).await
    }

    pub(crate) async fn with(
        db: &TestDb,
        scanner: Counting,
        second: Option<Arc<dyn Scanner>>,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let served = directory.path().join("served");
        std::fs::create_dir(&served).unwrap();
        let server = GitServer::new(&served);
        let at = server.listen().await.unwrap();
        let scanner = Arc::new(scanner);
        let desk = Desk::given(settings(directory.path()), scanner.clone(), second);
        Self {
            directory,
            server,
            at,
            engine: Engine::new((**db).clone(), Clock::system()),
            sources: BTreeMap::new(),
            scanner,
            desk,
        }
    }

    /// Another scanner from now on.
    pub(crate) fn replace_scanner(&mut self, scanner: Counting) {
        self.scanner = Arc::new(scanner);
        self.desk = Desk::given(settings(self.directory.path()), self.scanner.clone(), None);
    }

    /// A repository on the server with these files, and its unit.
    pub(crate) async fn add(&mut self, name: &str, files: &[(&str, &str)]) -> i64 {
        let source = Made::new();
        for (path, text) in files {
            source.write(path, text.as_bytes());
        }
        source.commit("first");
        self.sources.insert(name.to_owned(), source);
        let bare = self.directory.path().join(format!("served/{name}.git"));
        let init = [
            "init",
            "-q",
            "--bare",
            "-b",
            "trunk",
            bare.to_str().unwrap(),
        ];
        git(self.directory.path(), &init);
        self.publish(name);
        let url = RepositoryUrl::parse(&self.at.url(&format!("{name}.git"))).unwrap();
        let (url, now) = (&url, self.engine.clock().now());
        let id: Result<i64, DbError> = transact!(self.engine.db(), |tx| {
            let added = repositories::add(tx, url.clone().into(), now).await?;
            Ok(added.id())
        });
        let id = id.unwrap();
        self.engine.enqueue(vec![unit(id, url)]).await.unwrap();
        id
    }

    pub(crate) fn commit(&self, name: &str, files: &[(&str, &[u8])]) {
        let source = &self.sources[name];
        for (path, bytes) in files {
            source.write(path, bytes);
        }
        source.commit("more");
        self.publish(name);
    }

    pub(crate) fn source(&self, name: &str) -> PathBuf {
        self.sources[name].path().to_owned()
    }

    pub(crate) fn publish(&self, name: &str) {
        let bare = self.directory.path().join(format!("served/{name}.git"));
        let push = [
            "push",
            "-q",
            "--force",
            "--prune",
            bare.to_str().unwrap(),
            "refs/*:refs/*",
        ];
        git(self.sources[name].path(), &push);
    }

    /// With so many slots.
    pub(crate) fn worker_of(&self, slots: usize) -> Worker {
        self.worker().pool(Pool::new("license", slots))
    }

    pub(crate) fn worker(&self) -> Worker {
        let scan = Registered::new(LicenseScan::new(self.desk.clone()));
        Worker::new(self.engine.clone())
            .boxed_kind(scan.kind, scan.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            })
    }

    /// The upstream of every repository here.
    pub(crate) fn upstream(&self) -> String {
        let url = RepositoryUrl::parse(&self.at.url("x.git")).unwrap();
        url.host().to_owned()
    }

    /// Looks at every repository.
    pub(crate) async fn look(&self) {
        let which = Selection {
            kind: Some("license/scan".to_owned()),
            ..Selection::default()
        };
        self.engine.run_now(&which, false).await.unwrap();
        let idle = self.worker().run_until_idle(CancellationToken::new());
        Box::pin(idle).await.unwrap();
    }

    pub(crate) async fn current(&self, id: i64) -> Current {
        license::current(self.engine.db(), id)
            .await
            .unwrap()
            .unwrap()
    }

    /// The files of the current result.
    pub(crate) async fn files(&self, id: i64) -> BTreeMap<String, FileReport> {
        let current = self.current(id).await;
        let filter = FileFilter {
            limit: 10_000,
            ..FileFilter::default()
        };
        let files = license::files(self.engine.db(), current.id, &filter)
            .await
            .unwrap();
        files
            .into_iter()
            .map(|file| (file.path.clone(), file))
            .collect()
    }

    /// Why the unit of a repository did not end well.
    pub(crate) async fn error(&self, id: i64) -> Option<String> {
        let unit = self
            .engine
            .find(&format!("license/scan:{id}"))
            .await
            .unwrap()
            .unwrap();
        self.engine.unit(unit).await.unwrap().unwrap().unit.error
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

pub(crate) fn settings(directory: &std::path::Path) -> Settings {
    let mut way = remote::Settings::new(
        directory.join("objects"),
        "gleaner-test/1 (+mailto:test@example.org)",
    );
    way.private_hosts.insert("127.0.0.1".to_owned());
    way.limits.time = Duration::from_mins(1);
    let mut settings = Settings::new(goindex::Settings::new(way), directory.join("license"));
    settings.min_free_bytes = 0;
    settings.batch_files = 10;
    settings.cross_check_one_in = 1;
    settings
}
