//! Issues and pull requests on all forges, and the search of people.

use jiff::SignedDuration;
use serde_json::Value;
use sim::{EPOCH, Issue, Person, Server};

use crate::client::{config, get, header, json};

fn issue(number: u64, pull: bool) -> Issue {
    let minutes = SignedDuration::from_mins(i64::try_from(number).unwrap());
    Issue {
        id: 1_000 + number,
        number,
        pull,
        node_id: format!("N_{number}"),
        title: format!("About {number}"),
        created_at: EPOCH,
        updated_at: EPOCH + minutes,
        closed_at: number.is_multiple_of(2).then_some(EPOCH + minutes),
    }
}

async fn world(host: &str) -> (Server, String) {
    let server = Server::start(config(5)).await.unwrap();
    let found = server.world().public_repositories(host, "meadow")[0].clone();
    let all = (1..=120)
        .map(|number| issue(number, number > 100))
        .collect();
    server.world().report(host, &found.path(), all).unwrap();
    (server, found.path())
}

fn numbers(page: &Value, name: &str) -> Vec<u64> {
    let page = page.as_array().unwrap();
    page.iter().map(|one| one[name].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn github_lists_both_by_change() {
    let (server, path) = world("github.com").await;
    let ask = format!("/repos/{path}/issues?state=all&sort=updated&direction=asc&per_page=100");
    let first = get(&server, "github.com", &ask).await;
    assert!(header(&first, "link").unwrap().contains("rel=\"next\""));
    assert_eq!(
        numbers(&json(first).await, "number"),
        (1..=100).collect::<Vec<_>>()
    );
    let since = (EPOCH + SignedDuration::from_mins(119)).to_string();
    let last = json(get(&server, "github.com", &format!("{ask}&since={since}")).await).await;
    assert_eq!(
        numbers(&last, "number"),
        [119, 120],
        "that second is included"
    );
    assert!(last[0]["pull_request"].is_object());
    assert_eq!(
        (&last[0]["state"], &last[1]["state"]),
        (&"open".into(), &"closed".into())
    );
    let open = format!("/repos/{path}/issues?per_page=100");
    let open = json(get(&server, "github.com", &open).await).await;
    assert_eq!(open.as_array().unwrap().len(), 60);
}

#[tokio::test]
async fn gitlab_has_two_lists_and_gitea_one() {
    let (server, path) = world("gitlab.com").await;
    let path = path.replace('/', "%2F");
    for (list, expected) in [("issues", 100), ("merge_requests", 20)] {
        let ask = format!("/projects/{path}/{list}?order_by=updated_at&sort=asc&per_page=100");
        let page = json(get(&server, "gitlab.com", &ask).await).await;
        assert_eq!(page.as_array().unwrap().len(), expected, "{list}");
        assert!(page[0]["iid"].is_u64());
    }
    let (server, path) = world("codeberg.org").await;
    let ask = format!("/repos/{path}/issues?state=all&limit=100");
    let page = json(get(&server, "codeberg.org", &ask).await).await;
    assert_eq!(page.as_array().unwrap().len(), 50, "no page is longer");
}

#[tokio::test]
async fn people_are_found_by_what_they_show() {
    let server = Server::start(config(5)).await.unwrap();
    for (login, shows_email, commits) in [("ada", true, false), ("bob", false, true)] {
        let person = Person {
            login: login.to_owned(),
            email: format!("{login}@example.org"),
            shows_email,
            commits,
            bot: false,
        };
        server.world().join("github.com", person).unwrap();
    }
    for (login, users, commits) in [("ada", 1, 0), ("bob", 0, 1), ("eve", 0, 0)] {
        let found = format!("/search/users?q={login}%40example.org+in:email");
        let found = json(get(&server, "github.com", &found).await).await;
        assert_eq!(found["total_count"], users, "{login}");
        let found = format!("/search/commits?q=author-email:{login}%40example.org");
        let found = json(get(&server, "github.com", &found).await).await;
        assert_eq!(found["total_count"], commits, "{login}");
    }
    assert_eq!(
        get(&server, "github.com", "/search/users?q=x")
            .await
            .status(),
        422
    );
}
