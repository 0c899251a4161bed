//! A server that misbehaves on request: it writes raw bytes, so that it can send what no server
//! library would.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// How many came before it.
    pub(crate) before: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What the server does next; after the last step it closes.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Sends the same for ever.
    Endless(Vec<u8>),
    /// Says nothing more, and does not close.
    Hang,
    /// Breaks the connection.
    Reset,
}

type Answer = Arc<dyn Fn(Seen) -> BoxFuture<'static, Vec<Step>> + Send + Sync>;

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Answers every request as the function says, one request for each connection.
    pub(crate) async fn start(answer: impl Fn(Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::start_async(move |seen| {
            let answer = Arc::clone(&answer);
            Box::pin(async move { answer(seen) })
        })
        .await
    }

    pub(crate) async fn start_async(
        answer: impl Fn(Seen) -> BoxFuture<'static, Vec<Step>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let answer: Answer = Arc::new(answer);
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&log)));
            }
        });
        Self {
            address,
            seen,
            task,
        }
    }

    /// Always the same.
    pub(crate) async fn always(steps: Vec<Step>) -> Self {
        Self::start(move |_| steps.clone()).await
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, log: Arc<Mutex<Vec<Seen>>>) {
    let Some(mut seen) = read_request(&mut stream).await else {
        return;
    };
    {
        let mut log = log.lock().unwrap();
        seen.before = log.len();
        log.push(seen.clone());
    }
    for step in answer(seen).await {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::Endless(bytes) => while stream.write_all(&bytes).await.is_ok() {},
            Step::Hang => std::future::pending().await,
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?;
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ');
    let mut seen = Seen {
        method: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        ..Seen::default()
    };
    for line in lines {
        let (name, value) = line.split_once(':')?;
        seen.headers
            .insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = seen
        .header("content-length")
        .map_or(0, |length| length.parse::<usize>().unwrap());
    while bytes.len() < head + 4 + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    seen.body = bytes[head + 4..].to_vec();
    Some(seen)
}

/// A whole answer.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    let mut head = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "content-length") && status != 304 {
        write!(head, "content-length: {}\r\n", body.len()).unwrap();
    }
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    let mut bytes = (head + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    vec![Step::Send(bytes)]
}

/// `200` with JSON.
pub(crate) fn json(body: &str) -> Vec<Step> {
    answer(200, &[("content-type", "application/json")], body)
}

/// The beginning of an answer, up to the body.
pub(crate) fn head(headers: &[(&str, &str)]) -> Step {
    let mut head = "HTTP/1.1 200 OK\r\nconnection: close\r\n".to_owned();
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    Step::Send((head + "\r\n").into_bytes())
}
