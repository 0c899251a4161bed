//! What asking costs, in requests and bytes, on a repository of 2,000 files.

use collect::git::remote::{Contents, USUAL_REFS, Want};
use sim::git_server::GitServer;

use super::World;

/// Requests, bytes sent, bytes received.
fn cost(server: &GitServer) -> (usize, usize, usize) {
    let seen = server.take_seen();
    let sent = seen.iter().map(|one| one.sent).sum();
    let received = seen.iter().map(|one| one.received).sum();
    (seen.len(), sent, received)
}

/// Collectors run on any thread.
fn sendable<T: Send>(it: T) -> T {
    it
}

#[tokio::test]
async fn a_repository_of_two_thousand_files() {
    let world = World::new(2000).await;
    let remote = world.remote().await;
    let refs = remote.refs(&USUAL_REFS).await.unwrap();
    let listing = cost(&world.server);
    let head = Want::Id(refs.head.unwrap().id.unwrap());
    let fetched = remote
        .fetch(std::slice::from_ref(&head), Contents::Blobless)
        .await
        .unwrap();
    let blobless = cost(&world.server);
    let tree = fetched
        .local()
        .tree(fetched.commit().unwrap(), |_| true)
        .await
        .unwrap();
    let ids: Vec<&str> = tree.iter().map(|entry| entry.id.as_str()).collect();
    fetched.complete(&ids[..50]).await.unwrap();
    let fifty = cost(&world.server);
    sendable(remote.refs(&["HEAD"])).await.unwrap();
    world.server.take_seen();
    sendable(fetched.complete(&ids)).await.unwrap();
    let all = cost(&world.server);
    drop(fetched);
    remote.fetch(&[head], Contents::Whole).await.unwrap();
    let whole = cost(&world.server);
    println!("refs {listing:?} blobless {blobless:?} fifty {fifty:?} all {all:?} whole {whole:?}");
    assert_eq!([listing.0, blobless.0, fifty.0, all.0, whole.0], [2; 5]);
    assert!(listing.2 < 1000 && blobless.2 < 150_000 && whole.2 > 1_000_000);
    assert!(blobless.2 + fifty.2 < whole.2 / 8);
}
