//! Names to addresses, by a resolver of our own.
//!
//! The machine's resolver answers "not found" for a name that is not there and for a server that is ill alike; we try the one
//! once more and the other under the whole budget, so they must be told apart. Answers are kept as long as they say, within
//! bounds, and nothing that was refused is kept as good.
//!
//! A name means itself and nothing else: the search list of the machine is not tried. With it a fault would end as the "not
//! found" of another name, and somebody else's host could stand in for the one that was asked for.
//!
//! The name servers of `/etc/resolv.conf` and the names of `/etc/hosts` are honoured; other sources that a machine may have (mDNS,
//! NIS) are not.

mod hosts;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join};
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup as Answer;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;
use hickory_resolver::{TokioResolver, system_conf};

use hosts::Hosts;

/// So many answers are kept.
const KEPT: u64 = 4_096;
/// An answer is believed no longer than this, whatever it says.
const LONGEST: Duration = Duration::from_secs(600);
/// That there is nothing is believed no longer than this: long enough for the many of one batch, and shorter than the wait before a retry, or
/// the one more try of a name that is not there would ask nobody.
const LONGEST_NOTHING: Duration = Duration::from_secs(3);
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
pub struct Resolver {
    servers: TokioResolver,
    hosts: Arc<Hosts>,
}

impl Resolver {
    /// With the name servers and the hosts file of this machine. Where it has none, a server on it is asked, as libc does.
    pub fn system() -> Result<Self, LookupError> {
        let (config, options) = system_conf::read_system_conf().unwrap_or_else(|error| {
            tracing::warn!(event = "dns.no_settings", "no name servers are set, asking 127.0.0.1: {error}");
            (config_of(&[SocketAddr::from((Ipv4Addr::LOCALHOST, 53))]), ResolverOpts::default())
        });
        Self::build(config, options, Hosts::of_this_machine())
    }

    /// With these name servers, and the hosts file of this machine.
    pub fn asking(servers: &[SocketAddr]) -> Result<Self, LookupError> {
        let hosts = Hosts::of_this_machine();
        Self::build(config_of(servers), ResolverOpts::default(), hosts)
    }

    fn build(config: ResolverConfig, options: ResolverOpts, hosts: Hosts) -> Result<Self, LookupError> {
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = options;
        bound(builder.options_mut());
        let servers = builder.build().map_err(failed)?;
        Ok(Self { servers, hosts: Arc::new(hosts) })
    }
}

impl Lookup for Resolver {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, LookupError>> {
        async move {
            let listed = self.hosts.of(name);
            if !listed.is_empty() {
                return Ok(listed.to_vec());
            }
            let name = asked(name).ok_or(LookupError::NoSuchName)?;
            // Both kinds: one forbidden address among them refuses all.
            let (four, six) =
                join(self.servers.ipv4_lookup(name.clone()), self.servers.ipv6_lookup(name)).await;
            both(four.map_err(failed), six.map_err(failed))
        }
        .boxed()
    }
}

/// A name as it is asked for: label by label, as the URL has it. Names of hosts may have other signs than the letters, digits and hyphens of
/// the book (`my_service`), and name servers answer for them. Nothing for what cannot be a name.
fn asked(name: &str) -> Option<Name> {
    Name::from_labels(name.strip_suffix('.').unwrap_or(name).split('.').map(str::as_bytes)).ok()
}

/// What two answers say together. That there is nothing of one kind is no word on the other, whose server may be ill. Addresses of one kind
/// are enough, whatever became of the other: only what was judged is dialled. See ADR 10.
fn both(
    four: Result<Answer, LookupError>,
    six: Result<Answer, LookupError>,
) -> Result<Vec<IpAddr>, LookupError> {
    let (mut found, mut why) = (Vec::new(), LookupError::NoSuchName);
    for answer in [four, six] {
        match answer {
            Ok(said) => found.extend(addresses(&said)),
            Err(LookupError::NoSuchName) => {}
            Err(fault @ LookupError::Failed(_)) => why = fault,
        }
    }
    if found.is_empty() { Err(why) } else { Ok(found) }
}

fn addresses(said: &Answer) -> Vec<IpAddr> {
    said.answers().iter().filter_map(|record| record.data.ip_addr()).collect()
}

fn config_of(servers: &[SocketAddr]) -> ResolverConfig {
    let server = |at: &SocketAddr| {
        let over = |mut connection: ConnectionConfig| {
            connection.port = at.port();
            connection
        };
        let ways = vec![over(ConnectionConfig::udp()), over(ConnectionConfig::tcp())];
        NameServerConfig::new(at.ip(), true, ways)
    };
    ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect())
}

fn bound(options: &mut ResolverOpts) {
    // They are looked at before.
    options.use_hosts_file = ResolveHosts::Never;
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

#[cfg(test)]
mod tests;
