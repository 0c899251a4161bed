//! What a remote may be asked, how, and how far.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::PathBuf,
    time::Duration,
};

use secrecy::SecretString;

use crate::git::Limits;

/// How repositories elsewhere are reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where fetched objects are kept. It is made private to its owner.
    pub directory: PathBuf,
    /// Who asks: program, version, contact.
    pub user_agent: String,
    /// What may be spoken. `https` only, unless there is a reason.
    pub protocols: BTreeSet<Protocol>,
    /// Hosts that may have an address that is not public: a forge in one's own network.
    pub private_hosts: BTreeSet<String>,
    /// Hosts that answer 401 where there is no repository, as some forges do to everybody without a
    /// token. Then 401 means absent; for all others it means unknown.
    pub unauthorized_means_absent: BTreeSet<String>,
    /// Addresses of hosts, instead of asking the resolver.
    pub addresses: BTreeMap<String, Vec<IpAddr>>,
    /// Tokens by where they may be sent: scheme, host and port, such as `https://github.com`.
    pub tokens: BTreeMap<String, Token>,
    /// How far.
    pub limits: RemoteLimits,
}

impl Settings {
    /// `https` to public hosts, without tokens.
    pub fn new(directory: impl Into<PathBuf>, user_agent: impl Into<String>) -> Self {
        Self {
            directory: directory.into(),
            user_agent: user_agent.into(),
            protocols: BTreeSet::from([Protocol::Https]),
            private_hosts: BTreeSet::new(),
            unauthorized_means_absent: BTreeSet::new(),
            addresses: BTreeMap::new(),
            tokens: BTreeMap::new(),
            limits: RemoteLimits::default(),
        }
    }
}

/// A way to reach a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP over TLS.
    Https,
    /// Readable and changeable by all on the way.
    Http,
    /// A path of this machine.
    File,
    /// With the keys of whoever runs this.
    Ssh,
    /// Git's own, readable and changeable by all on the way.
    Git,
}

impl Protocol {
    /// The scheme of its URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::File => "file",
            Self::Ssh => "ssh",
            Self::Git => "git",
        }
    }

    pub(super) fn of_scheme(scheme: &str) -> Option<Self> {
        [Self::Https, Self::Http, Self::File, Self::Ssh, Self::Git]
            .into_iter()
            .find(|one| one.as_str() == scheme)
    }

    /// Whether it goes over HTTP, plain or not.
    pub(super) fn is_http(self) -> bool {
        matches!(self, Self::Https | Self::Http)
    }
}

/// A secret and the name it goes with.
#[derive(Clone, Debug)]
pub struct Token {
    /// The user name: `x-access-token` for GitHub, `oauth2` for GitLab, any for Gitea.
    pub user: String,
    /// The token. Never shown, never an argument of a process.
    pub secret: SecretString,
}

/// How far a remote is followed.
#[derive(Clone, Copy, Debug)]
pub struct RemoteLimits {
    /// The time one exchange may take.
    pub time: Duration,
    /// The time without a byte after which a connection is given up; whole seconds.
    pub idle: Duration,
    /// The most bytes of a listing of refs. A million tags take about 70 MB.
    pub listing_bytes: usize,
    /// The most bytes that one repository may take on disk, older fetches included.
    pub disk_bytes: u64,
    /// The most memory that one git process may reserve.
    pub memory_bytes: u64,
    /// How often a repository that moved is followed.
    pub moves: u8,
    /// The limits for reading what was fetched.
    pub reading: Limits,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(10),
            idle: Duration::from_mins(1),
            listing_bytes: 128 << 20,
            disk_bytes: 4 << 30,
            memory_bytes: 2 << 30,
            moves: 3,
            reading: Limits::default(),
        }
    }
}
