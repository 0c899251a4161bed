//! What other processes can see and do.

use reqwest::Client;
use serde_json::{Value, json};
use sim::{ORGANISATION, Server};

use crate::client::{client, get, get_as, json as body, world_of};

const HOST: &str = "github.com";

struct Remote {
    client: Client,
    root: String,
}

impl Remote {
    fn of(server: &Server) -> Self {
        Self {
            client: client(),
            root: format!("http://{}/__sim", server.address()),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.root);
        body(self.client.get(url).send().await.unwrap()).await
    }

    async fn post(&self, path: &str, value: &Value) -> reqwest::Response {
        let request = self.client.post(format!("{}{path}", self.root));
        let request = request.header("content-type", "application/json");
        request.body(value.to_string()).send().await.unwrap()
    }

    async fn delete(&self, path: &str) -> u16 {
        let url = format!("{}{path}", self.root);
        let answer = self.client.delete(url).send().await.unwrap();
        answer.status().as_u16()
    }
}

#[tokio::test]
async fn requests_and_counts_are_told() {
    let server = world_of(5).await;
    let remote = Remote::of(&server);
    get_as(&server, HOST, "/orgs/meadow?x=1", Some("a-secret")).await;
    get(&server, "codeberg.org", "/nowhere").await;

    let requests = remote.get("/requests").await;
    assert_eq!(requests.as_array().unwrap().len(), 2);
    let first = &requests[0];
    assert_eq!(first["upstream"], HOST);
    assert_eq!(first["path"], "/orgs/meadow?x=1");
    assert_eq!(first["at"], "2026-01-01T00:00:00Z");
    assert_eq!(first["status"], 200);
    assert_eq!(first["in_flight"], 1);
    assert!(!requests.to_string().contains("a-secret"));
    let later = remote.get("/requests?after=1").await;
    assert_eq!(later[0]["path"], "/api/v1/nowhere");
    let other = remote.get("/requests?upstream=gitlab.com").await;
    assert_eq!(other, json!([]));

    let counts = remote.get("/counts").await;
    assert_eq!(counts[HOST]["requests"], 1);
    assert_eq!(counts["codeberg.org"]["statuses"]["404"], 1);
    assert_eq!(remote.delete("/requests").await, 204);
    assert_eq!(remote.get("/requests").await, json!([]));
    assert_eq!(remote.get("/counts").await[HOST]["requests"], 0);
}

#[tokio::test]
async fn faults_come_and_go() {
    let server = world_of(5).await;
    let remote = Remote::of(&server);
    let rules = json!([
        { "upstream": HOST, "path": "^/orgs/", "requests": [1, 1], "fault": "status", "status": 503,
          "retry_after": { "seconds": 5 } },
        { "upstream": HOST, "fault": "html_wall", "from": "2026-01-02T00:00:00Z" },
    ]);
    let added = body(remote.post("/faults", &rules).await).await;
    assert_eq!(added["ids"], json!([1, 2]));
    assert_eq!(get(&server, HOST, "/orgs/meadow").await.status(), 503);
    assert_eq!(get(&server, HOST, "/orgs/meadow").await.status(), 200);
    let listed = remote.get("/faults").await;
    assert_eq!(listed[1]["rule"]["fault"], "html_wall");
    assert_eq!(remote.delete("/faults?id=1").await, 204);
    assert_eq!(remote.delete("/faults?id=1").await, 404);
    assert_eq!(remote.delete("/faults").await, 204);
    assert_eq!(remote.get("/faults").await, json!([]));

    for wrong in [
        json!({ "fault": "no such thing" }),
        json!({ "fault": "status" }),
        json!({ "path": "(" }),
    ] {
        assert_eq!(remote.post("/faults", &wrong).await.status(), 400);
    }
}

#[tokio::test]
async fn the_world_is_changed_now_or_later_and_read_as_it_is() {
    let server = world_of(5).await;
    let remote = Remote::of(&server);
    let path = server.world().public_repositories(HOST, ORGANISATION)[0].path();
    let rename =
        json!({ "forge": HOST, "change": "rename", "repository": path, "name": "renamed" });
    assert_eq!(remote.post("/change", &rename).await.status(), 204);
    let delete = json!({ "forge": HOST, "change": "delete", "repository": "meadow/renamed",
        "at": "2026-01-01T00:00:10Z" });
    assert_eq!(remote.post("/change", &delete).await.status(), 204);
    let renamed = get(&server, HOST, "/repos/meadow/renamed").await;
    assert_eq!(renamed.status(), 200);
    let clock = remote.post("/clock", &json!({ "advance_s": 10 })).await;
    let clock = body(clock).await;
    assert_eq!(clock["now"], "2026-01-01T00:00:10Z");
    assert_eq!(clock, remote.get("/clock").await);
    let gone = get(&server, HOST, "/repos/meadow/renamed").await;
    assert_eq!(gone.status(), 404);

    let truth = remote.get("/world?forge=github.com").await;
    let deleted = truth
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["name"] == "renamed");
    assert_eq!(deleted.unwrap()["presence"], "deleted");
    let nobody = json!({ "forge": "nowhere", "change": "push", "repository": "a/b" });
    assert_eq!(remote.post("/change", &nobody).await.status(), 400);
}

#[tokio::test]
async fn tokens_are_given_out_and_revoked() {
    let server = world_of(5).await;
    let remote = Remote::of(&server);
    let ask = async |secret| get_as(&server, HOST, "/orgs/meadow", Some(secret)).await;
    let anyone = ask("unheard-of").await;
    assert_eq!(anyone.status(), 200);
    let token = json!({ "upstream": HOST, "name": "one", "secret": "good", "limit": 1 });
    assert_eq!(remote.post("/tokens", &token).await.status(), 204);
    assert_eq!(ask("unheard-of").await.status(), 401);
    assert_eq!(ask("good").await.status(), 200);
    assert_eq!(ask("good").await.status(), 403);
    let revoke = "/tokens?upstream=github.com&name=one";
    assert_eq!(remote.delete(revoke).await, 204);
    assert_eq!(ask("good").await.status(), 401);
}

#[tokio::test]
async fn upstreams_tell_where_they_are_and_strangers_are_not_there() {
    let server = world_of(5).await;
    let upstreams = Remote::of(&server).get("/upstreams").await;
    for name in server.upstreams() {
        assert_eq!(upstreams[name]["base_url"], server.base_url(name).unwrap());
    }
    assert_eq!(
        upstreams["github.example.org"]["host_url"],
        format!("http://{}/github.example.org", server.address())
    );
    let url = format!("http://{}/nobody.example.org/x", server.address());
    assert_eq!(client().get(url).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn odd_requests_are_answered_and_break_nothing() {
    let server = world_of(60).await;
    let most = u64::MAX;
    let paths = [
        format!("/orgs/meadow/repos?page={most}&per_page={most}"),
        "/orgs/meadow/repos?page=-1&per_page=0&sort=&direction=&type=%00".to_owned(),
        "/orgs/%F0%9F%8C%B1/repos".to_owned(),
        "/repos/%2F/%2E%2E".to_owned(),
        format!("/repositories/{most}0"),
        format!("/repositories?since={most}0"),
        format!("/organizations?since=x&per_page={most}"),
        "/search/repositories?q=created:9999-12-31..".to_owned(),
        "/search/repositories?q=created:%3E9999-12-31+pushed:%3C-009999-01-01".to_owned(),
        format!("/groups/meadow/projects?page={most}&per_page=1"),
        format!("/groups/{most}0/projects"),
        "/projects?pagination=keyset&order_by=id&per_page=0&id_after=x".to_owned(),
        "/projects?last_activity_after=yesterday".to_owned(),
        "/projects/a%2Fb%2F%2F".to_owned(),
        format!("/repos/search?uid={most}&page={most}&limit={most}"),
    ];
    for upstream in ["github.com", "gitlab.com", "codeberg.org"] {
        for path in &paths {
            let status = get(&server, upstream, path).await.status();
            assert!(!status.is_server_error(), "{upstream}{path}: {status}");
        }
    }
    assert_eq!(get(&server, HOST, "/orgs/meadow").await.status(), 200);
}
