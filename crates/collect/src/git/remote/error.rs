//! Why a remote gave no answer, or what its "no" was.

use std::{io, path::PathBuf, time::Duration};

use crate::{answer::Answer, git::GitError};

/// What asking a remote came to instead of an answer.
///
/// Two of these are knowledge ([`RemoteError::is_absent`]); all others change nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The server said plainly that it has none.
    #[error("there is no repository at {url}")]
    NoRepository {
        /// Where.
        url: String,
    },
    /// The repository has no such ref or commit.
    #[error("the repository at {url} has no {name}")]
    NoRef {
        /// Where.
        url: String,
        /// What was asked for.
        name: String,
    },
    /// Correct the address, or allow the protocol.
    #[error("{url} cannot be asked: {why}")]
    BadUrl {
        /// Where.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Allow the host if it is one of yours.
    #[error("{host} has the address {address}, which is not public")]
    PrivateAddress {
        /// The host.
        host: String,
        /// What it resolved to.
        address: String,
    },
    /// Give a token, or a better one. Servers say this of missing repositories too.
    #[error("{url} asks for {}", if *.with_token { "another token: the one given was refused" } else { "a token, or does not exist" })]
    Unauthorized {
        /// Where.
        url: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// The server knows who asks and refuses.
    #[error("{url} refused the request with status {status}")]
    Forbidden {
        /// Where.
        url: String,
        /// The status.
        status: u16,
    },
    /// Too many requests; come back later.
    #[error("{url} limits requests{}", .retry.as_ref().map_or_else(String::new, |retry| format!(": {retry}")))]
    Limited {
        /// Where.
        url: String,
        /// When to come back, where the server said so.
        retry: Option<Retry>,
    },
    /// The server is in trouble.
    #[error("{url} failed with status {status}")]
    ServerFailed {
        /// Where.
        url: String,
        /// The status.
        status: u16,
        /// When to come back, where the server said so.
        retry: Option<Retry>,
    },
    /// A page instead of a repository.
    #[error("{url} answered with {} instead of a git repository", .kind)]
    Wall {
        /// Where.
        url: String,
        /// The type of what came.
        kind: String,
    },
    /// It moved to where we do not go.
    #[error("{url} leads to {to}, which is not followed: {why}")]
    Moved {
        /// Where.
        url: String,
        /// Where it leads, without secrets.
        to: String,
        /// Why not.
        why: String,
    },
    /// No connection.
    #[error("{url} cannot be reached: {message}")]
    Unreachable {
        /// Where.
        url: String,
        /// What happened, in one line.
        message: String,
    },
    /// Nothing came for too long.
    #[error("{url} went silent for {limit:?}")]
    Silent {
        /// Where.
        url: String,
        /// How long was waited.
        limit: Duration,
    },
    /// Took longer than allowed.
    #[error("{url} took longer than {limit:?}")]
    TimedOut {
        /// Where.
        url: String,
        /// How long was waited.
        limit: Duration,
    },
    /// More came than is taken.
    #[error("{url} sent more than {limit} bytes of {what}")]
    TooMuch {
        /// Where.
        url: String,
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The answer was broken off or damaged.
    #[error("{url} sent an answer that is cut off or damaged: {message}")]
    Damaged {
        /// Where.
        url: String,
        /// What git said, in one line.
        message: String,
    },
    /// The server refused something that it need not support.
    #[error("{url} refuses {what}")]
    Unsupported {
        /// Where.
        url: String,
        /// What.
        what: Refused,
    },
    /// Git gave up for another reason.
    #[error("asking {url} failed: {message}")]
    Failed {
        /// Where.
        url: String,
        /// What git said, in one line.
        message: String,
    },
    /// It must not be asked now; nobody was.
    #[error("{why}")]
    NotYet {
        /// When it may be.
        until: db::Timestamp,
        /// What stands against it.
        why: String,
    },
    /// Another run holds what was fetched of this repository.
    #[error("the objects of {url} were in use for longer than {limit:?}")]
    Busy {
        /// Where.
        url: String,
        /// How long was waited.
        limit: Duration,
    },
    /// Mend the directory.
    #[error("cannot keep objects in {}", .path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// Git on this machine, not the remote.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// When a server wants to be asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After this time.
    After(Duration),
    /// At this time, as HTTP writes it.
    At(jiff::Timestamp),
}

impl std::fmt::Display for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::After(time) => write!(f, "again in {} s", time.as_secs()),
            Self::At(time) => write!(f, "again at {time}"),
        }
    }
}

/// What a server need not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Leaving out blobs.
    Filters,
    /// Leaving out history.
    Depth,
    /// Asking for objects by id.
    Ids,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Filters => "to leave out blobs",
            Self::Depth => "to leave out history",
            Self::Ids => "objects by id",
        })
    }
}

impl RemoteError {
    /// Whether this is knowledge: what was asked for is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NoRepository { .. } | Self::NoRef { .. })
    }

    /// When the server wants to be asked again, where it said so.
    pub fn retry(&self) -> Option<&Retry> {
        match self {
            Self::Limited { retry, .. } | Self::ServerFailed { retry, .. } => retry.as_ref(),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::BadUrl { .. } => Some("give an https address without user and password"),
            Self::PrivateAddress { .. } => {
                Some("name the host among the private ones if it is yours")
            }
            Self::Unauthorized { .. } => Some("give a token that may read this repository"),
            Self::TooMuch { .. } => Some("raise the limit if the repository is worth it"),
            Self::Git(error) => error.hint(),
            _ => None,
        }
    }
}

impl<T> From<Result<T, RemoteError>> for Answer<T> {
    fn from(asked: Result<T, RemoteError>) -> Self {
        match asked {
            Ok(found) => Self::Found(found),
            Err(error) if error.is_absent() => Self::Absent,
            Err(error) => Self::Unknown(error.to_string()),
        }
    }
}
