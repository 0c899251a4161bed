//! How the client behaves: who it says it is, how fast it goes, what it writes down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use collect::http::{Ask, Auth, Class, Http, Settings, Token, UpstreamSettings, segment};
use db::{Clock, testing::TestDb};
use engine::Upstreams;
use futures_util::future::join_all;

use crate::{
    server::{Server, answer, json},
    world::{PARTS, World, found, is_absent, start, unknown, upstream},
};

#[tokio::test]
async fn it_says_who_it_is() {
    let server = Server::always(json("{}")).await;
    let world = World::new(&server).await;
    found(world.ask("/a").await);
    let seen = &server.seen()[0];
    assert_eq!(
        seen.header("user-agent"),
        Some("gleaner/1.2.3 (+https://gleaner.example/contact)")
    );
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn a_token_is_shown_as_the_service_wants_it() {
    let server = Server::always(json("{}")).await;
    let world = World::with(UpstreamSettings {
        auth: Auth::Header("private-token"),
        tokens: vec![Token::new("one", " glpat-1 \n")],
        ..upstream(&server)
    })
    .await;
    found(world.ask("/a").await);
    assert_eq!(server.seen()[0].header("private-token"), Some("glpat-1"));
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[tokio::test]
async fn no_more_at_the_same_time_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inner_now, inner_most) = (Arc::clone(&now), Arc::clone(&most));
    let server = Server::start_async(move |_| {
        let (now, most) = (Arc::clone(&inner_now), Arc::clone(&inner_most));
        Box::pin(async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            json("{}")
        })
    })
    .await;
    let world = World::with(UpstreamSettings {
        concurrency: 3,
        ..upstream(&server)
    })
    .await;
    for reply in join_all((0..12).map(|_| world.ask("/a"))).await {
        found(reply);
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn starts_are_spaced() {
    let server = Server::always(json("{}")).await;
    let world = World::with(UpstreamSettings {
        gap: Duration::from_millis(30),
        ..upstream(&server)
    })
    .await;
    let started = Instant::now();
    for reply in join_all((0..4).map(|_| world.ask("/a"))).await {
        found(reply);
    }
    assert!(started.elapsed() >= Duration::from_millis(90));
    let waited: u64 = world
        .session
        .log()
        .last
        .iter()
        .map(|one| one.waited_ms)
        .sum();
    assert!(waited >= 100, "{waited}: it shows in the log");
}

#[tokio::test]
async fn the_log_tells_what_was_asked() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/none" => answer(404, &[], ""),
        _ => json("[]"),
    })
    .await;
    let world = World::new(&server).await;
    found(world.ask("/a?page=2&access_token=hush").await);
    assert!(is_absent(&world.ask("/none").await));
    let log = serde_json::to_value(world.session.log()).unwrap();
    assert_eq!(log["requests"], 2);
    let first = &log["last"][0];
    assert_eq!(first["method"], "GET");
    assert_eq!(first["upstream"], "forge");
    assert_eq!(first["path"], "/a?page=2&access_token=***");
    assert_eq!(first["status"], 200);
    assert_eq!(first["bytes"], 2);
    assert_eq!(first["came_to"], "found");
    assert_eq!(first["at"], start().to_string());
    assert_eq!(log["last"][1]["came_to"], "absent");
}

#[tokio::test]
async fn the_log_is_bounded() {
    let server = Server::always(json("[]")).await;
    let world = World::new(&server).await;
    for number in 0..210 {
        found(world.ask(&format!("/{number}")).await);
    }
    let log = world.session.log();
    assert_eq!((log.requests, log.last.len()), (210, 200));
    assert_eq!(log.last[199].path, "/209");
}

#[tokio::test]
async fn paths_stay_within_the_upstream() {
    let server = Server::start(|seen| json(&serde_json::json!(seen.path).to_string())).await;
    let mut settings = upstream(&server);
    settings.base += "/api/v4/";
    let world = World::with(settings).await;
    for path in [
        "/../admin",
        "/a/%2E%2e/b",
        "/./a",
        "a",
        "",
        "//..",
        "/a#b",
        "/a\\b",
    ] {
        assert_eq!(
            unknown(world.ask(path).await),
            (
                Class::Settings,
                format!("GET forge{path}: the path is none within the upstream")
            )
        );
    }
    let ask = Ask::get("forge", format!("/projects/{}", segment("group/sub é")))
        .query("ref", "a&b=c")
        .query("page", 2);
    let path = found(world.session.ask(&ask).await).body;
    assert_eq!(
        String::from_utf8(path).unwrap(),
        r#""/api/v4/projects/group%2Fsub%20%C3%A9?ref=a%26b%3Dc&page=2""#
    );
    assert_eq!(segment(".."), "");
}

#[tokio::test]
async fn an_upstream_that_nobody_configured_is_a_host() {
    let server = Server::always(json("{}")).await;
    let world = World::new(&server).await;
    for name in ["no host", "a/b", "", "u@h"] {
        let (class, _) = unknown(world.session.ask(&Ask::get(name, "/a")).await);
        assert_eq!(class, Class::Settings, "{name}");
    }
    let (class, message) = unknown(world.session.ask(&Ask::get("127.0.0.1", "/a")).await);
    assert_eq!(class, Class::Address, "{message}");
    assert_eq!(world.http.probe("a/b").await.ok(), Some(()));
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let db = TestDb::memory(PARTS).await;
    let refused = |forge: UpstreamSettings, contact: &str| {
        let clock = Clock::fake(start()).0;
        let mut settings = Settings::new(contact);
        settings.upstreams.insert("forge".into(), forge);
        let upstreams = Upstreams::new((*db).clone(), clock.clone());
        Http::new(&settings, (*db).clone(), clock, upstreams)
            .unwrap_err()
            .to_string()
    };
    let at = UpstreamSettings::at;
    assert_eq!(
        refused(at("forge.example"), "me"),
        "`forge.example` cannot be the base of upstream forge: it is no URL"
    );
    assert_eq!(
        refused(at("https://user:hush@forge.example"), "me"),
        "`forge.example` cannot be the base of upstream forge: tokens do not belong into addresses"
    );
    assert_eq!(
        refused(at("ftp://forge.example"), "me"),
        "`ftp://forge.example` cannot be the base of upstream forge: it is neither http nor https"
    );
    let token = UpstreamSettings {
        tokens: vec![Token::new("first", "hush\nhush")],
        ..at("https://forge.example")
    };
    assert_eq!(
        refused(token, "me"),
        "token first of upstream forge has characters that cannot be sent in a header"
    );
    assert_eq!(
        refused(at("https://forge.example"), "me\r\nx: y"),
        "the contact `me\\r\\nx: y` cannot be sent in a header"
    );
}
