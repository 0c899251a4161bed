//! Repositories: where they are, and when two addresses mean the same one.
//!
//! People write a repository's address in many ways. A [`RepositoryUrl`] is what they all come
//! down to: a host, an owner of any depth, a name, one canonical address, and a [key] that is
//! equal when the repository is.
//!
//! ```
//! use facts::repository::RepositoryUrl;
//!
//! let a = RepositoryUrl::parse("git@github.com:Pallets/Flask.git")?;
//! let b = RepositoryUrl::parse("https://www.github.com/pallets/flask/tree/main/src?tab=readme")?;
//! assert_eq!(a.url(), "https://github.com/Pallets/Flask");
//! assert_eq!(a.key(), b.key());
//! # Ok::<(), facts::repository::RepositoryUrlError>(())
//! ```
//!
//! Whether case matters is the forge's affair. GitHub, GitLab, Gitea and Bitbucket ignore it, so
//! the key does; on a host that is not known for one of these, `Foo` and `foo` may be two
//! repositories and stay two. What an address cannot tell, a rename, is the store's: it keeps
//! former names and the forge's own number.
//!
//! Users, passwords and tokens in an address are dropped while it is read. They are in no value
//! and in no error message of this module.
//!
//! [key]: RepositoryUrl::key

mod error;
mod forge;
mod parse;

use std::{fmt, str::FromStr};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

pub use error::RepositoryUrlError;
pub use forge::Forge;

/// The address of one repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepositoryUrl {
    forge: Forge,
    scheme: Scheme,
    /// With the port where it is not the usual one; empty for a local repository.
    host: String,
    /// Any number of segments; on plain hosts perhaps none. For a local one, the directory above.
    owner: String,
    name: String,
    /// A plain host may serve `name.git` and nothing else. Never part of the key.
    dot_git: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scheme {
    Https,
    Http,
    Git,
    File,
}

impl RepositoryUrl {
    /// Reads an address in any of the usual shapes.
    pub fn parse(text: &str) -> Result<Self, RepositoryUrlError> {
        parse::parse(text)
    }

    /// The address of a repository on this machine. The path must be absolute; whoever can see the
    /// disk should have resolved links, so that one repository has one path.
    pub fn local(path: &str) -> Result<Self, RepositoryUrlError> {
        parse::local(path)
    }

    /// The kind of forge, as far as the host gives it away.
    pub fn forge(&self) -> Forge {
        self.forge
    }

    /// The same address on a host that is known to run this forge.
    pub fn on(mut self, forge: Forge) -> Self {
        if !self.is_local() && forge != Forge::Local {
            self.forge = forge;
        }
        self
    }

    /// The host, with its port where that is not the usual one; empty for a local repository.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The owner: a user, an organisation, or groups within groups joined by `/`.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Owner and name joined: what people call the repository.
    pub fn slug(&self) -> String {
        if self.is_local() {
            return self.path().unwrap_or_default();
        }
        join(&self.owner, &self.name)
    }

    /// The directory on this machine, for a local repository.
    pub fn path(&self) -> Option<String> {
        let suffix = if self.dot_git { ".git" } else { "" };
        let root = if parse::starts_with_drive(&self.owner) {
            ""
        } else {
            "/"
        };
        self.is_local()
            .then(|| format!("{root}{}{suffix}", join(&self.owner, &self.name)))
    }

    /// Whether the repository is on this machine.
    pub fn is_local(&self) -> bool {
        self.forge == Forge::Local
    }

    /// The address in its one canonical form. Reading it again gives the same value.
    pub fn url(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Git => "git",
            Scheme::File => "file",
        };
        let suffix = if self.dot_git { ".git" } else { "" };
        let path = join(&self.owner, &self.name);
        let path = utf8_percent_encode(&path, IN_PATH);
        format!("{scheme}://{}/{path}{suffix}", self.host)
    }

    /// Equal for two addresses when they are known to mean the same repository.
    pub fn key(&self) -> String {
        let path = join(&self.owner, &self.name);
        if self.is_local() {
            // `x` and `x.git` beside each other are two directories.
            return self.url();
        }
        if self.forge.ignores_case() {
            format!("{}/{}", self.host, path.to_ascii_lowercase())
        } else {
            format!("{}/{path}", self.host)
        }
    }
}

/// What cannot stand in a path as it is.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

fn join(owner: &str, name: &str) -> String {
    if owner.is_empty() {
        name.to_owned()
    } else {
        format!("{owner}/{name}")
    }
}

impl fmt::Display for RepositoryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())
    }
}

impl FromStr for RepositoryUrl {
    type Err = RepositoryUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}
