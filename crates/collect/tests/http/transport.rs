//! Connections that fail, break, or stand still.

use std::time::Duration;

use collect::http::{Ask, Class, UpstreamSettings};

use crate::{
    server::{Server, Step, answer, head, json},
    world::{World, body, unknown, upstream},
};

#[tokio::test]
async fn nobody_there() {
    let server = Server::always(Vec::new()).await;
    let settings = upstream(&server);
    drop(server);
    let world = World::with(settings).await;
    let (class, message) = unknown(world.ask("/a").await);
    assert_eq!(class, Class::Transient);
    assert_eq!(message, "GET forge/a: cannot connect: Connection refused");
    assert_eq!(world.session.log().last[0].sent, 3);
}

#[tokio::test]
async fn a_reset_before_the_answer_is_made_good() {
    let server = Server::start(|seen| match seen.before {
        0 => vec![Step::Reset],
        1 => vec![],
        _ => json("[]"),
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/a").await), "[]");
    assert_eq!(world.session.log().last[0].sent, 3);
}

#[tokio::test]
async fn resets_without_end_are_given_up() {
    let server = Server::always(vec![Step::Reset]).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Transient,
            "GET forge/a: the connection was lost before an answer: Connection reset by peer"
                .into()
        )
    );
    assert_eq!(server.count(), 3);

    let settings = UpstreamSettings {
        retries: 0,
        ..upstream(&server)
    };
    unknown(World::with(settings).await.ask("/a").await);
    assert_eq!(server.count(), 4, "as many as are set");
}

#[tokio::test]
async fn what_may_have_had_an_effect_is_sent_once() {
    let server = Server::always(vec![Step::Reset]).await;
    let world = World::new(&server).await;
    let ask = Ask::post_json("forge", "/a", &serde_json::Value::Null);
    assert_eq!(unknown(world.session.ask(&ask).await).0, Class::Transient);
    assert_eq!(server.count(), 1);
    assert_eq!(
        unknown(world.session.ask(&ask.repeatable()).await).0,
        Class::Transient
    );
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn a_reset_within_the_body() {
    let steps = vec![
        head(&[("transfer-encoding", "chunked")]),
        Step::Send(b"4\r\n[1, \r\n".to_vec()),
        Step::Reset,
    ];
    let server = Server::always(steps).await;
    let world = World::new(&server).await;
    let (class, message) = unknown(world.ask("/a").await);
    assert_eq!(class, Class::Transient);
    assert!(
        message == "GET forge/a: the connection was lost within the body: Connection reset by peer"
            // A reset may overtake what was sent before it.
            || message == "GET forge/a: the connection was lost before an answer: Connection reset by peer",
        "{message}"
    );
}

#[tokio::test]
async fn a_body_that_ends_early() {
    let half = Step::Send(b"[1, ".to_vec());
    for headers in [("content-length", "100"), ("transfer-encoding", "chunked")] {
        let server = Server::always(vec![head(&[headers]), half.clone()]).await;
        let world = World::new(&server).await;
        let (class, message) = unknown(world.ask("/a").await);
        assert_eq!(class, Class::Transient, "{message}");
        assert_eq!(server.count(), 1, "an answer had begun");
    }
    let server = Server::always(vec![head(&[("content-length", "100")]), half.clone()]).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await).1,
        "GET forge/a: the body is truncated"
    );
    // Without a declared length only the JSON itself tells.
    let server = Server::always(vec![head(&[]), half]).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Transient,
            "GET forge/a: the JSON is truncated: EOF while parsing a value at line 1 column 4"
                .into()
        )
    );
}

fn hasty(server: &Server) -> UpstreamSettings {
    let mut settings = upstream(server);
    settings.limits.idle = Duration::from_millis(50);
    settings
}

#[tokio::test]
async fn a_body_that_stands_still() {
    let steps = vec![
        head(&[("content-length", "100")]),
        Step::Send(b"[".to_vec()),
        Step::Hang,
    ];
    let server = Server::always(steps).await;
    let world = World::with(hasty(&server)).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Transient,
            "GET forge/a: the body stood still for 50ms".into()
        )
    );
}

#[tokio::test]
async fn an_answer_that_never_comes() {
    let server = Server::always(vec![Step::Hang]).await;
    let world = World::with(hasty(&server)).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Transient,
            "GET forge/a: no answer within 50ms".into()
        )
    );
    assert_eq!(server.count(), 1, "the other side may be at work on it");
}

#[tokio::test]
async fn a_body_that_takes_too_long_as_a_whole() {
    let mut settings = upstream(&Server::always(Vec::new()).await);
    let steps = vec![head(&[("content-length", "100")]), Step::Hang];
    let server = Server::always(steps).await;
    settings.base = server.base();
    settings.limits.total = Duration::from_millis(50);
    let world = World::with(settings).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (Class::Transient, "GET forge/a: not done after 50ms".into())
    );
}

#[tokio::test]
async fn what_is_not_http() {
    let server = Server::always(vec![Step::Send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec())]).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Undecodable,
            "GET forge/a: what came is not HTTP".into()
        )
    );
}

#[tokio::test]
async fn a_probe_takes_any_answer_for_life() {
    for status in [200, 301, 404, 401, 429] {
        let headers = [("location", "/elsewhere")];
        let server = Server::always(answer(status, &headers, "<html>")).await;
        let world = World::new(&server).await;
        assert!(world.http.probe("forge").await.is_ok(), "{status}");
    }
    for steps in [answer(503, &[], ""), vec![Step::Reset]] {
        let server = Server::always(steps).await;
        let world = World::new(&server).await;
        let why = world.http.probe("forge").await.unwrap_err();
        assert_eq!(why.class, Class::Transient);
    }
}
