//! Bodies and headers that are too much, or not what was asked for.

use std::io::Write as _;

use collect::http::{Ask, Class, Expect, Reply};
use flate2::{Compression, write::GzEncoder};
use serde::Deserialize;

use crate::{
    server::{Server, Step, answer, head, json},
    world::{World, body, unknown},
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

async fn said(steps: Vec<Step>) -> (Class, String) {
    let server = Server::always(steps).await;
    unknown(World::new(&server).await.ask("/a").await)
}

#[tokio::test]
async fn a_page_in_place_of_json_is_a_wall() {
    let wall = (
        Class::Wall,
        "GET forge/a: an HTML page stands where JSON should be".into(),
    );
    let page = "\n <!DOCTYPE HTML><title>Are you human?</title>";
    let kind = [("content-type", "text/html; charset=utf-8")];
    assert_eq!(said(answer(200, &kind, "{}")).await, wall);
    assert_eq!(said(answer(200, &[], page)).await, wall);
    assert_eq!(said(json(page)).await, wall, "whatever it says it is");

    let server = Server::always(answer(200, &kind, page)).await;
    let world = World::new(&server).await;
    let data = Ask::get("forge", "/a.tar.gz").expect(Expect::Data);
    assert_eq!(unknown(world.session.ask(&data).await).0, Class::Wall);
    let any = Ask::get("forge", "/simple/").expect(Expect::Any);
    assert_eq!(body(world.session.ask(&any).await), page);
}

#[tokio::test]
async fn what_is_no_json() {
    assert_eq!(
        said(json("{\"a\": 1}\ntrailing \u{1b}[31m rubbish")).await,
        (
            Class::Undecodable,
            "GET forge/a: no valid JSON: trailing characters at line 2 column 1, near `{\"a\": 1}\\ntrailing \\u{1b}[31m rubbi`".into()
        )
    );
    assert_eq!(said(json("")).await.0, Class::Transient);
}

#[derive(Debug, Deserialize)]
struct Listing {
    #[expect(dead_code, reason = "only its shape matters here")]
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[expect(dead_code, reason = "only its shape matters here")]
    id: i64,
}

#[tokio::test]
async fn json_of_another_shape() {
    let long = "x".repeat(100_000);
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/good" => json(r#"{"items": [{"id": 7, "more": null}]}"#),
        "/deep" => json(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))),
        "/deeper" => json(&format!(
            "{{\"items\": [], \"x\": {}{}}}",
            "[".repeat(500_000),
            "]".repeat(500_000)
        )),
        _ => json(&format!(
            r#"{{"items": [{{"id": 7}}, {{"id": "{long}"}}]}}"#
        )),
    })
    .await;
    let world = World::new(&server).await;
    let ask = |path| {
        let session = world.session.clone();
        let ask = Ask::get("forge", path);
        async move { session.ask_json::<Listing>(&ask).await }
    };
    assert!(matches!(ask("/good").await, Reply::Found(_)));
    let (class, message) = unknown(ask("/bad").await);
    assert_eq!(class, Class::Undecodable);
    assert!(
        message.starts_with(
            "GET forge/bad: the JSON is not as expected at `items[1].id`: invalid type: string \"xxx"
        ),
        "{message}"
    );
    assert!(message.len() < 500, "{message}");
    assert_eq!(unknown(ask("/deep").await).0, Class::Undecodable);
    // Depth is no danger, whether it is looked at or passed over.
    let _ = ask("/deeper").await;
}

#[tokio::test]
async fn a_body_without_end() {
    let more = vec![b' '; 64 << 10];
    let endless = (
        Class::TooLarge,
        "GET forge/a: the body has more than the 1048576 bytes that are taken".into(),
    );
    let steps = vec![head(&[]), Step::Endless(more.clone())];
    assert_eq!(said(steps).await, endless);
    let chunk = [b"10000\r\n".as_slice(), &more, b"\r\n"].concat();
    let steps = vec![
        head(&[("transfer-encoding", "chunked")]),
        Step::Endless(chunk),
    ];
    assert_eq!(said(steps).await, endless);
}

#[tokio::test]
async fn a_body_that_is_declared_too_large_is_not_read() {
    let steps = vec![head(&[("content-length", "1048577")]), Step::Hang];
    assert_eq!(
        said(steps).await,
        (
            Class::TooLarge,
            "GET forge/a: the body has 1048577 bytes, more than the 1048576 that are taken".into()
        )
    );
}

#[tokio::test]
async fn a_question_may_take_more_or_less() {
    let server = Server::always(json(&format!("\"{}\"", "a".repeat(2 << 20)))).await;
    let world = World::new(&server).await;
    let more = Ask::get("forge", "/a").max_bytes(4 << 20);
    assert_eq!(body(world.session.ask(&more).await).len(), (2 << 20) + 2);
    let less = Ask::get("forge", "/a").max_bytes(10);
    assert_eq!(unknown(world.session.ask(&less).await).0, Class::TooLarge);
}

const GZIP: (&str, &str) = ("content-encoding", "gzip");

#[tokio::test]
async fn compressed_bodies_are_unpacked() {
    let server = Server::start(|seen| {
        assert_eq!(seen.header("accept-encoding"), Some("gzip"));
        answer(200, &[GZIP], gzip(b"[1, 2]"))
    })
    .await;
    assert_eq!(body(World::new(&server).await.ask("/a").await), "[1, 2]");
}

#[tokio::test]
async fn a_bomb_does_not_go_off() {
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let (class, message) = said(answer(200, &[GZIP], &bomb)).await;
    assert_eq!(class, Class::TooLarge);
    assert!(
        message == "GET forge/a: decompression makes more than 200 times as much of the body"
            || message == "GET forge/a: the body has more than the 1048576 bytes that are taken",
        "{message}"
    );

    // Under a generous limit of size it is the ratio that tells.
    let server = Server::always(answer(200, &[GZIP], &bomb)).await;
    let world = World::new(&server).await;
    let ask = Ask::get("forge", "/a").max_bytes(1 << 30);
    assert_eq!(
        unknown(world.session.ask(&ask).await),
        (
            Class::TooLarge,
            "GET forge/a: decompression makes more than 200 times as much of the body".into()
        )
    );
}

#[tokio::test]
async fn compression_that_is_broken() {
    let whole = gzip(br#"{"a": "a body of some length, so that half of it is something"}"#);
    assert_eq!(
        said(answer(200, &[GZIP], &whole[..whole.len() / 2])).await,
        (
            Class::Transient,
            "GET forge/a: the compressed body is truncated".into()
        )
    );
    assert_eq!(
        said(answer(200, &[GZIP], "plain text that is no gzip")).await,
        (
            Class::Undecodable,
            "GET forge/a: the body is no valid gzip".into()
        )
    );
    assert_eq!(
        said(answer(200, &[("content-encoding", "br")], "x")).await,
        (
            Class::Undecodable,
            "GET forge/a: the body is in an encoding that was not asked for".into()
        )
    );
}

#[tokio::test]
async fn an_error_with_an_endless_body_is_still_that_error() {
    let mut steps = answer(500, &[("content-length", "99999999999")], "");
    steps.push(Step::Endless(vec![b'x'; 64 << 10]));
    assert_eq!(
        said(steps).await,
        (
            Class::Transient,
            "GET forge/a: 500 Internal Server Error".into()
        )
    );
}

#[tokio::test]
async fn headers_of_ten_megabytes() {
    let large = "x".repeat(10 << 20);
    let too_large = (
        Class::TooLarge,
        "GET forge/a: the headers are larger than is taken".into(),
    );
    assert_eq!(
        said(answer(200, &[("x-large", &large)], "{}")).await,
        too_large
    );
    // What the client library would take is still more than we do.
    assert_eq!(
        said(answer(200, &[("x-large", &large[..100 << 10])], "{}")).await,
        too_large
    );
    let many: Vec<(&str, &str)> = (0..5000).map(|_| ("x-a", "b")).collect();
    assert_eq!(said(answer(200, &many, "{}")).await, too_large);
}
