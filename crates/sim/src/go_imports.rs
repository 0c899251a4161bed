//! Hosts that answer for import paths: `?go-get=1` with a `go-import`.
//!
//! One server plays all of them. A client that takes it for a proxy, as the go command can be told
//! to, names the host in the address it asks for; one that was given an address of its own for a
//! host has the host's name as the first part of the path. What would be encrypted is refused, so
//! that a client which may do without falls back to that.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    extract::State,
    http::{Method, StatusCode, Uri},
    response::{Html, IntoResponse as _, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// A server of import paths; it listens on loopback until it is dropped.
#[derive(Debug)]
pub struct GoImports {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Prefixes, with what stands behind them.
    known: Mutex<Vec<(String, String)>>,
    asked: Mutex<Vec<String>>,
}

impl GoImports {
    /// Listens on a free port, and knows nothing.
    pub async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            // It ends with the listener.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// From now on paths below `prefix` lead to `url`, or to a directory there.
    pub fn lead(&self, prefix: &str, url: &str, subdir: &str) {
        let mut known = lock(&self.shared.known);
        known.retain(|(other, _)| other != prefix);
        known.push((prefix.to_owned(), format!("git {url} {subdir}")));
    }

    /// Where a proxy's clients find it.
    pub fn proxy(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where a host's clients find it who were told its address.
    pub fn base(&self, host: &str) -> String {
        format!("http://{}/{host}", self.address)
    }

    /// The paths that were asked about so far, and forgets them.
    pub fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.asked))
    }
}

impl Drop for GoImports {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri) -> Response {
    if method != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = match uri.host() {
        Some(host) => format!("{host}{}", uri.path()),
        None => uri.path().trim_start_matches('/').to_owned(),
    };
    let path = path.trim_end_matches('/');
    lock(&shared.asked).push(path.to_owned());
    let known = lock(&shared.known);
    let fits = known.iter().filter(|(prefix, _)| {
        let rest = path.strip_prefix(prefix.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    match fits.max_by_key(|(prefix, _)| prefix.len()) {
        Some((prefix, behind)) => Html(format!(
            "<!DOCTYPE html><html><head><meta name=\"go-import\" content=\"{prefix} {behind}\">\
             </head><body>Nothing to see here.</body></html>"
        ))
        .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
