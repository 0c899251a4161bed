//! Clients follow the feed while several processes publish: whatever the size of their pages, they
//! get every version, in one order, and come to an end.
//!
//! Writers are as collectors are: they commit versions whenever they are done, some of them long
//! after they began. Publishers are real processes, and are killed now and then.

use std::{
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use collect::goindex::publish_soon;
use db::{Clock, DbError, Timestamp, testing::TestDb, transact};
use engine::{Engine, RunError};
use facts::repository::RepositoryUrl;
use serde_json::Value;
use serve::{Recorder, Web};
use store::{
    goindex::{self, Asked, NewTag, NewVersion},
    repositories,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::fleet::PARTS;

const WRITERS: u64 = 4;
const COMMITS: u64 = 40;
const PUBLISHERS: usize = 3;
const FOLLOWERS: u64 = 6;
const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread")]
async fn heavy_followers_drill_sqlite() {
    drill(TestDb::sqlite(PARTS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_followers_drill_postgres() {
    drill(TestDb::postgres(PARTS).await).await;
}

async fn drill(db: TestDb) {
    let engine = Engine::new((*db).clone(), Clock::system());
    let address = serve(&engine).await;
    let ended = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    for seed in 0..FOLLOWERS {
        let follower = Follower::new(address, Dice::new(seed), Rule::Any);
        clients.push(tokio::spawn(follower.follow(Arc::clone(&ended))));
    }
    let pkgsite = Follower::new(address, Dice::new(99), Rule::Pkgsite);
    clients.push(tokio::spawn(pkgsite.follow(Arc::clone(&ended))));

    let mut publishers: Vec<Child> = (0..PUBLISHERS).map(|_| publisher(&db)).collect();
    let mut writers = Vec::new();
    for seed in 0..WRITERS {
        writers.push(tokio::spawn(write(engine.clone(), seed)));
    }
    let mut written = 0;
    for (n, writer) in writers.into_iter().enumerate() {
        written += writer.await.unwrap();
        // The right to publish dies with whoever had it.
        end(&mut publishers[n % PUBLISHERS]);
        publishers[n % PUBLISHERS] = publisher(&db);
    }
    let begun = Instant::now();
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while goindex::status(&db).await.unwrap().last_seq < written {
        looks.tick().await;
        assert!(begun.elapsed() < PATIENCE, "not everything is published");
    }
    ended.store(true, Ordering::SeqCst);
    publishers.iter_mut().for_each(end);

    let all = Asked {
        limit: 1_000_000,
        all: true,
        ..Asked::default()
    };
    let feed = goindex::page(&db, &all).await.unwrap();
    assert_eq!(i64::try_from(feed.len()).unwrap(), written);
    assert!(
        feed.windows(2)
            .all(|two| two[0].published_at < two[1].published_at)
    );
    let truth: Vec<(String, String)> = feed
        .iter()
        .map(|line| (line.path.clone(), line.version.clone()))
        .collect();
    for client in clients {
        let (seen, pages) = client.await.unwrap();
        assert!(
            seen == truth,
            "{} of {} in {pages} pages",
            seen.len(),
            truth.len()
        );
    }
}

/// Commits versions of one module, a few at a time; returns how many.
async fn write(engine: Engine, seed: u64) -> i64 {
    let mut dice = Dice::new(1_000 + seed);
    let url = &RepositoryUrl::parse(&format!("https://forge.example/team/w{seed}")).unwrap();
    let now = engine.clock().now();
    let id: Result<i64, DbError> = transact!(engine.db(), |tx| {
        Ok(repositories::add(tx, url.clone().into(), now).await?.id())
    });
    let id = id.unwrap();
    let mut written = 0;
    for commit in 0..COMMITS {
        let count = dice.below(6) + 1;
        let names: Vec<String> = (0..count).map(|n| format!("v0.{commit}.{n}")).collect();
        let tags: Vec<NewTag> = names.iter().map(|name| tag(name)).collect();
        let path = format!("forge.example/team/w{seed}");
        let versions: Vec<NewVersion> = names.iter().map(|name| version(&path, name)).collect();
        let (tags, versions, late) = (&tags, &versions, dice.below(30));
        let now = engine.clock().now();
        let done: Result<(), RunError> = transact!(engine.db(), |tx| {
            goindex::record(tx, id, tags, versions, now).await?;
            // Whoever began later may well be done before.
            tokio::time::sleep(Duration::from_millis(late)).await;
            publish_soon(tx, now).await
        });
        done.unwrap();
        written += i64::try_from(count).unwrap();
    }
    written
}

fn tag(name: &str) -> NewTag {
    NewTag {
        name: name.to_owned(),
        commit: Some("c0ffee".to_owned()),
        object: "c0ffee".to_owned(),
        committed_at: Some(Timestamp::from_micros(0)),
        top_go_mod: Some(true),
        rejection: None,
    }
}

fn version(path: &str, name: &str) -> NewVersion {
    NewVersion {
        path: path.to_owned(),
        version: name.to_owned(),
        tag: name.to_owned(),
        commit: "c0ffee".to_owned(),
        directory: String::new(),
        go_mod: None,
        origin: "known",
        root: path.to_owned(),
        committed_at: None,
    }
}

/// How a client asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// From the moment of the last line it has, for any number of lines.
    Any,
    /// As pkgsite: from the newest moment it has stored, for ten lines, and what is no version is
    /// dropped. Its moments have no zeros at their end.
    Pkgsite,
}

struct Follower {
    address: std::net::SocketAddr,
    dice: Dice,
    rule: Rule,
}

impl Follower {
    fn new(address: std::net::SocketAddr, dice: Dice, rule: Rule) -> Self {
        Self {
            address,
            dice,
            rule,
        }
    }

    /// What it has seen in the end, and in how many pages.
    async fn follow(mut self, ended: Arc<AtomicBool>) -> (Vec<(String, String)>, usize) {
        let mut seen = Vec::new();
        let (mut last, mut pages) = (None::<String>, 0);
        let begun = Instant::now();
        loop {
            assert!(
                begun.elapsed() < PATIENCE,
                "a client does not come to its end"
            );
            // Asked before the page is read: what it lacks then was published later.
            let is_over = ended.load(Ordering::SeqCst);
            let lines = self.page(last.as_deref()).await;
            pages += 1;
            let fresh: Vec<&Value> = lines
                .iter()
                .filter(|line| {
                    last.as_deref()
                        .is_none_or(|last| text(line, "Timestamp") > last)
                })
                .collect();
            if fresh.is_empty() {
                if is_over {
                    return (seen, pages);
                }
                tokio::time::sleep(Duration::from_millis(3)).await;
                continue;
            }
            for line in &fresh {
                let version = text(line, "Version");
                if self.rule == Rule::Any || version.starts_with('v') {
                    seen.push((text(line, "Path").to_owned(), version.to_owned()));
                }
            }
            last = fresh.last().map(|line| text(line, "Timestamp").to_owned());
        }
    }

    async fn page(&mut self, since: Option<&str>) -> Vec<Value> {
        let limit = match self.rule {
            Rule::Pkgsite => 10,
            Rule::Any => [1, 1, 2, 3, 7, 50, 2_000][self.dice.below(7) as usize],
        };
        let since = since.map(|since| match self.rule {
            Rule::Any => since.to_owned(),
            Rule::Pkgsite => {
                let short = since.trim_end_matches('Z').trim_end_matches('0');
                format!("{}Z", short.trim_end_matches('.'))
            }
        });
        let since = since.map_or_else(String::new, |since| format!("since={since}&"));
        let body = get(self.address, &format!("/index?{since}limit={limit}")).await;
        let lines: Vec<Value> = body
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(lines.len() <= limit.max(2));
        lines
    }
}

fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap()
}

async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{head}");
    body.to_owned()
}

async fn serve(engine: &Engine) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let readiness: serve::Readiness = Arc::new(|| Box::pin(async { Vec::new() }));
    let web = Web::new(engine.clone(), Recorder::install(), readiness);
    tokio::spawn(serve::serve(listener, web, std::future::pending()));
    address
}

fn publisher(db: &TestDb) -> Child {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["work", "--kinds", "goindex/publish", "--quiet"])
        .env("GLEANER_DATABASE", db.url())
        .env("GLEANER_DATABASE_MAX_CONNECTIONS", "3")
        .env("GLEANER_DATABASE_TIMEOUT", "60s")
        .env("GLEANER_WORK_DEAD_AFTER", "1500ms")
        .env("GLEANER_LOG", "error")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

/// Enough chance for pages and delays.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
