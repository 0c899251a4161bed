//! A repository on a git server of our own, and the round that looks at it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use collect::{
    collector::Registered,
    git::remote,
    goindex,
    license::{Choice, Desk, LicenseScan, Settings, unit},
};
use db::Clock;
use engine::{Pool, Selection, Worker};
use facts::repository::RepositoryUrl;
use sim::git_server::{GitServer, Listening, Stage};
use store::{license, repositories};
use tokio_util::sync::CancellationToken;

use super::{Options, cpu::spent};
use crate::database::{Fresh, Place};

pub(super) struct Repository {
    directory: tempfile::TempDir,
    tree: PathBuf,
    paths: Vec<PathBuf>,
    touched: usize,
    server: GitServer,
    _at: Listening,
    fresh: Fresh,
    /// The database goes with it.
    _place: Place,
    id: i64,
    scancode: Option<PathBuf>,
    provenant: PathBuf,
}

/// What one look took.
pub(super) struct Look {
    pub(super) cpu: f64,
    pub(super) scanned: usize,
    /// Listings of refs.
    pub(super) listings: f64,
    /// Requests for objects.
    pub(super) packs: f64,
}

impl Repository {
    pub(super) async fn new(options: &Options) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let tree = directory.path().join("tree");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let from = options.tree.clone().unwrap_or_else(|| own.join("crates"));
        let paths = copy(&from, &tree, options.files)?;
        ensure!(!paths.is_empty(), "there is no file in {}", from.display());
        if options.tree.is_none() {
            for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
                fs::copy(own.join(name), tree.join(name))?;
            }
        }
        let served = directory.path().join("served");
        fs::create_dir(&served)?;
        for words in [
            &["init", "-q", "-b", "trunk"][..],
            &["add", "-A"],
            &["commit", "-q", "-m", "Begin"],
            &["clone", "-q", "--bare", ".", "../served/one.git"],
        ] {
            git(&tree, words)?;
        }
        // The scanners see a tree without git's own directory.
        let server = GitServer::new(&served);
        let at = server.listen().await?;
        let parts = [engine::PART, store::PART];
        let place = Place::one(None)?;
        let fresh = place.fresh_with("license", &parts, Clock::system()).await?;
        let url = RepositoryUrl::parse(&at.url("one.git"))?;
        let now = fresh.engine.clock().now();
        let new = repositories::NewRepository::from(url.clone());
        let added = repositories::add_many(fresh.db(), &[new], now).await?;
        let id = added.first().context("nothing was added")?.id();
        fresh.engine.enqueue(vec![unit(id, &url)]).await?;
        Ok(Self {
            directory,
            tree,
            paths,
            touched: 0,
            server,
            _at: at,
            fresh,
            _place: place,
            id,
            scancode: options.scancode.clone().or_else(named),
            provenant: options.provenant.clone(),
        })
    }

    pub(super) fn files(&self) -> usize {
        self.paths.len()
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    pub(super) fn settings(&self, scanner: Choice) -> Settings {
        let home = self.directory.path();
        let mut way = remote::Settings::new(home.join("objects"), "gleaner-bench/1");
        way.private_hosts.insert("127.0.0.1".to_owned());
        let mut settings = Settings::new(goindex::Settings::new(way), home.join("license"));
        settings.scanner = scanner;
        settings.min_free_bytes = 0;
        settings.cross_check_one_in = 0;
        settings.provenant.clone_from(&self.provenant);
        if let Some(scancode) = &self.scancode {
            settings.venv.clone_from(scancode);
        }
        settings
    }

    /// Changes one file in a hundred, others each time; returns how many.
    pub(super) fn touch(&mut self) -> anyhow::Result<usize> {
        let count = self.paths.len().div_ceil(100);
        for _ in 0..count {
            let path = &self.paths[self.touched % self.paths.len()];
            let mut text = fs::read(path)?;
            text.extend_from_slice(format!("\n// changed {}\n", self.touched).as_bytes());
            fs::write(path, text)?;
            self.touched += 1;
        }
        git(&self.tree, &["commit", "-q", "-a", "-m", "Change"])?;
        git(&self.tree, &["push", "-q", "../served/one.git", "trunk"])?;
        Ok(count)
    }

    /// Lets the round look at the repository once.
    pub(super) async fn look(&self, desk: &Desk) -> anyhow::Result<Look> {
        let which = Selection {
            kind: Some("license/scan".to_owned()),
            ..Selection::default()
        };
        self.fresh.engine.run_now(&which, false).await?;
        let before_answers = self.answers().await?;
        self.server.take_seen();
        let before = spent();
        let scan = Registered::new(LicenseScan::new(desk.clone()));
        let worker = Worker::new(self.fresh.engine.clone())
            .boxed_kind(scan.kind, scan.handler)
            .pool(Pool::new(collect::license::POOL, 1))
            .timing(engine::Timing {
                poll: Duration::from_millis(200),
                ..engine::Timing::default()
            });
        Box::pin(worker.run_until_idle(CancellationToken::new())).await?;
        let cpu = spent() - before;
        let seen = self.server.take_seen();
        let count = |stage: Stage| seen.iter().filter(|one| one.stage == stage).count() as f64;
        if license::current(self.fresh.db(), self.id).await?.is_none() {
            bail!("the repository has no result");
        }
        Ok(Look {
            cpu,
            scanned: self.answers().await?.saturating_sub(before_answers),
            listings: count(Stage::Refs),
            packs: count(Stage::Pack),
        })
    }

    pub(super) async fn remove(self) -> anyhow::Result<()> {
        self.fresh.remove().await
    }

    async fn answers(&self) -> anyhow::Result<usize> {
        let (stats, _) = license::stats(self.fresh.db()).await?;
        Ok(usize::try_from(stats.answers)?)
    }
}

/// The ScanCode that tests are told of.
fn named() -> Option<PathBuf> {
    std::env::var_os("GLEANER_SCANCODE").map(PathBuf::from)
}

/// Copies files, small ones, by path; returns where they are.
fn copy(from: &Path, to: &Path, most: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![from.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != ".git" {
                open.push(entry.path());
            } else if kind.is_file() && entry.metadata()?.len() <= 1 << 20 {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found.truncate(most);
    let mut copied = Vec::new();
    for path in found {
        let place = to.join(path.strip_prefix(from)?);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&path, &place)?;
        copied.push(place);
    }
    Ok(copied)
}

fn git(directory: &Path, words: &[&str]) -> anyhow::Result<()> {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.org",
        ])
        .args(["-c", "commit.gpgsign=false", "-c", "gc.auto=0"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "git {words:?}: {said}");
    Ok(())
}
