//! Addresses that remote text must not lead us to.
//!
//! A redirect, or a name whose owner changes what it resolves to, could point this process at
//! services that only it can reach: loopback, the private network, a cloud's metadata. So names are
//! resolved by [`PublicOnly`], and what is connected to is what was checked: there is no second
//! look-up in between. Addresses written as numbers never see a resolver; they are checked as they
//! stand in the URL.

use std::{fmt, net::SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::inner_address::forbidden;

/// Resolves names to public addresses only.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let all: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let mut refused = None;
            let public: Vec<SocketAddr> = all
                .into_iter()
                .filter(|address| match forbidden(address.ip()) {
                    Some(sort) => {
                        refused = Some(sort);
                        false
                    }
                    None => true,
                })
                .collect();
            match (public.is_empty(), refused) {
                (true, Some(sort)) => Err(Box::new(Forbidden { sort }) as _),
                _ => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

/// All addresses of a name are forbidden.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forbidden {
    /// `a private`, `a loopback`…
    pub(super) sort: &'static str,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name leads to {} address", self.sort)
    }
}

impl std::error::Error for Forbidden {}

/// What is wrong with the address that a URL gives in numbers.
pub(super) fn forbidden_in(url: &Url) -> Option<&'static str> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(ip) => forbidden(ip.into()),
        Host::Ipv6(ip) => forbidden(ip.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> Option<&'static str> {
        forbidden_in(&Url::parse(url).unwrap())
    }

    #[test]
    fn every_way_to_write_an_inner_address_is_seen() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0.0.0.0/",
            "http://10.1.2.3/",
            "http://172.31.255.255/",
            "http://192.168.0.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[::7f00:1]/",
            "http://[64:ff9b::10.0.0.1]/",
            "http://[2002:a00:1::]/",
            "http://[fd00:ec2::254]/",
            "http://[fe80::1]/",
            "http://[ff02::1]/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
        ] {
            assert!(refused(url).is_some(), "{url}");
        }
    }

    #[test]
    fn public_addresses_pass() {
        for url in [
            "https://140.82.121.4/",
            "https://172.32.0.1/",
            "https://100.128.0.1/",
            "https://[2606:50c0:8000::153]/",
            "https://[::ffff:140.82.121.4]/",
            "https://a.example/",
        ] {
            assert_eq!(refused(url), None, "{url}");
        }
    }
}
