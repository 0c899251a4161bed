//! Redirects: a few, to public places, and without what is not meant for others.

use collect::http::{Ask, Class, UpstreamSettings};

use crate::{
    server::{Server, Step, answer, json},
    world::{SECRET, World, body, found, unknown, upstream, with_token},
};

fn to(status: u16, target: &str) -> Vec<Step> {
    answer(status, &[("location", target)], "")
}

async fn sent_to(target: &str) -> (Class, String) {
    let server = Server::always(to(302, target)).await;
    let said = unknown(World::new(&server).await.ask("/a").await);
    assert_eq!(server.count(), 1);
    said
}

#[tokio::test]
async fn a_renamed_repository_is_followed() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/old" => to(301, "/repositories/7?a=b#c"),
        _ => json("{}"),
    })
    .await;
    let world = World::with(with_token(&server)).await;
    let response = found(world.ask("/old").await);
    assert!(response.redirected);
    assert_eq!(response.path.as_deref(), Some("/repositories/7?a=b"));
    let shown = format!("Bearer {SECRET}");
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some(shown.as_str()));
    }
    assert_eq!(world.session.log().last[0].sent, 2);
}

#[tokio::test]
async fn five_are_enough() {
    let server = Server::start(|seen| {
        let number: u32 = seen.path[1..].parse().unwrap();
        match number {
            5 => json("[]"),
            _ => to(307, &format!("/{}", number + 1)),
        }
    })
    .await;
    let world = World::new(&server).await;
    assert_eq!(body(world.ask("/0").await), "[]");

    let server = Server::always(to(302, "/again")).await;
    let world = World::new(&server).await;
    assert_eq!(
        unknown(world.ask("/again").await),
        (
            Class::Redirect,
            "GET forge/again: more than 5 redirects".into()
        )
    );
    assert_eq!(server.count(), 6);
}

#[tokio::test]
async fn never_to_a_private_address() {
    for (target, sort) in [
        (
            "http://169.254.169.254/latest/meta-data/",
            "a link-local address, http://169.254.169.254",
        ),
        ("http://10.0.0.1/", "a private address, http://10.0.0.1"),
        ("http://[::1]:81/", "a loopback address, http://[::1]:81"),
        ("http://2130706433/", "a loopback address, http://127.0.0.1"),
        ("//192.168.1.1/", "a private address, http://192.168.1.1"),
    ] {
        let message = format!("GET forge/a: redirected to {sort}");
        assert_eq!(sent_to(target).await, (Class::Address, message));
    }
}

#[tokio::test]
async fn never_to_another_port_of_a_private_host() {
    let inner = Server::always(json("{}")).await;
    let (class, _) = sent_to(&inner.base()).await;
    assert_eq!(class, Class::Address);
    assert_eq!(inner.count(), 0);
}

#[tokio::test]
async fn never_by_a_name_that_leads_to_a_private_address() {
    let inner = Server::always(json("{}")).await;
    let target = format!("http://localhost:{}/", inner.port());
    assert_eq!(
        sent_to(&target).await,
        (
            Class::Address,
            "GET forge/a: the name leads to a loopback address".into()
        )
    );
    assert_eq!(inner.count(), 0);
}

#[tokio::test]
async fn a_private_upstream_must_be_allowed() {
    let server = Server::always(json("{}")).await;
    let settings = UpstreamSettings {
        allow_private: false,
        ..upstream(&server)
    };
    let world = World::with(settings.clone()).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Address,
            "GET forge/a: the upstream has a loopback address, and that is not allowed for it"
                .into()
        )
    );
    let by_name = UpstreamSettings {
        base: format!("http://localhost:{}", server.port()),
        ..settings
    };
    let world = World::with(by_name.clone()).await;
    assert_eq!(unknown(world.ask("/a").await).0, Class::Address);
    assert_eq!(server.count(), 0);

    let allowed = UpstreamSettings {
        allow_private: true,
        ..by_name
    };
    assert_eq!(body(World::with(allowed).await.ask("/a").await), "{}");
}

#[tokio::test]
async fn another_host_gets_neither_token_nor_headers() {
    let other = Server::always(json("[1]")).await;
    let target = format!("http://user:pass@127.0.0.1:{}/file", other.port());
    let server = Server::always(to(302, &target)).await;
    let settings = UpstreamSettings {
        also_private: vec![format!("127.0.0.1:{}", other.port())],
        ..with_token(&server)
    };
    let world = World::with(settings).await;
    let ask = Ask::get("forge", "/a").header("x-api-version", "2");
    let response = found(world.session.ask(&ask).await);
    assert_eq!(response.path, None, "it came from elsewhere");
    let first = &server.seen()[0];
    assert!(first.header("authorization").is_some() && first.header("x-api-version").is_some());
    let second = &other.seen()[0];
    assert_eq!(second.header("authorization"), None);
    assert_eq!(second.header("x-api-version"), None);
    assert!(!format!("{second:?}").contains(SECRET));
}

#[tokio::test]
async fn only_to_http() {
    for target in ["ftp://a.example/", "file:///etc/passwd", "javascript:1"] {
        assert_eq!(
            sent_to(target).await,
            (
                Class::Redirect,
                "GET forge/a: redirected to something that is not http".into()
            )
        );
    }
    assert_eq!(
        sent_to("http://").await.1,
        "GET forge/a: a redirect without a target that makes sense"
    );
}

#[tokio::test]
async fn what_was_posted_is_not_sent_elsewhere() {
    let server = Server::always(to(307, "/b")).await;
    let world = World::new(&server).await;
    let ask = Ask::post_json("forge", "/a", &serde_json::Value::Null);
    assert_eq!(
        unknown(world.session.ask(&ask).await),
        (
            Class::Redirect,
            "POST forge/a: a redirect came, which is not followed for POST".into()
        )
    );
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_token_is_not_carried_elsewhere_in_an_address() {
    let target = format!("https://elsewhere.example/{}", SECRET.to_uppercase());
    let server = Server::always(to(302, &target)).await;
    let world = World::with(with_token(&server)).await;
    assert_eq!(
        unknown(world.ask("/a").await),
        (
            Class::Redirect,
            "GET forge/a: redirected to an address that has a token in it".into()
        )
    );
}
