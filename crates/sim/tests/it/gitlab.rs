//! GitLab's double.

use std::time::Duration;

use sim::{
    Change, Config, ORGANISATION, Presence, Server, Token,
    upstreams::{GitLab, GitLabLimits},
};

use crate::client::{config, get, get_as, header, json, link, walk, world_of};

const HOST: &str = "gitlab.com";

async fn limited(limits: GitLabLimits) -> Server {
    let config = Config {
        tokens: vec![Token::new(HOST, "first", "secret").with_limit(3)],
        ..config(250)
    };
    let gitlab = GitLab::public().with_limits(limits);
    Server::start(config.with(gitlab)).await.unwrap()
}

#[tokio::test]
async fn a_project_is_found_by_encoded_path_and_by_number() {
    let server = world_of(16).await;
    let all = server.world().public_repositories(HOST, ORGANISATION);
    let deep = all
        .iter()
        .find(|found| found.owner == "meadow/tools/hand" && !found.empty)
        .unwrap();
    let path = format!("/projects/{}", deep.path().replace('/', "%2F"));
    let by_path = json(get_as(&server, HOST, &path, Some("any")).await).await;
    assert_eq!(by_path["id"], deep.id);
    assert_eq!(by_path["archived"], deep.archived);
    assert_eq!(by_path["namespace"]["full_path"], "meadow/tools/hand");
    let path = format!("/projects/{}", deep.id);
    let by_id = json(get_as(&server, HOST, &path, Some("any")).await).await;
    assert_eq!(by_path, by_id);
    // Those without a token are not told whether it is archived.
    let anonymous = json(get(&server, HOST, &path).await).await;
    assert_eq!(anonymous["default_branch"], deep.default_branch);
    assert!(anonymous.get("archived").is_none());

    for presence in [Presence::Deleted, Presence::Blocked] {
        let all = server.world().repositories(HOST);
        let gone = all.iter().find(|found| found.presence == presence).unwrap();
        let answer = get(&server, HOST, &format!("/projects/{}", gone.id)).await;
        assert_eq!(answer.status(), 404);
        assert_eq!(json(answer).await["message"], "404 Project Not Found");
    }
}

#[tokio::test]
async fn a_moved_project_leads_on_by_number() {
    let server = world_of(16).await;
    let found = server.world().public_repositories(HOST, ORGANISATION)[0].clone();
    let transfer = Change::Transfer {
        repository: found.path(),
        owner: "meadow/tools/hand".to_owned(),
    };
    server.world().apply(HOST, &transfer).unwrap();
    let path = format!("/projects/{}", found.path().replace('/', "%2F"));
    let answer = get(&server, HOST, &path).await;
    assert_eq!(answer.status(), 301);
    let target = format!("{}/projects/{}", server.base_url(HOST).unwrap(), found.id);
    assert_eq!(header(&answer, "location"), Some(target.as_str()));
}

#[tokio::test]
async fn a_group_of_2500_is_listed_with_its_sub_groups_only_if_asked() {
    let server = world_of(2_500).await;
    let truth = server.world().public_repositories(HOST, ORGANISATION);
    let path = "/groups/meadow/projects?per_page=100";
    let (mut ids, pages) = walk(&server, HOST, &format!("{path}&include_subgroups=true")).await;
    ids.sort_unstable();
    assert_eq!(ids, truth.iter().map(|found| found.id).collect::<Vec<_>>());
    assert_eq!(pages, 25);
    let (direct, _) = walk(&server, HOST, path).await;
    let flat = truth.iter().filter(|found| found.owner == ORGANISATION);
    assert_eq!(direct.len(), flat.count());
    let (tools, _) = walk(
        &server,
        HOST,
        "/groups/meadow%2Ftools/projects?include_subgroups=true&archived=true",
    )
    .await;
    let archived = truth
        .iter()
        .filter(|found| found.owner != ORGANISATION && found.archived);
    assert_eq!(tools.len(), archived.count());

    let first = get(&server, HOST, &format!("{path}&include_subgroups=true")).await;
    assert_eq!(header(&first, "x-total"), Some("2500"));
    assert_eq!(header(&first, "x-total-pages"), Some("25"));
    assert_eq!(header(&first, "x-next-page"), Some("2"));
    // A group's list has no filter by activity, and does not say so.
    let ignored = format!("{path}&include_subgroups=true&last_activity_after=2026-01-01T00:00:00Z");
    let ignored = get(&server, HOST, &ignored).await;
    assert_eq!(header(&ignored, "x-total"), Some("2500"));
}

#[tokio::test]
async fn long_lists_withhold_their_length_and_end_offsets_but_not_keysets() {
    let server = limited(GitLabLimits {
        per_minute: None,
        offset_cap: 200,
        totals_cap: 100,
    })
    .await;
    let first = get(&server, HOST, "/projects?per_page=100").await;
    assert_eq!(header(&first, "x-total"), None);
    assert_eq!(link(&first, "last"), None);
    assert!(link(&first, "next").is_some());
    let third = get(&server, HOST, "/projects?per_page=100&page=3").await;
    assert_eq!(third.status(), 405);

    let keyset = "/projects?pagination=keyset&per_page=100";
    assert_eq!(get(&server, HOST, keyset).await.status(), 405);
    let all = server.world().repositories(HOST);
    let public: Vec<_> = all.iter().filter(|found| found.is_public()).collect();
    for sort in ["asc", "desc"] {
        let (mut ids, _) = walk(&server, HOST, &format!("{keyset}&order_by=id&sort={sort}")).await;
        assert_eq!(ids.is_sorted(), sort == "asc");
        ids.sort_unstable();
        assert_eq!(ids, public.iter().map(|found| found.id).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_list_of_all_projects_can_be_narrowed_to_recent_activity() {
    let server = world_of(50).await;
    let all = server.world().public_repositories(HOST, ORGANISATION);
    server.clock().advance(Duration::from_hours(1));
    let push = Change::Push {
        repository: all[7].path(),
    };
    let archive = Change::Archive {
        repository: all[8].path(),
    };
    server.world().apply(HOST, &push).unwrap();
    server.world().apply(HOST, &archive).unwrap();
    // Archiving is no activity.
    let path = "/projects?last_activity_after=2026-01-01T00:30:00Z";
    let (active, _) = walk(&server, HOST, path).await;
    assert_eq!(active, [all[7].id]);
}

#[tokio::test]
async fn limits_are_announced_and_refusals_say_when_to_return() {
    let server = limited(GitLabLimits::default()).await;
    for remaining in ["2", "1", "0"] {
        let answer = get_as(&server, HOST, "/groups/meadow", Some("secret")).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(header(&answer, "ratelimit-remaining"), Some(remaining));
    }
    server.clock().advance(Duration::from_secs(20));
    let refused = get_as(&server, HOST, "/groups/meadow", Some("secret")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(header(&refused, "retry-after"), Some("40"));
    assert_eq!(
        header(&refused, "ratelimit-resettime"),
        Some("Thu, 01 Jan 2026 00:01:00 GMT")
    );
    assert_eq!(server.journal().counts(HOST).over_primary, 1);
    server.clock().advance(Duration::from_secs(40));
    let answer = get_as(&server, HOST, "/groups/meadow", Some("secret")).await;
    assert_eq!(answer.status(), 200);

    let silent = world_of(5).await;
    let answer = get(&silent, "gitlab.example.org", "/groups/meadow").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "ratelimit-remaining"), None);
}
