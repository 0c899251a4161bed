//! One upstream as this process sees it: its address, its tokens, its pace.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use db::Clock;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{Mutex, Semaphore, SemaphorePermit},
    time::Instant,
};
use url::Url;

use super::{
    address,
    settings::{Auth, Limits, Token, UpstreamSettings},
};

/// One upstream.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) name: String,
    pub(super) settings: UpstreamSettings,
    base: Url,
    shown: Vec<(HeaderName, HeaderValue)>,
    slots: Semaphore,
    /// When the next request may start.
    next_start: Mutex<Option<Instant>>,
    /// Limits without a time in a row: each doubles the wait.
    untold: AtomicU32,
}

/// Why an upstream cannot be used as it is set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The contact does not fit into a header.
    #[error("the contact `{0}` cannot be sent in a header")]
    Contact(String),
    /// The base is no address to put paths behind.
    #[error("`{base}` cannot be the base of upstream {upstream}: {why}")]
    Base {
        /// The upstream.
        upstream: String,
        /// What was given.
        base: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The token's secret has characters that cannot be sent.
    #[error("token {token} of upstream {upstream} has characters that cannot be sent in a header")]
    Token {
        /// The upstream.
        upstream: String,
        /// The token's name.
        token: String,
    },
    /// The client library refused.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

impl Upstream {
    pub(super) fn new(name: &str, settings: UpstreamSettings) -> Result<Self, SettingsError> {
        let base = base(name, &settings.base)?;
        let shown = settings
            .tokens
            .iter()
            .map(|token| show(name, settings.auth, token))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            base,
            shown,
            slots: Semaphore::new(settings.concurrency.clamp(1, 1024)),
            next_start: Mutex::default(),
            untold: AtomicU32::new(0),
            settings,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// The base address as text: answers of different bases are different answers.
    pub(super) fn base(&self) -> &str {
        self.base.as_str()
    }

    /// The address of a path; none if the path would leave the base.
    pub(super) fn url(&self, path: &str) -> Option<Url> {
        if !path.starts_with('/') || path.contains(['#', '\\']) || path.len() > 16_000 {
            return None;
        }
        let (segments, _) = path.split_once('?').unwrap_or((path, ""));
        let walks = segments.split('/').any(|segment| {
            let plain = segment.to_ascii_lowercase().replace("%2e", ".");
            plain == "." || plain == ".."
        });
        if walks {
            return None;
        }
        let base = self.base.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}{path}")).ok()
    }

    /// The path of an address within the base.
    pub(super) fn path_of(&self, url: &Url) -> Option<String> {
        if !self.owns(url) {
            return None;
        }
        let base = self.base.path().trim_end_matches('/');
        let path = url.path().strip_prefix(base)?;
        if !path.starts_with('/') {
            return None;
        }
        Some(match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        })
    }

    /// Whether an address has the base's scheme, host and port: only there tokens are shown.
    pub(super) fn owns(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Whether an address may be private, as a person configured it.
    pub(super) fn may_be_private(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        let own =
            self.base.host_str() == Some(host) && self.base.port_or_known_default() == Some(port);
        (self.settings.allow_private && own)
            || self.settings.also_private.iter().any(|allowed| {
                allowed.eq_ignore_ascii_case(host)
                    || allowed.eq_ignore_ascii_case(&format!("{host}:{port}"))
            })
    }

    /// What is wrong with the address in a URL.
    pub(super) fn forbids(&self, url: &Url) -> Option<&'static str> {
        if self.may_be_private(url) {
            return None;
        }
        address::forbidden_in(url)
    }

    /// How a token is shown.
    pub(super) fn shown(&self, token: usize) -> Option<&(HeaderName, HeaderValue)> {
        self.shown.get(token)
    }

    /// The names of the tokens, as the shared budgets know them.
    pub(super) fn token_names(&self) -> Vec<String> {
        self.settings
            .tokens
            .iter()
            .map(|token| token.name.clone())
            .collect()
    }

    /// Tells apart what was kept for different tokens; the secret cannot be had from it.
    pub(super) fn fingerprint(&self, token: usize) -> Option<[u8; 32]> {
        let token = self.settings.tokens.get(token)?;
        let mut digest = Sha256::new_with_prefix(b"gleaner http cache\0");
        digest.update(token.secret.expose_secret().as_bytes());
        Some(digest.finalize().into())
    }

    /// A slot, held for as long as the request lasts.
    pub(super) async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        self.slots.acquire().await.ok()
    }

    /// Waits until the next request may start.
    pub(super) async fn pace(&self, clock: &Clock) {
        if self.settings.gap.is_zero() {
            return;
        }
        let gap = clock.real(self.settings.gap);
        let start = {
            let mut next = self.next_start.lock().await;
            let start = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(start + gap);
            start
        };
        tokio::time::sleep_until(start).await;
    }

    /// How long to keep silent after a limit that came without a time: a minute, doubling while
    /// it goes on, up to an hour.
    pub(super) fn silence(&self) -> Duration {
        let before = self.untold.fetch_add(1, Ordering::Relaxed);
        (super::limits::UNTOLD * (1 << before.min(6))).min(Duration::from_hours(1))
    }

    /// An answer came that was no limit.
    pub(super) fn served(&self) {
        self.untold.store(0, Ordering::Relaxed);
    }
}

fn base(upstream: &str, text: &str) -> Result<Url, SettingsError> {
    let refuse = |why| SettingsError::Base {
        upstream: super::text::escape(upstream, 100),
        base: super::text::escape(text.split('@').next_back().unwrap_or_default(), 200),
        why,
    };
    let url = Url::parse(text).map_err(|_| refuse("it is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("tokens do not belong into addresses"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has a query or a fragment"));
    }
    Ok(url)
}

fn show(
    upstream: &str,
    auth: Auth,
    token: &Token,
) -> Result<(HeaderName, HeaderValue), SettingsError> {
    let secret = token.secret.expose_secret();
    let (name, text) = match auth {
        Auth::Bearer => (Some(AUTHORIZATION), format!("Bearer {secret}")),
        Auth::Header(name) => (name.parse().ok(), secret.to_owned()),
    };
    let value = HeaderValue::from_str(&text).ok();
    let (Some(name), Some(mut value), false) = (name, value, secret.is_empty()) else {
        return Err(SettingsError::Token {
            upstream: upstream.to_owned(),
            token: token.name.clone(),
        });
    };
    value.set_sensitive(true);
    Ok((name, value))
}
