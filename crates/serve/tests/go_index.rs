//! The feed of Go module versions, as a client meets it.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{io::Read as _, sync::Arc};

use db::{Clock, Db, DbError, Timestamp, testing::both, transact};
use engine::Engine;
use facts::repository::RepositoryUrl;
use serde_json::Value;
use serve::{Recorder, Web};
use store::goindex::{self, NewTag, NewVersion};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const SIX: &str = "2023-11-14T22:13:20.000000Z";

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + micros)
}

/// A feed of `count` versions of two modules, one microsecond apart.
async fn feed(db: &Db, count: usize) {
    let url = &RepositoryUrl::parse("https://forge.example/team/a").unwrap();
    let id: Result<i64, DbError> = transact!(db, |tx| {
        Ok(store::repositories::add(tx, url.clone().into(), at(0))
            .await?
            .id())
    });
    let id = id.unwrap();
    let names: Vec<String> = (0..count).map(|n| format!("v1.0.{n}")).collect();
    let tags: Vec<NewTag> = names.iter().map(|name| tag(name)).collect();
    let versions: Vec<NewVersion> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            version(
                ["forge.example/team/a", "forge.example/team/b/v2"][n % 2],
                name,
            )
        })
        .collect();
    let (tags, versions) = (&tags, &versions);
    let module = &[goindex::ModuleChange {
        path: "forge.example/team/b/v2".to_owned(),
        latest: "v1.0.1".to_owned(),
        deprecated: None,
        retractions: vec![("v1.0.1".to_owned(), Some(Some("a mistake".to_owned())))],
    }];
    let done: Result<_, DbError> = transact!(db, |tx| {
        goindex::record(tx, id, tags, versions, at(0)).await?;
        goindex::settle(tx, module, &[], at(0)).await?;
        goindex::publish(tx, count, at(0)).await
    });
    assert_eq!(done.unwrap().count, count);
}

fn tag(name: &str) -> NewTag {
    NewTag {
        name: name.to_owned(),
        commit: Some("c0ffee".to_owned()),
        object: "c0ffee".to_owned(),
        committed_at: Some(at(-5)),
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
        directory: "sub".to_owned(),
        go_mod: None,
        origin: "known",
        root: path.to_owned(),
        committed_at: Some(at(-5)),
    }
}

both! {
    const PARTS: &[db::Part] = &[engine::PART, store::PART];

    async fn the_public_protocol_is_spoken(db: TestDb) {
        feed(&db, 5).await;
        let site = Site::open(&db).await;
        for address in ["/index", "/go/index"] {
            let answer = site.get(address, &[]).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
            let first = answer.text().lines().next().unwrap().to_owned();
            assert_eq!(first, format!(r#"{{"Path":"forge.example/team/a","Version":"v1.0.0","Timestamp":"{SIX}"}}"#));
            assert_eq!(answer.lines().len(), 5);
            assert!(answer.text().ends_with("}\n"));
        }
        let count = async |query: &str| site.get(&format!("/index?{query}"), &[]).await.lines().len();
        assert_eq!(count("limit=2").await, 2);
        assert_eq!(count("limit=99999").await, 5);
        assert_eq!(count("since=2023-11-14T22:13:20.000002Z").await, 3);
        // With an offset, encoded or not; between two microseconds; empty.
        assert_eq!(count("since=2023-11-15T00:13:20.000002%2B02:00").await, 3);
        assert_eq!(count("since=2023-11-15T00:13:20.000002+02:00").await, 3);
        assert_eq!(count("since=2023-11-14T22:13:20.000002001Z").await, 2);
        assert_eq!(count("since=2023-11-14T22:13:20.000002000Z&limit=2").await, 2);
        assert_eq!(count("since=&limit=&include=").await, 5);
        assert_eq!(count("since=2099-01-01T00:00:00Z").await, 0);
        assert_eq!(count("after=3").await, 2);
        assert_eq!(count("prefix=forge.example/team/b").await, 2);
        assert_eq!(count("include=all&anything=else").await, 5);
        for wrong in ["since=yesterday", "limit=0", "limit=-1", "limit=many", "include=some", "after=x", "after=-1"] {
            let answer = site.get(&format!("/index?{wrong}"), &[]).await;
            assert_eq!(answer.status, 400, "{wrong}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            let problem: Value = serde_json::from_str(&answer.text()).unwrap();
            let (name, _) = wrong.split_once('=').unwrap();
            assert!(problem["detail"].as_str().unwrap().starts_with(name), "{problem}");
        }
    }

    async fn a_large_page_comes_whole_plain_and_packed(db: TestDb) {
        feed(&db, 2_345).await;
        let site = Site::open(&db).await;
        let plain = site.get("/index", &[]).await;
        assert_eq!(plain.lines().len(), 2_000);
        let packed = site.get("/index", &[("Accept-Encoding", "br, gzip;q=0.8")]).await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert!(packed.body.len() < plain.body.len() / 4);
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.body.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, plain.text());
        let refused = site.get("/index", &[("Accept-Encoding", "gzip;q=0")]).await;
        assert_eq!(refused.header("content-encoding"), None);
        // Following by the last moment: the second page begins with the last line of the first.
        let last = plain.lines().last().unwrap()["Timestamp"].as_str().unwrap().to_owned();
        let rest = site.get(&format!("/index?since={last}"), &[]).await;
        assert_eq!(rest.lines().len(), 346);
        let tag = plain.header("etag").unwrap();
        let same = site.get("/index", &[("If-None-Match", tag)]).await;
        assert_eq!((same.status, same.body.len()), (304, 0));
    }

    async fn a_module_is_shown_with_its_versions(db: TestDb) {
        feed(&db, 4).await;
        let site = Site::open(&db).await;
        let answer = site.get("/api/v1/go/modules/forge.example/team/b/v2", &[]).await;
        let module: Value = serde_json::from_str(&answer.text()).unwrap();
        let versions = &module["data"]["versions"];
        assert_eq!(versions[0]["version"], "v1.0.1");
        assert_eq!(versions[0]["retraction"], "a mistake");
        assert_eq!(versions[1]["commit"], "c0ffee");
        assert_eq!(versions[1]["directory"], "sub");
        assert_eq!(versions[1]["url"], "https://forge.example/team/a");
        assert_eq!(site.get("/api/v1/go/modules/nowhere.example/x", &[]).await.status, 404);
        let list = site.get("/api/v1/go/modules?prefix=forge.", &[]).await;
        let list: Value = serde_json::from_str(&list.text()).unwrap();
        assert_eq!(list["data"][0]["path"], "forge.example/team/b/v2");
        let status = site.get("/api/v1/go/status", &[]).await;
        let status: Value = serde_json::from_str(&status.text()).unwrap();
        assert_eq!(status["data"]["last_seq"], 4);
    }

    async fn hooks_that_know_the_secret_make_a_repository_due(db: TestDb) {
        const TAGS: engine::Kind = engine::Kind::recurring("goindex/tags", std::time::Duration::from_hours(24));
        feed(&db, 1).await;
        let site = Site::open(&db).await;
        let engine = Engine::new((*db).clone(), Clock::system());
        let later = engine.clock().now().plus(std::time::Duration::from_hours(5));
        let unit = engine::Enqueue::new(&TAGS, "1").due_at(later);
        engine.enqueue(vec![unit]).await.unwrap();
        let due = async || {
            let why = engine.why(engine.find("goindex/tags:1").await.unwrap().unwrap()).await.unwrap();
            !format!("{why:?}").to_lowercase().contains("later")
        };
        let body = r#"{"ref":"refs/tags/v1","repository":{"id":7,"clone_url":"https://forge.example/team/a.git"}}"#;
        let right = "sha256=fb1c8e0a";
        assert_eq!(site.post("/hooks/github", &[("X-Hub-Signature-256", right)], body).await.status, 403);
        assert_eq!(site.post("/hooks/gitlab", &[("X-Gitlab-Token", "wrong")], body).await.status, 403);
        assert_eq!(site.post("/hooks/gitlab", &[], body).await.status, 403);
        assert_eq!(site.post("/hooks/sourceforge", &[("X-Gitlab-Token", "hush")], body).await.status, 404);
        assert!(!due().await);
        let unknown = body.replace("team/a", "team/other");
        let answer = site.post("/hooks/gitlab", &[("X-Gitlab-Token", "hush")], &unknown).await;
        assert_eq!((answer.status, answer.text().as_str()), (202, r#"{"due":false}"#));
        assert_eq!(site.post("/hooks/gitlab", &[("X-Gitlab-Token", "hush")], "[").await.status, 400);
        let answer = site.post("/hooks/gitlab", &[("X-Gitlab-Token", "hush")], body).await;
        assert_eq!((answer.status, answer.text().as_str()), (202, r#"{"due":true}"#));
        assert!(due().await);
    }
}

struct Site(std::net::SocketAddr);

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Site {
    async fn open(db: &Db) -> Self {
        let engine = Engine::new(db.clone(), Clock::system());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let readiness: serve::Readiness = Arc::new(|| Box::pin(async { Vec::new() }));
        let web = Web::new(engine, Recorder::install(), readiness);
        let web = web.hook_secrets(vec![String::new(), "hush".to_owned()]);
        tokio::spawn(serve::serve(listener, web, std::future::pending()));
        Self(address)
    }

    /// By HTTP 1.0, which has no chunks.
    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, "").await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask("POST", path, headers, body).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let length = body.len();
        let mut request =
            format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n");
        for (name, value) in headers {
            request.push_str(name);
            request.push_str(": ");
            request.push_str(value);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        request.push_str(body);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        Answer {
            status: status.parse().unwrap(),
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
