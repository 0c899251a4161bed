//! A Python index from the command line: crawled and followed by processes that are killed.

use std::process::Stdio;

use serde_json::Value;
use sim::{Config, Server, WorldSize, upstreams::PythonIndex};

use crate::sandbox::Sandbox;

struct Crawler {
    home: Sandbox,
    index_url: String,
}

impl Crawler {
    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.home.gleaner(args);
        command
            .env("GLEANER_PYPI_INDEX_URL", &self.index_url)
            .env("GLEANER_WORK_DEAD_AFTER", "2s")
            .env("GLEANER_DATA", self.home.path("data"));
        command
    }

    async fn run(&self, args: &[&str]) -> String {
        let mut command = self.command(args);
        let done = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output());
        let done = done.await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{args:?}: {said}");
        String::from_utf8(done.stdout).unwrap()
    }

    async fn status(&self) -> Value {
        let text = self.run(&["pypi", "status", "--format", "json"]).await;
        let status: Value = serde_json::from_str(&text).unwrap();
        match status {
            Value::Array(mut rows) => rows.remove(0),
            one => one,
        }
    }

    /// Works until the index was asked so many times, and is killed then.
    async fn killed_after(&self, server: &Server, requests: u64) {
        let mut command = self.command(&["work"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let enough = server.journal().counts("pypi").requests + requests;
        let asked = server.journal();
        asked
            .until(|journal| journal.counts("pypi").requests >= enough)
            .await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_an_index_is_crawled_and_followed_by_processes_that_are_killed() {
    let index = PythonIndex::new("pypi").filled(21, 30);
    let config = Config {
        upstreams: Vec::new(),
        size: WorldSize {
            repositories: 0,
            organisation: 0,
        },
        ..Config::default()
    };
    let server = Server::start(config.with(index.clone())).await.unwrap();
    let crawler = Crawler {
        home: Sandbox::new(),
        index_url: format!("{}/simple/", server.host_url("pypi").unwrap()),
    };
    let early = crawler
        .command(&["pypi", "crawl", "--follow"])
        .output()
        .unwrap();
    assert_eq!(early.status.code(), Some(1));
    let said = String::from_utf8(early.stderr).unwrap();
    assert!(
        said.contains("pypi crawl --full") && said.contains("--baseline"),
        "{said}"
    );

    crawler.run(&["pypi", "crawl", "--full"]).await;
    crawler.killed_after(&server, 20).await;
    crawler.killed_after(&server, 30).await;
    crawler.run(&["work", "--until-idle"]).await;
    assert_same(&crawler, &index).await;

    index.change(5, 20);
    index.settle();
    crawler.run(&["pypi", "crawl", "--follow"]).await;
    crawler.killed_after(&server, 8).await;
    crawler.run(&["work", "--until-idle"]).await;
    assert_same(&crawler, &index).await;
    let name = index
        .truth()
        .into_iter()
        .find(|file| !file.quarantined)
        .unwrap();
    let shown = crawler
        .run(&["pypi", "show", &name.project, "--format", "jsonl"])
        .await;
    assert!(shown.contains(&name.sha256), "{shown}");
    crawler
        .run(&[
            "pypi",
            "reprocess",
            "--where",
            &format!("project={}", name.project),
        ])
        .await;
    crawler.run(&["work", "--until-idle"]).await;
    assert_same(&crawler, &index).await;
}

async fn assert_same(crawler: &Crawler, index: &PythonIndex) {
    let status = crawler.status().await;
    let visible = index.truth().into_iter().filter(|file| !file.quarantined);
    let listed = status["files"].as_i64().unwrap() - status["quarantined"].as_i64().unwrap();
    assert_eq!(listed, i64::try_from(visible.count()).unwrap(), "{status}");
    assert_eq!(
        (&status["due"], &status["unread"]),
        (&0.into(), &0.into()),
        "{status}"
    );
    assert_eq!(status["lag"], 0, "{status}");
}
