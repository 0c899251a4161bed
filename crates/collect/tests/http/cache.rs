//! Conditional questions: "not modified" means as before, never empty.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use collect::http::{Ask, Class, Token, UpstreamSettings};
use db::sql;
use store::http_cache;

use crate::{
    server::{Seen, Server, Step, answer, json},
    world::{World, body, found, unknown, upstream},
};

/// Says "not modified" to whoever knows the tag, else the whole.
fn tagged(seen: &Seen) -> Vec<Step> {
    if seen.header("if-none-match") == Some("\"one\"") {
        return answer(304, &[("etag", "\"one\"")], "");
    }
    let headers = [
        ("etag", "\"one\""),
        ("content-type", "application/json"),
        ("link", "<?page=2>; rel=\"next\""),
    ];
    answer(200, &headers, "[\"whole\"]")
}

#[tokio::test]
async fn not_modified_is_as_before() {
    let server = Server::start(|seen| tagged(&seen)).await;
    let world = World::new(&server).await;
    let first = found(world.ask("/list").await);
    assert!(!first.not_modified);
    let again = found(world.ask("/list").await);
    assert!(again.not_modified);
    assert_eq!(again.status, 200);
    assert_eq!(again.body, b"[\"whole\"]");
    assert_eq!(again.headers, first.headers);
    assert_eq!(again.next.as_deref(), Some("/list?page=2"));
    let log = world.session.log();
    assert_eq!((log.requests, log.from_cache), (2, 1));
    assert_eq!(log.last[1].status, Some(304));
    assert_eq!(log.last[1].bytes, 0);
}

#[tokio::test]
async fn a_date_will_do() {
    const DATE: &str = "Sun, 15 Nov 2026 11:00:00 GMT";
    let server = Server::start(|seen| match seen.header("if-modified-since") {
        Some(DATE) => answer(304, &[], ""),
        _ => answer(200, &[("last-modified", DATE)], "[]"),
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/a").await), "[]");
    assert!(found(world.ask("/a").await).not_modified);
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again() {
    let lose = Arc::new(AtomicBool::new(false));
    let world = Arc::new(tokio::sync::OnceCell::<World>::new());
    let (losing, inner) = (Arc::clone(&lose), Arc::clone(&world));
    let server = Server::start_async(move |seen| {
        let (lose, world) = (Arc::clone(&losing), Arc::clone(&inner));
        Box::pin(async move {
            let steps = tagged(&seen);
            // Between the question and the answer somebody empties the cache.
            if lose.swap(false, Ordering::SeqCst) {
                let world = world.get().unwrap();
                world
                    .db
                    .execute(sql!("DELETE FROM http_cache"))
                    .await
                    .unwrap();
            }
            steps
        })
    })
    .await;
    let _ = world.set(World::new(&server).await);
    let world = world.get().unwrap();
    assert_eq!(body(world.ask("/a").await), "[\"whole\"]");
    lose.store(true, Ordering::SeqCst);
    let response = found(world.ask("/a").await);
    assert_eq!(response.body, b"[\"whole\"]");
    assert!(!response.not_modified, "it was fetched anew");
    assert_eq!(server.count(), 3);
    assert_eq!(server.seen()[2].header("if-none-match"), None);
}

#[tokio::test]
async fn a_damaged_answer_is_asked_for_again() {
    let server = Server::start(|seen| tagged(&seen)).await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/a").await), "[\"whole\"]");
    world
        .db
        .execute(sql!(
            "UPDATE http_cache SET body = $1",
            b"rubbish".as_slice()
        ))
        .await
        .unwrap();
    assert_eq!(body(world.ask("/a").await), "[\"whole\"]");
    assert_eq!(server.count(), 3);
    assert!(found(world.ask("/a").await).not_modified, "it is mended");
}

#[tokio::test]
async fn not_modified_that_nobody_asked_for_is_no_answer() {
    let server = Server::always(answer(304, &[], "")).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Undecodable,
            "GET forge/a: \"not modified\" came to a question without conditions".into()
        )
    );
}

#[tokio::test]
async fn a_failure_does_not_spoil_what_is_kept() {
    let server = Server::start(|seen| match seen.before {
        1 => answer(500, &[("etag", "\"bad\"")], "{}"),
        2 => answer(200, &[("etag", "\"wall\"")], "<html>"),
        _ => tagged(&seen),
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/a").await), "[\"whole\"]");
    assert_eq!(unknown(world.ask("/a").await).0, Class::Transient);
    assert_eq!(unknown(world.ask("/a").await).0, Class::Wall);
    assert!(found(world.ask("/a").await).not_modified);
}

#[tokio::test]
async fn what_one_token_saw_is_not_shown_to_another() {
    let server = Server::start(|seen| {
        let whose = seen.header("authorization").unwrap_or("nobody");
        let body = format!("[\"private to {}\"]", whose.len());
        match seen.header("if-none-match") {
            // A service that is careless with its tags.
            Some(_) => answer(304, &[], ""),
            None => answer(200, &[("etag", "\"same\"")], body),
        }
    })
    .await;
    let world = World::with(UpstreamSettings {
        tokens: vec![Token::new("one", "1234")],
        ..upstream(&server)
    })
    .await;
    let first = body(world.ask("/a").await);

    // The same database, another token, then none.
    let ask = Ask::get("forge", "/a");
    for tokens in [vec![Token::new("two", "123456")], vec![]] {
        let other = world.again(UpstreamSettings {
            tokens,
            ..upstream(&server)
        });
        assert_ne!(body(other.ask(&ask).await), first);
    }
    // The first one's is still there; and what is the same for all may be shared.
    assert_eq!(body(world.ask("/a").await), first);
    let shared = Ask::get("forge", "/blob").same_for_all();
    let kept = body(world.session.ask(&shared).await);
    let other = world.again(UpstreamSettings {
        tokens: vec![Token::new("two", "123456")],
        ..upstream(&server)
    });
    assert_eq!(body(other.ask(&shared).await), kept);
}

#[tokio::test]
async fn forms_bases_and_parts_are_kept_apart() {
    let server = Server::start(|seen| tagged(&seen)).await;
    let world = World::new(&server).await;
    let ask = Ask::get("forge", "/a");
    for ask in [
        ask.clone(),
        ask.clone().accept("application/vnd.other+json"),
        ask.clone().header("x-version", "2"),
        ask.clone().query("page", 2),
    ] {
        assert!(!found(world.session.ask(&ask).await).not_modified);
        assert!(found(world.session.ask(&ask).await).not_modified);
    }
    let mut mirror = upstream(&server);
    mirror.base += "/mirror";
    assert!(!found(world.again(mirror).ask(&ask).await).not_modified);
    assert!(!found(world.session.ask(&ask.uncached()).await).not_modified);
}

#[tokio::test]
async fn validators_belong_to_where_redirects_led() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/old" => answer(301, &[("location", "/new")], ""),
        _ => tagged(&seen),
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/old").await), "[\"whole\"]");
    let again = found(world.ask("/old").await);
    assert!(again.not_modified && again.redirected);
    assert_eq!(again.path.as_deref(), Some("/new"));
    assert_eq!(server.seen()[2].header("if-none-match"), None);
}

#[tokio::test]
async fn what_must_not_be_kept_is_not() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/no-store" => answer(
            200,
            &[("etag", "\"a\""), ("cache-control", "private, no-store")],
            "{}",
        ),
        "/large" => answer(
            200,
            &[("etag", "\"a\"")],
            format!("\"{}\"", "a".repeat(2000)),
        ),
        _ => json("{}"),
    })
    .await;
    let world = World::new(&server).await;
    for path in ["/no-store", "/without-validator"] {
        found(world.ask(path).await);
    }
    assert_eq!(http_cache::size(&world.db).await.unwrap().0, 0);
    found(world.ask("/large").await);
    let (answers, bytes) = http_cache::size(&world.db).await.unwrap();
    assert_eq!(answers, 1);
    assert!(bytes < 1000, "{bytes}: it is kept compressed");
}
