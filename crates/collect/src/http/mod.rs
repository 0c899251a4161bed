//! The one polite client for everything that is asked over HTTP.
//!
//! A collector names an **upstream** and a path ([`Ask`]) and gets one of three values
//! ([`Reply`]): found, absent, or unknown with a reason and, where somebody said so, the time to
//! come back. Only the first two are knowledge.
//!
//! ```ignore
//! let session = http.for_run(cx);
//! let ask = Ask::get("github.com", format!("/repos/{}/{}", segment(owner), segment(name)));
//! match session.ask_json::<Repository>(&ask).await {
//!     Reply::Found(found) => …,
//!     Reply::Absent => …,
//!     Reply::Unknown(why) => return why.end(cx, session.log()),
//! }
//! ```
//!
//! On the way of each request:
//!
//! 1. a slot of the upstream, leave from the budget that all processes share
//!    ([`engine::Upstreams`]), and the pace of this process; a budget that is not free within two
//!    seconds is an answer ("limited until …"), not a wait;
//! 2. what is kept of the last answer turns the question into "only if it has changed": "not
//!    modified" gives the kept answer again, never an empty one;
//! 3. redirects are followed by hand: a few, to http(s) only, to public addresses only, and with
//!    neither tokens nor headers of ours for other hosts;
//! 4. bodies, headers, decompression and time are limited while they arrive;
//! 5. the answer is judged: a page for people in place of data is a wall, half a JSON is no JSON;
//! 6. limits that the answer announced go to the shared budgets, its failure or success to the
//!    shared breaker, and a line to the log of the run.
//!
//! Only a connection that was lost before any answer is tried again, for questions that can be
//! repeated. Statuses are never retried here: durable waiting is the engine's.
//!
//! Not here: proxies of the environment are not used, since behind one nobody could check which
//! address is really connected to.

mod address;
mod ask;
mod asking;
mod body;
mod budget;
mod cache;
mod exchange;
mod failure;
mod headers;
mod judge;
mod limits;
mod log;
mod reply;
mod session;
mod settings;
mod text;
mod unknown;
mod upstream;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use db::{Clock, Db};
use engine::{Probe, Run, Upstreams};
use futures_util::future::BoxFuture;
use reqwest::Client;
use rustls::{ClientConfig, RootCertStore};

use self::{
    address::PublicOnly,
    asking::{Asking, Note},
    cache::Cache,
    log::Book,
    upstream::Upstream,
};
pub use self::{
    ask::{Ask, Expect, segment},
    log::{Logged, RequestLog},
    reply::{Decoded, Reply, Response},
    session::{Session, Way},
    settings::{Auth, Limits, Settings, Token, UpstreamSettings},
    unknown::{Class, Unknown},
    upstream::SettingsError,
};

/// A probe that takes longer has failed.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// The client. One for each process; cheap to clone.
#[derive(Clone, Debug)]
pub struct Http(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    upstreams: Upstreams,
    cache: Cache,
    user_agent: String,
    /// For everybody: resolves names to public addresses only.
    public_only: Client,
    /// For hosts that a person allowed to be private.
    any_address: Client,
    /// By name; those that are not configured come when they are first asked.
    known: Mutex<HashMap<String, Arc<Upstream>>>,
}

impl Http {
    /// Checks the settings and makes the client.
    pub fn new(
        settings: &Settings,
        db: Db,
        clock: Clock,
        upstreams: Upstreams,
    ) -> Result<Self, SettingsError> {
        let known = settings
            .upstreams
            .iter()
            .map(|(name, one)| Ok((name.clone(), Arc::new(Upstream::new(name, one.clone())?))))
            .collect::<Result<_, SettingsError>>()?;
        let tls = tls()?;
        let client = |public: bool| {
            let builder = Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .user_agent(settings.user_agent())
                // The client of object stores brings the other; limits here are made for this one.
                .http1_only()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .no_proxy()
                .connect_timeout(Duration::from_secs(10))
                .pool_idle_timeout(Duration::from_secs(30))
                .pool_max_idle_per_host(8);
            let builder = if public {
                builder.dns_resolver(PublicOnly)
            } else {
                builder
            };
            builder
                .build()
                .map_err(|error| SettingsError::Client(error.without_url().to_string()))
        };
        let contact = settings.user_agent();
        if settings.contact.trim().is_empty()
            || reqwest::header::HeaderValue::from_str(&contact).is_err()
        {
            let contact = text::escape(&settings.contact, 100);
            return Err(SettingsError::Contact(contact));
        }
        Ok(Self(Arc::new(Shared {
            public_only: client(true)?,
            any_address: client(false)?,
            cache: Cache::new(db, clock.clone(), settings.cache, settings.cache_answer),
            clock,
            upstreams,
            user_agent: contact,
            known: Mutex::new(known),
        })))
    }

    /// The client for one run: it stops with the run, and its log is the run's.
    pub fn for_run(&self, run: &Run) -> Session {
        Session {
            http: Arc::clone(&self.0),
            upstreams: run.upstreams(),
            stop: run.cancelled().clone(),
            book: Book::default(),
        }
    }

    /// The client for a person who waits: a check, a command.
    pub fn for_person(&self) -> Session {
        Session {
            http: Arc::clone(&self.0),
            upstreams: self.0.upstreams.interactive(),
            stop: tokio_util::sync::CancellationToken::new(),
            book: Book::default(),
        }
    }

    /// Makes an upstream known that a person named after the start; one that is known stays as it is.
    pub fn introduce(&self, name: &str, settings: &UpstreamSettings) -> Result<(), SettingsError> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(name) {
            let upstream = Upstream::new(name, settings.clone())?;
            known.insert(name.to_owned(), Arc::new(upstream));
        }
        Ok(())
    }

    /// One cheap request, outside budgets and breaker: does the upstream work?
    pub async fn probe(&self, upstream: &str) -> Result<(), Box<Unknown>> {
        let Ok(upstream) = self.0.upstream(upstream) else {
            // It cannot be asked at all; its units will say why.
            return Ok(());
        };
        let ask = Ask::get(&upstream.name, &upstream.settings.probe)
            .expect(Expect::Any)
            .uncached();
        let asking = Asking {
            http: &self.0,
            upstreams: &self.0.upstreams,
            upstream: &upstream,
            ask: &ask,
            note: &mut Note::default(),
            probing: true,
        };
        let late = || {
            let message = format!("{}: not done after {PROBE_LIMIT:?}", ask.shown());
            Err(Box::new(Unknown::new(Class::Transient, message)))
        };
        match tokio::time::timeout(PROBE_LIMIT, asking.run()).await {
            Err(_) => late(),
            Ok(Err(why)) if matches!(why.class, Class::Transient | Class::Undecodable) => Err(why),
            // A refusal or a limit is an answer, and so is "there is nothing at this path".
            Ok(_) => Ok(()),
        }
    }
}

impl Probe for Http {
    fn probe<'a>(&'a self, upstream: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.probe(upstream).await.map_err(|why| why.to_string()) })
    }
}

impl Shared {
    /// The upstream of a name. One that nobody configured is a host.
    fn upstream(&self, name: &str) -> Result<Arc<Upstream>, SettingsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(upstream) = known.get(name) {
            return Ok(Arc::clone(upstream));
        }
        let host = url::Host::parse(name);
        if host.is_err() || name.contains(['/', '@', '?', '#']) {
            return Err(SettingsError::Base {
                upstream: text::escape(name, 100),
                base: text::escape(name, 100),
                why: "it is not configured, and its name is no host",
            });
        }
        let upstream = Arc::new(Upstream::new(name, UpstreamSettings::named(name))?);
        known.insert(name.to_owned(), Arc::clone(&upstream));
        Ok(upstream)
    }
}

/// TLS with the certificates of the system, so that a company's own are known; where there are
/// none (a bare container), with those the browsers trust.
fn tls() -> Result<ClientConfig, SettingsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SettingsError::Client(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
