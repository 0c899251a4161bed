//! A git server over a directory of bare repositories: the real `git http-backend` behind axum, with
//! switches for what servers refuse and faults for what goes wrong on the way.
//!
//! Everything that is not refused or spoiled is answered by git itself, so a client that works here
//! speaks the protocol and not an imitation of it.

mod backend;
mod fault;

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request as HttpRequest, State},
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

pub use fault::Fault;

/// The most a client may send.
const MAX_BODY: usize = 64 << 20;

/// What of the protocol a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaks {
    /// Version 2.
    #[default]
    Newest,
    /// Version 0 only: every ref is announced to everybody.
    Oldest,
    /// Files over plain HTTP, no protocol at all.
    Files,
}

/// What a server allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// The protocol.
    pub speaks: Speaks,
    /// Whether objects may be left out (`uploadpack.allowFilter`).
    pub filters: bool,
    /// Whether any object may be asked for by its id, not only what refs point at.
    pub ids: bool,
    /// Without exactly this `Authorization` the answer is 401.
    pub authorization: Option<String>,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            speaks: Speaks::default(),
            filters: true,
            ids: true,
            authorization: None,
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What the server can do and, in version 0, its refs.
    Advertisement,
    /// The refs, in version 2.
    Refs,
    /// Objects.
    Pack,
    /// A file, where there is no protocol.
    File,
}

/// One request as it came and what it cost.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What it was for.
    pub stage: Stage,
    /// Its path and query.
    pub target: String,
    /// Its `Authorization`.
    pub authorization: Option<String>,
    /// Its `User-Agent`.
    pub user_agent: Option<String>,
    /// The bytes of its body, as sent.
    pub sent: usize,
    /// The bytes of the answer's body, where git gave it.
    pub received: usize,
}

/// A git server: a directory, what it allows, what goes wrong, what it saw.
#[derive(Clone, Debug)]
pub struct GitServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    switches: Mutex<Switches>,
    fault: Mutex<Option<(Stage, Fault)>>,
    seen: Mutex<Vec<Seen>>,
    stand_in: Mutex<Option<StandIn>>,
    busy: Mutex<Busy>,
    held: Arc<Notify>,
    left: Arc<Notify>,
}

/// One repository in the place of all, and what it answered.
#[derive(Debug)]
struct StandIn {
    name: String,
    answers: HashMap<(String, Vec<u8>), backend::Answered>,
}

/// How many ask for one repository at the same time.
#[derive(Debug, Default)]
struct Busy {
    now: HashMap<String, usize>,
    most: usize,
    /// Each answer takes at least so long.
    slow: Duration,
}

/// A server that listens on loopback until it is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl GitServer {
    /// Serves the bare repositories in this directory.
    pub fn new(directory: &Path) -> Self {
        Self(Arc::new(Inner {
            directory: directory.to_owned(),
            switches: Mutex::default(),
            fault: Mutex::default(),
            seen: Mutex::default(),
            stand_in: Mutex::default(),
            busy: Mutex::default(),
            held: Arc::default(),
            left: Arc::default(),
        }))
    }

    /// Changes what is allowed.
    pub fn switch(&self, change: impl FnOnce(&mut Switches)) {
        change(&mut lock(&self.0.switches));
    }

    /// From now on every request of this sort goes wrong.
    pub fn spoil(&self, stage: Stage, fault: Fault) {
        *lock(&self.0.fault) = Some((stage, fault));
    }

    /// All is well again.
    pub fn heal(&self) {
        *lock(&self.0.fault) = None;
    }

    /// From now on this repository answers under every name, and what it has answered once it
    /// answers again without git: thousands of repositories then cost their clients alone.
    pub fn stand_in(&self, name: &str) {
        *lock(&self.0.stand_in) = Some(StandIn {
            name: name.to_owned(),
            answers: HashMap::new(),
        });
    }

    /// From now on every answer takes so long.
    pub fn slow(&self, each: Duration) {
        lock(&self.0.busy).slow = each;
    }

    /// The most requests for one repository that were on their way at the same time.
    pub fn most_at_once(&self) -> usize {
        lock(&self.0.busy).most
    }

    /// The requests so far, and forgets them.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut lock(&self.0.seen))
    }

    /// Waits until an answer is held back by [`Fault::Hang`].
    pub async fn holds(&self) {
        self.0.held.notified().await;
    }

    /// Waits until a client whose answer was held back has gone.
    pub async fn left_alone(&self) {
        self.0.left.notified().await;
    }

    /// The routes, to be served by anybody.
    pub fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    /// Listens on a free port of loopback.
    pub async fn listen(&self) -> io::Result<Listening> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = self.router();
        let task = tokio::spawn(async move {
            // It ends with the listener.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Listening { address, task })
    }
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request for a repository on its way; over when it is dropped, also when the client has gone.
struct OnItsWay {
    server: GitServer,
    repository: String,
}

impl OnItsWay {
    fn begin(server: &GitServer, path: &str) -> Self {
        let repository = repository_of(path).to_owned();
        let mut busy = lock(&server.0.busy);
        let now = busy.now.entry(repository.clone()).or_default();
        *now += 1;
        let now = *now;
        busy.most = busy.most.max(now);
        drop(busy);
        Self {
            server: server.clone(),
            repository,
        }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        let mut busy = lock(&self.server.0.busy);
        if let Some(now) = busy.now.get_mut(&self.repository) {
            *now -= 1;
        }
    }
}

async fn answer(State(server): State<GitServer>, request: HttpRequest) -> Response {
    let (head, body) = request.into_parts();
    let _on_its_way = OnItsWay::begin(&server, head.uri.path());
    let slow = lock(&server.0.busy).slow;
    if !slow.is_zero() {
        tokio::time::sleep(slow).await;
    }
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let target = head
        .uri
        .path_and_query()
        .map_or_else(String::new, ToString::to_string);
    let plain = backend::unpacked(&head.headers, &body);
    let stage = stage_of(&target, &plain);
    let text = |name: header::HeaderName| {
        let value = head.headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let seen = Seen {
        stage,
        authorization: text(header::AUTHORIZATION),
        user_agent: text(header::USER_AGENT),
        sent: body.len(),
        received: 0,
        target,
    };
    let allowed = lock(&server.0.switches).clone();
    let refused = allowed
        .authorization
        .as_ref()
        .is_some_and(|wanted| seen.authorization.as_ref() != Some(wanted));
    let fault = lock(&server.0.fault)
        .clone()
        .filter(|(spoiled, _)| *spoiled == stage)
        .map(|(_, fault)| fault);
    let place = {
        let mut all = lock(&server.0.seen);
        all.push(seen.clone());
        all.len() - 1
    };
    if refused {
        return fault::unauthorized();
    }
    let clean = if fault.as_ref().is_some_and(Fault::needs_no_answer) {
        (HeaderMap::new(), StatusCode::OK, Bytes::new())
    } else {
        let (uri, remembered) = server.in_place_of(&head.uri, &plain);
        let asked = backend::Asked {
            directory: &server.0.directory,
            method: head.method.as_str(),
            uri: &uri,
            headers: &head.headers,
            body: &plain,
        };
        match remembered {
            Some(answer) => answer,
            None => match backend::ask(&asked, &allowed, stage).await {
                Ok(answer) => {
                    server.remember(&uri, &plain, &answer);
                    answer
                }
                Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            },
        }
    };
    if let Some(seen) = lock(&server.0.seen).get_mut(place) {
        seen.received = clean.2.len();
    }
    match fault {
        Some(fault) => fault.spoil(clean, &seen.target, &server.0.held, &server.0.left),
        None => (clean.1, clean.0, clean.2).into_response(),
    }
}

impl GitServer {
    /// The address of whoever stands in for the repository that is asked for, and what it has
    /// answered to this question before.
    fn in_place_of(&self, uri: &Uri, body: &[u8]) -> (Uri, Option<backend::Answered>) {
        let stand_in = lock(&self.0.stand_in);
        let Some(stand_in) = stand_in.as_ref() else {
            return (uri.clone(), None);
        };
        let target = uri.to_string();
        let rest = target.strip_prefix(repository_of(uri.path()));
        let moved = format!("/{}{}", stand_in.name, rest.unwrap_or_default());
        let known = stand_in.answers.get(&(moved.clone(), body.to_vec()));
        (
            moved.parse().unwrap_or_else(|_| uri.clone()),
            known.cloned(),
        )
    }

    fn remember(&self, uri: &Uri, body: &[u8], answer: &backend::Answered) {
        if let Some(stand_in) = lock(&self.0.stand_in).as_mut() {
            let question = (uri.to_string(), body.to_vec());
            stand_in.answers.insert(question, answer.clone());
        }
    }
}

/// The part of a path that names the repository.
fn repository_of(path: &str) -> &str {
    let mut ends = ["/info/refs", "/git-upload-pack"].into_iter();
    ends.find_map(|end| path.strip_suffix(end)).unwrap_or(path)
}

fn stage_of(target: &str, body: &[u8]) -> Stage {
    let path = target.split('?').next().unwrap_or_default();
    if path.ends_with("/info/refs") {
        Stage::Advertisement
    } else if !path.ends_with("/git-upload-pack") {
        Stage::File
    } else if body
        .get(4..)
        .is_some_and(|it| it.starts_with(b"command=ls-refs"))
    {
        Stage::Refs
    } else {
        Stage::Pack
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
