//! What all handlers share.

use std::sync::Arc;

use engine::Engine;
use futures_util::future::BoxFuture;
use store::datasets::Library;

use crate::{counts::Counts, hooks::Recent, metrics::Recorder};

/// Says whether this process can do its work: an answer for `/readyz`. The
/// binary knows the schema, so it brings the check.
pub type Readiness =
    Arc<dyn Fn() -> BoxFuture<'static, Vec<(&'static str, Result<String, String>)>> + Send + Sync>;

/// The web, ready to be served.
#[derive(Clone)]
pub struct Web {
    pub(crate) engine: Engine,
    pub(crate) counts: Arc<Counts>,
    pub(crate) recorder: Recorder,
    pub(crate) readiness: Readiness,
    /// Shown on every page: that this is the demo, if it is.
    pub(crate) banner: Option<String>,
    /// Hooks that know one of these are believed.
    pub(crate) hook_secrets: Arc<Vec<String>>,
    /// Hooks that were believed lately.
    pub(crate) recent_hooks: Arc<Recent>,
    /// The datasets of the Python index.
    pub(crate) library: Option<Arc<Library>>,
}

impl Web {
    /// A web over this engine's database.
    pub fn new(engine: Engine, recorder: Recorder, readiness: Readiness) -> Self {
        Self {
            counts: Arc::new(Counts::new(engine.clone())),
            engine,
            recorder,
            readiness,
            banner: None,
            hook_secrets: Arc::default(),
            recent_hooks: Arc::default(),
            library: None,
        }
    }

    /// Believes hooks of forges that know one of these secrets. Without any, none is believed.
    pub fn hook_secrets(mut self, secrets: Vec<String>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty());
        self.hook_secrets = Arc::new(secrets.collect());
        self
    }

    /// Answers questions about the Python index from these datasets.
    pub fn library(mut self, library: Library) -> Self {
        self.library = Some(Arc::new(library));
        self
    }

    /// A line that every page shows.
    pub fn banner(mut self, text: impl Into<String>) -> Self {
        self.banner = Some(text.into());
        self
    }
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").finish_non_exhaustive()
    }
}
