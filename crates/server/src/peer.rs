//! Who is at the other end, for counting: the connection's own address, or the one that a trusted proxy tells.
//!
//! A header is believed only as far as proxies that we trust have written it, read from the right. When `X-Forwarded-For` and
//! `Forwarded` tell different things one of them came from the client, and neither is believed.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, header};
use ipnet::IpNet;
use redrive_model::Code;

use crate::app::App;
use crate::refusal::Refusal;

/// The address that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Peer {
    /// Of a request with these headers, when these proxies are trusted.
    pub(crate) fn of(extensions: &Extensions, headers: &HeaderMap, trusted: &[IpNet]) -> Self {
        let connected = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_canonical());
        let Some(connected) = connected else { return Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) };
        Self(network(told(connected, headers, trusted).unwrap_or(connected)))
    }
}

/// What the proxies tell, if it is to be believed.
fn told(connected: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !is_trusted(&connected) {
        return None;
    }
    let first = |hops: Vec<Option<IpAddr>>| {
        let mut last = None;
        for hop in hops.into_iter().rev() {
            // What cannot be read ends what can be believed.
            let Some(hop) = hop else { break };
            last = Some(hop);
            if !is_trusted(&hop) {
                break;
            }
        }
        last
    };
    match (first(x_forwarded_for(headers)), first(forwarded(headers))) {
        (Some(a), Some(b)) => (a == b).then_some(a),
        (a, b) => a.or(b),
    }
}

fn values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or("unreadable"));
    lines.flat_map(|line| line.split(','))
}

fn x_forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    values(headers, "x-forwarded-for").map(node).collect()
}

fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let of = |element: &str| {
        let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for")).find_map(|(_, value)| node(value))
    };
    values(headers, header::FORWARDED.as_str()).map(of).collect()
}

/// An address as headers write it: alone, with a port, in brackets, in quotes.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let address = text
        .parse::<IpAddr>()
        .or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
        .or_else(|_| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>());
    address.ok().map(|address| address.to_canonical())
}

/// One who has an IPv6 network has all of its addresses, so the network counts.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        IpAddr::V4(_) => address,
    }
}

impl FromRequestParts<App> for Peer {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        let missing = || Refusal::new(Code::SystemInternal, "This route knows no addresses.");
        parts.extensions.get::<Self>().copied().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(connected: &str, headers: &[(&'static str, &str)], trusted: &[&str]) -> String {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::new(connected.parse().unwrap(), 1)));
        let headers = headers
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        Peer::of(&extensions, &headers, &trusted).0.to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_what_it_wrote() {
        let xff = "x-forwarded-for";
        let proxies = &["10.0.0.0/8", "::1/128"][..];
        for (connected, headers, expected) in [
            ("192.0.2.1", vec![(xff, "203.0.113.7")], "192.0.2.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec![(xff, "203.0.113.7")], "203.0.113.7"),
            ("::ffff:10.0.0.1", vec![(xff, "203.0.113.7")], "203.0.113.7"),
            ("::1", vec![(xff, "2001:db8:1:2:3:4:5:6")], "2001:db8:1:2::"),
            // The client wrote the left part itself.
            ("10.0.0.1", vec![(xff, "198.51.100.9, 203.0.113.7")], "203.0.113.7"),
            ("10.0.0.1", vec![(xff, "198.51.100.9, 203.0.113.7, 10.0.0.2")], "203.0.113.7"),
            ("10.0.0.1", vec![(xff, "198.51.100.9"), (xff, "203.0.113.7")], "203.0.113.7"),
            ("10.0.0.1", vec![(xff, "10.0.0.3, 10.0.0.2")], "10.0.0.3"),
            ("10.0.0.1", vec![(xff, "rubbish, 10.0.0.2")], "10.0.0.2"),
            ("10.0.0.1", vec![(xff, "rubbish")], "10.0.0.1"),
            ("10.0.0.1", vec![(xff, "203.0.113.7:5555")], "203.0.113.7"),
            (
                "10.0.0.1",
                vec![("forwarded", "for=192.0.2.9;proto=https, For=\"203.0.113.7:80\"")],
                "203.0.113.7",
            ),
            ("10.0.0.1", vec![("forwarded", "for=\"[2001:db8:1:2::9]:443\"")], "2001:db8:1:2::"),
            ("10.0.0.1", vec![("forwarded", "for=unknown")], "10.0.0.1"),
            // One of the two is the client's own.
            ("10.0.0.1", vec![(xff, "203.0.113.7"), ("forwarded", "for=198.51.100.9")], "10.0.0.1"),
            ("10.0.0.1", vec![(xff, "203.0.113.7"), ("forwarded", "for=203.0.113.7")], "203.0.113.7"),
        ] {
            assert_eq!(peer(connected, &headers, proxies), expected, "{connected} {headers:?}");
        }
        assert_eq!(peer("127.0.0.1", &[(xff, "203.0.113.7")], &[]), "127.0.0.1", "nobody is trusted unasked");
    }
}
