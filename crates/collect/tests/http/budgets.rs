//! What services announce is obeyed, by all processes on one database.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use collect::http::{Ask, Class, Reply, Token, UpstreamSettings};
use futures_util::future::join_all;

use crate::{
    server::{Seen, Server, Step, answer, json},
    world::{World, body, found, start, unknown, unknown_until, upstream},
};

fn two_tokens(server: &Server) -> UpstreamSettings {
    UpstreamSettings {
        tokens: vec![Token::new("one", "secret-1"), Token::new("two", "secret-2")],
        ..upstream(server)
    }
}

fn shows(seen: &Seen, secret: &str) -> bool {
    seen.header("authorization")
        .is_some_and(|shown| shown.ends_with(secret))
}

/// An answer that says what is left until twenty minutes from the start.
fn left(remaining: i64, resource: &str) -> Vec<Step> {
    let reset = (start().as_micros() / 1_000_000 + 1200).to_string();
    let headers = [
        ("x-ratelimit-limit", "20"),
        ("x-ratelimit-remaining", &remaining.to_string()),
        ("x-ratelimit-reset", &reset),
        ("x-ratelimit-resource", resource),
    ];
    answer(200, &headers, "{}")
}

#[tokio::test]
async fn silence_is_kept_by_everybody() {
    let server = Server::start(|seen| match seen.before {
        0 => answer(429, &[("retry-after", "90")], ""),
        _ => json("[]"),
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(unknown_until(world.ask("/a").await).2, Some(90));
    let (class, message, until) = unknown_until(world.ask("/b").await);
    assert_eq!((class, until), (Class::Limited, Some(90)), "{message}");
    let other = world.again(upstream(&server));
    let (class, _, until) = unknown_until(other.ask(&Ask::get("forge", "/c")).await);
    assert_eq!((class, until), (Class::Limited, Some(90)));
    assert_eq!(server.count(), 1, "nobody asked meanwhile");

    world.hand.advance(Duration::from_secs(95));
    assert_eq!(body(world.ask("/b").await), "[]");
}

#[tokio::test]
async fn a_spent_token_gives_way_to_the_next() {
    let server = Server::start(|seen| left(if shows(&seen, "1") { 0 } else { 15 }, "core")).await;
    let world = World::with(two_tokens(&server)).await;
    for _ in 0..4 {
        found(world.ask("/a").await);
    }
    let spent = server.seen().iter().filter(|one| shows(one, "1")).count();
    assert!(spent <= 1, "{spent} requests with the spent one");
    let log = world.session.log();
    assert_eq!(log.last[3].token.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_token_that_is_not_accepted_rests() {
    let server = Server::start(|seen| {
        if shows(&seen, "1") {
            answer(401, &[], "")
        } else {
            json("[]")
        }
    })
    .await;
    let world = World::with(two_tokens(&server)).await;
    assert_eq!(unknown(world.ask("/a").await).0, Class::Refused);
    assert_eq!(body(world.ask("/a").await), "[]");
    assert_eq!(body(world.ask("/a").await), "[]");
}

#[tokio::test]
async fn nothing_is_sent_beyond_what_was_announced() {
    let count = Arc::new(AtomicI64::new(20));
    let counted = Arc::clone(&count);
    let server =
        Server::start(move |_| left(counted.fetch_sub(1, Ordering::SeqCst) - 1, "core")).await;
    let world = World::new(&server).await;
    found(world.ask("/first").await);
    let other = world.again(upstream(&server));
    let ask = Ask::get("forge", "/more");
    let replies = join_all((0..30).map(|number| match number % 2 {
        0 => world.session.ask(&ask),
        _ => other.ask(&ask),
    }))
    .await;
    let found = replies
        .iter()
        .filter(|reply| matches!(reply, Reply::Found(_)))
        .count();
    assert_eq!(server.count(), found + 1);
    assert!(server.count() <= 20, "{} of 20", server.count());
    for reply in replies {
        if let Reply::Unknown(why) = reply {
            assert_eq!(why.class, Class::Limited, "{why}");
        }
    }
}

#[tokio::test]
async fn budgets_of_one_service_are_kept_apart() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/search" => left(0, "search"),
        _ => left(10, "core"),
    })
    .await;
    let world = World::with(two_tokens(&server)).await;
    let search = Ask::get("forge", "/search").budget("search");
    found(world.session.ask(&search).await);
    found(world.session.ask(&search).await);
    assert_eq!(unknown(world.session.ask(&search).await).0, Class::Limited);
    assert_eq!(server.count(), 2, "one for each token");
    found(world.ask("/a").await);
}

#[tokio::test]
async fn a_service_that_keeps_failing_is_left_alone() {
    let server = Server::always(answer(500, &[], "")).await;
    let world = World::new(&server).await;
    for _ in 0..10 {
        let (class, message) = unknown(world.ask("/a").await);
        assert_eq!(class, Class::Transient, "{message}");
        world.hand.advance(Duration::from_secs(5));
    }
    let (class, message) = unknown(world.ask("/a").await);
    assert_eq!(class, Class::Limited, "{message}");
    assert_eq!(
        message,
        "GET forge/a: forge is left alone: GET forge/a: 500 Internal Server Error"
    );
    assert_eq!(server.count(), 10);
}

#[tokio::test]
async fn a_wall_counts_as_a_failure_and_a_no_as_a_success() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/none" => answer(404, &[], ""),
        _ => answer(200, &[], "<html>"),
    })
    .await;
    let world = World::new(&server).await;
    for number in 0..30 {
        let path = if number % 6 == 5 { "/none" } else { "/wall" };
        let reply = world.ask(path).await;
        assert!(!matches!(&reply, Reply::Unknown(why) if why.class == Class::Limited));
        world.hand.advance(Duration::from_secs(5));
    }
    for _ in 0..10 {
        let _ = world.ask("/wall").await;
        world.hand.advance(Duration::from_secs(5));
    }
    assert_eq!(unknown(world.ask("/wall").await).0, Class::Limited);
}
