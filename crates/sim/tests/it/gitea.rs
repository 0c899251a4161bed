//! Gitea's double.

use sim::{Change, ORGANISATION};

use crate::client::{get, header, json, walk, world_of};

const HOST: &str = "codeberg.org";

#[tokio::test]
async fn an_organisation_of_2500_is_listed_in_pages_of_50_at_most() {
    let server = world_of(2_500).await;
    let (mut ids, pages) = walk(&server, HOST, "/orgs/meadow/repos?limit=100").await;
    assert_eq!(pages, 50);
    ids.sort_unstable();
    let truth = server.world().public_repositories(HOST, ORGANISATION);
    assert_eq!(ids, truth.iter().map(|found| found.id).collect::<Vec<_>>());
    let first = get(&server, HOST, "/orgs/meadow/repos").await;
    assert_eq!(header(&first, "x-total-count"), Some("2500"));
    let silent = ["etag", "x-ratelimit-remaining", "ratelimit-remaining"];
    assert!(silent.iter().all(|name| header(&first, name).is_none()));
    let settings = json(get(&server, HOST, "/settings/api").await).await;
    assert_eq!(settings["max_response_items"], 50);
}

#[tokio::test]
async fn a_renamed_repository_leads_on_by_a_bare_path() {
    let server = world_of(10).await;
    let found = server.world().public_repositories(HOST, ORGANISATION)[0].clone();
    let rename = Change::Rename {
        repository: found.path(),
        name: "renamed".to_owned(),
    };
    server.world().apply(HOST, &rename).unwrap();
    let answer = get(&server, HOST, &format!("/repos/{}", found.path())).await;
    assert_eq!(answer.status(), 307);
    let location = header(&answer, "location").unwrap();
    assert_eq!(location, "/codeberg.org/api/v1/repos/meadow/renamed");
    let there = json(get(&server, HOST, "/repos/meadow/renamed").await).await;
    assert_eq!(there["id"], found.id);
    let by_id = json(get(&server, HOST, &format!("/repositories/{}", found.id)).await).await;
    assert_eq!(there, by_id);
}

#[tokio::test]
async fn search_by_owner_sees_what_was_updated_last() {
    let server = world_of(40).await;
    let found = server.world().public_repositories(HOST, ORGANISATION)[5].clone();
    server.clock().advance(std::time::Duration::from_mins(1));
    let archive = Change::Archive {
        repository: found.path(),
    };
    server.world().apply(HOST, &archive).unwrap();
    let organisation = json(get(&server, HOST, "/orgs/meadow").await).await;
    let path = format!(
        "/repos/search?uid={}&sort=updated&order=desc&limit=1",
        organisation["id"]
    );
    let answer = get(&server, HOST, &path).await;
    assert_eq!(header(&answer, "x-total-count"), Some("40"));
    let list = json(answer).await;
    assert_eq!(list["data"][0]["id"], found.id);
    assert_eq!(list["data"][0]["archived"], true);
    assert_eq!(list["data"][0]["archived_at"], "2026-01-01T00:01:00Z");
}
