//! What an upstream of the world is.
//!
//! One file (or directory) in `upstreams/` implements [`Upstream`] and stands in
//! the list there. It serves the paths of the real service, answers from the
//! [`World`] by world time, and knows nothing of faults or of the request log:
//! those are the server's.

use std::sync::Arc;

use axum::{
    Router,
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};
use jiff::Timestamp;

use crate::world::{Forge, ForgeKind, Presence, Repository, Token, World};

/// The double of one remote service.
pub trait Upstream: Send + Sync + std::fmt::Debug {
    /// By service or host, as the product names upstreams: `github.com`.
    fn name(&self) -> &str;

    /// Where its API begins below the host: `/api/v3`.
    fn base_path(&self) -> &'static str {
        ""
    }

    /// Says that the world is to hold a forge of this upstream's name.
    fn forge(&self) -> Option<ForgeKind> {
        None
    }

    /// Its paths, from the root of the host, base path included.
    fn routes(&self, site: Arc<Site>) -> Router;
}

/// Where a double stands.
#[derive(Clone, Debug)]
pub struct Site {
    /// The truth it tells.
    pub world: Arc<World>,
    /// Its own name.
    pub name: String,
    /// What the root of its host is in the simulated world, without a slash at
    /// the end: what is `https://github.com` outside.
    pub host_url: String,
    /// The same with the base path: where its API begins.
    pub base_url: String,
}

impl Site {
    /// World time.
    pub fn now(&self) -> Timestamp {
        self.world.clock().now()
    }

    /// Looks at the forge of this upstream. Only for upstreams that declare one.
    pub fn look<T: Default>(&self, look: impl FnOnce(&Forge) -> T) -> T {
        self.world.look(&self.name, look).unwrap_or_default()
    }
}

/// Who asks. Every handler may take it as an argument.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What they showed.
    pub credential: Credential,
    /// Requests with the same credential on their way, this one included.
    pub in_flight: u32,
}

/// What a caller showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Nothing.
    Anonymous,
    /// A token that is good here.
    Known(Token),
    /// A token that is not; the name is a fingerprint.
    Refused(String),
}

impl Caller {
    pub(crate) fn credential(world: &World, upstream: &str, headers: &HeaderMap) -> Credential {
        match secret(headers) {
            None => Credential::Anonymous,
            Some(secret) => match world.token(upstream, &secret) {
                Ok(token) => Credential::Known(token),
                Err(fingerprint) => Credential::Refused(fingerprint),
            },
        }
    }

    /// The token, if it is good.
    pub fn token(&self) -> Option<&Token> {
        match &self.credential {
            Credential::Known(token) => Some(token),
            Credential::Anonymous | Credential::Refused(_) => None,
        }
    }

    /// Whether private repositories are shown.
    pub fn sees_private(&self) -> bool {
        self.token().is_some_and(Token::sees_private)
    }

    /// Whether this repository is shown to them.
    pub fn sees(&self, repository: &Repository) -> bool {
        repository.presence == Presence::Here && (!repository.private || self.sees_private())
    }

    /// What limits are kept under.
    pub(crate) fn key(&self) -> String {
        self.credential.name().unwrap_or_default()
    }
}

impl Credential {
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::Known(token) => Some(token.name.clone()),
            Self::Refused(fingerprint) => Some(fingerprint.clone()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get().cloned().unwrap_or(Self {
            credential: Credential::Anonymous,
            in_flight: 1,
        }))
    }
}

/// `Authorization` in any scheme, or GitLab's own header.
fn secret(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(token) = text("private-token") {
        return Some(token.to_owned());
    }
    let (_scheme, token) = text(header::AUTHORIZATION.as_str())?.split_once(' ')?;
    Some(token.trim().to_owned())
}
