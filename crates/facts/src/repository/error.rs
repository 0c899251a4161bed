//! Why a text is no repository's address.

/// What is wrong with an address. No variant holds a part that could be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryUrlError {
    /// Nothing but white space.
    #[error("the address is empty")]
    Empty,
    /// Longer than any real address.
    #[error("the address is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A line break, a tab or another invisible character.
    #[error("the address has an invisible character in it")]
    Invisible,
    /// A scheme that leads to no repository.
    #[error("`{0}:` is no way to reach a repository")]
    Scheme(String),
    /// No host could be found in it.
    #[error("the address names no host")]
    NoHost,
    /// The host cannot be one.
    #[error("the host in the address is not valid")]
    Host,
    /// A path that depends on where one stands.
    #[error("the path is not absolute")]
    RelativePath,
    /// The address of a host, a user or a group.
    #[error("the address ends before it names a repository on {host}")]
    NoName {
        /// The host.
        host: String,
    },
    /// An owner or a name that the forge does not allow.
    #[error("`{segment}` cannot be part of a repository's name on {host}")]
    Name {
        /// The part of the path, at most 80 characters of it.
        segment: String,
        /// The host, or `this machine`.
        host: String,
    },
    /// A page of the forge that belongs to no repository.
    #[error("`{page}` on {host} is a page, not a repository")]
    Page {
        /// The first segment of the path.
        page: String,
        /// The host.
        host: String,
    },
}

impl RepositoryUrlError {
    /// What to write instead.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Empty | Self::NoHost => {
                Some("write it as https://HOST/OWNER/NAME, or give the path of a local repository")
            }
            Self::Scheme(_) => Some("https, http, ssh, git and file addresses are understood"),
            Self::RelativePath => {
                Some("give the absolute path of the repository, without `..` in it")
            }
            Self::NoName { .. } => Some("add the repository's name: https://HOST/OWNER/NAME"),
            Self::Page { .. } | Self::Name { .. } => {
                Some("copy the address from the repository's own page")
            }
            Self::TooLong { .. } | Self::Invisible | Self::Host => None,
        }
    }
}
