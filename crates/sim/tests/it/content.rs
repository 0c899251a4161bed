//! What lies in repositories, and what forges publish of it.

use serde_json::Value;
use sim::{Change, File, ORGANISATION, Repository, Server};

use crate::client::{client, get, header, json, world_of};

const HOSTS: [&str; 4] = [
    "github.com",
    "github.example.org",
    "gitlab.example.org",
    "codeberg.org",
];

fn member(server: &Server, host: &str, wanted: impl Fn(&Repository) -> bool) -> Repository {
    let all = server.world().public_repositories(host, ORGANISATION);
    all.into_iter().find(|found| wanted(found)).unwrap()
}

/// Where a repository's own things are, and how its whole tree is asked for.
fn tree(host: &str, found: &Repository) -> String {
    match host {
        "gitlab.example.org" => {
            format!(
                "/projects/{}/repository/tree?recursive=true&per_page=100",
                found.id
            )
        }
        _ => format!("/repos/{}/git/trees/HEAD?recursive=1", found.path()),
    }
}

fn paths(answer: &Value) -> Vec<String> {
    let entries = answer.get("tree").unwrap_or(answer).as_array().unwrap();
    let blobs = entries.iter().filter(|entry| entry["type"] == "blob");
    blobs
        .map(|entry| entry["path"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_forge_tells_of_the_same_files() {
    let server = world_of(60).await;
    for host in HOSTS {
        let found = member(&server, host, |found| {
            !found.empty && sim::files(found).len() < 20
        });
        let told = json(get(&server, host, &tree(host, &found)).await).await;
        let expected: Vec<String> = sim::files(&found)
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(paths(&told), expected, "{host}");

        let file = File::new("a/b/c.txt", "planted\n");
        let id = file.id();
        server
            .world()
            .plant(host, &found.path(), vec![file])
            .unwrap();
        let told = json(get(&server, host, &tree(host, &found)).await).await;
        assert_eq!(paths(&told), ["a/b/c.txt"], "{host}");
        let blob = match host {
            "gitlab.example.org" => format!("/projects/{}/repository/blobs/{id}/raw", found.id),
            _ => format!("/repos/{}/git/blobs/{id}", found.path()),
        };
        let text = get(&server, host, &blob).await.text().await.unwrap();
        assert!(
            text == "planted\n" || text.contains("cGxhbnRlZAo="),
            "{host} {text}"
        );
    }
}

#[tokio::test]
async fn an_empty_repository_says_so_in_its_own_way() {
    let server = world_of(300).await;
    for (host, status) in [
        ("github.com", 409),
        ("gitlab.example.org", 404),
        ("codeberg.org", 400),
    ] {
        let empty = member(&server, host, |found| found.empty);
        let answer = get(&server, host, &tree(host, &empty)).await;
        assert_eq!(answer.status(), status, "{host}");
    }
}

#[tokio::test]
async fn what_is_declared_lasts_beyond_a_rename() {
    let server = world_of(60).await;
    let host = "github.com";
    let found = member(&server, host, |found| !sim::declared(found).is_empty());
    let declared = sim::declared(&found);
    let rename = Change::Rename {
        repository: found.path(),
        name: "other".into(),
    };
    server.world().apply(host, &rename).unwrap();
    let renamed = member(&server, host, |now| now.id == found.id);
    assert_eq!(sim::declared(&renamed), declared);
    let answer = get(&server, host, &tree(host, &found)).await;
    assert_eq!(answer.status(), 301);
    let location = header(&answer, "location").unwrap();
    assert!(
        location.ends_with("/git/trees/HEAD?recursive=1"),
        "{location}"
    );
}

#[tokio::test]
async fn a_long_tree_comes_in_pages_or_is_cut() {
    let server = world_of(200).await;
    let long = |found: &Repository| sim::files(found).len() > 200;
    let found = member(&server, "gitlab.example.org", long);
    let mut path = Some(tree("gitlab.example.org", &found));
    let mut count = 0;
    while let Some(next) = path {
        let answer = get(&server, "gitlab.example.org", &next).await;
        let link = header(&answer, "link").map(str::to_owned);
        let base = server.base_url("gitlab.example.org").unwrap();
        count += paths(&json(answer).await).len();
        path = link.map(|link| {
            let url = link.trim_start_matches('<').split('>').next().unwrap();
            url.strip_prefix(&base).unwrap().to_owned()
        });
    }
    assert_eq!(count, sim::files(&found).len());
}

#[tokio::test]
async fn packages_are_for_tokens_with_that_right_and_graphql_for_any() {
    let server = world_of(60).await;
    let host = "github.com";
    let path = "/orgs/meadow/packages?package_type=npm";
    assert_eq!(get(&server, host, path).await.status(), 401);
    let found = member(&server, host, |found| !found.empty);
    let file = &sim::files(&found)[0];
    let question = serde_json::json!({
        "query": format!("query{{repository{{b0: object(oid: \"{}\"){{...f}}}}}}", file.id()),
        "variables": { "owner": ORGANISATION, "name": found.name },
    });
    let url = format!("{}/graphql", server.base_url(host).unwrap());
    let ask = client()
        .post(url)
        .header("user-agent", "test")
        .body(question.to_string());
    let refused = ask.try_clone().unwrap().send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let answer = ask
        .header("authorization", "Bearer any")
        .send()
        .await
        .unwrap();
    assert_eq!(header(&answer, "x-ratelimit-resource"), Some("graphql"));
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let blob = &answer["data"]["repository"]["b0"];
    assert_eq!(
        blob["text"],
        String::from_utf8(file.contents.clone()).unwrap()
    );
}
