//! The feed of Go module versions and the hooks that keep it fresh, as a client meets them.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod hooks;
mod python;
mod site;

use std::io::Read as _;

use db::{Db, DbError, Timestamp, testing::both, transact};
use facts::repository::RepositoryUrl;
use serde_json::Value;
use store::goindex::{self, NewTag, NewVersion};

use crate::site::Site;

const SIX: &str = "2023-11-14T22:13:20.000000Z";

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + micros)
}

/// A feed of `count` versions of two modules, one microsecond apart.
pub(crate) async fn feed(db: &Db, count: usize) {
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
}
