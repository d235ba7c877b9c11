//! Addresses that a stranger's URL must not lead us to: the one table.
//!
//! What wraps an IPv4 address in an IPv6 one is judged by what is inside. A table of our own, because the standard
//! library's notion of a global address is not stable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4: first address and length of the prefix.
const FORBIDDEN_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // carriers' own
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // a cloud's host agent
    ([169, 254, 0, 0], 16),   // link-local, metadata services
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocol assignments
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, broadcast
];

/// IPv6: first address and length of the prefix.
const FORBIDDEN_V6: &[([u16; 8], u32)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 96), // unspecified, loopback, IPv4-compatible
    // NAT64 of a network's own: where the IPv4 address stands in it, only that network knows.
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64),      // discard
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),     // protocol assignments, Teredo, benchmarks
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),     // documentation
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),     // segment routing
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),      // private
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),     // link-local
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),     // site-local
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),      // multicast
];

/// IPv4-mapped.
const MAPPED: ([u16; 8], u32) = ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96);
/// NAT64, the well-known prefix.
const NAT64: ([u16; 8], u32) = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
/// 6to4.
const SIX_TO_FOUR: ([u16; 8], u32) = ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);

/// Whether an address lies where no public resource is.
pub(super) fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_forbidden_v4(address),
        IpAddr::V6(address) => is_forbidden_v6(address),
    }
}

fn is_forbidden_v4(address: Ipv4Addr) -> bool {
    FORBIDDEN_V4.iter().any(|(first, length)| {
        let mask = u32::MAX << (32 - length);
        address.to_bits() & mask == Ipv4Addr::from(*first).to_bits()
    })
}

fn is_forbidden_v6(address: Ipv6Addr) -> bool {
    let [_, _, c, d, e, f, .., m, n, o, p] = address.octets();
    if within(address, MAPPED) || within(address, NAT64) {
        return is_forbidden_v4(Ipv4Addr::new(m, n, o, p));
    }
    if within(address, SIX_TO_FOUR) {
        return is_forbidden_v4(Ipv4Addr::new(c, d, e, f));
    }
    FORBIDDEN_V6.iter().any(|range| within(address, *range))
}

fn within(address: Ipv6Addr, (first, length): ([u16; 8], u32)) -> bool {
    let mask = u128::MAX << (128 - length);
    address.to_bits() & mask == Ipv6Addr::from(first).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(text: &str) -> bool {
        is_forbidden(text.parse().unwrap())
    }

    /// Covers R5 of the security rules: every border, and its neighbours.
    #[test]
    fn every_ipv4_range_ends_where_it_should() {
        for (first, last, below, above) in [
            ("0.0.0.0", "0.255.255.255", None, Some("1.0.0.0")),
            ("10.0.0.0", "10.255.255.255", Some("9.255.255.255"), Some("11.0.0.0")),
            ("100.64.0.0", "100.127.255.255", Some("100.63.255.255"), Some("100.128.0.0")),
            ("127.0.0.0", "127.255.255.255", Some("126.255.255.255"), Some("128.0.0.0")),
            ("168.63.129.16", "168.63.129.16", Some("168.63.129.15"), Some("168.63.129.17")),
            ("169.254.0.0", "169.254.255.255", Some("169.253.255.255"), Some("169.255.0.0")),
            ("172.16.0.0", "172.31.255.255", Some("172.15.255.255"), Some("172.32.0.0")),
            ("192.0.0.0", "192.0.0.255", Some("191.255.255.255"), Some("192.0.1.0")),
            ("192.0.2.0", "192.0.2.255", Some("192.0.1.255"), Some("192.0.3.0")),
            ("192.88.99.0", "192.88.99.255", Some("192.88.98.255"), Some("192.88.100.0")),
            ("192.168.0.0", "192.168.255.255", Some("192.167.255.255"), Some("192.169.0.0")),
            ("198.18.0.0", "198.19.255.255", Some("198.17.255.255"), Some("198.20.0.0")),
            ("198.51.100.0", "198.51.100.255", Some("198.51.99.255"), Some("198.51.101.0")),
            ("203.0.113.0", "203.0.113.255", Some("203.0.112.255"), Some("203.0.114.0")),
            ("224.0.0.0", "239.255.255.255", Some("223.255.255.255"), None),
            ("240.0.0.0", "255.255.255.255", None, None),
        ] {
            check(first, last, below, above);
        }
    }

    #[test]
    fn every_ipv6_range_ends_where_it_should() {
        for (first, last, below, above) in [
            ("::", "::ffff:ffff", None, Some("::1:0:0")),
            ("64:ff9b:1::", "64:ff9b:1:ffff::ffff", None, Some("64:ff9b:2::")),
            (
                "100::",
                "100::ffff:ffff:ffff:ffff",
                Some("ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
                Some("100:0:0:1::"),
            ),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Some("2000:ffff::"), Some("2001:200::")),
            ("2001:db8::", "2001:db8:ffff:ffff::ffff", Some("2001:db7:ffff::"), Some("2001:db9::")),
            ("3fff::", "3fff:fff:ffff::ffff", Some("3ffe:ffff::"), Some("3fff:1000::")),
            ("5f00::", "5f00:ffff::ffff", Some("5eff:ffff::"), Some("5f01::")),
            ("fc00::", "fdff:ffff::ffff", Some("fbff:ffff::"), Some("fe00::")),
            ("fe80::", "febf:ffff::ffff", Some("fe7f:ffff::"), None),
            ("fec0::", "feff:ffff::ffff", None, None),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
        ] {
            check(first, last, below, above);
        }
    }

    fn check(first: &str, last: &str, below: Option<&str>, above: Option<&str>) {
        assert!(forbidden(first), "{first}");
        assert!(forbidden(last), "{last}");
        for outside in [below, above].into_iter().flatten() {
            assert!(!forbidden(outside), "{outside}");
        }
    }

    #[test]
    fn what_is_wrapped_is_judged_by_what_is_inside() {
        for text in [
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::ffff:10.1.2.3",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::127.0.0.1",
            "64:ff9b:1:7f00:0:100::",
            "64:ff9b:1::8.8.8.8",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:808:808:0:ffff:8080:fefe",
        ] {
            assert!(forbidden(text), "{text}");
        }
        for text in ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2606:4700::1111", "8.8.8.8"] {
            assert!(!forbidden(text), "{text}");
        }
    }
}
