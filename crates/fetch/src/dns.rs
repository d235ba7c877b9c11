//! Names to addresses, by a resolver of our own.
//!
//! The machine's resolver answers "not found" for a name that is not there and for a server that is ill alike; we try the one
//! once more and the other under the whole budget, so they must be told apart. Answers are kept as long as they say, within
//! bounds, and nothing that was refused is kept as good.
//!
//! `/etc/resolv.conf` and `/etc/hosts` are honoured; other sources that a machine may have (mDNS, NIS) are not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};

/// So many answers are kept.
const KEPT: u64 = 4_096;
/// An answer is believed no longer than this, whatever it says.
const LONGEST: Duration = Duration::from_secs(600);
/// That there is nothing is believed no longer than this.
const LONGEST_NOTHING: Duration = Duration::from_secs(60);
/// One question to one server.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// It does not exist, or has no address: the servers are sure.
    #[error("there is no such name")]
    NoSuchName,
    /// Nobody could say: no answer in time, or a server with a fault.
    #[error("the name could not be looked up: {0}")]
    Failed(String),
}

/// Something that knows the addresses of names.
pub trait Lookup: Send + Sync + std::fmt::Debug + 'static {
    /// All addresses of a name, of both kinds. Never an empty list.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, LookupError>>;
}

/// The resolver: asks the name servers itself and keeps what they said.
#[derive(Debug, Clone)]
pub struct Resolver(TokioResolver);

impl Resolver {
    /// With the name servers and the hosts file of this machine. Where it has none, a server on it is asked, as libc does.
    pub fn system() -> Result<Self, LookupError> {
        match TokioResolver::builder_tokio() {
            Ok(builder) => {
                let mut builder = builder;
                bound(builder.options_mut());
                builder.build().map(Self).map_err(failed)
            }
            Err(error) => {
                tracing::warn!(
                    event = "dns.no_settings",
                    "no name servers are set, asking 127.0.0.1: {error}"
                );
                Self::asking(&[SocketAddr::from((Ipv4Addr::LOCALHOST, 53))])
            }
        }
    }

    /// With these name servers alone.
    pub fn asking(servers: &[SocketAddr]) -> Result<Self, LookupError> {
        let server = |at: &SocketAddr| {
            let over = |mut connection: ConnectionConfig| {
                connection.port = at.port();
                connection
            };
            NameServerConfig::new(
                at.ip(),
                true,
                vec![over(ConnectionConfig::udp()), over(ConnectionConfig::tcp())],
            )
        };
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect());
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        bound(builder.options_mut());
        builder.build().map(Self).map_err(failed)
    }
}

impl Lookup for Resolver {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, LookupError>> {
        async move {
            let found: Vec<IpAddr> = self.0.lookup_ip(name).await.map_err(failed)?.iter().collect();
            if found.is_empty() { Err(LookupError::NoSuchName) } else { Ok(found) }
        }
        .boxed()
    }
}

fn bound(options: &mut ResolverOpts) {
    // Both kinds: one forbidden address among them refuses all.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = KEPT;
    options.positive_max_ttl = Some(LONGEST);
    options.negative_max_ttl = Some(LONGEST_NOTHING);
    options.timeout = options.timeout.min(PATIENCE);
    options.attempts = options.attempts.min(2);
}

/// From the kind of the error, never from its words.
fn failed(error: NetError) -> LookupError {
    match &error {
        NetError::Dns(DnsError::NoRecordsFound(_)) => LookupError::NoSuchName,
        error => LookupError::Failed(error.to_string()),
    }
}
