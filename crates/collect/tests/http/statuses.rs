//! Statuses: what is knowledge, and what is not.

use collect::http::{Ask, Class};

use crate::{
    server::{Server, answer, json},
    world::{World, body, found, is_absent, unknown, unknown_until},
};

/// The path says the status.
async fn server() -> Server {
    Server::start(|seen| {
        let status = seen.path[1..].parse().unwrap();
        let said = r#"{"message": "as you wished"}"#;
        answer(status, &[("content-type", "application/json")], said)
    })
    .await
}

#[tokio::test]
async fn what_is_there_is_found() {
    let server = Server::always(json(r#"{"a": 1}"#)).await;
    let world = World::new(&server).await;
    let response = found(world.ask("/a?b=%2F").await);
    assert_eq!(response.status, 200);
    assert_eq!(response.body, br#"{"a": 1}"#);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.path.as_deref(), Some("/a?b=%2F"));
    assert!(!response.not_modified && !response.redirected);
}

#[tokio::test]
async fn a_clean_no_is_knowledge() {
    let server = server().await;
    let world = World::new(&server).await;
    for path in ["/404", "/410", "/451"] {
        assert!(is_absent(&world.ask(path).await), "{path}");
    }
    let empty_repository = Ask::get("forge", "/409").absent(&[404, 409]);
    assert!(is_absent(&world.session.ask(&empty_repository).await));
}

#[tokio::test]
async fn a_no_in_html_is_not_the_services() {
    let page = answer(404, &[("content-type", "text/html")], "<h1>nginx</h1>");
    let server = Server::always(page).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Wall,
            "GET forge/a: 404 Not Found, with an HTML page".into()
        )
    );
    let ask = Ask::get("forge", "/a").absent_as_page();
    assert!(is_absent(&world.session.ask(&ask).await));
}

#[tokio::test]
async fn refusals_are_no_knowledge() {
    let server = server().await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/401").await),
        (
            Class::Refused,
            "GET forge/401: 401 Unauthorized: `as you wished`".into()
        )
    );
    assert_eq!(
        unknown(world.ask("/403").await),
        (
            Class::Refused,
            "GET forge/403: 403 Forbidden: `as you wished`".into()
        )
    );
    assert_eq!(
        unknown(world.ask("/422").await),
        (
            Class::Rejected,
            "GET forge/422: 422 Unprocessable Entity: `as you wished`".into()
        )
    );
    assert_eq!(server.count(), 3, "statuses are never retried");
}

#[tokio::test]
async fn a_page_with_a_refusal_is_a_wall() {
    let page = "<!DOCTYPE html><title>Just a moment</title>";
    let server = Server::always(answer(403, &[], page)).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Wall,
            "GET forge/a: 403 Forbidden, with an HTML page".into()
        )
    );
}

#[tokio::test]
async fn failures_of_the_service_pass() {
    let server = server().await;
    let world = World::new(&server).await;
    for (path, said) in [
        ("/500", "GET forge/500: 500 Internal Server Error"),
        ("/502", "GET forge/502: 502 Bad Gateway"),
        ("/503", "GET forge/503: 503 Service Unavailable"),
        ("/504", "GET forge/504: 504 Gateway Timeout"),
        ("/599", "GET forge/599: 599"),
    ] {
        let (class, message, until) = unknown_until(world.ask(path).await);
        assert_eq!(
            (class, message.as_str(), until),
            (Class::Transient, said, None)
        );
    }
    assert_eq!(server.count(), 5, "statuses are never retried");
}

#[tokio::test]
async fn what_is_not_ready_is_asked_again() {
    let server = server().await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown_until(world.ask("/202").await),
        (
            Class::Pending,
            "GET forge/202: accepted, but not ready".into(),
            Some(60)
        )
    );
}

#[tokio::test]
async fn a_part_that_was_asked_for_is_found() {
    let server = Server::start(|seen| match seen.header("range") {
        Some("bytes=2-4") => answer(206, &[("content-range", "bytes 2-4/9")], "234"),
        _ => answer(206, &[], "234"),
    })
    .await;
    let world = World::new(&server).await;
    let ask = Ask::get("forge", "/file").expect(collect::http::Expect::Data);
    let part = found(world.session.ask(&ask.clone().range(2, 4)).await);
    assert_eq!(
        (part.status, part.body.as_slice()),
        (206, b"234".as_slice())
    );
    assert_eq!(part.header("content-range"), Some("bytes 2-4/9"));
    assert_eq!(
        unknown(world.session.ask(&ask).await).1,
        "GET forge/file: a part came where the whole was asked for"
    );
}

#[tokio::test]
async fn a_question_can_be_posted() {
    let server = Server::start(|seen| {
        assert_eq!(seen.method, "POST");
        assert_eq!(seen.header("content-type"), Some("application/json"));
        json(std::str::from_utf8(&seen.body).unwrap())
    })
    .await;
    let world = World::new(&server).await;
    let ask = Ask::post_json("forge", "/graphql", &serde_json::json!({"query": "{a}"}));
    assert_eq!(body(world.session.ask(&ask).await), r#"{"query":"{a}"}"#);
}

#[tokio::test]
async fn only_the_head_can_be_asked_for() {
    let server = Server::always(answer(
        200,
        &[("content-length", "99999999"), ("etag", "\"e\"")],
        "",
    ))
    .await;
    let world = World::new(&server).await;
    let response = found(world.session.ask(&Ask::head("forge", "/big")).await);
    assert_eq!(response.etag(), Some("\"e\""));
    assert_eq!(server.seen()[0].method, "HEAD");
}
