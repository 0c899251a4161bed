//! What a person can set about the client and about each upstream.

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;
use store::http_cache::Bounds;

/// All about the client. The binary fills it from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The product's version, for the User-Agent.
    pub version: String,
    /// An address or URL where the owner of a server reaches whoever runs this.
    pub contact: String,
    /// By name. A name that is not here is taken for a host: `https://NAME`, with the defaults.
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// How much of the answers is kept, and for how long.
    pub cache: Bounds,
    /// A larger answer is not kept.
    pub cache_answer: usize,
}

impl Settings {
    /// The defaults, under this contact.
    pub fn new(contact: impl Into<String>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            contact: contact.into(),
            upstreams: BTreeMap::new(),
            cache: Bounds {
                bytes: 1 << 30,
                unused_for: outlasting(LONGEST_CADENCE),
            },
            cache_answer: 8 << 20,
        }
    }

    /// Keeps answers for as long as somebody who asks at this cadence may come back for them. All
    /// together stay within their bound in bytes, whatever their age.
    pub fn asked_every(mut self, cadence: Duration) -> Self {
        self.cache.unused_for = self.cache.unused_for.max(outlasting(cadence));
        self
    }

    /// Who asks: product, version, and whom to write to.
    pub fn user_agent(&self) -> String {
        format!("gleaner/{} (+{})", self.version, self.contact)
    }
}

/// The longest that any collector waits before it asks the same again, unless it is told otherwise.
/// An answer that is forgotten before costs a whole one, every time.
const LONGEST_CADENCE: Duration = Duration::from_hours(180 * 24);

/// A cadence and what may come on top: strikes and partials that put the next run off, a fleet that
/// stood still for a while.
fn outlasting(cadence: Duration) -> Duration {
    cadence
        .saturating_add(cadence / 4)
        .saturating_add(Duration::from_hours(30 * 24))
}

/// One upstream.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// Where its paths begin: `https://api.github.com`, or a mirror, an enterprise forge, the
    /// simulated world.
    pub base: String,
    /// How a token is shown.
    pub auth: Auth,
    /// Used in turn, as their budgets allow; none means that it is asked anonymously.
    pub tokens: Vec<Token>,
    /// Whether an answer may depend on whose token it was asked with. If so, what was kept for one
    /// token is never given to another.
    pub answers_differ_by_token: bool,
    /// Requests at the same time, in this process.
    pub concurrency: usize,
    /// Least time between the starts of two requests, in this process.
    pub gap: Duration,
    /// How often a request is sent again that failed before there was any answer.
    pub retries: u32,
    /// What is taken of one answer.
    pub limits: Limits,
    /// Whether the base may lead to a private or loopback address. It holds for exactly the base's
    /// host and port; a redirect to another private address needs `also_private`.
    pub allow_private: bool,
    /// Further hosts (`name` or `name:port`) that may be private, as targets of redirects.
    pub also_private: Vec<String>,
    /// A cheap path that tells whether the service is well.
    pub probe: String,
}

impl UpstreamSettings {
    /// The defaults for a base address.
    pub fn at(base: impl Into<String>) -> Self {
        Self {
            base: base.into(),
            auth: Auth::Bearer,
            tokens: Vec::new(),
            answers_differ_by_token: true,
            concurrency: 8,
            gap: Duration::ZERO,
            retries: 2,
            limits: Limits::default(),
            allow_private: false,
            also_private: Vec::new(),
            probe: "/".into(),
        }
    }

    /// The defaults for a name: services whose address differs from their name, else the host.
    pub fn named(name: &str) -> Self {
        match name {
            "github.com" => Self {
                probe: "/rate_limit".into(),
                // It shuts out for a minute who asks more than 900 times in one. An hour's budget
                // is spent in six minutes all the same.
                gap: Duration::from_millis(70),
                ..Self::at("https://api.github.com")
            },
            "deps.dev" => Self::at("https://api.deps.dev"),
            "ecosyste.ms" => Self::at("https://packages.ecosyste.ms/api/v1"),
            "gitlab.com" => Self {
                auth: Auth::Header("private-token"),
                ..Self::at("https://gitlab.com")
            },
            host => Self::at(format!("https://{host}")),
        }
    }
}

/// How a token is shown to its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer …`
    Bearer,
    /// In a header of its own, such as GitLab's `private-token`.
    Header(&'static str),
}

/// A token. Its secret is never printed.
#[derive(Clone, Debug)]
pub struct Token {
    /// What people and the shared budgets call it; no part of the secret.
    pub name: String,
    /// The secret.
    pub secret: SecretString,
}

impl Token {
    /// A token under a name. Space around the secret (a file's last newline) is dropped.
    pub fn new(name: impl Into<String>, secret: &str) -> Self {
        Self {
            name: name.into(),
            secret: secret.trim().into(),
        }
    }
}

/// What is taken of one answer; more is refused.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the body, both as sent and after decompression.
    pub body: u64,
    /// How many times larger a body may become by decompression, beyond the first megabyte.
    pub ratio: u64,
    /// Bytes of all headers together.
    pub headers: usize,
    /// Time for the whole: connecting, redirects, body.
    pub total: Duration,
    /// Time without a byte.
    pub idle: Duration,
    /// Redirects in a row.
    pub redirects: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            ratio: 200,
            headers: 64 << 10,
            total: Duration::from_mins(2),
            idle: Duration::from_secs(30),
            redirects: 5,
        }
    }
}
