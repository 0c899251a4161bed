//! Every fault of the plan, as a client meets it.

use std::{
    io::{ErrorKind, Read as _},
    time::Duration,
};

use jiff::SignedDuration;
use sim::{EPOCH, Fault, RetryAfter, Rule, Server};

use crate::client::{client, get, header, json, parts, raw, world_of};

const HOST: &str = "plain.example.org";

async fn world_with(fault: Fault) -> Server {
    let server = world_of(5).await;
    server.plan().add(Rule::on(HOST, fault)).unwrap();
    server
}

#[tokio::test]
async fn retry_after_comes_in_both_forms_by_world_time() {
    let server = world_with(Fault::too_many(RetryAfter::Seconds(30))).await;
    let answer = get(&server, HOST, "/a").await;
    assert_eq!(answer.status(), 429);
    assert_eq!(header(&answer, "retry-after"), Some("30"));
    assert_eq!(
        header(&answer, "date"),
        Some("Thu, 01 Jan 2026 00:00:00 GMT")
    );

    let server = world_with(Fault::too_many(RetryAfter::DateIn(90))).await;
    let answer = get(&server, HOST, "/a").await;
    let date = Some("Thu, 01 Jan 2026 00:01:30 GMT");
    assert_eq!(header(&answer, "retry-after"), date);
}

#[tokio::test]
async fn a_storm_lasts_for_its_window_of_world_time() {
    let server = world_of(5).await;
    let hour = SignedDuration::from_hours(1);
    let storm = Rule::on(HOST, Fault::status(503)).between(EPOCH + hour, EPOCH + hour * 3);
    server.plan().add(storm).unwrap();
    for expected in [200, 503, 503, 200] {
        assert_eq!(get(&server, HOST, "/a").await.status(), expected);
        // Others are not concerned.
        let other = get(&server, "codeberg.org", "/version").await;
        assert_eq!(other.status(), 200);
        server.clock().advance(Duration::from_hours(1));
    }
    assert_eq!(server.journal().counts(HOST).faults["status"], 2);
}

#[tokio::test]
async fn a_rule_counts_only_what_it_is_about_and_the_first_decides() {
    let server = world_of(5).await;
    let second = Rule::on(HOST, Fault::status(500))
        .path(r"^/a\?x=\d$")
        .requests(2..=3);
    let also = Rule::on(HOST, Fault::status(502))
        .path("^/a")
        .requests(3..=3);
    let number = server.plan().add(second).unwrap();
    server.plan().add(also).unwrap();
    let mut statuses = Vec::new();
    for path in ["/a?x=1", "/b", "/a?x=no", "/a?x=2", "/a?x=3", "/a?x=4"] {
        statuses.push(get(&server, HOST, path).await.status().as_u16());
    }
    // The fourth is the third for the other rule, but this one comes first.
    assert_eq!(statuses, [200, 200, 200, 500, 500, 200]);
    assert!(server.plan().remove(number));
    assert!(server.plan().add(Rule::default().path("(")).is_err());
    assert!(
        server
            .plan()
            .add(Rule::on(HOST, Fault::status(99)))
            .is_err()
    );
}

#[tokio::test]
async fn a_reset_before_the_head_is_a_real_one() {
    let server = world_with(Fault::Reset).await;
    let (bytes, end) = raw(&server, "/plain.example.org/a").await;
    assert!(bytes.is_empty());
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let request = &server.journal().requests(HOST)[0];
    assert_eq!(request.status, None);
    assert_eq!(request.fault.as_deref(), Some("reset"));
}

#[tokio::test]
async fn a_reset_in_the_body_comes_after_head_and_half() {
    let server = world_with(Fault::ResetInBody).await;
    let (bytes, end) = raw(&server, "/plain.example.org/a").await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let (head, body) = parts(&bytes);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body.len(), promised(&head) / 2);
}

#[tokio::test]
async fn a_truncated_body_ends_in_order_but_too_early() {
    let server = world_with(Fault::Truncated).await;
    let (bytes, end) = raw(&server, "/plain.example.org/a").await;
    end.unwrap();
    let (head, body) = parts(&bytes);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body.len(), promised(&head) / 2);

    let answer = get(&server, HOST, "/a").await;
    assert!(answer.bytes().await.is_err());
}

#[tokio::test]
async fn half_of_a_large_body_is_half_of_it() {
    let server = world_of(120).await;
    for fault in [Fault::Truncated, Fault::ResetInBody] {
        server.plan().clear();
        let rule = Rule::on("github.com", fault).path("per_page=100");
        server.plan().add(rule).unwrap();
        let path = "/github.com/orgs/meadow/repos?per_page=100";
        let (bytes, _) = raw(&server, path).await;
        let (head, body) = parts(&bytes);
        assert!(promised(&head) > 100_000, "{head}");
        assert_eq!(body.len(), promised(&head) / 2);
    }
}

fn promised(head: &str) -> usize {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_trickle_brings_the_true_body_piece_by_piece() {
    let server = world_with(Fault::Trickle {
        bytes: 7,
        pause_ms: 1,
    })
    .await;
    let mut answer = get(&server, HOST, "/a").await;
    let (mut pieces, mut body) = (0, Vec::new());
    while let Some(piece) = answer.chunk().await.unwrap() {
        pieces += 1;
        body.extend_from_slice(&piece);
    }
    server.plan().clear();
    assert_eq!(body, get(&server, HOST, "/a").await.bytes().await.unwrap());
    assert!(pieces > 2, "{pieces}");
}

#[tokio::test]
async fn answers_that_are_not_what_was_asked_for() {
    let server = world_with(Fault::HtmlWall).await;
    let wall = get(&server, HOST, "/a").await;
    assert_eq!(wall.status(), 200);
    assert_eq!(
        header(&wall, "content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(wall.text().await.unwrap().starts_with("<!DOCTYPE html>"));

    let server = world_with(Fault::WrongJson { body: None }).await;
    let wrong = get(&server, HOST, "/a").await;
    assert_eq!(header(&wrong, "content-type"), Some("application/json"));
    let text = wrong.text().await.unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());

    let server = world_with(Fault::ContentType {
        content_type: "text/plain".to_owned(),
    })
    .await;
    let disguised = get(&server, HOST, "/a").await;
    assert_eq!(header(&disguised, "content-type"), Some("text/plain"));
    assert_eq!(json(disguised).await["path"], "/a");
}

#[tokio::test]
async fn an_endless_body_goes_on_until_the_client_leaves() {
    let server = world_with(Fault::Endless).await;
    let mut answer = get(&server, HOST, "/a").await;
    assert_eq!(answer.content_length(), None);
    let mut seen = 0;
    while seen < 4 << 20 {
        seen += answer.chunk().await.unwrap().unwrap().len();
    }
    drop(answer);
    server
        .journal()
        .until(|journal| journal.counts(HOST).in_flight == 0)
        .await;
}

#[tokio::test]
async fn a_gzip_bomb_is_small_on_the_wire() {
    let server = world_with(Fault::GzipBomb { mebibytes: 64 }).await;
    let answer = get(&server, HOST, "/a").await;
    assert_eq!(header(&answer, "content-encoding"), Some("gzip"));
    let packed = answer.bytes().await.unwrap();
    assert!(packed.len() < 256 << 10, "{}", packed.len());
    let mut start = vec![0; 3 << 20];
    let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
    decoder.read_exact(&mut start).unwrap();
}

#[tokio::test]
async fn a_huge_header_is_really_sent() {
    let server = world_with(Fault::HugeHeader { bytes: 10 << 20 }).await;
    let (bytes, end) = raw(&server, "/plain.example.org/a").await;
    end.unwrap();
    let (head, _) = parts(&bytes);
    assert!(head.len() > 10 << 20);
    let url = format!("{}/a", server.base_url(HOST).unwrap());
    assert!(client().get(url).send().await.is_err());
}

#[tokio::test]
async fn redirects_lead_nowhere_or_where_they_must_not() {
    let server = world_with(Fault::RedirectLoop).await;
    let answer = get(&server, HOST, "/a?b=c").await;
    assert_eq!(answer.status(), 302);
    let own = format!("{}/a?b=c", server.base_url(HOST).unwrap());
    assert_eq!(header(&answer, "location"), Some(own.as_str()));

    let private = "http://169.254.169.254/latest/meta-data/";
    let server = world_with(Fault::Redirect {
        to: private.to_owned(),
    })
    .await;
    let answer = get(&server, HOST, "/a").await;
    assert_eq!(header(&answer, "location"), Some(private));
}

#[tokio::test]
async fn a_delay_alone_spoils_nothing() {
    let server = world_of(5).await;
    server.plan().add(Rule::slow(HOST, 1)).unwrap();
    let answer = get(&server, HOST, "/a").await;
    assert_eq!(json(answer).await["path"], "/a");
    assert_eq!(server.journal().requests(HOST)[0].fault, None);
}
