//! The web as a client meets it: over a socket.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{sync::Arc, time::Duration};

use db::{Clock, testing::both};
use engine::{Engine, Enqueue, Kind};
use facts::repository::RepositoryUrl;
use serde_json::Value;
use serve::{Recorder, Web};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const DAILY: Kind = Kind::recurring("test/daily", Duration::from_hours(24));

both! {
    const PARTS: &[db::Part] = &[engine::PART, store::PART];

    async fn probes_tell_life_from_readiness(db: TestDb) {
        let site = Site::open(&db, true).await;
        assert_eq!(site.get("/healthz").await.json()["status"], "ok");
        let ready = site.get("/readyz").await;
        assert_eq!((ready.status, &ready.json()["status"]), (200, &Value::from("ok")));
        let site = Site::open(&db, false).await;
        assert_eq!(site.get("/healthz").await.status, 200);
        let ready = site.get("/readyz").await;
        assert_eq!(ready.status, 503);
        assert_eq!(ready.json()["checks"]["database"]["detail"], "gone fishing");
    }

    async fn licenses_are_told_with_their_freshness(db: TestDb) {
        let site = Site::open(&db, true).await;
        let url = RepositoryUrl::parse("https://github.com/meadow/lark").unwrap();
        let (url, now) = (&url, site.engine.clock().now());
        let id: Result<i64, db::DbError> = db::transact!(db, |tx| {
            Ok(store::repositories::add(tx, url.clone().into(), now).await?.id())
        });
        let id = id.unwrap();
        let address = format!("/api/v1/repos/{id}/scancode-licenses");
        let before = site.get(&address).await.json();
        assert_eq!(before["last_run"], Value::Null);
        assert!(before["licenses"].as_array().unwrap().is_empty());
        let page = site.get(&format!("/repos/{id}")).await;
        assert!(page.body.contains("not yet run"));
        assert_eq!(site.get("/api/v1/repos/999/scancode-licenses").await.status, 404);

        scanned(&db, id, now).await;
        let after = site.get(&address).await.json();
        assert_eq!(after["licenses"][0]["license"], "MIT");
        assert_eq!(after["licenses"][0]["file_count"], 2);
        assert_eq!(after["licenses"][0]["osi_approved"], true);
        assert_eq!(after["copyrights"][0]["holder"], "Jane");
        assert_eq!(after["scancode_version"], "32.5.0");
        assert_eq!(after["scanner"], "scancode");
        assert_eq!(after["last_run"], now.to_string());
        let files = site.get(&format!("/api/v1/repos/{id}/scancode-files?limit=1")).await;
        assert_eq!(files.json()["data"][0]["path"], "a");
        assert_eq!(files.json()["meta"]["next"], "a");
        let next = site.get(&format!("/api/v1/repos/{id}/scancode-files?limit=1&cursor=a")).await;
        assert_eq!(next.json()["data"][0]["path"], "b");
        assert_eq!(next.json()["meta"]["next"], Value::Null);
        let page = site.get(&format!("/repos/{id}")).await;
        assert!(page.body.contains("(scancode 32.5.0)"));
    }

    async fn lists_come_page_by_page(db: TestDb) {
        let site = Site::open(&db, true).await;
        let units = (0..5).map(|n| Enqueue::new(&DAILY, format!("a&b/{n}"))).collect();
        site.engine.enqueue(units).await.unwrap();
        let mut address = "/api/v1/units?limit=2&kind=test&key=a%26b%2F*".to_owned();
        let mut keys = Vec::new();
        loop {
            let page = site.get(&address).await;
            let body = page.json();
            for unit in body["data"].as_array().unwrap() {
                keys.push(unit["key"].as_str().unwrap().to_owned());
                assert_eq!(unit["state"], "ready");
                assert_eq!(unit["upstream"], Value::Null);
            }
            let Some(link) = page.header("link") else {
                assert_eq!(body["meta"]["next"], Value::Null);
                break;
            };
            link.trim_start_matches('<').split('>').next().unwrap().clone_into(&mut address);
        }
        assert_eq!(keys, ["a&b/0", "a&b/1", "a&b/2", "a&b/3", "a&b/4"]);
    }

    async fn a_unit_can_be_asked_why_it_does_not_run(db: TestDb) {
        let site = Site::open(&db, true).await;
        site.engine.enqueue(vec![Enqueue::new(&DAILY, "x")]).await.unwrap();
        let unit = site.get("/api/v1/units/test%2Fdaily:x").await.json();
        let id = unit["data"]["id"].as_i64().unwrap();
        let why = site.get(&format!("/api/v1/units/{id}/why")).await.json();
        assert_eq!(why["data"][0]["reason"], "no-worker");
    }

    async fn bad_requests_get_a_problem_with_a_code(db: TestDb) {
        let site = Site::open(&db, true).await;
        for (address, status, code) in [
            ("/api/v1/units?state=asleep", 400, "E-INPUT-VALUE"),
            ("/api/v1/units?colour=red", 400, "E-INPUT-VALUE"),
            ("/api/v1/units/999", 404, "E-INPUT-NOT-FOUND"),
            ("/api/v1/repos/nobody", 404, "E-INPUT-NOT-FOUND"),
            ("/nowhere", 404, "E-INPUT-NOT-FOUND"),
        ] {
            let answer = site.get(address).await;
            assert_eq!(answer.status, status, "{address}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            assert_eq!(answer.json()["type"], code, "{address}");
        }
        let posted = site.ask("POST", "/api/v1/units").await;
        assert_eq!(posted.status, 405);
    }

    async fn pages_show_hostile_names_as_text(db: TestDb) {
        let site = Site::open(&db, true).await;
        let url = RepositoryUrl::local("/tmp/<script>alert(1)</script>").unwrap();
        let now = site.engine.clock().now();
        let mut tx = db.begin().await.unwrap();
        let id = store::repositories::add(&mut tx, url.into(), now).await.unwrap().id();
        tx.commit().await.unwrap();
        for address in ["/".to_owned(), format!("/repos/{id}")] {
            let page = site.get(&address).await;
            assert_eq!(page.status, 200, "{}", page.body);
            assert!(!page.body.contains("<script>"), "{}", page.body);
            assert!(page.body.contains("alert(1)"), "{}", page.body);
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'"), "{policy}");
        }
        let repo = site.get(&format!("/api/v1/repos/{id}")).await.json();
        assert_eq!(repo["data"]["local"], true);
        assert!(site.get("/assets/style.css").await.body.contains("--paper"));
    }

    async fn distribution_is_told_in_json_and_csv(db: TestDb) {
        let site = Site::open(&db, true).await;
        let id = published(&db).await;
        let report = site.get(&format!("/api/v1/repos/{id}/distribution")).await.json();
        assert_eq!(report["data"]["evidence"][0]["package"], "a, \"b\"");
        assert_eq!(report["data"]["gaps"][0]["grade"], "orphan");
        let csv = site.get(&format!("/api/v1/repos/{id}/distribution.csv")).await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        let lines: Vec<&str> = csv.body.lines().collect();
        assert!(lines[0].starts_with("what,source,ecosystem,name,"), "{}", csv.body);
        assert!(lines[1].starts_with("published,depsdev,npm,\"a, \"\"b\"\"\","), "{}", csv.body);
        assert!(lines[2].starts_with("gap,,npm,x,,x/package.json,,orphan,"), "{}", csv.body);

        let gaps = site.get("/api/v1/distribution/gaps?min_grade=name-differs&ecosystem=npm").await;
        assert_eq!(gaps.json()["data"].as_array().unwrap().len(), 1);
        assert_eq!(gaps.json()["meta"]["next"], Value::Null);
        let page = site.get("/api/v1/distribution/gaps.csv?limit=1").await;
        assert_eq!(page.body.lines().count(), 2, "{}", page.body);
        let next = page.header("link").unwrap();
        let next = next.trim_start_matches('<').split('>').next().unwrap();
        assert!(site.get(next).await.body.contains(",unknown,"));

        let mut address = "/api/v1/distribution/events?limit=1&source=depsdev".to_owned();
        let mut told = Vec::new();
        loop {
            let page = site.get(&address).await;
            told.push(page.json()["data"][0]["event"].as_str().unwrap().to_owned());
            let Some(link) = page.header("link") else { break };
            link.trim_start_matches('<').split('>').next().unwrap().clone_into(&mut address);
        }
        assert_eq!(told, ["removed", "appeared", "appeared"]);
        let csv = site.get("/api/v1/distribution/events.csv?event=removed").await.body;
        assert_eq!(csv.lines().count(), 2, "{csv}");
        assert_eq!(site.get("/api/v1/distribution/stats").await.json()["data"]["with_registry"], 1);
        for (address, status) in [
            ("/api/v1/repos/99/distribution", 404),
            ("/api/v1/distribution/gaps?grade=bad", 400),
            ("/api/v1/distribution/events?cursor=x", 400),
            ("/api/v1/distribution/events?since=yesterday", 400),
        ] {
            assert_eq!(site.get(address).await.status, status, "{address}");
        }
    }

    async fn metrics_count_units_and_requests(db: TestDb) {
        let site = Site::open(&db, true).await;
        site.engine.enqueue(vec![Enqueue::new(&DAILY, "x")]).await.unwrap();
        site.get("/api/v1/pools").await;
        let text = site.get("/metrics").await.body;
        assert!(text.contains("gleaner_units{kind=\"test/daily\",state=\"ready\"} 1"), "{text}");
        assert!(text.contains("gleaner_http_requests_total{route=\"/api/v1/pools\""), "{text}");
        assert!(text.contains("gleaner_build_info"), "{text}");
    }
}

/// A repository with two packages, one of them removed again, and two gaps.
async fn published(db: &db::Db) -> i64 {
    use facts::distribution::{Gap, Grade};
    use store::sources::{Asked, Extent};

    let mut tx = db.begin().await.unwrap();
    let url = RepositoryUrl::parse("https://github.com/o/r").unwrap();
    let at = |second: i64| db::Timestamp::from_micros(second * 1_000_000);
    let added = store::repositories::add(&mut tx, url.into(), at(0)).await;
    let id = added.unwrap().id();
    let package = |name: &str| facts::evidence::Evidence {
        ecosystem: "npm".into(),
        package: name.into(),
        ..facts::evidence::Evidence::default()
    };
    let said = [package("a, \"b\""), package("c")];
    for (second, facts) in [(1, &said[..]), (2, &said[..1])] {
        let asked = Asked {
            repository: id,
            source: "depsdev",
            collector_version: 1,
            now: at(second),
        };
        store::observed::record_evidence(&mut tx, &asked, facts, Extent::Whole)
            .await
            .unwrap();
    }
    let gap = |name: &str, grade| Gap {
        ecosystem: "npm".into(),
        name: name.into(),
        grade,
        purl: None,
        path: Some(format!("{name}/package.json")),
        package: None,
        linked: None,
        reason: None,
    };
    let asked = Asked {
        repository: id,
        source: "pairing",
        collector_version: 1,
        now: at(3),
    };
    let gaps = [gap("x", Grade::Orphan), gap("y", Grade::Unknown)];
    store::distribution::record_gaps(&mut tx, &asked, &gaps, Extent::Whole)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    id
}

struct Site {
    engine: Engine,
    address: std::net::SocketAddr,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Site {
    async fn open(db: &db::Db, ready: bool) -> Self {
        let engine = Engine::new(db.clone(), Clock::system());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let readiness: serve::Readiness = Arc::new(move || {
            Box::pin(async move {
                let state = if ready {
                    Ok("here".to_owned())
                } else {
                    Err("gone fishing".to_owned())
                };
                vec![("database", state)]
            })
        });
        let web = Web::new(engine.clone(), Recorder::install(), readiness);
        tokio::spawn(serve::serve(listener, web, std::future::pending()));
        Self { engine, address }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).await
    }

    async fn ask(&self, method: &str, path: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        Answer {
            status,
            headers,
            body: body.to_owned(),
        }
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A result of the license round.
async fn scanned(db: &db::Db, repository: i64, now: db::Timestamp) {
    use store::license::{self, NewFile, NewResult, NewTally};

    let identity = facts::license::ScannerIdentity {
        tool: "scancode".to_owned(),
        version: "32.5.0".to_owned(),
        options: String::new(),
    };
    let tally = |what, value: &str, osi_approved| NewTally {
        what,
        value: value.to_owned(),
        files: 2,
        osi_approved,
    };
    let tallies = [
        tally("license", "MIT", Some(true)),
        tally("holder", "Jane", None),
    ];
    let files = ["a", "b"].map(|path| NewFile {
        path: path.to_owned(),
        blob: "0".to_owned(),
        answer: None,
        spdx: Some("MIT".to_owned()),
        spdx_from: None,
        place: "ordinary",
        problem: None,
    });
    let (identity, tallies, files) = (&identity, &tallies, &files);
    let done: Result<(), db::DbError> = db::transact!(db, |tx| {
        let scanner = license::scanner(tx, identity, now).await?;
        let new = NewResult {
            repository,
            scanner,
            commit: "c".to_owned(),
            tree: "t".to_owned(),
            mode: "files",
            began_at: now,
            files: 3,
            files_found: 2,
            files_scanned: 3,
            files_failed: 0,
            bytes_scanned: 9,
            skipped: None,
            told_apart: None,
            primary_spdx: Some("MIT".to_owned()),
            primary_from: Some("manifest".to_owned()),
        };
        license::begin(tx, &new, now).await?;
        license::add_files(tx, repository, files).await?;
        license::add_tallies(tx, repository, tallies).await?;
        license::make_current(tx, repository, now).await?;
        Ok(())
    });
    done.unwrap();
}
