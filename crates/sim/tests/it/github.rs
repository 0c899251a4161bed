//! GitHub's double.

use sim::{Change, ORGANISATION, Presence, Repository, Token};

use crate::client::{client, config, get, get_as, header, json, link, walk, world_of};

const HOST: &str = "github.com";

fn one(server: &sim::Server, wanted: impl Fn(&Repository) -> bool) -> Repository {
    let all = server.world().repositories(HOST);
    all.into_iter().find(|found| wanted(found)).unwrap()
}

#[tokio::test]
async fn a_repository_is_found_by_name_in_any_case_and_by_number() {
    let server = world_of(10).await;
    let fork = one(&server, |found| {
        found.is_public() && found.fork_of.is_some()
    });
    let path = format!("/repos/{}", fork.path().to_uppercase());
    let by_name = get(&server, HOST, &path).await;
    assert_eq!(by_name.status(), 200);
    let by_name = json(by_name).await;
    let by_id = json(get(&server, HOST, &format!("/repositories/{}", fork.id)).await).await;
    assert_eq!(by_name, by_id);
    assert_eq!(by_name["full_name"], fork.path());
    assert_eq!(by_name["archived"], fork.archived);
    assert_eq!(by_name["default_branch"], fork.default_branch);
    assert_eq!(by_name["fork"], true);
    assert_eq!(by_name["parent"]["id"], fork.fork_of.unwrap());
    assert_eq!(
        by_name["html_url"],
        format!("https://github.com/{}", fork.path())
    );
}

#[tokio::test]
async fn a_moved_repository_leads_on_by_number() {
    let server = world_of(10).await;
    let found = server.world().public_repositories(HOST, ORGANISATION)[0].clone();
    let transfer = Change::Transfer {
        repository: found.path(),
        owner: "alder-0".to_owned(),
    };
    server.world().apply(HOST, &transfer).unwrap();
    for rest in ["", "/releases"] {
        let answer = get(&server, HOST, &format!("/repos/{}{rest}", found.path())).await;
        assert_eq!(answer.status(), 301);
        let target = format!(
            "{}/repositories/{}{rest}",
            server.base_url(HOST).unwrap(),
            found.id
        );
        assert_eq!(header(&answer, "location"), Some(target.as_str()));
    }
    let url = format!(
        "{}/repositories/{}",
        server.base_url(HOST).unwrap(),
        found.id
    );
    let there = json(client().get(url).send().await.unwrap()).await;
    assert_eq!(there["owner"]["login"], "alder-0");
}

#[tokio::test]
async fn what_is_private_or_gone_is_404_and_what_was_taken_down_451() {
    let server = sim::Server::start(sim::Config {
        tokens: vec![
            Token::new(HOST, "plain", "secret-1"),
            Token::new(HOST, "deep", "secret-2").with_scopes(&["repo"]),
        ],
        ..config(10)
    })
    .await
    .unwrap();
    let private = one(&server, |found| found.private).path();
    let private = format!("/repos/{private}");
    assert_eq!(get(&server, HOST, &private).await.status(), 404);
    let plain = get_as(&server, HOST, &private, Some("secret-1")).await;
    assert_eq!(plain.status(), 404);
    let deep = get_as(&server, HOST, &private, Some("secret-2")).await;
    assert_eq!(deep.status(), 200);
    assert_eq!(
        get_as(&server, HOST, &private, Some("wrong"))
            .await
            .status(),
        401
    );

    let deleted = one(&server, |found| found.presence == Presence::Deleted);
    for path in [
        format!("/repos/{}", deleted.path()),
        format!("/repositories/{}", deleted.id),
    ] {
        assert_eq!(get(&server, HOST, &path).await.status(), 404);
    }
    let blocked = one(&server, |found| found.presence == Presence::Blocked);
    let answer = get(&server, HOST, &format!("/repos/{}", blocked.path())).await;
    assert_eq!(answer.status(), 451);
    assert_eq!(json(answer).await["block"]["reason"], "dmca");
}

#[tokio::test]
async fn an_organisation_of_2500_is_listed_completely_in_25_pages() {
    let server = world_of(2_500).await;
    let path = "/orgs/meadow/repos?per_page=100";
    let (mut ids, pages) = walk(&server, HOST, path).await;
    assert_eq!(pages, 25);
    assert_eq!(server.journal().counts(HOST).requests, 25);
    ids.sort_unstable();
    let truth = server.world().public_repositories(HOST, ORGANISATION);
    let truth: Vec<_> = truth.iter().map(|found| found.id).collect();
    assert_eq!(ids, truth);

    let first = get(&server, HOST, path).await;
    let last = link(&first, "last").unwrap();
    assert!(last.contains("/organizations/901/repos?"), "{last}");
    assert!(last.contains("page=25"), "{last}");
    let beyond = get(&server, HOST, "/orgs/meadow/repos?per_page=100&page=26").await;
    assert_eq!(json(beyond).await, serde_json::json!([]));
    // No page has more than 100, whatever is asked for.
    let greedy = json(get(&server, HOST, "/orgs/meadow/repos?per_page=1000").await).await;
    assert_eq!(greedy.as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn a_push_and_an_archiving_come_first_in_their_orders() {
    let server = world_of(150).await;
    let all = server.world().public_repositories(HOST, ORGANISATION);
    server.clock().advance(std::time::Duration::from_mins(1));
    let push = Change::Push {
        repository: all[3].path(),
    };
    server.world().apply(HOST, &push).unwrap();
    server.clock().advance(std::time::Duration::from_mins(1));
    let archive = Change::Archive {
        repository: all[4].path(),
    };
    server.world().apply(HOST, &archive).unwrap();

    let first = async |sort: &str| {
        let path = format!("/orgs/meadow/repos?sort={sort}&per_page=1");
        json(get(&server, HOST, &path).await).await[0].clone()
    };
    let pushed = first("pushed").await;
    assert_eq!(pushed["id"], all[3].id);
    assert_eq!(pushed["pushed_at"], "2026-01-01T00:01:00Z");
    let updated = first("updated").await;
    assert_eq!(updated["id"], all[4].id);
    assert_eq!(updated["archived"], true);
}

#[tokio::test]
async fn an_unchanged_list_is_304_until_something_changes() {
    let server = world_of(30).await;
    let url = format!("{}/orgs/meadow/repos", server.base_url(HOST).unwrap());
    let first = client().get(&url).send().await.unwrap();
    let tag = header(&first, "etag").unwrap().to_owned();
    let again = async || {
        let request = client().get(&url).header("if-none-match", &tag);
        request.send().await.unwrap()
    };
    let unchanged = again().await;
    assert_eq!(unchanged.status(), 304);
    assert_eq!(header(&unchanged, "etag"), Some(tag.as_str()));
    assert!(unchanged.bytes().await.unwrap().is_empty());
    let add = Change::Add {
        owner: ORGANISATION.to_owned(),
        name: "new".to_owned(),
    };
    server.world().apply(HOST, &add).unwrap();
    assert_eq!(again().await.status(), 200);
}

#[tokio::test]
async fn search_shows_no_more_than_a_thousand_but_tells_the_total() {
    let server = world_of(1_200).await;
    let path = "/search/repositories?q=org:meadow&per_page=100&page=";
    let last = get(&server, HOST, &format!("{path}10")).await;
    assert_eq!(link(&last, "next"), None);
    let last = json(last).await;
    assert_eq!(last["total_count"], 1_200);
    assert_eq!(last["items"].as_array().unwrap().len(), 100);
    assert_eq!(get(&server, HOST, &format!("{path}11")).await.status(), 422);

    // Two halves by date hold all of it.
    let half = async |created: &str| {
        let path = format!("/search/repositories?q=org:meadow+created:{created}&per_page=1");
        json(get(&server, HOST, &path).await).await["total_count"]
            .as_u64()
            .unwrap()
    };
    let (old, new) = (half("<2019-01-01").await, half(">=2019-01-01").await);
    assert_eq!(old + new, 1_200);
    assert!(old > 300 && new > 300, "{old} {new}");
}

#[tokio::test]
async fn accounts_tell_their_kind_and_tokens_their_scopes() {
    let server = world_of(30).await;
    let organisation = json(get(&server, HOST, "/orgs/meadow").await).await;
    assert_eq!(organisation["type"], "Organization");
    assert_eq!(organisation["public_repos"], 30);
    assert_eq!(get(&server, HOST, "/orgs/bracken-1").await.status(), 404);
    let person = json(get(&server, HOST, "/users/bracken-1").await).await;
    assert_eq!(person["type"], "User");
    let (listed, _) = walk(&server, HOST, "/users/bracken-1/repos?per_page=3").await;
    assert_eq!(
        listed.len() as u64,
        person["public_repos"].as_u64().unwrap()
    );

    let user = get_as(&server, HOST, "/user", Some("any")).await;
    assert_eq!(
        header(&user, "x-oauth-scopes"),
        Some("public_repo, read:org, read:packages")
    );
    assert_eq!(get(&server, HOST, "/user").await.status(), 401);
}

#[tokio::test]
async fn an_enterprise_server_has_its_own_path_and_no_limits() {
    let server = world_of(250).await;
    let host = "github.example.org";
    assert!(
        server
            .base_url(host)
            .unwrap()
            .ends_with("/github.example.org/api/v3")
    );
    let answer = get(&server, host, "/orgs/meadow/repos").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "x-ratelimit-remaining"), None);
    assert_eq!(get(&server, host, "/rate_limit").await.status(), 404);
    let (ids, _) = walk(&server, host, "/repositories").await;
    let public = server.world().repositories(host);
    let public = public.iter().filter(|found| found.is_public()).count();
    assert_eq!(ids.len(), public);
    let (organisations, pages) = walk(&server, host, "/organizations?per_page=5").await;
    assert_eq!(organisations.len(), 14);
    assert_eq!(pages, 3);
}
