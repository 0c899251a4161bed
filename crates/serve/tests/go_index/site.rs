//! The web over a socket.

use std::sync::Arc;

use db::{Clock, Db};
use engine::Engine;
use serde_json::Value;
use serve::{Recorder, Web};
use store::datasets::Library;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(crate) struct Site(std::net::SocketAddr);

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Site {
    pub(crate) async fn open(db: &Db) -> Self {
        Self::with(db, None).await
    }

    /// With datasets of a Python index.
    pub(crate) async fn with(db: &Db, library: Option<Library>) -> Self {
        let engine = Engine::new(db.clone(), Clock::system());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let readiness: serve::Readiness = Arc::new(|| Box::pin(async { Vec::new() }));
        let web = Web::new(engine, Recorder::install(), readiness);
        let mut web = web.hook_secrets(vec![String::new(), "hush".to_owned(), "older".to_owned()]);
        if let Some(library) = library {
            web = web.library(library);
        }
        tokio::spawn(serve::serve(listener, web, std::future::pending()));
        Self(address)
    }

    /// By HTTP 1.0, which has no chunks.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, "").await
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask("POST", path, headers, body).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let length = body.len();
        let mut request =
            format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n");
        for (name, value) in headers {
            request.push_str(name);
            request.push_str(": ");
            request.push_str(value);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        request.push_str(body);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        Answer {
            status: status.parse().unwrap(),
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
