//! Pools of proxies, as an operator wrote them: who is in them, and who stands in when nobody of them works.

use std::collections::{BTreeMap, BTreeSet};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// One pool as it is set: `[proxy_pools.NAME]`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// Its proxies: `http://user:password@host:port`.
    pub proxies: Vec<String>,
    /// Pools that stand in, in this order.
    pub fallbacks: Vec<String>,
}

impl std::fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolOptions")
            .field("proxies", &self.proxies.len())
            .field("fallbacks", &self.fallbacks)
            .finish()
    }
}

/// Why pools cannot be used. No text has a proxy's URL in it: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// A pool without proxies.
    #[error("the proxy pool {0} has no proxies and no fallbacks")]
    Empty(String),
    /// A name that cannot be a target.
    #[error("{0:?} cannot be the name of a proxy pool")]
    Name(String),
    /// Something that is no proxy.
    #[error(
        "{pool}#{index} is no proxy: write http://host:port, with user:password@ before the host where it is needed"
    )]
    Proxy {
        /// The pool.
        pool: String,
        /// Which of its proxies, from 1.
        index: usize,
    },
    /// A fallback that is not there.
    #[error("the proxy pool {pool} falls back to {fallback}, which is not there")]
    Missing {
        /// The pool.
        pool: String,
        /// What it names.
        fallback: String,
    },
    /// Pools that stand in for each other.
    #[error("proxy pools fall back in a circle: {0}")]
    Circle(String),
}

/// Where a proxy is, and what it wants to hear.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `Basic …`.
    pub(crate) authorization: Option<String>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

impl Proxy {
    fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let host = match url.host()? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        if url.scheme() != "http" || !matches!(url.path(), "" | "/") || url.query().is_some() {
            return None;
        }
        let said = !url.username().is_empty() || url.password().is_some();
        let authorization = said.then(|| basic(url.username(), url.password().unwrap_or_default()));
        Some(Self { host, port: url.port_or_known_default()?, authorization })
    }
}

/// Everybody of a pool: its own proxies first, then those who stand in, each pool once.
pub(super) fn ranks(pools: &BTreeMap<String, PoolOptions>, of: &str) -> Result<Vec<String>, PoolError> {
    let mut ranks = Vec::new();
    walk(pools, of, &mut Vec::new(), &mut ranks)?;
    Ok(ranks)
}

/// Depth first: whoever stands in for a pool brings those who stand in for him. Two ways to the same pool are fine.
fn walk(
    pools: &BTreeMap<String, PoolOptions>,
    name: &str,
    way: &mut Vec<String>,
    ranks: &mut Vec<String>,
) -> Result<(), PoolError> {
    if way.iter().any(|been| been == name) {
        return Err(PoolError::Circle(format!("{} → {name}", way.join(" → "))));
    }
    let missing =
        || PoolError::Missing { pool: way.last().cloned().unwrap_or_default(), fallback: name.to_owned() };
    let pool = pools.get(name).ok_or_else(missing)?;
    if !ranks.iter().any(|rank| rank == name) {
        ranks.push(name.to_owned());
    }
    way.push(name.to_owned());
    for fallback in &pool.fallbacks {
        walk(pools, fallback, way, ranks)?;
    }
    way.pop();
    Ok(())
}

/// The proxies of a pool.
pub(super) fn proxies(name: &str, pool: &PoolOptions) -> Result<Vec<Proxy>, PoolError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    if name.is_empty() || name.len() > 100 || !name.bytes().all(plain) {
        return Err(PoolError::Name(name.to_owned()));
    }
    if pool.proxies.is_empty() && pool.fallbacks.is_empty() {
        return Err(PoolError::Empty(name.to_owned()));
    }
    let mut seen = BTreeSet::new();
    let parse = |(n, text): (usize, &String)| {
        Proxy::parse(text).ok_or_else(|| PoolError::Proxy { pool: name.to_owned(), index: n + 1 })
    };
    let own = pool.proxies.iter().filter(|text| seen.insert(text.as_str())).enumerate();
    own.map(parse).collect()
}

/// `Basic`, as RFC 7617 has it. What the URL has percent-encoded is meant decoded.
fn basic(user: &str, password: &str) -> String {
    let (user, password) =
        (percent_decode_str(user).collect::<Vec<u8>>(), percent_decode_str(password).collect::<Vec<u8>>());
    format!("Basic {}", BASE64_STANDARD.encode([user.as_slice(), b":", &password].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(pools: &[(&str, &[&str])]) -> BTreeMap<String, PoolOptions> {
        let pool = |(name, fallbacks): &(&str, &[&str])| {
            let fallbacks = fallbacks.iter().map(ToString::to_string).collect();
            (name.to_string(), PoolOptions { proxies: vec!["http://p:1".into()], fallbacks })
        };
        pools.iter().map(pool).collect()
    }

    #[test]
    fn a_diamond_is_fine_and_a_circle_is_not() {
        let diamond = pools(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]);
        assert_eq!(ranks(&diamond, "a").unwrap(), ["a", "b", "d", "c"]);
        let circle = pools(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
        assert_eq!(
            ranks(&circle, "a").unwrap_err().to_string(),
            "proxy pools fall back in a circle: a → b → c → a"
        );
        assert!(matches!(ranks(&pools(&[("a", &["a"])]), "a"), Err(PoolError::Circle(_))));
        let missing = ranks(&pools(&[("a", &["x"])]), "a").unwrap_err();
        assert_eq!(missing, PoolError::Missing { pool: "a".into(), fallback: "x".into() });
    }

    #[test]
    fn a_proxy_is_a_host_a_port_and_perhaps_a_password_that_nobody_prints() {
        let pool = |urls: &[&str]| PoolOptions {
            proxies: urls.iter().map(ToString::to_string).collect(),
            fallbacks: vec![],
        };
        let found = proxies(
            "eu",
            &pool(&["http://me:pa%40ss@proxy.example:3128", "http://[::1]:8080/", "http://10.0.0.1"]),
        )
        .unwrap();
        assert_eq!(found[0].authorization.as_deref(), Some("Basic bWU6cGFAc3M="));
        assert_eq!((found[1].host.as_str(), found[1].port), ("::1", 8080));
        assert_eq!((found[2].port, found[2].authorization.as_deref()), (80, None));
        for wrong in [
            "proxy:3128",
            "socks5://h:1",
            "https://u:CANARY@h:1",
            "http://u:CANARY@h/path",
            "",
            "http://u:CANARY@h?x",
        ] {
            let error = proxies("eu", &pool(&["http://h:1", wrong])).unwrap_err();
            assert_eq!(error, PoolError::Proxy { pool: "eu".into(), index: 2 }, "{wrong}");
            assert!(!error.to_string().contains("CANARY"));
        }
        assert!(!format!("{:?}", pool(&["http://u:CANARY@h"])).contains("CANARY"));
        assert_eq!(proxies("eu", &pool(&[])), Err(PoolError::Empty("eu".into())));
        assert!(matches!(proxies("a b", &pool(&["http://h:1"])), Err(PoolError::Name(_))));
    }

    #[test]
    fn basic_is_as_the_standard_has_it() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("a", ""), "Basic YTo=");
        assert_eq!(basic("a", "b"), "Basic YTpi");
    }
}
