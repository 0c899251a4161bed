//! Serves the whole world on one loopback port.
//!
//! Each upstream lives under its name: `http://127.0.0.1:4711/github.com/repos/…`
//! is what `https://api.github.com/repos/…` is outside, and below `/__sim/` the
//! world is watched and steered (see [`control`]). The server drives hyper by
//! hand, over a stream that can be torn, so that resets and broken bodies are
//! real.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    http::{HeaderValue, Request, Response, StatusCode, Uri, header},
    response::IntoResponse as _,
};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tower::ServiceExt as _;

use crate::{
    Config,
    clock::{WorldClock, http_date},
    control,
    faults::{Plan, Served},
    git_forge::{self, GitForge},
    journal::{Flight, Journal, Limit},
    upstream::{Caller, Site},
    wire::{Tear, Wire},
    world::World,
};

/// A running world. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) world: Arc<World>,
    pub(crate) plan: Plan,
    pub(crate) journal: Journal,
    pub(crate) upstreams: BTreeMap<String, Place>,
    git: GitForge,
}

/// One upstream in its place.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) site: Arc<Site>,
    routes: Router,
}

impl Server {
    /// Makes the world of `config` and serves it.
    pub async fn start(config: Config) -> io::Result<Self> {
        let Config {
            seed,
            size,
            listen,
            clock,
            plan,
            tokens,
            upstreams,
        } = config;
        let forges = upstreams
            .iter()
            .filter_map(|upstream| Some((upstream.name().to_owned(), upstream.forge()?)));
        let world = Arc::new(World::new(seed, size, clock, forges));
        for token in tokens {
            world.add_token(token);
        }

        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let mut places = BTreeMap::new();
        for upstream in upstreams {
            let host_url = format!("http://{address}/{}", upstream.name());
            let site = Arc::new(Site {
                world: Arc::clone(&world),
                name: upstream.name().to_owned(),
                base_url: format!("{host_url}{}", upstream.base_path()),
                host_url,
            });
            let routes = upstream.routes(Arc::clone(&site));
            places.insert(upstream.name().to_owned(), Place { site, routes });
        }
        let shared = Arc::new(Shared {
            world,
            plan,
            journal: Journal::default(),
            upstreams: places,
            git: GitForge::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where an upstream's API begins, without a slash at the end; `None` if the
    /// world has no such upstream.
    pub fn base_url(&self, upstream: &str) -> Option<String> {
        let place = self.shared.upstreams.get(upstream)?;
        Some(place.site.base_url.clone())
    }

    /// The root of an upstream's host, without a slash at the end.
    pub fn host_url(&self, upstream: &str) -> Option<String> {
        let place = self.shared.upstreams.get(upstream)?;
        Some(place.site.host_url.clone())
    }

    /// The names of all upstreams.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.shared.upstreams.keys().map(String::as_str)
    }

    /// The truth, and the way to change it.
    pub fn world(&self) -> &World {
        &self.shared.world
    }

    /// World time.
    pub fn clock(&self) -> &WorldClock {
        self.shared.world.clock()
    }

    /// What goes wrong.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// What was asked.
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Serves until `end`, then stops.
    pub async fn until(self, end: impl Future<Output = ()>) {
        end.await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.git.close();
    }
}

/// Connections end with this future, since they belong to its set.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let control = control::routes(&shared);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let (wire, tear) = Wire::new(stream);
                    let front = Front { shared: Arc::clone(&shared), control: control.clone() };
                    connections.spawn(converse(wire, tear, front));
                }
                // Out of descriptors, or the client left already: go on.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(wire: Wire, tear: Tear, front: Front) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (front, tear) = (front.clone(), tear.clone());
        async move { front.answer(request.map(Body::new), &tear).await }
    });
    // A torn connection ends in an error: that is what it is for.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(wire), service)
        .await;
}

/// What a connection needs.
#[derive(Clone)]
struct Front {
    shared: Arc<Shared>,
    control: Router,
}

/// Makes hyper drop the connection without a word.
#[derive(Debug, thiserror::Error)]
#[error("the plan resets this connection")]
struct Torn;

impl Front {
    async fn answer(self, mut request: Request<Body>, tear: &Tear) -> Result<Response<Body>, Torn> {
        let Self { shared, control } = self;
        let whole = request.uri().path().to_owned();
        let (name, path) = first_segment(&whole);
        if name == control::SEGMENT {
            return Ok(call(control, request).await);
        }
        let Some(place) = shared.upstreams.get(name) else {
            let known: Vec<_> = shared.upstreams.keys().collect();
            let body = Json(serde_json::json!({ "no upstream": name, "there are": known }));
            return Ok((StatusCode::NOT_FOUND, body).into_response());
        };

        let own_url = format!("{}{path}", place.site.host_url);
        let (own_url, path) = match request.uri().query() {
            Some(query) => (format!("{own_url}?{query}"), format!("{path}?{query}")),
            None => (own_url, path.to_owned()),
        };
        if let Ok(uri) = path.parse::<Uri>() {
            *request.uri_mut() = uri;
        }
        let now = place.site.now();
        let credential = Caller::credential(&shared.world, name, request.headers());
        let method = request.method().as_str();
        let flight = shared
            .journal
            .arrive(name, method, &path, credential.name(), now);
        request.extensions_mut().insert(Caller {
            credential,
            in_flight: flight.by_token,
        });

        let rule = shared.plan.strike(name, &path, now).unwrap_or_default();
        if rule.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(rule.delay_ms)).await;
        }
        let served = match rule.fault {
            None => Served::Answer(shared.serve(place, request).await),
            Some(fault) => {
                flight.met(fault.name());
                if fault.spoils() {
                    fault.spoil(shared.serve(place, request).await).await
                } else {
                    fault.replace(&own_url, now).await
                }
            }
        };
        let answer = match served {
            Served::Answer(answer) => answer,
            Served::AnswerThenReset(answer) => {
                tear.tear();
                answer
            }
            Served::Reset => {
                tear.tear();
                return Err(Torn);
            }
        };
        Ok(shared.see_off(answer, flight))
    }
}

impl Shared {
    /// The upstream's own answer: git's, where git asks a forge.
    async fn serve(&self, place: &Place, request: Request<Body>) -> Response<Body> {
        let site = &place.site;
        let is_forge = self.world.look(&site.name, |_| ()).is_some();
        match git_forge::asked(request.uri()).filter(|_| is_forge) {
            Some((repository, ending)) => self.git.answer(site, &repository, ending, request).await,
            None => call(place.routes.clone(), request).await,
        }
    }

    /// Dates and records the answer, and lets the flight last as long as its body.
    fn see_off(&self, mut answer: Response<Body>, flight: Flight) -> Response<Body> {
        let limit = answer.extensions().get::<Limit>().copied();
        flight.answered(answer.status().as_u16(), limit);
        if let Ok(date) = HeaderValue::from_str(&http_date(self.world.clock().now())) {
            answer.headers_mut().insert(header::DATE, date);
        }
        answer.map(|body| {
            Body::new(Flying {
                body,
                _flight: flight,
            })
        })
    }
}

async fn call(routes: Router, request: Request<Body>) -> Response<Body> {
    let answer: Result<_, Infallible> = routes.oneshot(request).await;
    answer.unwrap_or_else(|never| match never {})
}

/// `/github.com/repos/a/b` is `github.com` and `/repos/a/b`.
fn first_segment(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    match path.find('/') {
        Some(slash) => (&path[..slash], &path[slash..]),
        None => (path, "/"),
    }
}

/// A body whose request is on its way until it has ended.
#[derive(Debug)]
struct Flying {
    body: Body,
    _flight: Flight,
}

impl HttpBody for Flying {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
