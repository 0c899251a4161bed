//! A client that follows nothing and hides nothing, and worlds to ask.

use std::{io, sync::LazyLock, time::Duration};

use reqwest::{Client, ClientBuilder, Response, redirect::Policy};
use serde_json::Value;
use sim::{
    Config, EPOCH, Server, Token, WorldClock, WorldSize,
    upstreams::{GitHub, GitHubLimits},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A world whose clock stands, with this many repositories in `meadow`.
pub(crate) async fn world_of(organisation: usize) -> Server {
    Server::start(config(organisation)).await.unwrap()
}

/// A small world whose GitHub has these limits and knows these tokens.
pub(crate) async fn limited(limits: GitHubLimits, tokens: Vec<Token>) -> Server {
    let config = Config {
        tokens,
        ..config(20)
    };
    let github = GitHub::public().with_limits(limits);
    Server::start(config.with(github)).await.unwrap()
}

pub(crate) fn config(organisation: usize) -> Config {
    Config {
        seed: 5,
        size: WorldSize {
            repositories: 200,
            organisation,
        },
        clock: WorldClock::standing(EPOCH),
        ..Config::default()
    }
}

/// One for all tests, since making it is slow; it keeps no connection, since
/// each test has a runtime of its own.
pub(crate) fn client() -> Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| {
        builder()
            .redirect(Policy::none())
            .user_agent("sim-test")
            .build()
            .unwrap()
    });
    CLIENT.clone()
}

pub(crate) fn builder() -> ClientBuilder {
    // The second to install one is refused, and that is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(Duration::from_mins(1))
}

pub(crate) async fn get(server: &Server, upstream: &str, path: &str) -> Response {
    get_as(server, upstream, path, None).await
}

pub(crate) async fn get_as(
    server: &Server,
    upstream: &str,
    path: &str,
    token: Option<&str>,
) -> Response {
    let url = format!("{}{path}", server.base_url(upstream).unwrap());
    let request = client().get(url);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap()
}

pub(crate) async fn json(response: Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

pub(crate) fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// The address with this relation in a `Link` header.
pub(crate) fn link(response: &Response, relation: &str) -> Option<String> {
    header(response, "link")?.split(", ").find_map(|link| {
        let (url, rest) = link.split_once(">; ")?;
        (rest == format!("rel=\"{relation}\"")).then(|| url[1..].to_owned())
    })
}

/// Follows `next` to the end; gives the ids and how many pages there were.
pub(crate) async fn walk(server: &Server, upstream: &str, path: &str) -> (Vec<u64>, usize) {
    let client = client();
    let mut url = Some(format!("{}{path}", server.base_url(upstream).unwrap()));
    let (mut ids, mut pages) = (Vec::new(), 0);
    while let Some(address) = url {
        let response = client.get(address).send().await.unwrap();
        assert_eq!(response.status(), 200);
        pages += 1;
        url = link(&response, "next");
        let list = json(response).await;
        ids.extend(
            list.as_array()
                .unwrap()
                .iter()
                .map(|item| item["id"].as_u64().unwrap()),
        );
    }
    (ids, pages)
}

/// All bytes of one answer as they come, and how the connection ended.
pub(crate) async fn raw(server: &Server, path: &str) -> (Vec<u8>, io::Result<()>) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: sim\r\nUser-Agent: sim-test\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).await.map(|_| ());
    (bytes, end)
}

/// Head and body of raw bytes.
pub(crate) fn parts(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    (head, &bytes[end + 4..])
}
