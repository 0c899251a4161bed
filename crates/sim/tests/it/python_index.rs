//! The Python index: both forms of pages, the changelog, files in parts.

use serde_json::Value;
use sim::{
    Server,
    upstreams::{PythonIndex, python_index::Offers},
};

use crate::client::{client, config, get, header, json as body};

const PYPI: &str = "pypi";
const JSON: &str = "application/vnd.pypi.simple.v1+json";

async fn page(server: &Server, path: &str) -> Value {
    let url = format!("{}{path}", server.base_url(PYPI).unwrap());
    let answer = client()
        .get(url)
        .header("accept", JSON)
        .send()
        .await
        .unwrap();
    body(answer).await
}

async fn call(server: &Server, method: &str, number: Option<u64>) -> String {
    let url = format!("{}/pypi", server.base_url(PYPI).unwrap());
    let parameter =
        number.map(|number| format!("<param><value><int>{number}</int></value></param>"));
    let text = format!(
        "<?xml version='1.0'?><methodCall><methodName>{method}</methodName><params>{}</params></methodCall>",
        parameter.unwrap_or_default()
    );
    let answer = client().post(url).body(text).send().await.unwrap();
    answer.text().await.unwrap()
}

#[tokio::test]
async fn pages_tell_the_same_in_both_forms() {
    let index = PythonIndex::new(PYPI);
    index.wheel("Some.Thing", "1.0", "py3-none-any");
    index.sdist("Some.Thing", "1.0");
    index.yank("Some.Thing", "1.0", Some("broken"));
    let server = Server::start(config(0).with(index.clone())).await.unwrap();

    let root = page(&server, "/simple/").await;
    assert_eq!(root["projects"][0]["name"], "Some.Thing");
    assert_eq!(root["projects"][0]["_last-serial"], index.serial());
    let files = page(&server, "/simple/some-thing/").await;
    assert_eq!(files["files"].as_array().unwrap().len(), 2);
    assert_eq!(files["files"][0]["yanked"], "broken");
    let html = get(&server, PYPI, "/simple/some-thing/").await;
    let serial = header(&html, "x-pypi-last-serial").map(str::to_owned);
    assert_eq!(serial, Some(index.serial().to_string()));
    let html = html.text().await.unwrap();
    assert_eq!(html.matches("data-yanked=\"broken\"").count(), 2);
    assert!(html.contains(&format!("<!--SERIAL {}-->", index.serial())));
    let other = get(&server, PYPI, "/simple/Some.Thing/").await;
    assert_eq!(other.status(), 301);
    let api = page(&server, "/pypi/some-thing/json").await;
    assert_eq!(api["releases"]["1.0"].as_array().unwrap().len(), 2);

    index.set_status("Some.Thing", "quarantined");
    let root = page(&server, "/simple/").await;
    assert_eq!(root["projects"].as_array().unwrap().len(), 0);
    let withheld = page(&server, "/simple/some-thing/").await;
    assert_eq!(withheld["project-status"]["status"], "quarantined");
    assert_eq!(withheld["files"].as_array().unwrap().len(), 0);
    index.remove_project("Some.Thing");
    assert_eq!(
        get(&server, PYPI, "/simple/some-thing/").await.status(),
        404
    );
}

#[tokio::test]
async fn files_come_whole_or_in_parts_with_their_metadata_beside() {
    let index = PythonIndex::new(PYPI);
    index.wheel("thing", "1.0", "py3-none-any");
    let server = Server::start(config(0).with(index)).await.unwrap();
    let path = "/packages/thing/thing-1.0-py3-none-any.whl";
    let whole = get(&server, PYPI, path).await.bytes().await.unwrap();
    assert!(whole.starts_with(b"PK"));
    let url = format!("{}{path}", server.base_url(PYPI).unwrap());
    let part = client()
        .get(url)
        .header("range", "bytes=-22")
        .send()
        .await
        .unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.bytes().await.unwrap(), whole.slice(whole.len() - 22..));
    let metadata = get(&server, PYPI, &format!("{path}.metadata")).await;
    assert!(metadata.text().await.unwrap().contains("Name: thing"));
}

#[tokio::test]
async fn lines_of_the_changelog_are_capped_and_may_be_late() {
    let few = Offers {
        changelog_lines: 2,
        ..Offers::default()
    };
    let index = PythonIndex::new(PYPI).offering(few);
    let before = index.serial();
    index.late(1);
    for name in ["late", "one", "two"] {
        index.wheel(name, "1.0", "py3-none-any");
    }
    let server = Server::start(config(0).with(index.clone())).await.unwrap();
    let lines = call(&server, "changelog_since_serial", Some(before)).await;
    assert!(!lines.contains("late") && lines.contains("one") && lines.contains("two"));
    index.settle();
    let lines = call(&server, "changelog_since_serial", Some(before)).await;
    assert!(lines.contains("late") && lines.contains("one") && !lines.contains("two"));
    let last = call(&server, "changelog_last_serial", None).await;
    assert!(last.contains(&format!("<int>{}</int>", index.serial())));
    assert!(
        call(&server, "list_packages", None)
            .await
            .contains("<fault>")
    );
}
