//! Which addresses belong to somebody's inside, and not to the internet.
//!
//! Whatever remote text names, by HTTP or to git, must not lead this process to what only it can
//! reach: loopback, the private network, a cloud's metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is wrong with an address, in words that fit before "address"; none for a public one.
pub(crate) fn forbidden(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => forbidden_v4(ip),
        IpAddr::V6(ip) => forbidden_v6(ip),
    }
}

fn forbidden_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = ip.octets();
    match (a, b, c) {
        (127, ..) => Some("a loopback"),
        (169, 254, _) => Some("a link-local"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Some("a private"),
        (0 | 224..=255, ..)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => Some("a reserved"),
        _ => None,
    }
}

fn forbidden_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let part = ip.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        forbidden_v4(Ipv4Addr::new(a, b, c, d))
    };
    match part {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback"),
        // Ways to write an IPv4 address: mapped, compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfe80..=0xfebf, ..] => Some("a link-local"),
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => Some("a private"),
        // Tunnels, measurements and documentation, within what is handed out.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, ..] => Some("a reserved"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.0.8",
            "203.0.113.9",
            "198.18.0.1",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001::1",
            "3fff::1",
            "4000::1",
        ] {
            assert!(forbidden(private.parse().unwrap()).is_some(), "{private}");
        }
        for public in [
            "140.82.121.4",
            "2606:50c0:8000::153",
            "64:ff9b::8c52:7904",
            "1.1.1.1",
        ] {
            assert_eq!(forbidden(public.parse().unwrap()), None, "{public}");
        }
    }
}
