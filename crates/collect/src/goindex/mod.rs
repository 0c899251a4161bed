//! The Go index: which repositories there are, what their tags name, and the feed of it.
//!
//! | kind | asks | does |
//! |---|---|---|
//! | `goindex/list` | a forge | lists an owner's repositories, each with its `goindex/tags` |
//! | `goindex/tags` | a git server | reads tags and the go.mod files they lead to |
//! | `goindex/vanity` | the host of an import path | finds out where the path leads |
//! | `goindex/publish` | nobody | appends what was committed to the feed |
//!
//! Tags are read by git itself, which every forge speaks and no forge counts (by the forge's API
//! only where git cannot be reached): one question for all
//! tags, and when none has changed, that is all. Trees of new tags come without their files, then
//! the go.mod files by id, of which none is fetched twice.
//!
//! The seed's words: its daily listing and daily tags are the cadence of the first two kinds, its
//! time to live is their `max_run`, its claim query is the engine's, and a repository without tags
//! counts as read.

mod address;
mod api;
mod list;
mod news;
mod paths;
mod publish;
mod read;
mod settle;
mod tags;
mod vanity;

use std::{collections::BTreeMap, sync::Arc};

use engine::Enqueue;
use facts::repository::RepositoryUrl;
use tokio::sync::OnceCell;
use url::Url;

pub use self::{
    list::{GoList, unit as list_unit},
    publish::{GoPublish, wake as publish_soon},
    tags::{GoTags, unit as tags_unit},
    vanity::GoVanity,
};
use crate::{
    collector::Collector as _,
    git::remote::{self, Protocol, RemoteError, Remotes},
    http::UpstreamSettings,
    registry::Scans,
};

/// The most bytes of a go.mod that the go command reads.
const MAX_GO_MOD: usize = scan::go::MAX_GO_MOD;

/// How repositories are reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How git asks.
    pub git: remote::Settings,
    /// Where hosts serve git, when it is not at `https://HOST`.
    pub bases: BTreeMap<String, String>,
    /// Whether the hosts of import paths are asked if they lead to the repositories that declare
    /// them. Else every go.mod is believed.
    pub check_vanity: bool,
}

impl Settings {
    /// Asks this way; go.mod files may be as large as the go command takes them.
    pub fn new(mut git: remote::Settings) -> Self {
        git.limits.reading.blob_bytes = MAX_GO_MOD;
        // Whoever names an address means it: plain HTTP in one's own network, a path.
        git.protocols.extend([Protocol::Http, Protocol::File]);
        Self {
            git,
            bases: BTreeMap::new(),
            check_vanity: true,
        }
    }

    /// As these upstreams are set: where they are, which of them may be private, and with what
    /// token. Git has no use for more than one, since nothing is counted.
    pub fn among(mut self, upstreams: &BTreeMap<String, UpstreamSettings>) -> Self {
        for (host, set) in upstreams {
            let is_usual = set.base == UpstreamSettings::named(host).base;
            let base = if is_usual {
                format!("https://{host}")
            } else {
                set.base.clone()
            };
            let Ok(url) = Url::parse(&base) else {
                continue;
            };
            if set.allow_private
                && let Some(name) = url.host_str()
            {
                self.git.private_hosts.insert(name.to_owned());
            }
            if let Some(token) = set.tokens.first() {
                let token = remote::Token {
                    user: "x-access-token".to_owned(),
                    secret: token.secret.clone(),
                };
                let origin = url.origin().ascii_serialization();
                self.git.tokens.insert(origin, token);
            }
            if !is_usual {
                self.bases.insert(host.clone(), base);
            }
        }
        self
    }
}

/// The work of a repository in the Go index.
pub const TAGS: Scans = Scans {
    kinds: &[GoTags::NAME],
    units,
};

fn units(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    vec![tags_unit(id, url)]
}

/// The way to git servers, opened when the first repository is asked.
#[derive(Clone, Debug)]
struct Way {
    settings: Arc<Settings>,
    remotes: Arc<OnceCell<Remotes>>,
}

impl Way {
    fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            remotes: Arc::default(),
        }
    }

    async fn to(&self, url: &str) -> Result<remote::Remote, RemoteError> {
        let open = || Remotes::open(self.settings.git.clone());
        self.remotes.get_or_try_init(open).await?.remote(url)
    }
}
