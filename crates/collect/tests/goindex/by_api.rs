//! Where git is not let in, forges tell the same through their APIs.

use std::{
    path::{Path as FilePath, PathBuf},
    process::Command,
    sync::Arc,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use db::testing::both;
use serde_json::{Value, json};
use store::goindex;

use crate::world::{PARTS, World};

/// The APIs of three forges over the same bare repositories.
async fn serve(served: PathBuf) -> String {
    let router = Router::new()
        .route("/repos/{owner}/{name}/tags", get(tags))
        .route("/repos/{owner}/{name}/git/trees/{id}", get(tree))
        .route("/repos/{owner}/{name}/git/blobs/{id}", get(blob))
        .route("/api/v1/repos/{owner}/{name}/tags", get(tags))
        .route("/api/v1/repos/{owner}/{name}/git/trees/{id}", get(tree))
        .route("/api/v1/repos/{owner}/{name}/git/blobs/{id}", get(blob))
        .route("/api/v4/projects/{id}/repository/tags", get(lab_tags))
        .route("/api/v4/projects/{id}/repository/tree", get(lab_tree))
        .route(
            "/api/v4/projects/{id}/repository/blobs/{blob}/raw",
            get(lab_blob),
        )
        .with_state(Arc::new(served));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

type At = State<Arc<PathBuf>>;

async fn tags(State(served): At, Path((owner, name)): Path<(String, String)>) -> Json<Value> {
    let all = all_tags(&served, &format!("{owner}/{name}"));
    let all = all.into_iter().map(|(name, commit)| {
        json!({ "name": name, "commit": { "sha": commit, "created": "2024-01-02T03:04:05Z" } })
    });
    Json(all.collect())
}

async fn tree(
    State(served): At,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Json<Value> {
    let items = items(&served, &format!("{owner}/{name}"), &id);
    let items = items.into_iter().map(
        |(mode, kind, id, path)| json!({ "path": path, "mode": mode, "type": kind, "sha": id }),
    );
    Json(json!({ "sha": id, "truncated": false, "tree": items.collect::<Value>() }))
}

async fn blob(
    State(served): At,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Json<Value> {
    let bytes = git(
        &bare(&served, &format!("{owner}/{name}")),
        &["cat-file", "blob", &id],
    );
    Json(json!({ "content": STANDARD.encode(bytes), "encoding": "base64", "sha": id }))
}

async fn lab_tags(State(served): At, Path(id): Path<String>) -> Json<Value> {
    let all = all_tags(&served, &id).into_iter().map(|(name, commit)| {
        let commit = json!({ "id": commit, "committed_date": "2024-01-02T03:04:05.000Z" });
        json!({ "name": name, "commit": commit })
    });
    Json(all.collect())
}

async fn lab_tree(
    State(served): At,
    Path(id): Path<String>,
    query: axum::extract::RawQuery,
) -> Json<Value> {
    let query = query.0.unwrap_or_default();
    let mut parts = query.split('&');
    let commit = parts.find_map(|part| part.strip_prefix("ref=")).unwrap();
    let items = items(&served, &id, commit).into_iter();
    let items = items.map(|(mode, kind, id, path)| {
        json!({ "path": path, "mode": mode, "type": kind, "id": id, "name": path })
    });
    Json(items.collect())
}

async fn lab_blob(State(served): At, Path((id, blob)): Path<(String, String)>) -> Vec<u8> {
    git(&bare(&served, &id), &["cat-file", "blob", &blob])
}

fn bare(served: &FilePath, slug: &str) -> PathBuf {
    served.join(format!("{slug}.git"))
}

/// Names, and the commits they lead to.
fn all_tags(served: &FilePath, slug: &str) -> Vec<(String, String)> {
    let format = "--format=%(refname:lstrip=2) %(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)";
    let text = git(&bare(served, slug), &["for-each-ref", format, "refs/tags"]);
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, id)| (name.to_owned(), id.to_owned()))
        .collect()
}

/// Mode, type, id and path of everything in a tree.
fn items(served: &FilePath, slug: &str, id: &str) -> Vec<(String, String, String, String)> {
    let text = git(&bare(served, slug), &["ls-tree", "-r", "-t", id]);
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .map(|line| {
            let (head, path) = line.split_once('\t').unwrap();
            let mut words = head.split(' ').map(str::to_owned);
            let mut next = || words.next().unwrap();
            (next(), next(), next(), path.to_owned())
        })
        .collect()
}

fn git(directory: &FilePath, args: &[&str]) -> Vec<u8> {
    let said = Command::new("git")
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(said.status.success(), "{args:?}");
    said.stdout
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn forges_tell_what_git_is_not_told(db: TestDb) {
        let mut world = World::new(&db).await;
        let all = [("github.com", "team/hub"), ("gitlab.com", "team/lab"), ("codeberg.org", "team/tea")];
        for (host, slug) in all {
            world.add_at(host, slug).await;
            let top = format!("module {host}/{slug}\n");
            let sub = format!("module {host}/{slug}/sub\n");
            world.commit(slug, &[("go.mod", &top), ("sub/go.mod", &sub)], &["v1.0.0", "sub/v0.1.0", "v1"]);
            world.git(slug, &["tag", "-a", "-m", "annotated", "v1.1.0"]);
        }
        world.server.switch(|switches| switches.authorization = Some("nobody knows".to_owned()));
        world.look().await;
        assert!(world.feed(true).await.is_empty(), "nobody tells");
        let status = goindex::status(&db).await.unwrap();
        assert_eq!((status.tags, status.complete), (0, 0));

        world.apis = Some(serve(world.path("served")).await);
        world.look().await;
        let mut expected: Vec<String> = all.iter().flat_map(|(host, slug)| {
            let path = format!("{host}/{slug}");
            [format!("{path}/sub@v0.1.0"), format!("{path}@v1.0.0"), format!("{path}@v1.1.0")]
        }).collect();
        expected.sort();
        assert_eq!(world.versions().await, expected);
        let lab = goindex::versions(&db, "gitlab.com/team/lab", 1).await.unwrap();
        assert_eq!(lab[0].committed_at.unwrap().to_string(), "2024-01-02T03:04:05.000000Z");
        let status = goindex::status(&db).await.unwrap();
        assert_eq!((status.complete, status.rejected), (3, 3));

        // When git is let in again, it tells the same, and nothing has happened.
        world.server.switch(|switches| switches.authorization = None);
        world.look().await;
        assert_eq!(world.versions().await, expected);
        assert!(goindex::events(&db, 0, 10).await.unwrap().is_empty());
    }
}
