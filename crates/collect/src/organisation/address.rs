//! Addresses of those who own repositories, and of lists that belong to nobody.

use facts::repository::{Forge, RepositoryUrl, RepositoryUrlError};

use crate::forge::Scope;

/// Where an owner is: `https://github.com/apache`, `gitlab.com/gnome/world`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerAddress {
    /// The forge.
    pub host: String,
    /// A user, an organisation, or groups within groups joined by `/`; or a [`Scope`].
    pub owner: String,
    /// What the host runs, by its name.
    pub forge: Forge,
}

/// Why a text is no owner's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerAddressError {
    /// It is no address at all.
    #[error(transparent)]
    Address(#[from] RepositoryUrlError),
    /// It is a repository's.
    #[error("the address is that of a repository, and not of its owner")]
    Repository,
    /// A search for nothing in particular.
    #[error("there is nothing to search for behind the host")]
    NoQuery,
    /// It has no forge behind it.
    #[error("a directory on this machine is no owner on a forge")]
    Local,
}

impl OwnerAddress {
    /// Reads an address. The forges' own pages about an owner (`/orgs/NAME`, `/groups/NAME`) will do.
    /// `server:HOST` is everything on a server, `installation:HOST` what an app's installation was
    /// given there, `search:HOST QUERY` what a search finds.
    pub fn parse(text: &str) -> Result<Self, OwnerAddressError> {
        let (word, rest) = text.trim().split_once(':').unwrap_or_default();
        match word {
            "server" => Self::wide(rest, Scope::Everything),
            "installation" => Self::wide(rest, Scope::Installation),
            "search" => match rest.trim().split_once(char::is_whitespace) {
                Some((host, query)) => Self::wide(host, Scope::Search(query.trim())),
                None => Err(OwnerAddressError::NoQuery),
            },
            _ => Self::of_owner(text),
        }
    }

    /// For people.
    pub fn shown(&self) -> String {
        Scope::read(&self.owner).shown()
    }

    fn wide(host: &str, scope: Scope<'_>) -> Result<Self, OwnerAddressError> {
        let host = host.trim().trim_end_matches('/');
        let host = host.strip_prefix("https://").unwrap_or(host);
        let url = RepositoryUrl::parse(&format!("https://{host}/any/any"))?;
        if url.owner() != "any" {
            return Err(OwnerAddressError::Repository);
        }
        Ok(Self {
            host: url.host().to_owned(),
            owner: scope.written(),
            forge: url.forge(),
        })
    }

    fn of_owner(text: &str) -> Result<Self, OwnerAddressError> {
        // An owner's address is that of any repository of theirs, less its name.
        const ANY: &str = "any";
        let text = text.trim().split(['?', '#']).next().unwrap_or_default();
        let text = text.trim_end_matches('/');
        let text = text
            .replacen("github.com/orgs/", "github.com/", 1)
            .replacen("/groups/", "/", 1);
        let text = text.trim_end_matches("/repositories");
        let url = RepositoryUrl::parse(&format!("{text}/{ANY}"))?;
        if url.is_local() {
            return Err(OwnerAddressError::Local);
        }
        if url.name() != ANY || url.owner().is_empty() {
            return Err(OwnerAddressError::Repository);
        }
        Ok(Self {
            host: url.host().to_owned(),
            owner: url.owner().to_owned(),
            forge: url.forge(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn owners_are_read_in_the_usual_shapes() {
        for (text, host, owner) in [
            ("https://github.com/apache", "github.com", "apache"),
            ("github.com/apache/", "github.com", "apache"),
            (
                "https://github.com/orgs/apache/repositories",
                "github.com",
                "apache",
            ),
            ("https://gitlab.com/groups/a/b", "gitlab.com", "a/b"),
            (
                "https://gitlab.gnome.org/World/design?sort=name",
                "gitlab.gnome.org",
                "World/design",
            ),
            ("codeberg.org/forgejo", "codeberg.org", "forgejo"),
            ("https://git.example.org/team", "git.example.org", "team"),
        ] {
            let address = OwnerAddress::parse(text).unwrap();
            assert_eq!(
                (address.host.as_str(), address.owner.as_str()),
                (host, owner),
                "{text}"
            );
        }
    }

    #[test]
    fn lists_of_nobody_have_words_of_their_own() {
        for (text, host, shown) in [
            ("server:git.example.org", "git.example.org", "everything"),
            (
                "server:https://git.example.org/",
                "git.example.org",
                "everything",
            ),
            (
                "installation:github.com",
                "github.com",
                "what its installation was given",
            ),
            (
                "search:github.com  language:go org:a",
                "github.com",
                "what `language:go org:a` finds",
            ),
        ] {
            let address = OwnerAddress::parse(text).unwrap();
            assert_eq!(
                (address.host.as_str(), address.shown().as_str()),
                (host, shown)
            );
            assert!(
                !matches!(Scope::read(&address.owner), Scope::Of(_)),
                "{text}"
            );
        }
        for text in ["search:github.com", "server:", "server:github.com/a/b"] {
            assert!(OwnerAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_repository_is_no_owner() {
        for text in [
            "https://github.com/a/b",
            "codeberg.org/a/b",
            "/home/me",
            "",
            "https://github.com/",
        ] {
            assert!(OwnerAddress::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>()) {
            let _ = OwnerAddress::parse(&text);
        }
    }
}
