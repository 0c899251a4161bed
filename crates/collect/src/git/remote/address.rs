//! Where a remote is: its URL, checked, and its addresses, checked and held on to.
//!
//! The host is resolved here and git is told the addresses, so that what was checked is what is
//! connected to. (`ssh` and `git` resolve again by themselves; they are off unless configured.)

use std::net::IpAddr;

use url::{Host, Url};

use super::{Protocol, RemoteError, Settings};
use crate::inner_address::forbidden;

/// A URL that may be asked.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) url: Url,
    pub(super) protocol: Protocol,
}

impl Place {
    /// Checks everything that can be checked without asking anybody.
    pub(super) fn new(text: &str, settings: &Settings) -> Result<Self, RemoteError> {
        let bad = |why| RemoteError::BadUrl {
            url: without_secrets(text),
            why,
        };
        if text.len() > 2048 || text.chars().any(char::is_control) {
            return Err(bad("it is too long or has control characters"));
        }
        let url = Url::parse(text).map_err(|_| bad("it is no URL"))?;
        let protocol =
            Protocol::of_scheme(url.scheme()).ok_or_else(|| bad("its protocol is unknown"))?;
        if !settings.protocols.contains(&protocol) {
            return Err(bad("its protocol is not allowed"));
        }
        let named = !url.username().is_empty() && protocol != Protocol::Ssh;
        if named || url.password().is_some() {
            return Err(bad("it has a user or a password in it"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad("it has a query or a fragment"));
        }
        let local = protocol == Protocol::File;
        if local != url.host().is_none() || url.host_str().is_some_and(|it| it.starts_with('-')) {
            return Err(bad("its host makes no sense"));
        }
        Ok(Self { url, protocol })
    }

    /// As it is shown and given to git.
    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Scheme, host and port: what a token is bound to.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The host as settings name it.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Resolves the host, refuses what is not public, and returns what curl is to connect to, as
    /// `http.curloptResolve` wants it.
    pub(super) async fn pin(&self, settings: &Settings) -> Result<Option<String>, RemoteError> {
        let Some(host) = self.url.host() else {
            return Ok(None);
        };
        let port = self
            .url
            .port_or_known_default()
            .unwrap_or(match self.protocol {
                Protocol::Ssh => 22,
                _ => 9418,
            });
        let name = self.host();
        let addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::V4(address)],
            Host::Ipv6(address) => vec![IpAddr::V6(address)],
            Host::Domain(domain) => match settings.addresses.get(domain) {
                Some(addresses) => addresses.clone(),
                None => self.resolve(domain, port, settings).await?,
            },
        };
        if !settings.private_hosts.contains(name)
            && let Some(address) = addresses
                .iter()
                .find(|address| forbidden(**address).is_some())
        {
            return Err(RemoteError::PrivateAddress {
                host: name.to_owned(),
                address: address.to_string(),
            });
        }
        if !matches!(self.url.host(), Some(Host::Domain(_))) {
            return Ok(None);
        }
        let addresses: Vec<String> = addresses
            .iter()
            .map(|address| match address {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            })
            .collect();
        Ok(Some(format!("{name}:{port}:{}", addresses.join(","))))
    }

    async fn resolve(
        &self,
        domain: &str,
        port: u16,
        settings: &Settings,
    ) -> Result<Vec<IpAddr>, RemoteError> {
        let unreachable = |message: &str| RemoteError::Unreachable {
            url: self.as_str().to_owned(),
            message: message.to_owned(),
        };
        let asked = tokio::net::lookup_host((domain, port));
        let found = tokio::time::timeout(settings.limits.idle, asked)
            .await
            .map_err(|_| unreachable("its name was not resolved in time"))?
            .map_err(|_| unreachable("its name leads to no address"))?;
        let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        addresses.dedup();
        addresses.truncate(16);
        if addresses.is_empty() {
            return Err(unreachable("its name leads to no address"));
        }
        Ok(addresses)
    }
}

/// A URL or any text with URLs in it, without what stands before an `@`.
pub(super) fn without_secrets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        kept.push_str(before);
        let end = after
            .find(|c: char| c == '/' || c.is_whitespace())
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                kept.push_str("[redacted]@");
                kept.push_str(host);
            }
            None => kept.push_str(authority),
        }
        rest = tail;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_refused_with_a_reason() {
        let settings = Settings::new("/nowhere", "test");
        for (url, why) in [
            (
                "https://user:s3cret@forge.example/a",
                "it has a user or a password in it",
            ),
            (
                "https://s3cret@forge.example/a",
                "it has a user or a password in it",
            ),
            ("http://forge.example/a", "its protocol is not allowed"),
            ("ext::sh -c s3cret", "its protocol is unknown"),
            ("-oProxyCommand=x", "it is no URL"),
            (
                "https://forge.example/a?token=1",
                "it has a query or a fragment",
            ),
            (
                "https://forge.example/a\nb",
                "it is too long or has control characters",
            ),
        ] {
            let error = Place::new(url, &settings).unwrap_err();
            assert!(error.to_string().ends_with(why), "{error}");
            assert!(
                !url.contains("s3cret@") || !error.to_string().contains("s3cret"),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_before_an_at_sign_stays(secret in "[a-z0-9]{8,12}", user in "[a-z]{0,3}", around in "[ -~]{0,10}") {
            let shown = without_secrets(&format!("{around} https://{user}:{secret}@h.example/{user}"));
            prop_assert!(around.contains(&secret) || !shown.contains(&secret), "{}", shown);
        }
    }
}
