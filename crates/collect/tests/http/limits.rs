//! Limits that services announce.

use collect::http::Class;

use crate::{
    server::{Server, answer},
    world::{World, unknown_until},
};

async fn said(status: u16, headers: &[(&str, &str)], body: &str) -> (Class, String, Option<u64>) {
    let server = Server::always(answer(status, headers, body)).await;
    let world = World::new(&server).await;
    let said = unknown_until(world.ask("/a").await);
    assert_eq!(server.count(), 1, "statuses are never retried");
    said
}

#[tokio::test]
async fn retry_after_in_seconds() {
    assert_eq!(
        said(429, &[("retry-after", "90")], "").await,
        (
            Class::Limited,
            "GET forge/a: 429 Too Many Requests".into(),
            Some(90)
        )
    );
}

#[tokio::test]
async fn retry_after_as_a_date() {
    let date = "Sun, 15 Nov 2026 12:05:00 GMT";
    let (class, _, until) = said(429, &[("retry-after", date)], "").await;
    assert_eq!((class, until), (Class::Limited, Some(300)));
}

#[tokio::test]
async fn absurd_times_are_cut_down() {
    for value in ["99999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let (_, _, until) = said(429, &[("retry-after", value)], "").await;
        assert_eq!(until, Some(86_400), "{value}");
    }
}

#[tokio::test]
async fn a_limit_without_a_time_costs_a_minute() {
    let (class, _, until) = said(429, &[], "").await;
    assert_eq!((class, until), (Class::Limited, Some(60)));
}

#[tokio::test]
async fn a_spent_budget_lasts_until_its_reset() {
    let reset = (crate::world::start().as_micros() / 1_000_000 + 1200).to_string();
    let headers = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
        ("x-ratelimit-resource", "core"),
    ];
    let body = r#"{"message": "API rate limit exceeded for user ID 1."}"#;
    for status in [403, 429] {
        let (class, message, until) = said(status, &headers, body).await;
        assert_eq!((class, until), (Class::Limited, Some(1200)), "{message}");
    }
    assert_eq!(
        said(403, &headers, body).await.1,
        "GET forge/a: 403 Forbidden, the budget is spent"
    );
}

#[tokio::test]
async fn gitlab_and_the_drafts_are_understood() {
    for headers in [
        [("ratelimit-remaining", "0"), ("ratelimit-reset", "45")],
        [("ratelimit", "\"default\";r=0;t=45"), ("x-none", "")],
    ] {
        let (class, _, until) = said(429, &headers, "").await;
        assert_eq!((class, until), (Class::Limited, Some(45)));
    }
}

#[tokio::test]
async fn a_secondary_limit_is_told_from_a_refusal() {
    let plenty = [("x-ratelimit-remaining", "4000"), ("retry-after", "30")];
    assert_eq!(
        said(403, &plenty, "{}").await,
        (
            Class::Limited,
            "GET forge/a: 403 Forbidden, a secondary limit".into(),
            Some(30)
        )
    );
    let body = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    let (class, _, until) = said(403, &plenty[..1], body).await;
    assert_eq!((class, until), (Class::Limited, Some(60)));

    let body = r#"{"message": "Resource not accessible by personal access token"}"#;
    assert_eq!(
        said(403, &plenty[..1], body).await,
        (
            Class::Refused,
            "GET forge/a: 403 Forbidden: `Resource not accessible by personal access token`".into(),
            None
        )
    );
}

#[tokio::test]
async fn maintenance_with_a_time_is_obeyed() {
    assert_eq!(
        said(503, &[("retry-after", "600")], "").await,
        (
            Class::Transient,
            "GET forge/a: 503 Service Unavailable".into(),
            Some(600)
        )
    );
}
