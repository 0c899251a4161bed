//! The client in the simulated world: its whole fault plan, and its GitHub's budgets.

use std::time::Duration;

use collect::http::{Ask, Class, Limits, Reply, Token, UpstreamSettings};
use sim::{Config, Fault, RetryAfter, Rule, Server, WorldClock};

use crate::world::{World, start};

/// A world, and the client's settings for one upstream of it.
async fn world_of(upstream: &str, config: Config) -> (Server, UpstreamSettings) {
    let server = Server::start(config).await.unwrap();
    let settings = UpstreamSettings {
        allow_private: true,
        limits: Limits {
            body: 1 << 20,
            idle: Duration::from_millis(500),
            ..Limits::default()
        },
        ..UpstreamSettings::at(server.base_url(upstream).unwrap())
    };
    (server, settings)
}

/// Time stands still, as it does for the client.
fn config() -> Config {
    Config {
        clock: WorldClock::given(1.0, || start().as_micros()),
        ..Config::default()
    }
}

#[tokio::test]
async fn every_fault_of_the_plan() {
    const HOST: &str = "plain.example.org";
    let status = |status| Fault::Status {
        status,
        retry_after: None,
        body: None,
    };
    let private = Fault::Redirect {
        to: "http://192.168.0.1/".into(),
    };
    let page = Fault::ContentType {
        content_type: "text/html".into(),
    };
    let shaped = Fault::WrongJson {
        body: Some("[1, 2".into()),
    };
    for (fault, expected) in [
        (Fault::too_many(RetryAfter::Seconds(30)), Class::Limited),
        (Fault::too_many(RetryAfter::DateIn(90)), Class::Limited),
        (status(401), Class::Refused),
        (status(403), Class::Refused),
        (status(500), Class::Transient),
        (status(503), Class::Transient),
        (Fault::Reset, Class::Transient),
        (Fault::ResetInBody, Class::Transient),
        (Fault::Hang, Class::Transient),
        (Fault::Truncated, Class::Transient),
        (Fault::HtmlWall, Class::Wall),
        (page, Class::Wall),
        (Fault::WrongJson { body: None }, Class::Undecodable),
        (shaped, Class::Transient),
        (Fault::Endless, Class::TooLarge),
        (Fault::GzipBomb { mebibytes: 64 }, Class::TooLarge),
        (Fault::HugeHeader { bytes: 10 << 20 }, Class::TooLarge),
        (Fault::RedirectLoop, Class::Redirect),
        (private, Class::Address),
    ] {
        let (server, settings) = world_of(HOST, config()).await;
        server.plan().add(Rule::on(HOST, fault.clone())).unwrap();
        let world = World::with(settings).await;
        match world.ask("/a").await {
            Reply::Unknown(why) if why.class == expected => {}
            // A broken JSON may be broken at its end.
            Reply::Unknown(why) if fault.name() == "wrong_json" => {
                assert!(matches!(why.class, Class::Transient | Class::Undecodable));
            }
            other => panic!("{fault:?}: {other:?}"),
        }
        // The rest of the world is as it was.
        server.plan().clear();
    }
}

#[tokio::test]
async fn a_slow_body_that_arrives_is_found() {
    const HOST: &str = "plain.example.org";
    let (server, settings) = world_of(HOST, config()).await;
    let trickle = Fault::Trickle {
        bytes: 20,
        pause_ms: 1,
    };
    server.plan().add(Rule::on(HOST, trickle)).unwrap();
    let world = World::with(settings).await;
    assert!(matches!(world.ask("/a").await, Reply::Found(_)));
    assert!(matches!(world.ask("/absent/a").await, Reply::Absent));
}

#[tokio::test]
async fn the_budgets_of_two_tokens_are_used_and_not_overdrawn() {
    const HOST: &str = "github.com";
    let tokens = [("first", "secret-1", 40), ("second", "secret-2", 25)];
    let config = Config {
        tokens: tokens
            .iter()
            .map(|(name, secret, limit)| sim::Token::new(HOST, name, secret).with_limit(*limit))
            .collect(),
        ..config()
    };
    let (server, settings) = world_of(HOST, config).await;
    let settings = UpstreamSettings {
        tokens: tokens
            .iter()
            .map(|(name, secret, _)| Token::new(*name, secret))
            .collect(),
        ..settings
    };
    let world = World::with(settings.clone()).await;
    let other = world.again(settings);
    let ask = Ask::get("forge", "/orgs/meadow").uncached();
    let mut found = 0;
    for session in [&world.session, &other].into_iter().cycle().take(100) {
        match session.ask(&ask).await {
            Reply::Found(_) => found += 1,
            Reply::Unknown(why) => assert_eq!(why.class, Class::Limited, "{why}"),
            Reply::Absent => panic!("the organisation is there"),
        }
    }
    let counts = server.journal().counts(HOST);
    assert_eq!((counts.over_primary, counts.over_secondary), (0, 0));
    assert_eq!(counts.requests, found);
    assert!(found >= 60, "{found} of 65 that were allowed");
}
